"""What functions do besides giving their result: the function ``f`` of each source, its effects in words."""

from __future__ import annotations

import textwrap

import pytest

from jaxpert.model.effect_kinds import CALLBACKS, PYTHON_EFFECTS, REF_EFFECTS, Effect, EffectKind
from jaxpert.model.effects import effects_of
from jaxpert.model.file_model import FileModel
from jaxpert.text.lines import Position, Range
from tests.model.models import model_of

PRELUDE = textwrap.dedent("""\
    import functools, jax, jax.numpy as jnp, numpy as np
    from jax.experimental import io_callback
    from jax.experimental.checkify import check
    """)

COMPILED = {
    "def f(x): return jax.pure_callback(np.sin, x, x)": ["pure callback jax.pure_callback"],
    "def f(x): io_callback(save, None, x)": ["io callback jax.experimental.io_callback, not ordered"],
    "def f(x): io_callback(save, None, x, ordered=True)": ["io callback jax.experimental.io_callback, ordered"],
    "def f(x): io_callback(save, None, x, ordered=unknown)": ["io callback jax.experimental.io_callback"],
    "def f(x): io_callback(*args)": ["io callback jax.experimental.io_callback"],
    "def f(x): jax.debug.callback(lambda v: seen.append(v), x)": ["debug callback jax.debug.callback, not ordered"],
    "def f(x): jax.debug.print('{}', x)": ["debug print jax.debug.print, not ordered"],
    "def f(x): jax.debug.print('{}', x, ordered=True)": ["debug print jax.debug.print, ordered"],
    "def f(x): jax.debug.log('{}', x)": ["debug print jax.debug.log, not ordered"],
    "def f(x): jax.debug.breakpoint()": ["debug print jax.debug.breakpoint, not ordered"],
    "def f(x): check(x > 0, 'negative')": ["check jax.experimental.checkify.check"],
    "show = functools.partial(jax.debug.print, 'x {}')\ndef f(x): show(x)":
        ["debug print jax.debug.print, not ordered"],
    "from jax import debug as d\nf = lambda x: d.print('{}', x)": ["debug print jax.debug.print, not ordered"],
    "def f(x): return jnp.sin(x), jax.lax.stop_gradient(x), jax.random.normal(x)": [],
}  # fmt: skip

REFS = {
    "def f(x):\n    r = jax.new_ref(x)\n    r[...] += 1\n    return r[...]":
        ["ref creation jax.new_ref (inside)", "ref read r (inside)", "ref write r (inside)", "ref read r (inside)"],
    "r = jax.new_ref(0.)\ndef f(x): r[0] = x": ["ref write r (outside)"],
    "def f(x): r[...] = x\nr = jax.new_ref(0.)": ["ref write r (outside)"],
    "def make():\n    r = jax.new_ref(0.)\n    def f(x): return r[...]\n    return f\nf = make()":
        ["ref read r (outside)"],
    "def f(x, r: jax.Ref): r[...] = x": ["ref write r (parameter)"],
    "import jax.ref\ndef f(x, r: jax.ref.Ref | None = None): return r[...]": ["ref read r (parameter)"],
    "def f(x):\n    r: jax.Ref = unknown(x)\n    return r[0]": ["ref read r (unknown)"],
    "r: jax.Ref = unknown()\ndef f(x): return r[0]": ["ref read r (outside)"],
    "r = jax.new_ref(0.)\ndef f(x): return jax.ref.swap(r, ..., x)":
        ["ref read r (outside)", "ref write r (outside)"],
    "def f(x, r): return jax.ref.get(r, 0)": ["ref read r (unknown)"],
    "r = jax.new_ref(0.)\ndef f(x): r.at[0][...] = x; r.at[1].set(x); r.addupdate(x); return r.at[2].get()":
        ["ref write r (outside)", "ref write r (outside)", "ref write r (outside)", "ref read r (outside)"],
    "r = jax.new_ref(0.)\ndef f(x): return jax.freeze(r)": ["ref read r (outside)"],
    "rs = {'a': jax.new_ref(0.)}\ndef f(x): return rs['a'][...]": ["ref read rs['a'] (outside)"],
    "class State:\n    def __init__(self): self.r = jax.new_ref(0.)\ns = State()\ndef f(x): return s.r[...]":
        ["ref read s.r (outside)"],
    "def bump(r, by): r[...] += by\ndef f(x):\n    r = jax.new_ref(x)\n    bump(r, 1)": [
        "ref creation jax.new_ref (inside)", "ref read r (inside) through bump(r, 1)",
        "ref write r (inside) through bump(r, 1)",
    ],
    "def bump(r, by): r[...] = by\nr = jax.new_ref(0.)\ndef f(x): bump(by=x, r=r)":
        ["ref write r (outside) through bump(by=x, r=r)"],
    "def bump(r: jax.Ref): r[...] = 1\ndef f(x): bump(unknown(x))": ["ref write r (unknown) through bump(unknown(x))"],
    "def make(x): return jax.new_ref(x)\ndef f(x):\n    r = make(x)\n    return r[...]":
        ["ref read r (inside)", "ref creation jax.new_ref (inside) through make(x)"],
    "def f(x):\n    r = jax.new_ref(x)\n    def step(c, _):\n        r[0] = c\n        return c, None\n"
    "    jax.lax.scan(step, x, None)":
        ["ref creation jax.new_ref (inside)", "ref write r (inside) through jax.lax.scan(step, x, None)"],
    "def f(x, y): y[0] = x; return x[...] + x.at[0].set(1)": [],
}  # fmt: skip

