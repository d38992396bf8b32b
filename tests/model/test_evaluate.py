"""What an expression can be: the last line of each source, in words."""

import textwrap

import pytest

from tests.model.models import in_words, model_of, value_of_last_line

WAYS_TO_JAX = {
    "import jax; jax.checkpoint": "jax.checkpoint",
    "import jax as j; j.checkpoint_policies.dots_saveable": "jax.checkpoint_policies.dots_saveable",
    "import jax.numpy as jnp; jnp.sin": "jax.numpy.sin",
    "import jax.numpy; jax.checkpoint": "jax.checkpoint",
    "import jax.ad_checkpoint; jax.ad_checkpoint.checkpoint_name": "jax.ad_checkpoint.checkpoint_name",
    "import jax.ad_checkpoint as adc; adc.Offloadable": "jax.ad_checkpoint.Offloadable",
    "from jax import checkpoint; checkpoint": "jax.checkpoint",
    "from jax import remat as ckpt; ckpt": "jax.remat",
    "from jax import ad_checkpoint as adc; adc.checkpoint_name": "jax.ad_checkpoint.checkpoint_name",
    "from jax import checkpoint_policies as cp; cp.nothing_saveable": "jax.checkpoint_policies.nothing_saveable",
    "from jax.ad_checkpoint import checkpoint_name as cn; cn": "jax.ad_checkpoint.checkpoint_name",
    "from jax.ad_checkpoint import *; checkpoint_name": "jax.ad_checkpoint.checkpoint_name",
    "from jax._src import ad_checkpoint; ad_checkpoint.remat": "jax._src.ad_checkpoint.remat",
    "import flax.linen as nn; nn.remat": "flax.linen.remat",
    "from flax import linen; linen.checkpoint": "flax.linen.checkpoint",
    "from flax.linen import partitioning as nn_partitioning; remat = nn_partitioning.remat; remat":
        "flax.linen.partitioning.remat",
    "from flax import nnx; nnx.remat": "flax.nnx.remat",
    "import haiku as hk; hk.remat": "haiku.remat",
    "import equinox as eqx; eqx.filter_checkpoint": "equinox.filter_checkpoint",
    "import jax; c = jax.checkpoint; d = c; d": "jax.checkpoint",
    "import jax; a, (b, c) = 1, (2, jax.checkpoint); c": "jax.checkpoint",
    "import jax; (c := jax.checkpoint); c": "jax.checkpoint",
    "import jax; c: object = jax.checkpoint; c": "jax.checkpoint",
    "import jax; getattr(jax, 'checkpoint')": "jax.checkpoint",
    "import jax; getattr(jax.checkpoint_policies, 'dots_saveable', None)": "jax.checkpoint_policies.dots_saveable",
    "import jax; getattr(jax.checkpoint_policies, name, None)": "?",
    "import jax; getattr(jax.checkpoint_policies, 'dots_savable', None)": "None",
    "import jax; getattr(jax, 'jit' if fast else 'checkpoint')": "jax.jit | jax.checkpoint",
    "import typing, jax; typing.cast('Any', jax.checkpoint)": "jax.checkpoint",
    "print": "builtins.print",
    "nowhere": "?",
}

