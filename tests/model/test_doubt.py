"""Names and attributes that something else may have changed: nothing is known about them, so no rule speaks."""

from __future__ import annotations

import pytest

from tests.model.models import in_words, model_of, value_of_last_line

SHIM = {"shim": "def wrap(f): return f"}

DOUBTFUL = {
    "a global statement": "x = 1\ndef put():\n    global x\n    x = 2\ndef f():\n    x",
    "a nonlocal statement": "def f():\n    x = 1\n    def put():\n        nonlocal x\n        x = 2\n    x",
    "a later star import": "from jax import checkpoint as wrap\nfrom shim import *\nwrap",
    "a later unknown star import": "from jax import checkpoint as wrap\nfrom elsewhere import *\nwrap",
    "a loop that is over": "for x in (1, 2):\n    pass\nx",
    "a patched library": "import jax\njax.checkpoint = print\njax.checkpoint",
    "a member of some library's enumeration": "from elsewhere import Enumeration\nclass K(Enumeration):\n    a = 'x'\nK.a",
    "a method that a subclass has too":
        "class A:\n    def n(self): return 1\n    def go(self):\n        self.n()\n"
        "class B(A):\n    def n(self): return 2",
}


@pytest.mark.parametrize("source", DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_may_have_changed_is_unknown(source: str) -> None:
    model = model_of(source, SHIM)
    if "class A" in source:
        calls = [call for tree in model.source.trees() for call in tree.calls]
        assert in_words(model.evaluate(calls[0].node, calls[0].scope, calls[0].block)) == "?"
        return
    assert in_words(value_of_last_line(model)) == "?"


CERTAIN = {
    "an earlier star import": ("from shim import *\nfrom jax import checkpoint as wrap\nwrap", "jax.checkpoint"),
    "a star import of other names": ("x = 1\nfrom shim import *\nx", "1"),
    "inside the loop": ("for x in (1, 2):\n    x", "1 | 2"),
}


@pytest.mark.parametrize(("source", "words"), CERTAIN.values(), ids=CERTAIN)
def test_what_cannot_have_changed_is_known(source: str, words: str) -> None:
    assert in_words(value_of_last_line(model_of(source, SHIM))) == words