PYTHON = {
    "def f(x): print(x)": ["print print"],
    "n = 0\ndef f(x):\n    global n\n    n += 1": ["name assigned n"],
    "def make():\n    n = 0\n    def f(x):\n        nonlocal n\n        n = x\n    return f\nf = make()":
        ["name assigned n"],
    "seen = []\ndef f(x): seen.append(x)": ["container changed seen"],
    "seen = {}\ndef f(x): seen['x'] = x; seen.update(y=x); del seen['x']":
        ["container changed seen", "container changed seen", "container changed seen"],
    "import collections\nseen = collections.deque()\ndef f(x): return seen.popleft()": ["container changed seen"],
    "def make(seen):\n    def f(x): seen.append(x)\n    return f\nf = make(unknown)": ["container changed seen"],
    "class C:\n    def __init__(self): self.seen = []\nc = C()\ndef f(x): c.seen.append(x); c.last = x":
        ["container changed c.seen", "attribute assigned c.last"],
    "import config\ndef f(x): config.last = x": ["attribute assigned config.last"],
    "def f(x): return x + np.random.normal()": ["random number numpy.random.normal"],
    "from numpy import random as r\ndef f(x): r.seed(0)": ["random number numpy.random.seed"],
    "import random\ndef f(x): return random.choice(x)": ["random number random.choice"],
    "rng = np.random.default_rng(0)\ndef f(x): return rng.normal()": ["random number numpy.random.default_rng.normal"],
    "def f(x): return np.random.default_rng().normal()": ["random number numpy.random.default_rng"],
    "import time\nfrom datetime import datetime\ndef f(x): return time.perf_counter(), datetime.now()":
        ["clock time.perf_counter", "clock datetime.datetime.now"],
    "import logging\nlog = logging.getLogger(__name__)\ndef f(x): logging.info(x); log.warning(x)":
        ["logging logging.info", "logging logging.getLogger.warning"],
    "from absl import logging\ndef f(x): logging.log_first_n(logging.INFO, x, 1)": ["logging absl.logging.log_first_n"],
}  # fmt: skip

NO_EFFECT = [
    "def f(x):\n    seen = []\n    seen.append(x)\n    seen[0] = x\n    n = 1\n    n += 1",
    "def f(x, seen): seen.append(x); seen['a'] = x",
    "def f(x):\n    def put(v): seen.append(v)\n    seen = []\n    put(x)",
    "def f(x):\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n    step()\n    return n",
    "class C:\n    def __init__(self): self.n = 0\n    def step(self): self.add()\n    def add(self): self.n += 1\n"
    "def f(x):\n    c = C()\n    c.step()",
    "def f(x):\n    def unused(v): print(v)\n    return x",
    "class C:\n    n: int\ndef f(x):\n    C.n: int\n    return [y for y in x]",
    "w = jnp.ones(3)\ndef f(x): w.at[0].add(x); return w[0]",
    "def f(x): return np.random.default_rng(0).normal() + np.random.Generator(np.random.PCG64(1)).normal()",
    "import optax\nopt = optax.adam(1e-3)\ndef f(g, s):\n    u, s = opt.update(g, s)\n    return u",
    "import time\ndef f(x): return time.strftime('%H', when)",
    "import logging\ndef f(x): return logging.getLogger('a')",
    "def f(x): unknown(x).append(x); unknown.print(x)",
    "def f(x): return jax.eval_shape(lambda v: jax.debug.print('{}', v), x)",
    "def f(x): return jax.jit(lambda v: print(v))",
    "def f(x):\n    if False: print(x)\n    False and print(x)",
    "def f(x):\n    if jax.__version_info__ < (0, 4, 0): print(x)",
    "def f(x):\n    try: jax.new_ref\n    except AttributeError: print(x)",
    "def g(h, x): h(x)\ndef f(x): functools.partial(g, *x, print)(x)",
    "@unknown\ndef f(x): print(x)",
    "f = unknown",
]