DISPLAYS_AND_OPERATORS = {
    "1, 'a', None, b'x', ...": "tuple(1, 'a', None, b'x', Ellipsis)",
    "[1, *(2, 3), *unknown]": "list(1, 2, 3, …)",
    "{'a', *{'b': 1}}": "set('a', 'b')",
    "{'a': 1, **{'b': 2}}": "{'a': 1, 'b': 2}",
    "{'a': 1, **unknown}": "{'a': 1, …}",
    "dict(a=1, **{'b': 2})": "{'a': 1, 'b': 2}",
    "dict({'a': 1}, b=2)": "{'a': 1, 'b': 2}",
    "{'a': 1} | {'b': 2}": "{'a': 1, 'b': 2}",
    "tuple(['a']) + ('b',)": "tuple('a', 'b')",
    "['a'] + unknown": "list('a', …)",
    "frozenset({'a'}) | {'b'}": "frozenset('a', 'b')",
    "{'a'}.union(['b'])": "set('a', 'b')",
    "{'a', 'b'} - {'a'}": "?",
    "sorted({'a': 1})": "list('a')",
    "tuple(range(1, 4))": "tuple(1, 2, 3)",
    "range(n)": "<range>",
    "range(1 << 40)": "<range>",
    "[x for x in y]": "list(…)",
    "{x for x in y}": "set(…)",
    "(x for x in y)": "<generator>",
    "{x: x for x in y}": "{…}",
    "-1, +1, not 1, not unknown": "tuple(-1, 1, False, <bool>)",
    "2 + 3 * 4 - 1": "13",
    "True & False": "?",
    "1 if True else 2": "1",
    "1 if unknown else 2": "1 | 2",
    "None or 'a'": "'a'",
    "unknown or 'a'": "? | 'a'",
    "'' and 'a'": "''",
    "1 == 1, 1 != 1, 'a' in ['a'], 'a' not in {'a': 1}": "tuple(True, False, True, False)",
    "unknown == 1": "<bool>",
    "import numpy as np; np.ones(3) == 1": "?",
    "len is None, (lambda: 0) is not None": "tuple(<bool>, True)",
    "isinstance('a', str), isinstance(['a'], (list, tuple)), isinstance({}, str), isinstance(unknown, str)":
        "tuple(True, True, False, <bool>)",
    "isinstance(lambda: 0, str), isinstance(True, int)": "tuple(False, True)",
    "callable(lambda: 0), callable('a'), callable(unknown)": "tuple(True, False, <bool>)",
    "len(x), str(x), any(x), bool(x)": "tuple(<int>, <str>, <bool>, <bool>)",
}

LOOKUPS = {
    "T = {'a': 1, 'b': 2}; T['b']": "2",
    "T = {'a': 1, 'b': 2}; T[unknown]": "1 | 2",
    "T = {'a': 1, 'b': 2}; T['c']": "?",
    "T = {'a': 1, 'b': 2}; T.get('c')": "None",
    "T = {'a': 1, 'b': 2}; T.get(unknown)": "1 | 2 | None",
    "T = {'a': 1, 'b': 2}; T.get(unknown, 3)": "1 | 2 | 3",
    "T = {'a': 1, **more}; T['b']": "?",
    "T = {'a': 1, key: 2}; T.get('b')": "?",
    "T = {'a': 1}; list(T.values()), list(T), list(T.items())": "tuple(list(1), list('a'), list(tuple('a', 1)))",
    "T = {}; T['a'] = 1; T['a']": "1",
    "T = {'a': 1}; T['a'] = 2; T['a']": "1 | 2",
    "T = {}; register(T); T['b'] = 1; T.get('a')": "?",
    "T = {'a': 1}; T.clear(); T.get('a')": "?",
    "T = {'a': 1}; del T['a']; T.get('a')": "?",
    "N = ['a', 'b', 'c']; N[-1], N[1:], N[unknown]": "tuple('c', list('b', 'c'), 'a' | 'b' | 'c')",
    "N = ['a']; N.append('b'); N": "list('a', …)",
    "N = ['a']; N.remove('a'); N": "list(…)",
    "N = ('a',); N += ('b',); N": "tuple('a', 'b')",
    "N = {'a', 'b'}; N -= {'a'}; N": "?",
    "N = ['a']\nfor x in y:\n    N += ['b']\nN": "list('b', 'b', …) | list('a', 'b') | list('a')",
    "first, *rest = ['a', 'b', 'c']; first, rest": "tuple('a', ?)",
    "*rest, last = ['a', 'b', 'c']; last": "'c'",
    "for x in ('a', 'b'):\n    x": "'a' | 'b'",
    "for k, v in {'a': 1}.items():\n    v": "1",
    "for k in {'a': 1}:\n    k": "'a'",
    "p = 1\np = 2\np": "2",
    "p = 1\nif unknown:\n    p = 2\np": "2 | 1",
    "if unknown:\n    p = 1\nelse:\n    p = 2\n    p": "2",
}

