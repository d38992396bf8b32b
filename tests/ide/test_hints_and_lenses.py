"""Inlay hints and code lenses, written into the source where they are shown."""

from __future__ import annotations

import random

import pytest

from jaxpert.ide.blocks import Hover, to_markdown
from jaxpert.ide.checkpoint_hover import checkpoint_hover
from jaxpert.ide.code_lenses import code_lenses
from jaxpert.ide.inlay_hints import HintKind, inlay_hints
from jaxpert.ide.parameter_hover import parameter_hover
from jaxpert.ide.policy_hover import policy_hover
from jaxpert.model.file_model import FileModel
from jaxpert.model.names import NameFacts, NameIndex, NamePlace
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, clamp, range_at, slice_lines
from tests.model.models import model_of

WHOLE = range_at(0, 0, 1 << 30, 0)
HEAD = """\
import functools
import jax
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import checkpoint_name as tag
"""


def hinted(model: FileModel, kinds=frozenset(HintKind), area: Range = WHOLE) -> str:
    """The text below the imports, with every hint in ⟨⟩."""
    edits = [Edit(Range(it.position, it.position), f"⟨{it.label}⟩") for it in inlay_hints(model, area, kinds)]
    return apply_edits(model.source.text, edits).removeprefix(HEAD)


SHOWN = (
    # policies
    "jax.checkpoint(f, policy=cp.dots_saveable⟨saves: dots, convolutions⟩)\n",
    "jax.checkpoint(f, policy=cp.save_only_these_names('a', 'b')⟨saves: a, b⟩, prevent_cse=False)\n",
    "@functools.partial(jax.checkpoint, policy=cp.everything_saveable⟨saves everything⟩)\ndef f(x): return x\n",
    "jax.checkpoint(f, policy=cp.dots_saveable if deep else None⟨saves: dots, convolutions | saves nothing⟩)\n",
    "p = cp.save_from_both_policies(cp.dots_saveable, cp.save_only_these_names('a'))\n"
    "jax.checkpoint(f, policy=p⟨saves: a, dots, convolutions⟩)\n",
    "jax.checkpoint(f, policy=unknown)\n",
    "def raises(p, *_, **__):\n    if p.name == 'dot_general': return True\njax.checkpoint(f, policy=raises)\n",
    # static parameters
    "def f(x, ⟨static⟩n, *, flag): return x\njax.checkpoint(f, static_argnums=(1,))\n",
    "def f(x, ⟨static in 1 of 2⟩n): return x\njax.checkpoint(f, static_argnums=(1,))\njax.checkpoint(f)\n",
    "class A:\n    @functools.partial(jax.checkpoint, static_argnums=(0, 1))\n"
    "    def f(⟨static⟩self, ⟨static⟩n: int, x): return x\n",
    "def f(x, n): return x\njax.checkpoint(f, static_argnums=numbers)\n",
    # names
    "@functools.partial(jax.checkpoint, policy=cp.save_only_these_names('a')⟨saves: a⟩)\n"
    "def f(x): return tag(tag(x, 'a')⟨kept⟩, 'b')⟨recomputed⟩\n",
    "@jax.checkpoint\ndef f(x): return tag(x, 'a')⟨no policy looks⟩\n",
    "@jax.checkpoint\ndef f(x): return tag(x, 'a')⟨recomputed here, kept by 1 policy⟩\n"
    "p = cp.save_only_these_names('a')\n",
    "def norm(x):\n    return tag(x, 'a')⟨kept by 1 of 2 policies⟩\n"
    "@functools.partial(jax.checkpoint, policy=cp.save_only_these_names('a')⟨saves: a⟩)\ndef f(x): return norm(x)\n"
    "@functools.partial(jax.checkpoint, policy=cp.save_only_these_names('b')⟨saves: b⟩)\ndef g(x): return norm(x)\n",
    "def named(x, name): return tag(x, name)⟨kept⟩\n"
    "@functools.partial(jax.checkpoint, policy=cp.save_only_these_names('a')⟨saves: a⟩)\n"
    "def f(x): return named(x, 'a')\n",
    "@functools.partial(jax.checkpoint, policy=cp.save_and_offload_only_these_names(names_which_can_be_saved=[], "
    "names_which_can_be_offloaded=['a'], offload_src='device', offload_dst='pinned_host')⟨offloads: a⟩)\n"
    "def f(x): return tag(x, 'a')⟨offloaded⟩\n",
    "@functools.partial(jax.checkpoint, policy=unknown)\ndef f(x): return tag(x, 'a')\n",
    "def f(x): return tag(x, 'a')\n",
)


@pytest.mark.parametrize("text", SHOWN)
def test_hints_are_shown_where_they_belong(text: str) -> None:
    source = text
    while "⟨" in source:
        before, _, rest = source.partition("⟨")
        source = before + rest.partition("⟩")[2]
    assert hinted(model_of(HEAD + source)) == text


ALL = """\
@functools.partial(jax.checkpoint, policy=cp.save_only_these_names('a'), static_argnums=(1,))
def f(x, n): return tag(x, 'a')
"""


@pytest.mark.parametrize("kind", HintKind)
def test_each_kind_can_be_asked_for_alone(kind: HintKind) -> None:
    model = model_of(HEAD + ALL)
    assert [hint.kind for hint in inlay_hints(model, WHOLE, frozenset({kind}))] == [kind]
    assert inlay_hints(model, WHOLE, frozenset()) == []


def test_only_the_asked_range_is_answered() -> None:
    model = model_of(HEAD + ALL)
    kinds = frozenset(HintKind)
    assert {hint.kind for hint in inlay_hints(model, range_at(4, 0, 4, 200), kinds)} == {HintKind.POLICY}
    assert {hint.kind for hint in inlay_hints(model, range_at(5, 0, 5, 8), kinds)} == set()
    assert {hint.kind for hint in inlay_hints(model, range_at(5, 9, 9, 0), kinds)} == {HintKind.STATIC, HintKind.NAME}


