"""``jaxpert check --fix`` and ``--diff``: what happens to files and notebooks."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jaxpert.cli.writing import written
from jaxpert.text.decoding import SourceText
from tests.cli.conftest import Run, write
from tests.cli.samples import FALLS_THROUGH, MISSPELT, notebook_of

# -- fixing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("prefix", "head"),
    [(b"", ""), (b"\xef\xbb\xbf", "# \u65e5\u672c\n"), (b"", "# coding: latin-1\n# caf\xe9\n")],
    ids=["plain", "byte order mark", "coding line"],
)
def test_fix_changes_only_what_is_wrong(run: Run, prefix: bytes, head: str, line_end: str) -> None:
    def content(text: str) -> bytes:
        return prefix + (head + text).replace("\n", line_end).encode("latin-1" if "latin" in head else "utf-8")

    path = write("a.py", content(FALLS_THROUGH))
    result = run("--fix")
    assert (result.exit_code, result.stdout) == (0, "Fixed 1. No problems found in 1 file (JAX 0.10.2, as set).\n")
    assert path.read_bytes() == content(FALLS_THROUGH.replace("return True\n", "return True\n    return False\n"))
    assert run().exit_code == 0


def test_fix_keeps_permissions_and_links(run: Run) -> None:
    target = write("real/a.py", FALLS_THROUGH)
    target.chmod(0o754)
    link = Path("link.py")
    link.symlink_to(target)
    assert run("--fix", "link.py").exit_code == 0
    assert link.is_symlink()
    assert "return False" in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o754
    assert list(Path("real").iterdir()) == [target]


def test_unsafe_fixes_are_applied_only_when_asked_for(run: Run) -> None:
    path = write("a.py", MISSPELT)
    assert "1 can be fixed after a look: jaxpert check --fix --unsafe-fixes" in run("--fix").stdout
    assert path.read_text() == MISSPELT
    assert run("--fix", "--unsafe-fixes").exit_code == 0
    assert path.read_text() == MISSPELT.replace("atn_out", "attn_out")


def test_fix_reports_what_is_left(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    write("b.py", MISSPELT)
    result = run("--fix", "--output-format", "json")
    assert result.exit_code == 1
    assert [finding["code"] for finding in json.loads(result.stdout)] == ["JXP301"]


def test_a_file_that_cannot_be_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("jaxpert.cli.writing.write_source", refuse)
    path = write("a.py", FALLS_THROUGH)
    result = run("--fix")
    assert result.exit_code == 2
    assert result.stderr == "jaxpert: a.py: not written: Permission denied\n"
    assert "JXP202" in result.stdout
    assert path.read_text() == FALLS_THROUGH


def test_a_fix_that_the_encoding_lacks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: SourceText, text: str) -> bytes:
        raise UnicodeEncodeError("latin-1", "日", 0, 1, "ordinal not in range(256)")

    monkeypatch.setattr(SourceText, "encode", refuse)
    path = write("a.py", FALLS_THROUGH)
    result = run("--fix")
    assert result.exit_code == 2
    assert result.stderr == "jaxpert: a.py: not fixed: latin-1 has no '日'\n"
    assert "JXP202" in result.stdout
    assert path.read_text() == FALLS_THROUGH


def test_diff_writes_nothing(run: Run) -> None:
    path = write("a.py", FALLS_THROUGH)
    write("b.py", "import jax\n")
    result = run("--diff")
    assert result.exit_code == 1
    assert result.stdout == (
        "--- a.py\n+++ a.py\n@@ -4,6 +4,7 @@\n def keep_dots(prim, *avals, **params):\n"
        '     if prim.name == "dot_general":\n         return True\n+    return False\n \n \n block = '
        "jax.checkpoint(lambda x: x, policy=keep_dots)\n"
    )
    assert result.stderr == "jaxpert: --fix would apply 1 fix in 1 file; nothing is written\n"
    assert path.read_text() == FALLS_THROUGH
    assert run("--diff", "--exit-zero").exit_code == 0


def test_diff_of_nothing(run: Run) -> None:
    write("a.py", MISSPELT)
    result = run("--diff")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_diff_marks_a_missing_line_end(run: Run) -> None:
    write("a.py", FALLS_THROUGH.removesuffix("\n"))
    assert "policy=keep_dots)\n\\ No newline at end of file\n" in run("--diff").stdout


def test_an_edit_made_meanwhile_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.py", FALLS_THROUGH)
    write("b.py", FALLS_THROUGH)
    edited = "# mine\n" + FALLS_THROUGH

    def written_after_an_edit(*arguments: Any) -> Any:
        path.write_text(edited)
        return written(*arguments)

    monkeypatch.setattr("jaxpert.cli.check.written", written_after_an_edit)
    result = run("--fix")
    assert result.exit_code == 2
    assert result.stderr == "jaxpert: a.py: changed while it was being checked; not fixed\n"
    assert result.stdout.startswith("a.py:6:5  error")
    assert "Fixed 1. 1 error left in 1 of 2 files" in result.stdout
    assert path.read_text() == edited
    assert "return False" in Path("b.py").read_text()


def test_a_file_removed_meanwhile_does_not_come_back(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.py", FALLS_THROUGH)

    def written_after_removal(*arguments: Any) -> Any:
        path.unlink()
        return written(*arguments)

    monkeypatch.setattr("jaxpert.cli.check.written", written_after_removal)
    assert run("--fix").exit_code == 2
    assert not path.exists()


def test_nothing_is_fixed_under_a_broken_configuration(run: Run) -> None:
    path = write("sub/a.py", FALLS_THROUGH)
    write("sub/jaxpert.toml", "ignore = 3\n")
    result = run("--fix")
    assert result.exit_code == 2
    assert "JXP202" in result.stdout
    assert path.read_text() == FALLS_THROUGH


def test_a_link_that_leads_out_of_the_folder_is_not_followed(run: Run) -> None:
    target = write("outside/a.py", FALLS_THROUGH)
    inner = write("folder/real.py", FALLS_THROUGH)
    for name, to in (("out.py", target), ("in.py", inner)):
        (Path("folder") / name).symlink_to(to.resolve())
    result = run("--fix", "folder")
    assert result.exit_code == 2
    assert result.stderr.startswith("jaxpert: folder/out.py: not fixed: a link that leads out of what was named")
    assert target.read_text() == FALLS_THROUGH
    assert "return False" in inner.read_text()
    assert run("--fix", "folder", "outside").exit_code == 0
    assert "return False" in target.read_text()


# -- notebooks --------------------------------------------------------------------------------------------------------


def test_notebook(run: Run) -> None:
    head, block = FALLS_THROUGH.split("block = ")
    write("a.ipynb", notebook_of("%matplotlib inline\n", head, "block = " + block))
    result = run("--output-format", "json")
    (finding,) = json.loads(result.stdout)
    assert finding["cell"] == 2
    assert finding["location"] == {"row": 5, "column": 5}
    text = run().stdout
    assert text.startswith("a.ipynb:cell 2:5:5  error")
    assert "  a.ipynb:cell 3:1:" in text
    fixed = run("--fix")
    assert fixed.exit_code == 0
    assert Path("a.ipynb").read_text() == notebook_of(
        "%matplotlib inline\n", head.replace("return True\n", "return True\n    return False\n"), "block = " + block
    )


def test_notebook_diff(run: Run) -> None:
    write("a.ipynb", notebook_of(FALLS_THROUGH))
    result = run("--diff")
    assert result.exit_code == 1
    assert '+    "    return False\\n",' in result.stdout.replace("     ", "    ")


def test_a_broken_notebook_is_named(run: Run) -> None:
    write("a.ipynb", '{"cells": [jax')
    result = run()
    assert result.exit_code == 2
    assert result.stderr.startswith("jaxpert: a.ipynb: not JSON")


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
@pytest.mark.parametrize("name", ["plain.py", "a b/ü x.py", "tab\tline\n\"quoted\".py"])
def test_patch_finds_the_files_of_a_diff(run: Run, name: str) -> None:
    file = write(name, FALLS_THROUGH)
    diff = run("--diff", ".").stdout
    subprocess.run(["patch", "-p0", "--binary"], input=diff.encode(), check=True, stdout=subprocess.DEVNULL)
    assert "return False" in file.read_text()
