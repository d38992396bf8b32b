"""Put the server and what it needs into `bundled/`, from where the extension starts it.

    python scripts/bundle_server.py                      pure Python, for every platform
    python scripts/bundle_server.py --target linux-x64   and libcst for one, by VS Code's name

Packages come from pip's own index, in the versions of `requirements.txt`. The one for each platform is libcst, for
the Pythons given by `--python` (default: 3.11 to 3.13); without it the server takes what is installed for the Python
that runs it, and otherwise does without some fixes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1]
REPOSITORY = CLIENT.parent
BUNDLED = CLIENT / "bundled"
REQUIREMENTS = CLIENT / "requirements.txt"
NATIVE = "libcst"
TARGETS = {
    "alpine-x64": ("musllinux_1_2_x86_64",),
    "darwin-arm64": ("macosx_11_0_arm64",),
    "darwin-x64": ("macosx_10_12_x86_64",),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux2014_aarch64"),
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux2014_x86_64"),
    "win32-arm64": ("win_arm64",),
    "win32-x64": ("win_amd64",),
}
"""The tags of wheels for VS Code's platforms."""
# Not needed at run time: tests, tools, and what jedi brings along about packages that are not JAX.
SUPERFLUOUS = (
    "__pycache__", "tests", "bin", "RECORD", "codemod", "codegen", "jedi/third_party/django-stubs", "typeshed/stubs/*",
)  # fmt: skip


def main() -> int:
    """Do what the command line says; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=TARGETS, help="VS Code's name of a platform")
    parser.add_argument("--python", action="append", default=[], help="a version of Python, such as 3.12")
    options = parser.parse_args()
    pure, native = _requirements()
    _bundle_libraries(pure)
    _bundle_native(native, TARGETS.get(options.target, ()), options.python or ["3.11", "3.12", "3.13"])
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copyfile(REPOSITORY / name, CLIENT / name)
    return 0


def _requirements() -> tuple[list[str], str]:
    """The lines of `requirements.txt`: the pure packages, and the native one."""
    lines = [line.strip() for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    native = next(line for line in wanted if line.startswith(f"{NATIVE}=="))
    return [line for line in wanted if line != native], native


def _bundle_libraries(requirements: list[str]) -> None:
    """The pure packages, installed anew only when the requirements are others, and jaxpert as it is now."""
    libraries = BUNDLED / "libs"
    stamp = libraries / ".requirements.json"
    if not stamp.exists() or json.loads(stamp.read_text(encoding="utf-8")) != requirements:
        _install(libraries, requirements, ("any",), "py3", "none")
        stamp.write_text(json.dumps(requirements), encoding="utf-8")
    package = libraries / "jaxpert"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(REPOSITORY / "server" / "jaxpert", package, ignore=shutil.ignore_patterns("__pycache__"))


def _bundle_native(requirement: str, platforms: tuple[str, ...], versions: list[str]) -> None:
    """The native package for each version of Python, in one folder: only the compiled files differ."""
    folder = BUNDLED / "native"
    shutil.rmtree(folder, ignore_errors=True)
    for version in versions if platforms else []:
        tag = f"cp{version.replace('.', '')}"
        part = BUNDLED / f"native-{tag}"
        _install(part, [requirement], platforms, tag, tag, version)
        shutil.copytree(part, folder, dirs_exist_ok=True)
        shutil.rmtree(part)


def _install(
    folder: Path, requirements: list[str], platforms: tuple[str, ...], tag: str, abi: str, version: str = "3.10"
) -> None:
    """Install exactly `requirements` into `folder`, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--target", str(folder), "--no-deps", "--only-binary=:all:", "--python-version", version]
    command += ["--implementation", tag[:2], "--abi", abi]
    command += [part for platform in platforms for part in ("--platform", platform)]
    subprocess.run([*command, *requirements], check=True)
    for pattern in SUPERFLUOUS:
        for found in [path for path in folder.rglob(pattern) if path.exists()]:
            shutil.rmtree(found) if found.is_dir() else found.unlink()


if __name__ == "__main__":
    sys.exit(main())