def test_edited_lines_are_silent_until_they_parse() -> None:
    model = model_of(HEAD + ALL)
    model.source.edit(range_at(4, 0, 4, 0), "@@(")
    model = model.renewed(model.db)
    kinds = frozenset(HintKind)
    assert all(hint.position.line == 5 for hint in inlay_hints(model, WHOLE, kinds))
    model.source.edit(range_at(0, 0, 5, 0), "")
    model = model.renewed(model.db)
    last = len(model.source.lines) - 1
    assert all(hint.position <= Position(last, 200) for hint in inlay_hints(model, WHOLE, kinds))


def elsewhere(*uses: tuple[str, str], ready: bool = True) -> NameIndex:
    """Another file with a policy for each use: the factory's name and a checkpoint name."""
    place = range_at(0, 0, 0, 1)
    found = [
        NamePlace(name, "", Range(Position(line, 0), Position(line, 1)), "p.py", "use", f"jax.checkpoint_policies.{api}")
        for line, (api, name) in enumerate(uses)
    ]
    files = {"p.py": NameFacts(uses=tuple(found), tags=(NamePlace("z", "", place, "p.py", "tag"),))}
    if not ready:
        files["root"] = NameFacts(tags=(NamePlace("", ".*", None, "root", "tag"),))
    return NameIndex(files)


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (None, ""),
        (elsewhere(), "⟨no policy asks for it⟩"),
        (elsewhere(ready=False), ""),
        (elsewhere(("save_only_these_names", "a")), "⟨kept by 1 policy⟩"),
        (elsewhere(("save_only_these_names", "a"), ("save_only_these_names", "a")), "⟨kept by 2 policies⟩"),
        (elsewhere(("save_only_these_names", "b")), "⟨no policy asks for it⟩"),
        (elsewhere(("save_any_names_but_these", "b")), ""),
        (elsewhere(("save_only_these_names", "")), ""),
    ],
)
def test_a_name_whose_checkpoint_is_in_another_file(names: NameIndex | None, hint: str) -> None:
    model = model_of(HEAD + "def f(x): return tag(x, 'a')\n")
    model.names = names
    assert hinted(model) == f"def f(x): return tag(x, 'a'){hint}\n"


LENSES = {
    "@functools.partial(jax.checkpoint, policy=cp.save_only_these_names('a'))\n"
    "def f(x): return tag(tag(x, 'a'), 'b')\nf(1)\nf(2)\n": [
        ("@rematerialized · saves: a", 1), ("@2 names, 1 kept", 2), ("@2 calls in this file", 2),
    ],
    "def f(x): return x\ng = jax.checkpoint(f)\nh = jax.checkpoint(f, policy=cp.dots_saveable)\ng(1)\n": [
        ("f: rematerialized · saves nothing | saves: dots, convolutions", 2), ("f: 1 call in this file", 1),
    ],
    "g = jax.checkpoint(lambda x: x, policy=unknown)\n":
        [("jax.checkpoint(lambda x: x, policy=unknown): rematerialized · policy not known", 1)],
    "@functools.partial(jax.checkpoint, policy=unknown)\ndef f(x): return tag(x, 'a')\n":
        [("@rematerialized · policy not known", 1), ("@1 name", 1)],
    "@functools.partial(\n    jax.checkpoint\n)\ndef f(x): return x\n": [("@rematerialized · saves nothing", 1)],
    "def f(x): return x\n": [],
}  # fmt: skip


@pytest.mark.parametrize("source", LENSES)
def test_lenses(source: str) -> None:
    model = model_of(HEAD + source)
    found = []
    for lens in code_lenses(model):
        assert lens.range.start.line == lens.range.end.line
        text = slice_lines(model.source.lines, lens.range)
        place = "@" if model.source.lines[lens.range.start.line].startswith("@") else f"{text}: "
        found.append((f"{place}{lens.title}", len(lens.places)))
    assert found == LENSES[source]


PIECES = ("(", ")", "\n", '"', "    ", "@", "policy=", "def g(x):", ":", "😀", "'a'", "#", "lambda *_: True", ",")


@pytest.mark.parametrize("seed", range(25))
def test_nothing_is_said_outside_of_a_text_that_somebody_edits(seed: int) -> None:
    chosen = random.Random(seed)
    text = HEAD + ALL + "\n".join(LENSES)
    model = model_of(text)
    for _ in range(8):
        lines = model.source.lines
        line = chosen.randrange(len(lines))
        start = chosen.randrange(len(lines[line]) + 1)
        end = min(len(lines[line]), start + chosen.choice((0, 0, 1, 5)))
        model.source.edit(range_at(line, start, line, end), chosen.choice(PIECES))
        if chosen.random() < 0.2:
            model.source.reconcile()
        model = model.renewed(model.db)
        lines = model.source.lines
        places = [Range(hint.position, hint.position) for hint in inlay_hints(model, WHOLE, frozenset(HintKind))]
        for lens in code_lenses(model):
            places += [lens.range, *(area for _, area in lens.places)]
        for _ in range(6):
            line = chosen.randrange(len(lines))
            position = Position(line, chosen.randrange(len(lines[line]) + 1))
            for describe in (policy_hover, checkpoint_hover, parameter_hover):
                found = describe(model, position)
                if found is not None:
                    places.append(found[0])
                    assert found[0].contains(position)
                    assert to_markdown(Hover(found[0], tuple(found[1])))
        for area in places:
            assert area.start <= area.end and area == Range(clamp(lines, area.start), clamp(lines, area.end))
