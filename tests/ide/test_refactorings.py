"""Refactorings: what is offered at a mark, what it makes of the text, and that real JAX gives the same afterwards."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jaxpert.engine.analyze import Analysis
from jaxpert.ide.refactoring import Refactoring, RefactoringRefused, tried
from jaxpert.ide.refactorings import refactorings
from jaxpert.syntax.logical_lines import find_comments
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range
from tests.cursors import MARK
from tests.fixing.marked import SURROUNDINGS, unmarked
from tests.model.models import model_of
from tests.projects import Project


class Case(NamedTuple):
    """A block of the page and what follows it: "after", "refused" or "nothing", and its text."""

    title: str
    before: str
    outcome: str
    expected: str
    jax: str = "0.10.2"


_FENCE = re.compile(r"^```(\w+)(?: jax=(\S+))?(?: (nothing:))? ?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)


def read_page() -> list[Case]:
    """The cases of the page."""
    cases: list[Case] = []
    for kind, jax, nothing, title, text in _FENCE.findall((Path(__file__).parent / "refactorings.md").read_text("utf-8")):
        if kind == "python":
            cases.append(Case(title, text, "nothing" if nothing else "", "", jax or "0.10.2"))
        else:
            assert not cases[-1].outcome and kind in ("after", "refused")
            cases[-1] = cases[-1]._replace(outcome=kind, expected=text)
    return cases


CASES = read_page()
DONE, REFUSED, SILENT = ([case for case in CASES if case.outcome == it] for it in ("after", "refused", "nothing"))
assert len(DONE) + len(REFUSED) + len(SILENT) == len(CASES)
PROGRAMS = [case for case in DONE if "block" in case.before]
PROGRAM_TAIL = """

