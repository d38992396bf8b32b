"""Plain texts follow a client's edits as Python's own string slicing does."""

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from jaxpert.lsp.buffers import PlainText, apply_changes
from jaxpert.text.lines import Position, Range, split_lines

TEXT = st.text(st.sampled_from("ab😀\r\n"), max_size=20)


def offset(text: str, position: Position) -> int:
    return sum(len(line) for line in split_lines(text)[: position.line]) + position.column


@given(TEXT, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), TEXT), max_size=6))
def test_edits_equal_those_of_a_string(text, edits):
    plain = PlainText(text)
    for start, end, new in edits:
        places = [Position(n, c) for n, line in enumerate(plain.lines) for c in range(len(line.rstrip("\r\n")) + 1)]
        area = Range(*sorted((places[start % len(places)], places[end % len(places)])))
        text = text[: offset(text, area.start)] + new + text[offset(text, area.end) :]
        plain.edit(area, new)
        assert plain.lines == split_lines(text)


def test_changes_apply_one_after_the_other():
    plain = PlainText("x = '😀'\r\n")

    def change(line: int, start: int, end: int, new: str) -> types.TextDocumentContentChangePartial:
        area = types.Range(types.Position(line, start), types.Position(line, end))
        return types.TextDocumentContentChangePartial(range=area, text=new)

    apply_changes(plain, [change(0, 7, 7, "\ny"), change(1, 1, 99, " = 2")], "utf-16")
    assert plain.text == "x = '😀\ny = 2\r\n"
    apply_changes(plain, [types.TextDocumentContentChangeWholeDocument("z"), change(7, 9, 9, "!")], "utf-16")
    assert plain.text == "z!"
