"""Suppression comments: what counts as one, what it covers, and how it is taken out."""

import pytest

from jaxpert.syntax.comments import (
    Malformation,
    Suppression,
    SuppressionKind,
    find_suppressions,
    suppression_edit,
)
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import apply_edits
from jaxpert.text.lines import range_at, slice_lines


def suppressions(text: str) -> tuple[Suppression, ...]:
    return find_suppressions(SourceFile(text))


def codes(suppression: Suppression) -> list[str]:
    return [code.text for code in suppression.codes]


# text -> (kind, codes, malformation) of each suppression
L, F, N = SuppressionKind.LINE, SuppressionKind.FILE, SuppressionKind.NOQA
WRITTEN = {
    "x  # jaxpert: ignore[policy-signature]": [(L, ["policy-signature"], None)],
    "x  # jaxpert: ignore[policy-signature, JXP3] because #12 says so": [(L, ["policy-signature", "JXP3"], None)],
    "x  #jaxpert:ignore[ a b,,c ]": [(L, ["a", "b", "c"], None)],
    "x  # JAXpert: Ignore [JXP201]": [(L, ["JXP201"], None)],
    "# jaxpert: ignore-file[JXP201]": [(F, ["JXP201"], None)],
    "x  # type: ignore[x]  # jaxpert: ignore[a] why  # noqa: JXP201": [(L, ["a"], None), (N, ["JXP201"], None)],
    "x  # jaxpert: ignore": [(L, [], Malformation.NO_RULES)],
    "x  # jaxpert: ignore because": [(L, [], Malformation.NO_RULES)],
    "x  # jaxpert: ignore[ , ]": [(L, [], Malformation.NO_RULES)],
    "# jaxpert: ignore-file": [(F, [], Malformation.NO_RULES)],
    "x  # jaxpert: ignore[policy": [(L, ["policy"], Malformation.UNCLOSED)],
    "x  # jaxpert: disable=policy-signature": [(L, [], Malformation.UNKNOWN_WORD)],
    "x  # jaxpert: ignore-next-line[a]": [(L, ["a"], Malformation.UNKNOWN_WORD)],
    "x  # jaxpert: a nice tool": [],
    "x  # see `# jaxpert: ignore[a]`": [],
    "x  # noqa": [(N, [], None)],
    "x  # NOQA because": [(N, [], None)],
    "x  # noqa: because": [(N, [], None)],
    "x  # noqa:JXP202": [(N, ["JXP202"], None)],
    "x  # noqa : E501, JXP202 W291 text": [(N, ["E501", "JXP202", "W291"], None)],
    "x  # noqa: jxp2": [(N, ["jxp2"], None)],
    "x  # noqa: E501": [],
    "x  # noqa-foo": [],
    "x  # nonoqa": [],
    "x = '# jaxpert: ignore[a]'": [],
    'x = """\n# noqa\n"""': [],
}


@pytest.mark.parametrize("text", WRITTEN)
def test_written(text: str) -> None:
    assert [(s.kind, codes(s), s.malformation) for s in suppressions(text)] == WRITTEN[text]


def test_ranges_and_foreign_codes() -> None:
    text = "'\U0001f600'\n'é'  # type: x  # noqa: E501,JXP202 why  # pragma: no cover\n"
    source = SourceFile(text)
    (found,) = find_suppressions(source)
    assert slice_lines(source.lines, found.range) == "# noqa: E501,JXP202 why"
    assert slice_lines(source.lines, found.head) == "# noqa: E501,JXP202"
    assert [(slice_lines(source.lines, c.range), c.foreign) for c in found.codes] == [("E501", True), ("JXP202", False)]


# text -> first and last line covered, and whether on a line of its own
COVERED = {
    "f(  # noqa\n  x,\n)\n": (0, 2, False),
    "f(\n  x,  # noqa\n)\n": (1, 1, False),
    "f(\n  x,\n)  # noqa\n": (0, 2, False),
    "f(\n  # noqa\n  x,\n)\n": (1, 1, True),
    "# noqa\nf(\n)\n": (0, 0, True),
    "\ufeff# noqa\n": (0, 0, True),
    "class C:\n" + "  x = 1\n" * 50 + "  def f(\n    self,\n  ):  # noqa\n    pass\n": (51, 53, False),
    "x = 1\nf(  # noqa\n\ndef g():\n  pass\n": (1, 2, False),  # does not parse
}


@pytest.mark.parametrize("text", COVERED)
def test_covered(text: str) -> None:
    (found,) = suppressions(text)
    assert (found.first, found.last, found.own_line) == COVERED[text]


def test_found_while_the_buffer_is_broken() -> None:
    source = SourceFile("x = 1\ny = 2  # noqa\nz = 3  # jaxpert: ignore[a]\n")
    source.edit(range_at(0, 4, 0, 5), '("""')
    assert not source.is_current
    assert [s.line for s in find_suppressions(source)] == [1, 2]


# text -> result of taking out the whole (None) or the code with that text
REMOVED = {
    ("x  # jaxpert: ignore[a] why\ny\n", None): "x\ny\n",
    ("x  # jaxpert: ignore[a] why\r\ny\r\n", None): "x\r\ny\r\n",
    ("x  # jaxpert: ignore[a] why  # noqa: E501\n", None): "x  # noqa: E501\n",
    ("x  # noqa: E501  # jaxpert: ignore[a]\n", None): "x  # noqa: E501\n",
    ("def f():\n    # jaxpert: ignore-file[a]\n    pass\n", None): "def f():\n    pass\n",
    ("# jaxpert: ignore-file[a]", None): "",
    ("x  # jaxpert: ignore[a] why\n", "a"): "x\n",
    ("x  # jaxpert: ignore[a, b] why\n", "a"): "x  # jaxpert: ignore[b] why\n",
    ("x  # jaxpert: ignore[a, b,  c] why\n", "b"): "x  # jaxpert: ignore[a, c] why\n",
    ("x  # jaxpert: ignore[a, b ] why\n", "b"): "x  # jaxpert: ignore[a ] why\n",
    ("x  # noqa: JXP202,E501 why\n", "JXP202"): "x  # noqa: E501 why\n",
    ("x  # noqa: E501 JXP202 why\n", "JXP202"): "x  # noqa: E501 why\n",
    ("x  # noqa: JXP202\n", "JXP202"): "x\n",
}


@pytest.mark.parametrize(("text", "code"), REMOVED)
def test_removed(text: str, code: str | None) -> None:
    source = SourceFile(text)
    found = next(s for s in find_suppressions(source) if any(not c.foreign for c in s.codes))
    area = found.range if code is None else next(c.range for c in found.codes if c.text == code)
    edit = suppression_edit(source, area)
    assert edit
    assert apply_edits(text, [edit]) == REMOVED[text, code]


def test_replaced() -> None:
    source = SourceFile("x  # jaxpert: ignore[a, b] why\n")
    (found,) = find_suppressions(source)
    for area, new, expected in (
        (found.codes[1].range, "c", "x  # jaxpert: ignore[a, c] why\n"),
        (found.head, "# jaxpert: ignore[c]", "x  # jaxpert: ignore[c] why\n"),
    ):
        edit = suppression_edit(source, area, new)
        assert edit
        assert apply_edits(source.text, [edit]) == expected
    assert suppression_edit(source, range_at(0, 0, 0, 1)) is None