import jax as _jax, jax.numpy as _jnp
_x, _w = _jnp.linspace(0.1, 1.0, 6).reshape(2, 3), _jnp.linspace(-1.0, 1.0, 9).reshape(3, 3)
_value, _gradient = _jax.value_and_grad(lambda w: _jnp.sum(block(_x, w)))(_w)
RESULT = [[_value], _gradient.ravel()]
"""


def name_of(case: object) -> str:
    """What a case is called in reports."""
    return f"{case.title} #{CASES.index(case)}" if isinstance(case, Case) else ""


class Offered(NamedTuple):
    """What is offered at the mark of a text."""

    text: str
    offers: list[Refactoring]
    analysis: Analysis

    def titled(self, part: str) -> Refactoring | None:
        """The only offer whose title has ``part``."""
        found = [offer for offer in self.offers if part in offer.title.replace("`", "")]
        assert len(found) < 2, [offer.title for offer in found]
        return found[0] if found else None

    def result(self, part: str) -> str:
        """The text after that offer."""
        offer = self.titled(part)
        assert offer is not None, [offer.title for offer in self.offers]
        return apply_edits(self.text, offer.make())


def at_mark(root: Path, marked: str, jax: str = "0.10.2", **others: str) -> Offered:
    """The offers where ``‸`` stands, or for what ``«»`` enclose."""
    text, area = unmarked(marked.replace(MARK, "«»"))
    project = Project(root, {f"{name}.py": other for name, other in others.items()}, jax)
    project.workspace.open(root / "main.py", text)
    analysis = project.analysis("main.py")
    return Offered(text, refactorings(analysis, area), analysis)


def comments(text: str) -> Counter[str]:
    """The comments of a text."""
    return Counter(comment.text for comment in find_comments(text))


@pytest.mark.parametrize("case", DONE, ids=name_of)
def test_a_refactoring_makes_this_of_the_text(case: Case, tmp_path: Path) -> None:
    after = at_mark(tmp_path, case.before, case.jax).result(case.title)
    assert after == case.expected
    ast.parse(after)


@pytest.mark.parametrize("surrounding", ["windows", "old mac", "byte order mark", "without a last line end"])
def test_what_is_around_does_not_matter(surrounding: str, tmp_path: Path) -> None:
    around = SURROUNDINGS[surrounding]
    for number, case in enumerate(DONE):
        offered = at_mark(tmp_path / str(number), around(case.before), case.jax)
        after = offered.result(case.title)
        assert after == around(case.expected), case.title
        assert comments(after) == comments(offered.text)


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_a_refactoring_that_would_change_the_program_is_refused(case: Case, tmp_path: Path) -> None:
    offer = at_mark(tmp_path, case.before).titled(case.title)
    assert offer is not None
    with pytest.raises(RefactoringRefused) as refusal:
        offer.make()
    assert case.expected.strip() in str(refusal.value)


@pytest.mark.parametrize("case", SILENT, ids=name_of)
def test_nothing_is_offered_where_it_is_not_certain(case: Case, tmp_path: Path) -> None:
    assert at_mark(tmp_path, case.before).titled(case.title) is None


def test_a_name_is_new_in_the_whole_workspace(tmp_path: Path) -> None:
    before = "import jax\n\n\ndef block(x, w):\n    h = «x @ w»\n    return h\n"
    other = "from jax.ad_checkpoint import checkpoint_name\ny = checkpoint_name(x, 'h')\n"
    pattern = "z = checkpoint_name(x, f'block_{y}')\n"
    assert any('"block_h"' in offer.title for offer in at_mark(tmp_path / "a", before, other=other).offers)
    assert any('"h_2"' in offer.title for offer in at_mark(tmp_path / "b", before, other=other + pattern).offers)


def test_nothing_is_offered_while_the_statement_does_not_parse(tmp_path: Path) -> None:
    before = "import jax\n\ndef f(x:\n    return ‸x\n\n@jax.checkpoint\ndef g(x): return x\n"
    assert at_mark(tmp_path, before).offers == []


def test_each_place_has_offers_with_titles_of_their_own(tmp_path: Path) -> None:
    for number, case in enumerate(CASES):
        titles = [offer.title for offer in at_mark(tmp_path / str(number), case.before, case.jax).offers]
        assert len(titles) == len(set(titles))
        assert all(title[0].isupper() and not title.endswith(".") for title in titles)


@pytest.mark.parametrize("case", PROGRAMS, ids=name_of)
def test_real_jax_gives_the_same(case: Case) -> None:
    """Values and gradients of a program, which calls its function ``block``, are those of before."""
    before = re.sub(f"[{MARK}«»]", "", case.before)
    assert run(before) == run(case.expected)


def run(source: str) -> list[list[float]]:
    """The value and the gradient of ``block`` in a program."""
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(source + PROGRAM_TAIL, "program.py", "exec"), space)
    return [[round(float(number), 5) for number in part] for part in space["RESULT"]]


@pytest.mark.parametrize("line", range(12))
def test_every_place_can_be_asked(line: int, tmp_path: Path) -> None:
    """Cursor and selections anywhere never fail, and whatever is offered parses or is refused."""
    text = (
        "import jax\nimport functools\ncp = jax.checkpoint_policies\n"
        "@functools.partial(jax.checkpoint, policy=lambda p, *_, **k: p.name == 'name' and k['name'] in ('a',))\n"
        "def block(x, w):\n"
        "    h = jax.nn.relu(x @ w)  # one\n"
        "    y = [jax.checkpoint(lambda z: z * n)(h) for n in (1, 2)]; return (h +\n"
        "        y[0])\n"
        "both = cp.save_from_both_policies(cp.save_only_these_names('a'), cp.save_only_these_names(*NAMES))\n"
        "other = jax.checkpoint(block, policy=both)\n"
        "class A:\n"
        "    def f(self, x): return block(x, x)\n"
    )
    project = Project(tmp_path, {"main.py": text}, "0.10.2")
    analysis = project.analysis("main.py")
    content = text.split("\n")[line]
    for column in range(0, len(content) + 1, 3):
        for width in (0, 1, 7, 200):
            end = Position(line, min(len(content), column + width))
            for offer in refactorings(analysis, Range(Position(line, column), end)):
                try:
                    ast.parse(apply_edits(text, offer.make()))
                except RefactoringRefused:
                    continue


def test_only_what_an_edit_may_concern_is_looked_at_afterwards() -> None:
    model = model_of(
        "import jax\n\n\ndef block(x):\n    return x\n\n\n"
        "def user(x):\n    return block(x)\n\n\n"
        "alias = block\n\n\ndef user_of_alias(x):\n    return alias(x)\n\n\n"
        "def runner(x):\n    return jax.jit(user)(x)\n\n\n"
        + "".join(f"def other_{number}(x):\n    return x\n\n\n" for number in range(9))
    )
    start = Position(3, 0)
    with tried(model, (Edit(Range(start, start), "@jax.checkpoint\n"),)) as after:
        looked_at = {name for tree in after.trees for name in tree.contribution}
        assert [checkpoint.by_decorator for checkpoint in after.checkpoints] == [True]
    assert looked_at == {"block", "user", "alias", "user_of_alias", "runner"}
