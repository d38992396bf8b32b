"""A lambda becomes a function where that sees the same variables, and new code goes around what is there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from jaxpert.fixing.named_functions import name_lambda
from jaxpert.fixing.new_wrappings import add_decorator, add_item, pass_through
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Range, split_lines
from tests.fixing.marked import Verb, unmarked


def keep(lines: Sequence[str], area: Range) -> tuple[Edit, ...] | None:
    """The verb under test, with a name."""
    return name_lambda(lines, area, "keep")


DECORATE = partial(add_decorator, decorator="d(1)")
ADD = partial(add_item, source='"z"')


def tag(lines: Sequence[str], area: Range) -> tuple[Edit, ...] | None:
    """The verb under test, with a second argument."""
    return pass_through(lines, area, "tag", '"n"')


CASES: list[tuple[Verb, str, str | None]] = [
    # -- before the statement
    (keep, "f(«lambda: 1»)\n", "def keep():\n    return 1\n\n\nf(keep)\n"),
    (keep, "x\nf(«lambda: 1»)\n", "x\n\n\ndef keep():\n    return 1\n\n\nf(keep)\n"),
    (keep, "def g():\n\tx\n\treturn f(«lambda: 1»)\n",
     "def g():\n\tx\n\n\tdef keep():\n\t\treturn 1\n\n\treturn f(keep)\n"),
    (keep, "def g():\n  f(«lambda: 1»)\n", "def g():\n  def keep():\n    return 1\n\n  f(keep)\n"),
    (keep, "@d\n# c\n@f(«lambda: 1»)\ndef g(): pass\n",
     "def keep():\n    return 1\n\n\n@d\n# c\n@f(keep)\ndef g(): pass\n"),
    (keep, "x; f(«lambda: 1»)\n", "def keep():\n    return 1\n\n\nx; f(keep)\n"),
    (keep, "if a:\n  x\nelif f(«lambda: 1»):\n  y\n", "def keep():\n  return 1\n\n\nif a:\n  x\nelif f(keep):\n  y\n"),
    (keep, "match x:\n  case 1: f(«lambda: x»)\n", "def keep():\n  return x\n\n\nmatch x:\n  case 1: f(keep)\n"),
    # -- instead of it
    (keep, "keep = «lambda a, *, b=(2): (a,\n  b)»  # c\n", "def keep(a, *, b=(2)):\n    return (a,\n      b)  # c\n"),
    (keep, "keep = (  # c\n  «lambda: 1»)\n", None),
    (keep, "keep: F = «lambda: 1»\n", "def keep():\n    return 1\n\n\nkeep: F = keep\n"),
    # -- variables
    (keep, "f(lambda n: «lambda: n»)\n", None),
    (keep, "f(lambda n: «lambda n: n»)\n", "def keep(n):\n    return n\n\n\nf(lambda n: keep)\n"),
    (keep, "[«lambda: n» for n in ns]\n", None),
    (keep, "def g(n): return f(«lambda: n»)\n", None),
    (keep, "class A:\n  n = 1\n  f(«lambda: n»)\n", "def keep():\n  return n\n\n\nclass A:\n  n = 1\n  f(keep)\n"),
    (keep, "class A:\n  n = 1\n  f(«lambda m=n: m»)\n", None),
    (keep, "class A:\n  f(«lambda: __n»)\n", None),
    # -- the time at which defaults are computed
    (keep, "f(«lambda m=g(): m»)\n", None),
    (keep, "while f(«lambda m=n: m»): pass\n", None),
    (keep, "f(n := 1, «lambda m=n: m»)\n", None),
    (keep, "f(«lambda: (yield)»)\n", None),
    (keep, "f(«g»)\n", None),
    # -- colons and comments
    (keep, "f(«lambda a={1: 2}, *b: a[1:2]»)\n", None),
    (keep, "f(«lambda: {1: lambda: 2}»)\n", "def keep():\n    return {1: lambda: 2}\n\n\nf(keep)\n"),
    (keep, "f(«lambda a:  # why\n    a»)\n", "def keep(a):\n    return (  # why\n        a)\n\n\nf(keep)\n"),
    (keep, "f(«lambda: '''\n  a'''»)\n", "def keep():\n    return ('''\n  a''')\n\n\nf(keep)\n"),
    # -- add_decorator
    (DECORATE, "@a\n# c\n«def f(): pass»\n", "@a\n# c\n@d(1)\ndef f(): pass\n"),
    (DECORATE, "class A:\n\t«async def f(self):\n\t\tpass»\n", "class A:\n\t@d(1)\n\tasync def f(self):\n\t\tpass\n"),
    (DECORATE, "«lambda: 1»\n", None),
    # -- pass_through
    (tag, "x = «a @ b»\n", 'x = tag(a @ b, "n")\n'),
    (tag, "return«(a)»\n", None),
    (tag, "x = («a  # c\n  + b»)\n", 'x = (tag(a  # c\n  + b, "n"))\n'),
    (tag, "x = -«a»**2\n", 'x = -tag(a, "n")**2\n'),
    (tag, "f(«x for x in y»)\n", None),
    (tag, "f(*«a»)\n", 'f(*tag(a, "n"))\n'),
    # -- add_item
    (ADD, "«f()»\n", 'f("z")\n'),
    (ADD, "«f('a', *b)»\n", "f('a', *b, \"z\")\n"),
    (ADD, "«f(\n  'a',  # c\n)»\n", "f(\n  'a',  # c\n  \"z\",\n)\n"),
    (ADD, "«f(a, k=1)»\n", None),
    (ADD, "x = «['a']»\n", "x = ['a', \"z\"]\n"),
    (ADD, "x = «('a',)»\n", "x = ('a', \"z\",)\n"),
    (ADD, "x = «{'a'}»\n", "x = {'a', \"z\"}\n"),
    (ADD, "x = «{'a': 1}»\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "before", "after"), CASES, ids=[before for _, before, _ in CASES])
def test_a_verb_makes_this_of_the_text(verb: Verb, before: str, after: str | None) -> None:
    text, area = unmarked(before)
    edits = verb(split_lines(text), area)
    assert (None if edits is None else apply_edits(text, edits)) == after