TEXTS = {
    "NAME = 'attn'; NAME + '_out'": "'attn_out'",
    "'a' '_b'": "'a_b'",
    "unknown + '_out'": "/…_out/",
    "NAME = 'attn'; f'{NAME}_out'": "'attn_out'",
    "f'layer{i}_out'": "/layer…_out/",
    "f'{3}_{1:02d}'": "/3_…/",
    "'layer%d_out' % i": "/layer…_out/",
    "'layer%d_%s' % (3, 'out')": "'layer3_out'",
    "'%(layer)s_100%%' % d": "/…_100%/",
    "'layer{}_out'.format(i)": "/layer…_out/",
    "'{0}_{name}'.format('a', name='b')": "'a_b'",
    "'{:>9}|{x.y}'.format('a', x=1)": "/…|…/",
    "'a b c'.split()": "list('a', 'b', 'c')",
    "'Attn'.lower() + 'x'.upper()": "'attnX'",
    "'_'.join(['a', 'b'])": "'a_b'",
    "'_'.join(['a', f'{i}'])": "/a_…/",
    "'_'.join(parts)": "<str>",
    "PART = '" + "long" * 500 + "'; f'{PART}_{PART}'": "/…/",
    "'dots_saveable'.startswith('dots')": "True",
    "unknown.startswith('dots')": "?",
    "str(unknown).startswith('dots')": "<bool>",
}

FUNCTIONS = {
    "def f(): return 1\nf": "def f",
    "def f(): return 1\nf()": "1",
    "def f(): pass\nf()": "None",
    "def f(x):\n    if x: return 1\nf(unknown)": "1 | None",
    "def f(x):\n    if x == 'a': return 1\n    elif x == 'b': return 2\n    raise ValueError\nf('b')": "2",
    "def f(x):\n    if x == 'a': return 1\n    return 2\nf(x='a'), f('c'), f(*unknown)": "tuple(1, 2, 1 | 2)",
    "def f(x, y='b', *, z='c'): return x, y, z\nf('a'), f('a', z='d')":
        "tuple(tuple('a', 'b', 'c'), tuple('a', 'b', 'd'))",
    "def f(x):\n    x = x.lower()\n    return x\nf('A')": "'a'",
    "def f(x):\n    match x:\n        case 'a': return 1\n        case _: return 2\nf('b')": "1 | 2",
    "def f(x):\n    if isinstance(x, str): return 1\n    return x\nf('a'), f(2)": "tuple(1, 2)",
    "def f(x):\n    def g(): return x\n    return g\nf(1)()": "1",
    "def f(x):\n    return lambda y: (x, y)\nf(1)(2)": "tuple(1, 2)",
    "def f(x='a'):\n    x": "'a' | ?",
    "f = lambda x, y=2: (x, y)\nf(1)": "tuple(1, 2)",
    "async def f(): return 1\nf()": "<coroutine>",
    "def f():\n    yield 1\nf()": "<generator>",
    "def f(): return f()\nf()": "?",
    "def f(x): return g(x)\ndef g(x): return f(x)\nf(1)": "?",
    "from functools import partial\ndef f(x, y): return x, y\npartial(f, 1)": "partial(def f, 1)",
    "import functools as ft\ndef f(x, y): return x, y\nft.partial(ft.partial(f, 1), 2)()": "tuple(1, 2)",
    "from functools import partial\ndef f(x, y): return x, y\npartial(f, y=2)(1)": "tuple(1, 2)",
    "from functools import partial\ndef f(x, y): return x, y\npartial(f, *a)": "partial(def f, ?, …)",
    "from functools import partial\nimport jax\npartial(jax.checkpoint, policy=None)":
        "partial(jax.checkpoint, policy=None)",
    "from functools import partial\nimport jax\npartial(jax.checkpoint, policy=None)(f)": "jax.checkpoint(…)",
    "import jax\njax.checkpoint_policies.save_only_these_names('a')":
        "jax.checkpoint_policies.save_only_these_names(…)",
    "import functools\n@functools.lru_cache\ndef f(): return 1\nf()": "1",
    "import jax\n@jax.jit\ndef f(): return 1\nf": "def f",
    "@unknown\ndef f(): return 1\nf": "?",
    "@unknown.register('a')\ndef f(): return 1\nf": "?",
    "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(): return 2\n    return w\n"
    "@d\ndef f(): return 1\nf": "?",
}

