"""The structure of expressions: the last line of each source, in words; and where two structures differ."""

from __future__ import annotations

import ast

import pytest

from jaxpert.model.file_model import FileModel
from jaxpert.model.pytrees import structure_of
from jaxpert.model.structures import Dict, Leaf, List, Node, NoneNode, Structure, Tuple, compare, mismatches
from tests.model.models import model_of

PRELUDE = (
    "import collections, dataclasses, types, typing, jax, jax.numpy as jnp, numpy as np\n"
    "from functools import partial\nfrom collections import OrderedDict\n"
)

LEAVES = {
    "1, 2.5, True, -1, 1j": "(number, number, number, number, number)",
    "'a', b'a', f'{x}', str(x)": "(string, string, string, string)",
    "None, print(x)": "(None, None)",
    "len, lambda: 0, partial(f), ..., {1}, range(3), range(n), (i for i in x), map(f, x)":
        "(?, object, object, object, object, object, object, object, object)",
    "{'a': 1}.keys(), {'a': 1}.values(), types.MappingProxyType({}), collections.deque([1])":
        "(object, object, object, object)",
    "jnp.ones(3), jnp.zeros((2, 2)), np.array([1]), np.arange(3), jnp.float32(1), jnp.asarray(x), jnp.sum(x)":
        "(array, array, array, array, array, array, array)",
    "jax.random.normal(k), jax.random.split(k), np.random.randn(3), jax.ShapeDtypeStruct((2,), 'float32')":
        "(array, array, array, array)",
    "jnp.where(c, x, y), jnp.where(c), jnp.unique(x), jax.random.key_impl(k)": "(array, ?, ?, ?)",
    "jax.nn.initializers.zeros(k, (3,)), jax.nn.initializers.glorot_uniform()(k, (3, 3)), jax.nn.relu(x)":
        "(array, array, array)",
    "jnp.ones(3) * 0.1, 0.1 * x, -jnp.ones(3), x + np.ones(3), jnp.ones(3) > 0": "(array, ?, array, array, array)",
    "jnp.ones(3).astype('int8'), jnp.ones(3).T, jnp.ones(3)[0], jnp.ones(3).at[0].set(1), jnp.ones(3).shape":
        "(array, array, array, array, ?)",
    "w = jax.random.normal(k) * 0.02\nb = w + 1\n(w, b)": "(array, array)",
    "a, *b = jax.random.split(k)\n(a, b)": "(array, ?)",
    "a, b = jax.random.split(k)\nfor c in jnp.ones(3):\n    (a, b, c)": "(array, array, array)",
    "jnp.pi, np.inf, jnp.sin": "(number, number, ?)",
    "len(x), x == 1, isinstance(x, int), sum(x)": "(number, number, number, number)",
    "x, x.y, f(x), x[0], x + 1, jax.grad(f)(x)": "(?, ?, ?, ?, ?, ?)",
    "1 if c else 2.0, None if c else None, 1 if c else None, jnp.ones(1) if c else x": "(number, None, ?, ?)",
}  # fmt: skip

