"""What users install: the distributions, the command in a shell, the hook, the step of a workflow."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxpert import __version__

pytestmark = pytest.mark.packaging

REPO = Path(__file__).resolve().parent.parent
MISTAKE = "import jax\nblock = jax.checkpoint(len, policy=jax.checkpoint_policies.dots_saveable())\n"
UNREACHABLE = re.compile(r"No matching distribution|Could not find a version|Temporary failure|Connection|Network is")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    _with_an_index(sys.executable, "-m", "build", "--outdir", str(folder), str(REPO))
    return folder


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that has the wheel and what it needs."""
    environment = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    commands = environment / ("Scripts" if os.name == "nt" else "bin")
    [wheel] = distributions.glob("*.whl")
    _with_an_index(str(commands / "python"), "-m", "pip", "install", "--quiet", str(wheel))
    return commands


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, where the sources are out of Python's sight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def _with_an_index(*command: str) -> None:
    """Run a command that takes packages from an index; without an index the test is skipped."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode and UNREACHABLE.search(said) and "JAXPERT_REQUIRE_EDITORS" not in os.environ:
        pytest.skip(f"no package index: {said.strip().splitlines()[-1]}")
    assert done.returncode == 0, said


def _run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, encoding="utf-8")


def test_both_distributions_hold_everything(distributions: Path) -> None:
    assert (distributions / f"jaxpert-{__version__}.tar.gz").is_file()
    [wheel] = distributions.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    source = REPO / "server"
    owned = {path.relative_to(source).as_posix() for path in (source / "jaxpert").rglob("*") if path.is_file()}
    assert {name for name in owned if "__pycache__" not in name} <= names
    assert not any(name.startswith(("tests/", "tools/", "docs/")) for name in names)


def test_the_command_and_the_module_are_one(installed: Path, folder: Path) -> None:
    for command in ([installed / "jaxpert"], [installed / "python", "-m", "jaxpert"]):
        assert _run(*command, "--version").stdout == f"jaxpert {__version__}\n"
    (folder / "bad.py").write_text(MISTAKE)
    done = _run(installed / "jaxpert", "check", "bad.py")
    assert done.returncode == 1, done.stderr
    assert "JXP207 policy-called" in done.stdout
    assert _run(installed / "jaxpert", "check", "--fix", "bad.py").returncode == 0
    assert "()" not in (folder / "bad.py").read_text()


def test_the_snippets_are_installed(installed: Path, folder: Path) -> None:
    done = _run(installed / "jaxpert", "editor", "neovim", PATH=os.pathsep.join((str(installed), os.environ["PATH"])))
    assert 'cmd = { "jaxpert", "lsp" }' in done.stdout


def test_the_shell_completes_commands_and_editors(installed: Path, folder: Path) -> None:
    path = os.pathsep.join((str(installed), os.environ["PATH"]))
    for words, offered in (("jaxpert ed", "editor"), ("jaxpert editor neo", "neovim")):
        asked = {"_JAXPERT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        assert _run(installed / "jaxpert", PATH=path, **asked).stdout.split() == [f"plain,{offered}"]
    for shell in ("bash", "zsh", "fish"):
        if shell == "bash" and shutil.which("bash") is None:
            continue
        assert "jaxpert" in _run(installed / "jaxpert", PATH=path, _JAXPERT_COMPLETE=f"{shell}_source").stdout


def test_sarif_for_a_workflow_has_what_an_upload_needs(installed: Path, folder: Path) -> None:
    (folder / "bad.py").write_text(MISTAKE)
    done = _run(installed / "jaxpert", "check", "--exit-zero", "--output-format", "sarif")
    assert done.returncode == 0, done.stderr
    [run] = json.loads(done.stdout)["runs"]
    [result] = run["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bad.py"


def test_the_hook(installed: Path, folder: Path) -> None:
    hook = (REPO / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    [entry] = re.findall(r"^  entry: (.+)$", hook, re.MULTILINE)
    (folder / "bad.py").write_text(MISTAKE)
    name, *arguments = shlex.split(entry)
    done = _run(installed / name, *arguments, "bad.py")
    assert done.returncode == 1
    assert "policy-called" in done.stdout


@pytest.mark.skipif(shutil.which("pre-commit") is None, reason="pre-commit is not installed")
def test_the_hook_in_a_repository(folder: Path) -> None:
    theirs, ours = folder / "theirs", folder / "ours"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "server", "*.toml", "*.md", "LICENSE", ".pre-commit-hooks.yaml"]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (REPO / name).is_file():
            (ours / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPO / name, ours / name)
    theirs.mkdir()
    (theirs / "bad.py").write_text(MISTAKE)
    for repository in (theirs, ours):
        for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "All"]):
            author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
            subprocess.run(["git", *author, *arguments], cwd=repository, check=True, capture_output=True)
    done = subprocess.run(
        ["pre-commit", "try-repo", str(ours), "jaxpert", "--all-files"],
        cwd=theirs, capture_output=True, text=True, env={**os.environ, "PRE_COMMIT_HOME": str(folder / "cache")},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "policy-called" in done.stdout
