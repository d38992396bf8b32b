"""What the server does without, because everybody who has it running pays for it all day."""

from __future__ import annotations

import subprocess
import sys

IMPORTED = "import sys, jaxpert.lsp.server; print(sorted({'ssl', '_ssl', 'libcst', 'jedi', 'rich'} & set(sys.modules)))"
THEN = "import jaxpert.lsp.server, ssl, asyncio; print(ssl.create_default_context() is not None)"


def _run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_what_only_some_need_is_not_loaded_at_the_start() -> None:
    assert _run(IMPORTED) == "[]"


def test_tls_is_there_for_whoever_asks() -> None:
    assert _run(THEN) == "True"