FOLLOWED = {
    "def g(x): print(x)\ndef f(x): g(x); g(x)": ["print print through g(x)"],
    "def h(x): print(x)\ndef g(x): return h(x)\ndef f(x): return g(x)": ["print print through g(x) > h(x)"],
    "def f(x): print(x); f(x)": ["print print"],
    "def g(x): print(x); f(x)\ndef f(x): g(x)": ["print print through g(x)"],
    "def g(x, loud=False):\n    if loud: print(x)\ndef f(x): g(x)": [],
    "def g(x, loud=False):\n    if loud: print(x)\ndef f(x): g(x, loud=True)": ["print print through g(x, loud=True)"],
    "def g(x, loud=False):\n    if loud: print(x)\ndef f(x): g(x); g(x, True)": ["print print through g(x, True)"],
    "def g(x, h): h(x)\ndef f(x): functools.partial(g, h=print)(x)":
        ["print print through functools.partial(g, h=print)(x)"],
    "def g(x, loud=False):\n    if loud: print(x)\ndef f(x): g(x, unknown)": ["print print through g(x, unknown)"],
    "def g(x, loud=False):\n    if loud: print(x)\ndef f(x): g(*x)": ["print print through g(*x)"],
    "def g(h, x): return h(x)\ndef f(x): return g(lambda v: print(v), x)":
        ["print print through g(lambda v: print(v), x) > h(x)"],
    "def g(h, x): return h(x)\ndef f(x): return g(jax.jit(print_it), x)\ndef print_it(x): print(x)":
        ["print print through g(jax.jit(print_it), x) > h(x)"],
    "def make(h):\n    def g(x): return h(x)\n    return g\ndef f(x): return make(print)(x)":
        ["print print through make(print)(x)"],
    "def g(n, x): print(x)\ndef f(x): return functools.partial(g, 1)(x)":
        ["print print through functools.partial(g, 1)(x)"],
    "class C:\n    def step(self, x): self.n = x\nc = C()\ndef f(x): c.step(x)":
        ["attribute assigned self.n through c.step(x)"],
    "class C:\n    def __call__(self, x): print(x)\ndef f(x): C()(x)": ["print print through C()(x)"],
    "class C:\n    def __init__(self): print('made')\ndef f(x): C()": ["print print through C()"],
    "class Base:\n    def step(self, x): print(x)\nclass C(Base):\n    def f(self, x): self.step(x)\nf = C().f":
        ["print print through self.step(x)"],
    "class C:\n    def f(self, x):\n        def add(c): self.n += c\n        add(x)\nf = C().f":
        ["attribute assigned self.n through add(x)"],
    "def g(c, x): print(c); return c, x\ndef f(x): return jax.lax.scan(g, x, x)":
        ["print print through jax.lax.scan(g, x, x)"],
    "def f(x): return jax.lax.cond(x, print, lambda v: io_callback(save, None, v), x)": [
        "io callback jax.experimental.io_callback, not ordered through "
        "jax.lax.cond(x, print, lambda v: io_callback(save, None, v), x)",
    ],
    "def a(x): print(x)\ndef f(x): return jax.lax.switch(x, [a, jnp.sin], x)":
        ["print print through jax.lax.switch(x, [a, jnp.sin], x)"],
    "def f(x): return jax.lax.while_loop(lambda c: print(c), lambda c: c, x)":
        ["print print through jax.lax.while_loop(lambda c: print(c), lambda c: c, x)"],
    "def g(x): print(x)\ndef f(x): return jax.vmap(jax.grad(g))(x)": ["print print through jax.vmap(jax.grad(g))(x)"],
    "def g(x): print(x)\ndef f(x): return jax.vjp(g, x)": ["print print through jax.vjp(g, x)"],
    "@jax.custom_vjp\ndef g(x): print(x)\ndef f(x): return g(x)": ["print print through g(x)"],
    "def g(x): print(x)\ndef f(x): return jax.tree.map(g, x)": ["print print through jax.tree.map(g, x)"],
    "from flax import nnx\ndef g(x): print(x)\ndef f(x): return nnx.remat(prevent_cse=False)(g)(x)":
        ["print print through nnx.remat(prevent_cse=False)(g)(x)"],
    "import flax.linen as nn\nclass Block(nn.Module):\n    def __call__(self, x): print(x)\n"
    "def f(x): return nn.remat(Block)(name='b')(x)": ["print print through nn.remat(Block)(name='b')(x)"],
    "f = jax.jit(jax.checkpoint(lambda x: print(x)))": ["print print"],
    "f = functools.partial(lambda n, x: print(x), 1)": ["print print"],
    "f = jax.checkpoint(f)": [],
}  # fmt: skip

