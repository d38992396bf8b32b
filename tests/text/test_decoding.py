"""Bytes to text and back."""

import os
import sys
from pathlib import Path

import pytest

from jaxpert.text.decoding import SourceText, UnreadableSource, decode_source, read_source, write_source

READABLE = {
    "plain": (b"x = 1\n", "x = 1\n", "utf-8", False),
    "empty": (b"", "", "utf-8", False),
    "byte order mark": (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8", True),
    "byte order mark and coding line": (b"\xef\xbb\xbf# coding: utf8\n", "# coding: utf8\n", "utf-8", True),
    "latin-1": (b"# -*- coding: latin-1 -*-\ns = '\xe9'\n", "# -*- coding: latin-1 -*-\ns = 'é'\n", "iso8859-1", False),
    "vim form on line 2": (b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'\x80'", None, "cp1252", False),
    "Emacs line-end mark": (b"# coding: utf-8-unix\n'\xc3\xa9'", None, "utf-8", False),
    "line 2 after a blank line": (b"\f\n# coding=euc-jp\n'\xa4\xa2'\n", "\f\n# coding=euc-jp\n'あ'\n", "euc_jp", False),
    "carriage returns only": (b"# coding: latin-1\rs = '\xe9'\r", "# coding: latin-1\rs = 'é'\r", "iso8859-1", False),
    "coding line after code does not count": ("x = 1\n# coding: latin-1\n'é'".encode(), None, "utf-8", False),
    "coding on line 3 does not count": ("#\n#\n# coding: latin-1\n'é'".encode(), None, "utf-8", False),
    "mixed line ends, form feed, astral": ("a\r\nb\rc\n\f'\U0001f600\u2028'".encode(), None, "utf-8", False),
}


@pytest.mark.parametrize("case", READABLE)
def test_readable(case: str) -> None:
    data, text, encoding, bom = READABLE[case]
    source = decode_source(data)
    assert (source.encoding, source.bom) == (encoding, bom)
    if text is not None:
        assert source.text == text
    assert source.encode(source.text) == data


UNREADABLE = {
    "binary": (b"\x7fELF\n\n\0\0", "null byte on line 3", 2),
    "utf-16": ("x = 1".encode("utf-16"), "UTF-16", 0),
    "not utf-8": (b"a\r\nb\r'\xe9'\n", "byte 0xe9 on line 3; save it as UTF-8 or give it a coding line", 2),
    "not ascii": (b"# coding: ascii\n\n'\xe9'", "not ascii: byte 0xe9 on line 3", 2),
    "unknown encoding": (b"\n# coding: utf-9000\n", "unknown encoding `utf-9000`", 1),
    "not a text encoding": (b"# coding: rot13\n", "unknown encoding `rot13`", 0),
    "not written in it": (b"# coding: utf-16\n", "not written in it", 0),
    "mark against coding line": (b"\xef\xbb\xbf# coding: latin-1\n", "says iso8859-1", 0),
    "codec without a position": (b"# coding: idna\nx" + b"\xff" * 70, "", None),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable(case: str) -> None:
    data, reason, line = UNREADABLE[case]
    with pytest.raises(UnreadableSource) as caught:
        decode_source(data, "some/file.py")
    assert reason in caught.value.reason
    assert caught.value.path == Path("some/file.py")
    if line is not None:
        assert caught.value.line == line


def test_files_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_bytes(b"#" * 11)
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    expected = {
        "large.py": "larger than",
        "loop.py": "leads to itself",
        "dangling.py": "broken symbolic link",
        "missing.py": "no such file",
        ".": "a folder",
        "nul\0.py": "not a possible path",
        "x" * 10_000: "file name too long",
    }
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
        (tmp_path / "device.py").symlink_to("/dev/zero")
        expected |= dict.fromkeys(("pipe.py", "device.py", "/dev/zero"), "not a regular file")
    for name, reason in expected.items():
        with pytest.raises(UnreadableSource, match=reason):
            read_source(tmp_path / name, limit=10)
    assert read_source(tmp_path / "large.py", limit=11).text == "#" * 11


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.py"
    path.write_text("x = 1")
    path.chmod(0)
    with pytest.raises(UnreadableSource, match="permission denied"):
        read_source(path)


def test_a_character_that_the_encoding_lacks() -> None:
    with pytest.raises(UnicodeEncodeError):
        SourceText("", "iso8859-1").encode("→")


def test_writing_keeps_links_and_permissions(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_bytes(b"old")
    real.chmod(0o750)
    link.symlink_to("real.py")
    write_source(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o750
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link.py", "real.py"]


def test_failed_write_leaves_the_old_content(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_source(tmp_path / "missing.py", b"new")
    assert list(tmp_path.iterdir()) == []
