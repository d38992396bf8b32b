"""Positions survive the way to the client and back, in every unit and over every line end."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from jaxpert.lsp.convert import (
    negotiate,
    path_from_uri,
    position_from,
    range_from,
    stand_in_path,
    to_diagnostic,
    to_position,
    to_range,
    uri_from_path,
)
from jaxpert.rulekit.rule import Finding, Severity, Tag
from jaxpert.text.lines import Position, Range, end_of, range_at, split_lines, without_line_end

ENCODINGS = ("utf-8", "utf-16", "utf-32")
TEXT = st.text(st.sampled_from("ab \t\ufeffé漢😀\u2028\x0c\r\n\ud800"), max_size=40)


def units(text: str, encoding: str) -> int:
    """How many units ``text`` has, counted by the codecs themselves."""
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    return len(text.encode(codec, "surrogatepass")) // {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]


@given(TEXT, st.data(), st.sampled_from(ENCODINGS))
def test_a_position_counts_the_units_before_it_and_comes_back(text, data, encoding):
    if encoding == "utf-8":
        text = text.replace("\ud800", "")  # no UTF-8 for half a character
    lines = split_lines(text)
    line = data.draw(st.integers(0, len(lines) - 1))
    column = data.draw(st.integers(0, len(without_line_end(lines[line]))))
    sent = to_position(lines, Position(line, column), encoding)
    assert sent == types.Position(line, units(lines[line][:column], encoding))
    assert position_from(lines, sent, encoding) == Position(line, column)


@given(TEXT, *[st.integers(0, 60) | st.just(2**31 - 1)] * 4)
def test_every_range_of_a_client_lands_inside_the_text(text, line, character, end_line, end_character):
    lines = split_lines(text)
    area = types.Range(types.Position(line, character), types.Position(end_line, end_character))
    for encoding in ENCODINGS:
        start, end = range_from(lines, area, encoding)
        assert Position(0, 0) <= start <= end <= end_of(lines)
        for place in (start, end):
            assert place.column <= len(without_line_end(lines[place.line]))


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_the_place_behind_an_astral_character(encoding, column):
    assert to_position(["😀x\n", ""], Position(0, 1), encoding).character == column
    assert position_from(["😀x\n", ""], types.Position(0, column), encoding) == Position(0, 1)


def test_a_column_inside_a_character_is_its_start():
    assert position_from(["a😀"], types.Position(0, 2), "utf-16") == Position(0, 1)
    assert position_from(["a😀"], types.Position(0, 3), "utf-8") == Position(0, 1)


def test_the_place_behind_a_line_end_is_the_next_line():
    lines = split_lines("ab\r\ncd\re")
    assert to_range(lines, range_at(0, 4, 1, 3), "utf-16") == types.Range(types.Position(1, 0), types.Position(2, 0))
    assert to_position(lines, Position(0, 3), "utf-16") == types.Position(0, 2)
    assert to_position(lines, Position(9, 9), "utf-16") == types.Position(2, 1)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-7"], "utf-16"),
        (["utf-7", "utf-8", "utf-16"], "utf-8"),
        ([types.PositionEncodingKind.Utf32], "utf-32"),
    ],
)
def test_negotiation_takes_the_first_known_unit(offered, chosen):
    assert negotiate(offered) == chosen


@pytest.mark.parametrize(
    ("uri", "windows", "path"),
    [
        ("file:///home/me/a.py", False, "/home/me/a.py"),
        ("file:/home/me/a.py", False, "/home/me/a.py"),
        ("FILE://localhost/home/a.py", False, "/home/a.py"),
        ("file:///a%20b/%E6%BC%A2%F0%9F%98%80.py", False, "/a b/漢😀.py"),
        ("file:///odd/c#1?.py", False, "/odd/c#1?.py"),
        ("file:///c%3A/x/a.py", True, "c:\\x\\a.py"),
        ("file:///C:/x/a.py", True, "C:\\x\\a.py"),
        ("file://server/share/a%20b.py", True, "\\\\server\\share\\a b.py"),
        ("file://server/share/a.py", False, "//server/share/a.py"),
        ("untitled:Untitled-1", False, None),
        ("vscode-notebook-cell:/x/n.ipynb#W0", False, None),
        ("no-uri-at-all", False, None),
    ],
)
def test_the_file_that_a_uri_names(uri, windows, path):
    assert path_from_uri(uri, windows) == path


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_path_comes_back_from_its_uri(name):
    path = "/folder/" + name
    assert path_from_uri(uri_from_path(path, False), False) == path


@pytest.mark.parametrize("path", ["C:\\a b\\c.py", "\\\\server\\share\\漢.py"])
def test_a_windows_path_comes_back_from_its_uri(path):
    assert path_from_uri(uri_from_path(path, True), True) == path


def test_documents_that_are_no_files_get_paths_of_their_own():
    folder = Path("/work space")
    cell = stand_in_path("vscode-notebook-cell:/n/a%20b.ipynb#W1", folder)
    assert cell.parent == Path("/n")
    assert stand_in_path("untitled:Untitled-1", folder).parent == folder
    uris = ["untitled:Untitled-1", "untitled:Untitled-2", "vscode-notebook-cell:/n/a.ipynb#1", "zip:/n/a.ipynb#1"]
    assert len({stand_in_path(uri, folder) for uri in uris}) == len(uris)


def test_a_diagnostic_has_only_what_the_client_understands():
    finding = Finding(
        "policy-called", Range(Position(0, 0), Position(0, 1)), "m", Severity.HINT, tags=(Tag.DEPRECATED,)
    )
    area = types.Range(types.Position(0, 0), types.Position(0, 1))
    place = types.DiagnosticRelatedInformation(types.Location("file:///b.py", area), "there")
    rich = to_diagnostic(finding, area, url="https://x", code="JXP207", related=[place], tags=True, data=True)
    assert (rich.source, rich.code, rich.severity) == ("jaxpert", "policy-called", types.DiagnosticSeverity.Hint)
    assert rich.code_description and rich.code_description.href == "https://x"
    assert rich.tags == [types.DiagnosticTag.Deprecated]
    assert rich.related_information == [place]
    assert rich.data == {"code": "JXP207"}
    bare = to_diagnostic(finding, area, url=None, code="JXP207", related=None, tags=False, data=False)
    assert (bare.code_description, bare.tags, bare.related_information, bare.data) == (None, None, None, None)