CONTAINERS = {
    "{'w': jnp.ones(3), 'b': None}": "{'w': array, 'b': None}",
    "{1: 2, 'a': [1, (2, None)]}": "{1: number, 'a': [number, (number, None)]}",
    "{'a': {}, 'b': [], 'c': ()}": "{'a': {}, 'b': [], 'c': ()}",
    "dict(w=jnp.ones(3) * 2, b=0)": "{'w': array, 'b': number}",
    "dict({'w': 1}, b=None), dict()": "({'w': number, 'b': None}, {})",
    "OrderedDict(w=1), OrderedDict([('w', 1)])": "(OrderedDict{'w': number}, OrderedDict{…})",
    "collections.defaultdict(int)": "defaultdict{…}",
    "{'a': 1, **{'b': 2, 'a': None}}": "{'a': None, 'b': number}",
    "{'a': 1} | {'b': None}": "{'a': number, 'b': None}",
    "{'a': 1, **unknown}, {unknown: 1}, {k: 1 for k in x}, [k for k in x], dict(unknown)":
        "({…}, {…}, {…}, […], {…})",
    "[1, *(2, None)], [1, *unknown], [1] + [None], [1] + unknown, [1] * 3, list(unknown), tuple([1])":
        "([number, number, None], […], [number, None], […], ?, […], (number))",
    "list({'a': 1}.values()), list({'a': 1}), sorted([1])": "([number], [string], [number])",
    "p = {'w': 1}\nq = {'p': p, 'n': None}\nq": "{'p': {'w': number}, 'n': None}",
    "p = {'w': 1}\np['b'] = 2\np": "{…}",
    "p = [1]\np.append(2)\np": "[…]",
    "p = (1,)\np += (None,)\np": "(number, None)",
    "p = {'w': 1}\nif c:\n    p = None\np": "?",
    "p = {'w': [1]}\np['w'].append(2)\np": "{…}",
    "p = {'w': {}}\np['w']['b'] = 2\np": "{…}",
    "p = {'w': {}}\nfor q in p.values():\n    q['b'] = 2\np": "{…}",
    "p = {'w': 1}\nq = p\nq['b'] = 2\np": "{…}",
    "p = {'w': 1}\nfill(p)\np": "{…}",
    "p = [1]\nprint(p)\nq = f(p)\np": "[number]",
    "def init(b=None): return {'w': jnp.ones(3) * 2, 'b': b}\ninit(), init(1), init(unknown)":
        "({'w': array, 'b': None}, {'w': array, 'b': number}, {'w': array, 'b': ?})",
    "def f(p=None):\n    p": "?",
    "from params import P\nP": "{'w': array, 'b': None}",
    "{**{'a': x}}, dict(**{'a': x}), [*(x, y), jnp.ones(1) * 2, *()]": "({'a': ?}, {'a': ?}, [?, ?, ?])",
    "w = f(x)\nif c:\n    w = jnp.ones(3) * 2\nw": "?",
    "(" * 30 + "1" + ",)" * 30: "(" * 12 + "?" + ")" * 12,
}  # fmt: skip

NODES = {
    "class P(typing.NamedTuple):\n    a: int\nP(1)": "P",
    "class P(typing.NamedTuple):\n    a: int\nclass Q(P): pass\nQ(1)": "Q",
    "P = collections.namedtuple('Point', 'a b')\nP(1, 2)": "Point",
    "import equinox as eqx\nclass Base(eqx.Module): pass\nclass M(Base): pass\nM()": "M",
    "import flax\n@flax.struct.dataclass\nclass S: pass\nS()": "S",
    "@jax.tree_util.register_pytree_node_class\nclass S: pass\nS()": "S",
    "@partial(jax.tree_util.register_dataclass, data_fields=['a'], meta_fields=[])\nclass S: pass\nS()": "S",
    "class S: pass\njax.tree_util.register_pytree_node(S, lambda s: ((), None), lambda a, c: S())\nS()": "S",
    "@dataclasses.dataclass\nclass S:\n    a: int\nS(1)": "?",
    "class S: pass\nS(), S": "(?, object)",
    "class S: pass\nclass R: pass\njax.tree_util.register_pytree_node(R, str, str)\nS(), R()": "(?, R)",
    "from flax.core import freeze\nfreeze({'a': 1})": "FrozenDict",
    "jax.tree_util.Partial(f, 1)": "Partial",
}

DIFFERENCES = {
    "{'a': 1}, {'a': 2.5}": [],
    "{'a': 1, 'b': 2}, {'b': 1, 'a': jnp.ones(3)}": [],
    "{'a': [1, None]}, {'a': [2, None]}": [],
    "[None], [jnp.ones(2)]": ["[0]: None against a value: None, an array"],
    "{'a': 1}, {'a': None}": ["['a']: a value against None: a number, None"],
    "{'a': {'w': 1}}, {'a': None}": ["['a']: a value against None: a dict with the key 'w', None"],
    "None, {}": [": None against a value: None, an empty dict"],
    "{'p': 1}, {'p': {'w': 1}}": ["['p']: a leaf against a container: a number, a dict with the key 'w'"],
    "{'p': {'w': 1}}, {'p': 'a'}": ["['p']: a container against a leaf: a dict with the key 'w', a string"],
    "[1, 2], (1, 2)": [": containers of different types: a list of 2, a tuple of 2"],
    "{'x': [[]]}, {'x': [()]}": ["['x'][0]: containers of different types: an empty list, an empty tuple"],
    "{'a': 1}, OrderedDict(a=1)":
        [": containers of different types: a dict with the key 'a', an OrderedDict with the key 'a'"],
    "OrderedDict(a=1, b=2), OrderedDict(b=1, a=2)": [
        ": dictionaries with different keys: "
        "an OrderedDict with the keys 'a', 'b', an OrderedDict with the keys 'b', 'a'",
    ],
    "{'a': 1, 'b': 2, 'c': None}, {'a': 1, 'c': 3}": [
        ": dictionaries with different keys: a dict with the keys 'a', 'b', 'c', a dict with the keys 'a', 'c'"
        " (only left: 'b')",
        "['c']: None against a value: None, a number",
    ],
    "{'a': 1}, {'a': 1, 'b': 2}": [
        ": dictionaries with different keys: a dict with the key 'a', a dict with the keys 'a', 'b' (only right: 'b')",
    ],
    "[1, None], [1, 2, 3]": [": sequences of different lengths: a list of 2, a list of 3"],
    "{'a': unknown, 'b': None}, {'a': None, 'b': unknown}": [],
    "{'a': 1, **unknown}, {'b': 1}": [],
    "{'a': 1, **unknown}, [1]": [": containers of different types: a dict, a list of 1"],
    "[1, *unknown], [None]": [],
    "[1, *unknown], 1": [": a container against a leaf: a list, a number"],
    "collections.namedtuple('P', 'a')(1), (1,)": [": containers of different types: a `P`, a tuple of 1"],
    "P(1), P(2)": [],
    "P(1), Q(2)": [": containers of different types: a `P`, a `Q`"],
    "P(1), None": [": a value against None: a `P`, None"],
    "f(x), [1]": [],
    "lambda: 0, [1]": [": a leaf against a container: an object, a list of 1"],
}  # fmt: skip


