"""Which JAX is found, from which source, and that nothing in a workspace can make the search fail."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest
from packaging.version import Version

from jaxpert.jaxdb.load import known_versions, newest_known
from jaxpert.project.environment import detect
from jaxpert.text.decoding import UnreadableSource, read_regular_file

NEWEST = str(newest_known())


def find(
    root: Path,
    file: str = "",
    setting: str | None = None,
    interpreter: Path | None = None,
    environ: dict[str, str] | None = None,
) -> tuple[str, str]:
    target = detect(root, root / file if file else None, setting, interpreter, environ or {})
    return str(target.version), target.origin


def install(prefix: Path, version: str, layout: str = "lib/python3.11/site-packages") -> Path:
    """An environment at ``prefix`` that has JAX ``version``; returns its interpreter."""
    packages = prefix / layout
    write(packages / f"jax-{version}.dist-info" / "METADATA", f"Metadata-Version: 2.4\nName: jax\nVersion: {version}\n")
    write(packages / f"jaxlib-{version}.dist-info" / "METADATA", "Name: jaxlib\nVersion: 0.0.1\n")
    write(prefix / "pyvenv.cfg", "")
    write(prefix / "bin" / "python", "")
    return prefix / "bin" / "python"


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- the order of the sources ------------------------------------------------------------------------------------------


def test_sources_in_order(tmp_path: Path) -> None:
    """Take away the deciding source again and again: the next one takes its place."""
    root = tmp_path / "project"
    selected = install(tmp_path / "selected", "0.4.31")
    install(root / ".venv", "0.4.33")
    install(root / "my-environment", "0.4.34")
    install(tmp_path / "active", "0.4.35")
    install(tmp_path / "conda", "0.4.36")
    lock = write(root / "uv.lock", '[[package]]\nname = "jax"\nversion = "0.4.37"\n')
    requirements = write(root / "requirements.txt", "jax==0.4.38\n")
    project = write(root / "pyproject.toml", '[project]\ndependencies = ["jax==0.5.0"]\n')
    environ = {"VIRTUAL_ENV": str(tmp_path / "active"), "CONDA_PREFIX": str(tmp_path / "conda")}

    assert find(root, setting="0.4.30", interpreter=selected, environ=environ) == ("0.4.30", "setting")
    assert find(root, interpreter=selected, environ=environ) == ("0.4.31", "the selected interpreter")
    assert find(root, environ=environ) == ("0.4.33", ".venv")
    (root / ".venv").rename(tmp_path / "away")
    assert find(root, environ=environ) == ("0.4.34", "my-environment")
    (root / "my-environment" / "pyvenv.cfg").unlink()
    assert find(root, environ=environ) == ("0.4.35", "VIRTUAL_ENV")
    del environ["VIRTUAL_ENV"]
    assert find(root, environ=environ) == ("0.4.36", "CONDA_PREFIX")
    assert find(root) == ("0.4.37", "uv.lock")
    lock.unlink()
    assert find(root) == ("0.4.38", "requirements.txt")
    requirements.unlink()
    assert find(root) == ("0.5.0", "pyproject.toml")
    project.unlink()
    assert find(root) == (NEWEST, "newest known")


def test_a_source_without_jax_leaves_the_word_to_the_next(tmp_path: Path) -> None:
    write(tmp_path / ".venv" / "pyvenv.cfg", "")
    write(tmp_path / "uv.lock", '[[package]]\nname = "jaxlib"\nversion = "0.4.37"\n')
    write(tmp_path / "requirements.txt", "numpy\njax\n")  # names JAX, but no version
    write(tmp_path / "pyproject.toml", '[project]\ndependencies = ["jax==0.5.0"]\n')
    assert find(tmp_path, interpreter=tmp_path / "gone/bin/python", environ={"VIRTUAL_ENV": "/gone"}) == (
        "0.5.0",
        "pyproject.toml",
    )


def test_the_nearest_folder_decides(tmp_path: Path) -> None:
    install(tmp_path / ".venv", "0.4.30")
    install(tmp_path / "packages" / "a" / "venv", "0.5.0")
    write(tmp_path / "packages" / "b" / "requirements.txt", "jax==0.6.0")
    assert find(tmp_path, "packages/a/src/model.py") == ("0.5.0", "packages/a/venv")
    assert find(tmp_path, "packages/b/model.py") == ("0.4.30", ".venv")  # what is installed says more than a pin
    assert find(tmp_path, "packages/c/model.py") == ("0.4.30", ".venv")
    target = detect(tmp_path / "packages" / "b", tmp_path / "elsewhere" / "model.py", None, None, {})
    assert (str(target.version), target.origin) == ("0.6.0", "requirements.txt")


# -- what is installed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout",
    ["lib/python3.13/site-packages", "lib64/python3.9/site-packages", "lib/python3/dist-packages", "Lib/site-packages"],
)
def test_layouts(tmp_path: Path, layout: str) -> None:
    install(tmp_path / "env", "0.7.2", layout)
    assert find(tmp_path) == ("0.7.2", "env")


def test_the_interpreter_as_a_link_out_of_its_environment(tmp_path: Path) -> None:
    base = install(tmp_path / "base", "0.4.30")
    environment = install(tmp_path / "environment", "0.7.2")
    environment.unlink()
    environment.symlink_to(base)
    link = tmp_path / "shortcuts" / "python"
    link.parent.mkdir()
    link.symlink_to(base)
    assert find(tmp_path, interpreter=environment) == ("0.7.2", "the selected interpreter")
    assert find(tmp_path, interpreter=link) == ("0.4.30", "the selected interpreter")
    assert find(tmp_path, interpreter=tmp_path / "environment") == ("0.7.2", "the selected interpreter")


def test_an_interpreter_that_names_its_version_reads_only_that_one(tmp_path: Path) -> None:
    prefix = tmp_path / "usr"
    install(prefix, "0.4.30", "lib/python3.9/site-packages")
    install(prefix, "0.7.2", "lib/python3.11/site-packages")
    assert find(tmp_path, interpreter=prefix / "bin" / "python3.9")[0] == "0.4.30"
    assert find(tmp_path, interpreter=prefix / "bin" / "python3")[0] == "0.7.2"


def test_system_site_packages(tmp_path: Path) -> None:
    base = install(tmp_path / "usr", "0.5.3")
    for name, value in (("root1", "true"), ("root2", "false")):
        settings = f"home = {base.parent}\ninclude-system-site-packages = {value}\n"
        write(tmp_path / name / ".venv" / "pyvenv.cfg", settings)
    assert find(tmp_path / "root1") == ("0.5.3", ".venv")
    assert find(tmp_path / "root2") == (NEWEST, "newest known")


def test_leftovers_of_an_upgrade(tmp_path: Path) -> None:
    install(tmp_path / ".venv", "0.4.30")
    install(tmp_path / ".venv", "0.10.0")
    install(tmp_path / ".venv", "0.9.2")
    packages = tmp_path / ".venv" / "lib/python3.11/site-packages"
    write(packages / "~ax-0.12.0.dist-info" / "METADATA", "Name: jax\nVersion: 0.12.0\n")
    write(packages / "jax-triton-0.3.dist-info" / "METADATA", "Name: jax-triton\nVersion: 99\n")
    assert find(tmp_path) == ("0.10.0", ".venv")


def test_a_development_version_is_kept(tmp_path: Path) -> None:
    install(tmp_path / ".venv", "0.7.3.dev20250901+abc")
    assert find(tmp_path) == ("0.7.3.dev20250901+abc", ".venv")


# -- pins --------------------------------------------------------------------------------------------------------------

PACKAGE = '[[package]]\nname = "absl-py"\nversion = "2.0"\n\n[[package]]\nname = "jax"\nversion = "0.6.1"\n'


@pytest.mark.parametrize(
    "name, text",
    [
        ("uv.lock", "version = 1\n" + PACKAGE + 'source = { registry = "x" }\ndependencies = [{ name = "numpy" }]\n'),
        ("poetry.lock", PACKAGE + 'optional = false\n\n[package.dependencies]\njaxlib = "0.6.2"\n'),
        ("pdm.lock", PACKAGE.replace("\n", "\r\n")),
        ("pylock.toml", PACKAGE.replace("[[package]]", "[[packages]]")),
        ("Pipfile.lock", '{"_meta": {}, "default": {"jax": {"version": "==0.6.1", "extras": ["cuda12"]}}}'),
        ("Pipfile.lock", '{"default": {}, "develop": {"jax": {"version": "==0.6.1"}}}'),
    ],
)
def test_lock_files(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path / name, text)
    assert find(tmp_path) == ("0.6.1", name)


def test_a_lock_with_several_jax_gives_the_newest(tmp_path: Path) -> None:
    write(tmp_path / "uv.lock", PACKAGE + PACKAGE.replace("0.6.1", "0.10.0") + PACKAGE.replace("0.6.1", "0.9.2"))
    assert find(tmp_path) == ("0.10.0", "uv.lock")


def test_dependencies_in_a_lock_are_not_packages(tmp_path: Path) -> None:
    write(tmp_path / "uv.lock", '[[package]]\nname = "app"\n[package.metadata]\nname = "jax"\nversion = "0.6.1"\n')
    assert find(tmp_path) == (NEWEST, "newest known")


@pytest.mark.parametrize(
    "line, expected",
    [
        ("jax==0.6.1", "0.6.1"),
        ("JAX[cuda12] == 0.6.1", "0.6.1"),
        ("jax==0.6.1 ; python_version >= '3.10'", "0.6.1"),
        ("jax==0.6.1 --hash=sha256:00 --hash=sha256:11", "0.6.1"),
        ("jax==0.6.1 \\\n    --hash=sha256:00", "0.6.1"),
        ("jax==0.6.1  # the last one that works", "0.6.1"),
        ("jax (==0.6.1)", "0.6.1"),
        ("jax===0.6.1", "0.6.1"),
        ("jax==0.6.1.dev1", "0.6.1.dev1"),
        ("jax==0.6.*", "0.6.2"),
        ("jax~=0.6.0", "0.6.2"),
        ("jax~=0.6", NEWEST),
        ("jax<0.6", "0.5.3"),
        ("jax<=0.6,!=0.6.0", "0.5.3"),
        ("jax>=0.4.30", NEWEST),
        ("jax>0.4,<0.4.38", "0.4.37"),
        ("jax<0.7\njax<0.6 ; python_version < '3.11'", "0.6.2"),
        ("jax>=99", "99"),  # nothing known fits: the nearest that is named
        ("jax>=0.4.1,<0.4.20", "0.4.1"),
        ("jax<0.4.20", "0.4.20"),
        ("jaxlib==0.6.1", None),
        ("jax-triton==0.6.1", None),
        ("jax.extra==0.6.1", None),
        ("# jax==0.6.1", None),
        ("-e git+https://example.org/jax==0.6.1", None),
        ("jax @ https://example.org/jax-0.6.1.whl", None),
        ("jax=0.6.1", None),
        ("jax==9" + "9" * 5000, None),
        ("jax>=nonsense", None),
    ],
)
def test_requirement_lines(tmp_path: Path, line: str, expected: str | None) -> None:
    write(tmp_path / "requirements.txt", f"numpy>=1\n{line}\n")
    assert find(tmp_path) == ((expected, "requirements.txt") if expected else (NEWEST, "newest known"))


def test_several_requirements_files(tmp_path: Path) -> None:
    write(tmp_path / "requirements-dev.txt", "jax==0.4.30")
    write(tmp_path / "requirements_gpu.txt", "jax==0.4.31")
    assert find(tmp_path) == ("0.4.30", "requirements-dev.txt")
    write(tmp_path / "requirements.txt", "jax==0.4.33")
    assert find(tmp_path) == ("0.4.33", "requirements.txt")


@pytest.mark.parametrize(
    "text, expected",
    [
        ('[project]\ndependencies = ["numpy", "jax[cuda12]~=0.6.0"]', "0.6.2"),
        ('[project]\ndependencies = ["jax"]\n[project.optional-dependencies]\ngpu = ["jax==0.6.1"]', "0.6.1"),
        ('[project]\ndependencies = ["jax<0.6"]\n[dependency-groups]\ndev = ["jax==0.7.0"]', "0.5.3"),
        ('[dependency-groups]\ndev = [{ include-group = "x" }, "jax==0.7.0"]', "0.7.0"),
        ('[tool.uv]\nconstraint-dependencies = ["jax<0.6"]', "0.5.3"),
        ('[tool.pdm.dev-dependencies]\ntest = ["jax<0.6"]', "0.5.3"),
        ('[tool.poetry.dependencies]\njax = "^0.4.30"', "0.4.38"),
        ('[tool.poetry.dependencies]\njax = "~0.4.30"', "0.4.38"),
        ('[tool.poetry.dependencies]\njax = "~0"', NEWEST),
        ('[tool.poetry.dependencies]\njax = "0.6.1"', "0.6.1"),
        ('[tool.poetry.dependencies]\njax = "0.6.*"', "0.6.2"),
        ('[tool.poetry.dependencies]\njax = ">=0.4.30,<0.6"', "0.5.3"),
        ('[tool.poetry.dependencies]\njax = ">= 0.4.30 < 0.6"', "0.5.3"),
        ('[tool.poetry.dependencies]\njax = "^0.4.30 || ^0.6.0"', "0.6.2"),
        ('[tool.poetry.dependencies]\njax = { version = "^0.6.0", extras = ["cuda12"] }', "0.6.2"),
        ('[tool.poetry.dependencies]\njax = [{ version = "<0.6", python = "<3.10" }, { version = "<0.5" }]', "0.5.3"),
        ('[tool.poetry.group.gpu.dependencies]\njax = "0.6.1"', "0.6.1"),
        ('[tool.poetry.dependencies]\njax = "*"', None),
        ('[tool.poetry.dependencies]\njax = { git = "https://example.org/jax" }', None),
        ('[project]\nname = "jax"\ndependencies = "jax==0.6.1"', None),
        ('[project]\ndependencies = [1, ["jax==0.6.1"]]', None),
        ('project = "jax"\ntool = ["jax"]\ndependency-groups = 3', None),
        ('[project]\ndependencies = ["jax==0.6.1"', None),
        ("jax = " + "[" * 100_000, None),
    ],
)
def test_pyproject(tmp_path: Path, text: str, expected: str | None) -> None:
    write(tmp_path / "pyproject.toml", text)
    assert find(tmp_path) == ((expected, "pyproject.toml") if expected else (NEWEST, "newest known"))


# -- broken and hostile workspaces -------------------------------------------------------------------------------------


BROKEN = [b"\x00\xff\xfe\x80", b"", b"\n" * 100, b"Name: jax\nVersion: \xe9", b"Version: 1", b"{[("]


@pytest.mark.parametrize("content", BROKEN)
def test_broken_files_are_skipped(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / ".venv/lib/python3.11/site-packages/jax-1.dist-info/METADATA", content)
    for name in (
        ".venv/pyvenv.cfg", "uv.lock", "poetry.lock", "Pipfile.lock", "requirements.txt", "pyproject.toml", ".env"
    ):  # fmt: skip
        write(tmp_path / name, content)
    assert find(tmp_path, setting="not a version") == (NEWEST, "newest known")


def test_deep_and_odd_json_is_skipped(tmp_path: Path) -> None:
    for text in ("[" * 100_000, '{"default": []}', '{"default": {"jax": "1"}}', '{"default": {"jax": {"version": 3}}}'):
        write(tmp_path / "Pipfile.lock", text)
        assert find(tmp_path) == (NEWEST, "newest known")


def test_a_huge_file_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "jaxpert")
    with write(tmp_path / "requirements.txt", "jax==0.6.1\n").open("ab") as file:
        file.truncate(64 * 1024 * 1024)  # sparse
    assert find(tmp_path) == (NEWEST, "newest known")
    assert "requirements.txt: larger than" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
def test_loops_pipes_and_folders_in_place_of_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "jaxpert")
    (tmp_path / ".venv").symlink_to(".venv")
    (tmp_path / "env").symlink_to("venv")
    (tmp_path / "venv").symlink_to("env")
    (tmp_path / "uv.lock").symlink_to("uv.lock")
    (tmp_path / "pyproject.toml").mkdir()
    os.mkfifo(tmp_path / "requirements.txt")  # reading it would wait for ever
    (tmp_path / ".env").symlink_to("/dev/zero")
    (tmp_path / "up").symlink_to(tmp_path)
    loop = tmp_path / ".venv" / "bin" / "python"
    assert find(tmp_path, interpreter=loop, environ={"VIRTUAL_ENV": str(tmp_path / "env")}) == (NEWEST, "newest known")
    for name in ("uv.lock", "requirements.txt", "pyproject.toml", ".env"):
        assert f"skipped {tmp_path / name}: " in caplog.text


def test_files_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "uv.lock", PACKAGE)
    write(tmp_path / "requirements.txt", "jax==0.4.30")

    def refuse(path: Path, limit: int) -> bytes:
        if path.name == "uv.lock":
            raise UnreadableSource(path, "permission denied")
        return read_regular_file(path, limit)

    monkeypatch.setattr("jaxpert.project.reading.read_regular_file", refuse)
    assert find(tmp_path) == ("0.4.30", "requirements.txt")


def test_paths_that_cannot_exist(tmp_path: Path) -> None:
    for odd in (Path("\0"), Path("x" * 10_000), tmp_path / "gone" / "\0"):
        assert find(odd, interpreter=odd, environ={"VIRTUAL_ENV": str(odd)}) == (NEWEST, "newest known")
    assert find(tmp_path / "gone", "also/gone.py") == (NEWEST, "newest known")


def test_reasons_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "jaxpert")
    write(tmp_path / "pyproject.toml", "jax = [")
    find(tmp_path, setting="latest")
    assert "the setting: 'latest' is not a version" in caplog.text
    assert f"skipped {tmp_path / 'pyproject.toml'}: " in caplog.text


# -- switches ----------------------------------------------------------------------------------------------------------


def switches(
    root: Path, version: str = NEWEST, environ: dict[str, str] | None = None, **configured: bool
) -> tuple[bool, bool]:
    target = detect(root, None, version, None, environ or {}, **configured)
    return target.remat3, target.x64


@pytest.mark.parametrize("version", [str(version) for version in known_versions() if version >= Version("0.10")])
def test_switches_are_off_by_default(tmp_path: Path, version: str) -> None:
    assert switches(tmp_path, version) == (False, False)


@pytest.mark.parametrize("word, value", [("1", True), ("True", True), ("on", True), ("0", False), ("off", False)])
def test_switches_from_the_environment(tmp_path: Path, word: str, value: bool) -> None:
    assert switches(tmp_path, environ={"JAX_REMAT3": word}) == (value, False)
    assert switches(tmp_path, environ={"JAX_ENABLE_X64": word}) == (False, value)


@pytest.mark.parametrize(
    "text",
    [
        "JAX_ENABLE_X64=1\n",
        "# local settings\nexport JAX_ENABLE_X64 = 'true'  # wide\n",
        'OTHER="x=y"\r\nJAX_ENABLE_X64="True"\r\n',
        "JAX_ENABLE_X64=on # wide\n",
    ],
)
def test_switches_from_dotenv(tmp_path: Path, text: str) -> None:
    write(tmp_path / ".env", text)
    assert switches(tmp_path) == (False, True)
    assert switches(tmp_path, environ={"JAX_ENABLE_X64": "0"}) == (False, False)  # the environment comes first
    assert switches(tmp_path, environ={"JAX_ENABLE_X64": "maybe"}) == (False, True)  # but not with nonsense
    assert switches(tmp_path, x64=False) == (False, False)


def test_configured_switches_come_first(tmp_path: Path) -> None:
    assert switches(tmp_path, remat3=True, environ={"JAX_REMAT3": "0"}) == (True, False)
    assert switches(tmp_path, remat3=False, x64=True, environ={"JAX_REMAT3": "1"}) == (False, True)


def test_a_jax_without_the_switch_ignores_it(tmp_path: Path) -> None:
    assert switches(tmp_path, "0.10.1", remat3=True) == (False, False)
    assert switches(tmp_path, "0.10.2", remat3=True) == (True, False)
