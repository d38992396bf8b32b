"""Whether the process that started us still runs."""

from __future__ import annotations

import os
import sys

INTERVAL = 10.0
"""Seconds between two looks. The end of standard input usually says it earlier."""


def is_alive(process_id: int) -> bool:
    """Whether a process with this id exists."""
    if sys.platform == "win32":
        import ctypes

        synchronize, still_running = 0x00100000, 0x102
        handle = ctypes.windll.kernel32.OpenProcess(synchronize, False, process_id)
        if not handle:
            return False
        waited = ctypes.windll.kernel32.WaitForSingleObject(handle, 0)
        ctypes.windll.kernel32.CloseHandle(handle)
        return bool(waited == still_running)
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists and belongs to somebody else
        return True
    return True