CLASSES = {
    "class A:\n    x = 1\nA.x": "1",
    "class A:\n    x = 1\nclass B(A): pass\nB.x, B().x": "tuple(1, 1)",
    "class A: pass\nA()": "a A",
    "class A:\n    def m(self): return 1\nA().m, A.m, A().m()": "tuple(bound A.m, def A.m, 1)",
    "class A:\n    @staticmethod\n    def m(x): return x\nA.m(1), A().m(2)": "tuple(1, 2)",
    "class A:\n    @classmethod\n    def m(cls, x): return cls, x\nA.m(1)": "tuple(class A, 1)",
    "class A:\n    @property\n    def p(self): return 1\nA().p, A.p": "tuple(1, ?)",
    "class A:\n    def __call__(self, x): return x\nA()(1)": "1",
    "class A:\n    def __init__(self):\n        self.x = 1\n    def m(self): return self.x\nA().m()": "1",
    "class A:\n    def __init__(self, x='a'):\n        self.x = x\nA('b').x, A().x": "tuple('b', 'a')",
    "class A:\n    def __init__(self, *x):\n        self.x = set(x)\n    def m(self): return self.x\nA('a', 'b').m()":
        "set('a', 'b')",
    "class A:\n    def __init__(self, x='a'):\n        self.x = x\n    def m(self):\n        self.x": "'a' | ?",
    "class A:\n    x: str\n    y: str\n    def __call__(self): return self.y\nA('a', 'b')()": "'b'",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: str = 'a'\nA().x, A(x='b').x":
        "tuple('a', 'b')",
    "class A:\n    x: str\nA(x='b').x": "'b'",
    "class A:\n    def m(self):\n        self": "a A",
    "import enum\nclass E(enum.Enum):\n    A = 'a'\nE.A, E.A.value, E.A.name": "tuple(member A = 'a', 'a', 'A')",
    "import enum\nclass E(str, enum.Enum):\n    A = 'a'\nE.A == 'a', f'{E.A}_out'": "tuple(True, /…_out/)",
    "class A(B): pass\nclass B(A): pass\nA().x, A": "tuple(?, class A)",
    "import enum\nclass E(enum.StrEnum):\n    A = 'a'\nT = {'a': 1}\nT[E.A]": "1",
    "import enum\nclass E(enum.Enum):\n    A = 'a'\n    B = 'b'\nT = {E.A: 1, E.B: 2}\nT[E.B]": "2",
}

ALL = {**WAYS_TO_JAX, **DISPLAYS_AND_OPERATORS, **LOOKUPS, **TEXTS, **FUNCTIONS, **CLASSES}


@pytest.mark.parametrize("source", ALL)
def test_value(source: str) -> None:
    lines = source if "\n" in source else source.replace("; ", "\n")
    assert in_words(value_of_last_line(model_of(lines))) == ALL[source]


MODULES = {
    "policies": """
        import jax
        from jax.ad_checkpoint import checkpoint_name as tag
        NAMES = ("attn", "mlp")
        def keep(prim, *_, **__): return False
        TABLE = {"keep": keep, "dots": jax.checkpoint_policies.dots_saveable}
        def get(name): return TABLE[name]
    """,
    "pkg/": "from .wrap import remat\nfrom . import wrap\nfrom policies import *",
    "pkg.wrap": "import jax\nfrom functools import partial\nremat = partial(jax.checkpoint, prevent_cse=False)",
}

