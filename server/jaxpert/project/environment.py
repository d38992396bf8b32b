"""Which JAX will the user's code meet? Answered from files only: no interpreter is started.

The first source that names a JAX decides: the setting; the interpreter that the editor selected; a virtual
environment in the workspace; ``VIRTUAL_ENV`` or ``CONDA_PREFIX``; a pin in a lock file, a requirements file or
pyproject.toml; else the newest JAX that we know. Within the workspace the folder of the file decides before its
parents. A file that cannot be read or understood is skipped with a line in the log, never an error.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version

from jaxpert.jaxdb.load import newest_known, switch_exists
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.project.pins import pinned
from jaxpert.project.reading import children, key_values, mode_of, parse_version, read_text, real_path, skip

_USUAL_ENVIRONMENTS = (".venv", "venv", "env")
_SWITCHES = {"jax_remat3": "JAX_REMAT3", "jax_enable_x64": "JAX_ENABLE_X64"}
_TRUE = frozenset({"y", "yes", "t", "true", "on", "1"})  # the words that JAX itself accepts
_FALSE = frozenset({"n", "no", "f", "false", "off", "0"})


class _Installed(NamedTuple):
    """A JAX and the folder with its package."""

    version: Version
    folder: str


def detect(
    workspace_root: Path,
    file: Path | None,
    setting: str | None,
    interpreter: Path | None,
    environ: Mapping[str, str],
    *,
    remat3: bool | None = None,
    x64: bool | None = None,
) -> JaxTarget:
    """The JAX that ``file`` will meet. Never raises.

    Args:
        workspace_root: the folder where the search in the workspace ends.
        file: the file in question, or None for the workspace as a whole.
        setting: the version that the user configured, if any.
        interpreter: the Python that the editor selected, if any.
        environ: environment variables.
        remat3: the configured value of ``jax_remat3``, if any.
        x64: the configured value of ``jax_enable_x64``, if any.
    """
    version, origin, folder = _version(workspace_root, file, setting, interpreter, environ)
    dotenv = _dotenv(workspace_root)
    return JaxTarget(
        version,
        origin,
        _switch("jax_remat3", remat3, version, environ, dotenv),
        _switch("jax_enable_x64", x64, version, environ, dotenv),
        folder,
    )


def _version(
    root: Path, file: Path | None, setting: str | None, interpreter: Path | None, environ: Mapping[str, str]
) -> tuple[Version, str, str]:
    """The version, in words where it was found, and the folder it is installed in or ""."""
    folders = _folders(root, file)
    installed = _installations(folders, root, interpreter, environ)
    if setting and (version := parse_version(setting, "the setting")):
        return version, "setting", next((it.folder for it, _ in installed if it.version == version), "")
    for found, origin in installed:
        return found.version, origin, found.folder
    for folder in folders:
        if pin := pinned(folder):
            return pin[0], _relative(pin[1], root), ""
    return newest_known(), "newest known", ""


def _installations(
    folders: list[Path], root: Path, interpreter: Path | None, environ: Mapping[str, str]
) -> Iterator[tuple[_Installed, str]]:
    """Every JAX that is installed where we look, and where that is in words, the one that decides first."""
    if interpreter is not None and (found := _of_interpreter(interpreter)):
        yield found, "the selected interpreter"
    for folder in folders:
        for prefix in _environments(folder):
            if found := _of_prefix(prefix):
                yield found, _relative(prefix, root)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if (value := environ.get(variable)) and (found := _of_prefix(Path(value))):
            yield found, variable


def _folders(root: Path, file: Path | None) -> list[Path]:
    """The folder of ``file`` and its parents up to ``root``; only ``root`` when the file lies elsewhere."""
    folders = []
    if file is not None:
        for parent in file.parents:
            if parent == root:
                break
            folders.append(parent)
        else:
            folders = []
    return [*folders, root]


def _relative(path: Path, root: Path) -> str:
    """``path`` as the user knows it."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return str(path)


# -- installed packages -----------------------------------------------------------------------------------------------