CHECKPOINTS = {
    "@jax.checkpoint\ndef block(x): print(x)": ["print print"],
    "@functools.partial(jax.checkpoint, static_argnums=1)\ndef block(x, loud):\n    if loud: print(x)": ["print print"],
    "import flax.linen as nn\nclass Block(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n        print(x)\n"
    "        return nn.Dense(4)(x)\nBlock = nn.remat(Block)": ["print print"],
    "class Block:\n    def __call__(self, x): self.x = x\nblock = jax.checkpoint(Block())":
        ["attribute assigned self.x"],
    "def block(x, r): r[...] = x\njax.checkpoint(block)(x, jax.new_ref(0.))": ["ref write r (parameter)"],
    "def block(x, r): r[...] = x\nr = jax.new_ref(0.)\njax.grad(jax.checkpoint(block))(x, r=r)":
        ["ref write r (parameter)"],
    "def block(x, y): y[...] = x\njax.checkpoint(block)(jax.new_ref(0.), x)": [],
    "jax.checkpoint(unknown)": [],
}  # fmt: skip

VERSIONS = {
    "from jax.experimental import mutable_array\ndef f(x):\n    r = mutable_array(x)\n    return r[...]":
        ("0.6.2", ["ref creation jax.experimental.mutable_array (inside)", "ref read r (inside)"]),
    "def f(x, r: jax.ArrayRef):\n    s = jax.array_ref(x)\n    return r[...]":
        ("0.7.2", ["ref creation jax.new_ref (inside)", "ref read r (parameter)"]),
    "try: new_ref = jax.new_ref\nexcept AttributeError: from jax.experimental import mutable_array as new_ref\n"
    "def f(x): return new_ref(x)[...]":
        ("0.12.0", ["ref read new_ref(x) (inside)", "ref creation jax.new_ref (inside)"]),
}  # fmt: skip

MODULES = {
    "tools/": "from .printing import show",
    "tools.printing": "import jax\nn = 0\ndef show(x):\n    global n\n    n += 1\n    jax.debug.print('{}', x)",
    "tools.layers": "class Layer:\n    def __call__(self, x): self.x = x\nlayer = Layer()",
}


def in_words(effect: Effect) -> str:
    """``kind name (origin of the Ref), ordered or not, through the calls that lead to it``."""
    ref = f" ({effect.ref.origin.value})" if effect.ref else ""
    order = {None: "", True: ", ordered", False: ", not ordered"}[effect.ordered]
    steps = " > ".join(step.model.text_of(step.node) for step in effect.steps)
    return f"{effect.kind.value} {effect.name}{ref}{order}{' through ' if steps else ''}{steps}"


def effects_of_f(model: FileModel) -> list[Effect]:
    return list(effects_of(model, model.exported("f")))


@pytest.mark.parametrize("source", [*COMPILED, *REFS, *PYTHON, *FOLLOWED])
def test_effects(source: str) -> None:
    expected = {**COMPILED, **REFS, **PYTHON, **FOLLOWED}[source]
    assert [in_words(effect) for effect in effects_of_f(model_of(PRELUDE + source))] == expected


@pytest.mark.parametrize("source", NO_EFFECT)
def test_no_effects(source: str) -> None:
    assert [in_words(effect) for effect in effects_of_f(model_of(PRELUDE + source))] == []


@pytest.mark.parametrize("source", CHECKPOINTS)
def test_effects_of_checkpoints(source: str) -> None:
    ((_, effects),) = model_of(PRELUDE + source).checkpoint_effects
    assert [in_words(effect) for effect in effects] == CHECKPOINTS[source]