ACROSS_MODULES = {
    "from policies import keep; keep": "def keep",
    "import policies; policies.keep": "def keep",
    "import policies as p; p.TABLE['dots']": "jax.checkpoint_policies.dots_saveable",
    "from policies import get; get('keep')": "def keep",
    "from policies import tag; tag": "jax.ad_checkpoint.checkpoint_name",
    "from policies import *; NAMES": "tuple('attn', 'mlp')",
    "from pkg import remat; remat": "partial(jax.checkpoint, prevent_cse=False)",
    "from pkg import wrap; wrap.remat": "partial(jax.checkpoint, prevent_cse=False)",
    "import pkg.wrap; pkg.wrap.remat": "partial(jax.checkpoint, prevent_cse=False)",
    "from pkg.wrap import remat as r; r": "partial(jax.checkpoint, prevent_cse=False)",
    "import pkg; pkg.keep": "def keep",
    "from elsewhere import keep; keep": "elsewhere.keep",
}


@pytest.mark.parametrize("source", ACROSS_MODULES)
def test_value_from_another_module(source: str) -> None:
    modules = {name: textwrap.dedent(text) for name, text in MODULES.items()}
    model = model_of(source.replace("; ", "\n"), modules)
    assert in_words(value_of_last_line(model)) == ACROSS_MODULES[source]


VERSIONS = {
    "try:\n    from jax.ad_checkpoint import checkpoint_name as f\nexcept ImportError:\n    f = None\nf":
        "jax.ad_checkpoint.checkpoint_name",
    "import jax\nif jax.__version_info__ < (0, 5):\n    f = 1\nelse:\n    f = 2\nf": "2",
    "import jax\ndef f():\n    if jax.__version_info__ < (0, 5): return 1\n    return 2\nf()": "2",
    "import jax\nf = jax.checkpoint if hasattr(jax, 'checkpoint') else jax.remat\nf": "jax.checkpoint",
}


@pytest.mark.parametrize("source", VERSIONS)
def test_value_on_this_jax(source: str) -> None:
    assert in_words(value_of_last_line(model_of(source, jax="0.10.2"))) == VERSIONS[source]


def test_values_know_where_they_are_written() -> None:
    model = model_of("from policies import TABLE\nTABLE['keep']", {"policies": textwrap.dedent(MODULES["policies"])})
    value = value_of_last_line(model)
    assert value.model is not None
    assert value.site is not None
    assert (value.model.path, value.model.text_of(value.site.node)) == (
        "policies.py", "def keep(prim, *_, **__): return False",
    )  # fmt: skip


def test_expensive_expressions_are_left_unknown() -> None:
    deep = "(" * 60 + "1" + "+1)" * 60
    wide = "\n".join(f"if unknown: x = {n}" for n in range(100))
    assert in_words(value_of_last_line(model_of(deep))) == "?"
    assert in_words(value_of_last_line(model_of(f"x = 0\n{wide}\nx"))) == "?"


CIRCLES = {
    "a package that imports its own submodule, which is not there": {"pkg/": "from pkg import sub\n"},
    "two packages that give out each other": {"pkg/": "from other import pkg as sub\n", "other/": "import pkg\n"},
    "a submodule imported as itself": {"pkg/": "import pkg.sub\nfrom pkg import sub\n"},
}


@pytest.mark.parametrize("modules", CIRCLES.values(), ids=list(CIRCLES))
def test_names_given_out_in_circles_end(modules: dict[str, str]) -> None:
    """Following them must not run out of stack."""
    model = model_of("import pkg\npkg.sub.deep.thing\n", modules)
    assert in_words(value_of_last_line(model)) in ("?", "pkg.sub.deep.thing", "pkg.deep.thing")