def _environments(folder: Path) -> Iterator[Path]:
    """Virtual environments that lie directly in ``folder``, the usual names first."""
    names = children(folder)
    yield from (folder / name for name in _USUAL_ENVIRONMENTS if name in names)
    for name in names:
        if name not in _USUAL_ENVIRONMENTS and stat.S_ISREG(mode_of(folder / name / "pyvenv.cfg")):
            yield folder / name


def _of_interpreter(interpreter: Path) -> _Installed | None:
    """The JAX of the environment that an interpreter belongs to; a folder is taken as the environment itself."""
    if stat.S_ISDIR(mode_of(interpreter)):
        return _of_prefix(interpreter)
    named = re.search(r"\d+\.\d+", interpreter.name)
    only = named[0] if named else ""
    # The interpreter of a virtual environment is a link out of it, so the path as given goes first.
    for path in dict.fromkeys((interpreter, real_path(interpreter))):
        folder = path.parent
        prefix = folder.parent if folder.name.lower() in ("bin", "scripts") else folder
        if found := _of_prefix(prefix, only):
            return found
    skip(interpreter, "no JAX in its environment")
    return None


def _of_prefix(prefix: Path, only: str = "", follow: bool = True) -> _Installed | None:
    """The JAX installed under ``prefix``; ``only``: for this Python, as "3.11"."""
    for folder in _site_packages(prefix, only):
        if found := _of_site_packages(folder):
            return found
    settings = key_values(read_text(prefix / "pyvenv.cfg") or "")
    home = settings.get("home")
    if follow and home and settings.get("include-system-site-packages", "").lower() == "true":
        base = Path(home)
        return _of_prefix(base.parent if base.name == "bin" else base, only, follow=False)
    return None


def _site_packages(prefix: Path, only: str) -> Iterator[Path]:
    yield prefix / "Lib" / "site-packages"
    for library in ("lib", "lib64"):
        pythons = [name for name in children(prefix / library) if name.startswith("python3")]
        pythons.sort(key=lambda name: [int(number) for number in re.findall(r"\d{1,4}", name)], reverse=True)
        for name in pythons:
            if not only or name in ("python3", f"python{only}"):
                yield prefix / library / name / "site-packages"
                yield prefix / library / name / "dist-packages"


def _of_site_packages(folder: Path) -> _Installed | None:
    """The newest JAX whose metadata lies in ``folder``."""
    found = []
    for name in children(folder):
        if name.lower().startswith("jax-") and name.endswith(".dist-info"):
            path = folder / name / "METADATA"
            text = read_text(path)
            if text is None:
                continue
            headers = key_values(re.split(r"\r?\n\r?\n", text, maxsplit=1)[0], ":")
            if headers.get("name", "").lower() != "jax":
                skip(path, "it does not describe JAX")
            elif version := parse_version(headers.get("version", ""), path):
                found.append(_Installed(version, str(folder)))
    return max(found, default=None)


# -- switches ---------------------------------------------------------------------------------------------------------


def _switch(
    name: str, configured: bool | None, version: Version, environ: Mapping[str, str], dotenv: Mapping[str, str]
) -> bool:
    """A switch of JAX: configured, else from the environment, else from ``.env``, else off.

    Off is JAX's own default in every version that we know; it is also what a JAX without the switch does.
    """
    if not switch_exists(name, version):
        return False
    if configured is not None:
        return configured
    variable = _SWITCHES[name]
    for origin, values in (("the environment", environ), (".env", dotenv)):
        word = values.get(variable, "").strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        if word:
            skip(f"{variable} in {origin}", f"{word!r} is neither true nor false")
    return False


def _dotenv(root: Path) -> dict[str, str]:
    lines = (re.sub(r"^\s*export\s+", "", line) for line in (read_text(root / ".env") or "").splitlines())
    unquoted = {}
    for name, value in key_values("\n".join(lines), lower=False).items():
        quoted = re.match(r"""(["'])(.*?)\1""", value)
        unquoted[name] = quoted[2] if quoted else re.split(r"\s#", value, maxsplit=1)[0].strip()
    return unquoted
