"""Start the language server that comes with the extension, or the one that is installed for this Python.

    python run_server.py useBundled|fromEnvironment [ARGUMENT ...]

What is bundled is pure Python but for `native/`, which is there only in packages for one platform; of it counts what
was built for this Python.
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent


def add_bundled() -> None:
    """Let the bundled packages be found before all others, and the native ones after all others."""
    sys.path.insert(0, str(HERE / "libs"))
    native = HERE / "native"
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ""
    if (native / "libcst" / f"native{suffix}").exists():
        sys.path.append(str(native))


def main() -> None:
    """Choose the server and run it."""
    strategy, *arguments = sys.argv[1:] or ["useBundled"]
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() not in (HERE, Path.cwd())]
    if strategy != "fromEnvironment":
        add_bundled()
    elif importlib.util.find_spec("jaxpert") is None:
        sys.stderr.write(f"jaxpert is not installed for {sys.executable}; the bundled one runs\n")
        add_bundled()
    from jaxpert.__main__ import main as jaxpert

    jaxpert(["lsp", *arguments], prog_name="jaxpert")


if __name__ == "__main__":
    main()
