"""Imports ``asyncio`` without OpenSSL, which it can do without and which takes as much memory as all our rules.

Whoever imports ``ssl`` later gets it all the same.
"""

import sys

if "asyncio" in sys.modules or "ssl" in sys.modules:
    import asyncio
else:
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import asyncio
    finally:
        del sys.modules["ssl"]

__all__ = ["asyncio"]