@pytest.mark.parametrize("source", VERSIONS)
def test_effects_by_version(source: str) -> None:
    version, expected = VERSIONS[source]
    model = model_of(PRELUDE + source, jax=version)
    assert [in_words(effect) for effect in effects_of_f(model)] == expected


def test_effects_in_other_files() -> None:
    model = model_of("from tools import show\nfrom tools.layers import layer\ndef f(x): show(layer(x))", MODULES)
    effects = effects_of_f(model)
    assert [(in_words(effect), effect.model.path) for effect in effects] == [
        ("name assigned n through show(layer(x))", "tools/printing.py"),
        ("debug print jax.debug.print, not ordered through show(layer(x))", "tools/printing.py"),
        ("attribute assigned self.x through layer(x)", "tools/layers.py"),
    ]
    pointed_at = [model.text_of(node) for effect in effects if (node := effect.node_in(model))]
    assert pointed_at == ["show(layer(x))", "show(layer(x))", "layer(x)"]


def test_an_effect_knows_its_call_and_the_making_of_its_ref() -> None:
    model = model_of(PRELUDE + "r = jax.new_ref(0., kind='any')\ndef f(x): r[...] = 1; io_callback(save, None, x)")
    write, callback = effects_of_f(model)
    assert write.ref is not None
    assert write.ref.creation is not None
    assert model.text_of(write.ref.creation.call) == "jax.new_ref(0., kind='any')"
    assert callback.call is not None
    assert model.text_of(callback.call.arguments["callback"].node) == "save"


def test_every_kind_belongs_to_one_group() -> None:
    assert set(EffectKind) - {EffectKind.CHECK} == CALLBACKS | REF_EFFECTS | PYTHON_EFFECTS
    assert len(CALLBACKS) + len(REF_EFFECTS) + len(PYTHON_EFFECTS) == len(EffectKind) - 1


def test_deep_and_wide_code_is_left_after_a_while() -> None:
    deep = "".join(f"def f{n}(x): f{n + 1}(x)\n" for n in range(40)) + "def f40(x): print(x)\ndef f(x): f0(x)"
    wide = "".join(f"def f{n}(x, g): g(x); print(x)\n" for n in range(300)) + "def f(x):\n"
    wide += "".join(f"    f{n}(x, lambda v: v)\n" for n in range(300))
    nested = "f = jax.jit(f)\n" * 50
    assert effects_of_f(model_of(PRELUDE + deep)) == []
    assert 50 < len(effects_of_f(model_of(PRELUDE + wide))) < 300
    assert effects_of_f(model_of(PRELUDE + nested)) == []


EDITED = PRELUDE + textwrap.dedent("""\
    def helper(x):
        return x
    def f(x, g=None):
        return helper(x)
    def other(x):
        return 1
    """)


def effects_after_edit(model: FileModel, old: str, new: str) -> list[Effect]:
    for line, text in enumerate(model.source.lines):
        if old in text:
            column = text.index(old)
            model.source.edit(Range(Position(line, column), Position(line, column + len(old))), new)
            return effects_of_f(model.renewed(model.db))
    raise AssertionError(old)


def test_an_edit_elsewhere_costs_nothing() -> None:
    model = model_of(EDITED.replace("return x", "print(x)"))
    before = effects_of_f(model)
    after = effects_after_edit(model, "return 1", "return 2")
    assert [in_words(effect) for effect in before] == ["print print through helper(x)"]
    assert list(map(id, after)) == list(map(id, before))


def test_an_edit_of_what_is_called_is_seen() -> None:
    model = model_of(EDITED)
    assert effects_of_f(model) == []
    after = effects_after_edit(model, "return x", "print(x)")
    assert [in_words(effect) for effect in after] == ["print print through helper(x)"]
    assert effects_after_edit(model, "print(x)", "return 1") == []
    after = effects_after_edit(model, "return helper(x)", "return other(x), print(x)")
    assert [in_words(effect) for effect in after] == ["print print"]


def test_an_edit_of_a_given_function_is_seen() -> None:
    model = model_of(PRELUDE + "def make(g):\n    def f(x): return g(x)\n    return f\nf = make(lambda v: 1)\n")
    assert effects_of_f(model) == []
    assert [in_words(e) for e in effects_after_edit(model, "v: 1", "v: print(v)")] == ["print print through g(x)"]
    for n in range(40):
        effects_after_edit(model, "make(lambda v: ", f"make(lambda v: {n} or ")
    kept = [key for tree in model.source.trees() for key in tree.facts if key.startswith("effects of")]
    assert len(kept) <= 16