def structure_of_last_line(model: FileModel) -> Structure:
    found = [(statement, block) for tree in model.source.trees() for statement, block in tree.block_of.items()]
    statement, block = max(found, key=lambda pair: (pair[1].tree.first_line, pair[0].lineno))
    assert isinstance(statement, ast.Expr)
    return structure_of(model, statement.value, model.scope_of(block), block)


def in_words(structure: Structure) -> str:
    """As it is written; ``?`` for what is not known, ``…`` where there may be more."""
    if isinstance(structure, Leaf):
        return structure.type
    if isinstance(structure, NoneNode):
        return "None"
    if isinstance(structure, Node):
        return structure.name
    if isinstance(structure, Dict):
        inside = ", ".join(f"{key!r}: {in_words(value)}" for key, value in structure.entries.items())
        kind = "" if structure.type == "dict" else structure.type
        return f"{kind}{{{inside if structure.exact else '…'}}}"
    if isinstance(structure, (List, Tuple)):
        inside = ", ".join(map(in_words, structure.items)) if structure.exact else "…"
        return f"[{inside}]" if isinstance(structure, List) else f"({inside})"
    return "?"


@pytest.mark.parametrize("source", [*LEAVES, *CONTAINERS, *NODES])
def test_structures(source: str) -> None:
    modules = {"params": "import jax.numpy as jnp\nP = {'w': jnp.ones(3) * 2, 'b': None}"}
    found = structure_of_last_line(model_of(PRELUDE + source, modules))
    assert in_words(found) == {**LEAVES, **CONTAINERS, **NODES}[source]


@pytest.mark.parametrize("source", DIFFERENCES)
def test_mismatches(source: str) -> None:
    classes = "class P(typing.NamedTuple):\n    a: int\nclass Q(typing.NamedTuple):\n    a: int\n"
    pair = structure_of_last_line(model_of(PRELUDE + classes + source))
    assert isinstance(pair, Tuple)
    found = []
    for it in mismatches(*pair.items):
        lacking = [f" (only {side}: {keys[0]!r})" for side, keys in (("left", it.only_left), ("right", it.only_right)) if keys]
        found.append(f"{it.key_path}: {it.kind.value}: {it.left.words}, {it.right.words}{''.join(lacking)}")
    assert found == DIFFERENCES[source]
    first = compare(*pair.items)
    assert (first.key_path if first else None) == (found[0].partition(": ")[0] if found else None)


def test_structures_know_where_they_are_written() -> None:
    model = model_of("from params import P\nP, {'b': 1}", {"params": "P = {'b': None}"})
    pair = structure_of_last_line(model)
    assert isinstance(pair, Tuple)
    mismatch = compare(*pair.items)
    assert mismatch is not None
    places = [(side.model.path, side.model.text_of(side.site.node)) for side in (mismatch.left, mismatch.right)
              if side.model and side.site]  # fmt: skip
    assert places == [("params.py", "None"), ("main.py", "1")]


def test_only_numbers_and_arrays_are_arrays() -> None:
    pair = structure_of_last_line(model_of(PRELUDE + "jnp.ones(3), 1, 'a', len"))
    assert isinstance(pair, Tuple)
    assert [item.is_array for item in pair.items if isinstance(item, Leaf)] == [True, True, False]
