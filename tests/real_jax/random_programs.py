"""Random small programs, run on real JAX and checked: an error that is reported in one that runs is a false alarm.

    python -m tests.real_jax.random_programs                                        # on the JAX of this Python
    python -m tests.real_jax.random_programs --seed 7 --count 2000 --python PATH …  # on others too

Each program is derived from :data:`GRAMMAR`: a name in ``<angles>`` stands for one of the forms listed for it. Most
programs raise, as in life; those that run, and are said to be wrong, are printed. What raises and is not found is only
counted: much of it is no matter of JAX.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from jaxpert.cli.checking import Request, check_text
from jaxpert.rulekit.rule import Severity
from tests.real_jax import outcomes

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import lax

"""
_NAME = re.compile(r"<(\w+)>")
_DEEPEST = 12
"""So many names inside one another are replaced; beyond, by the first of their forms, which has none."""

GRAMMAR: dict[str, tuple[str, ...]] = {
    "program": ("<trees>", "<treedefs>", "<arrays>", "<mapped>", "<differentiated>", "<branches>", "<checkpointed>"),
    # pytrees
    "leaf": ("1.0", "2", "None", "True", "jnp.ones(3)", "jnp.zeros((2, 3))", "np.ones(2)", "jnp.arange(3)"),
    "tree": ("1.0", "<leaf>", "<leaf>", "[<tree>]", "[<tree>, <tree>]", "(<tree>,)", "(<tree>, <tree>)",
             "{'a': <tree>}", "{'a': <tree>, 'b': <tree>}", "{'b': <tree>, 'c': None}"),
    "leaf_function": ("lambda x: x", "lambda x, y: x", "lambda *xs: xs[0]", "lambda x, y=None: x", "lambda x, *r: x"),
    "is_leaf": ("", "", ", is_leaf=lambda x: x is None", ", is_leaf=lambda x: isinstance(x, list)"),
    "trees": ("jax.tree.map(<leaf_function>, <tree><is_leaf>)", "jax.tree.map(<leaf_function>, <tree>, <tree><is_leaf>)",
              "t = <tree>\njax.tree.map(<leaf_function>, t, t<is_leaf>)",
              "t = <tree>\nu = <tree>\njax.tree.map(<leaf_function>, t, u<is_leaf>)"),
    "asked": ("num_leaves", "num_leaves()", "num_nodes", "children()", "unflatten(leaves)", "flatten_up_to(<tree>)",
              "compose(treedef)", "leaves"),
    "treedefs": ("leaves, treedef = jax.tree.flatten(<tree>)\njax.tree.unflatten(treedef, leaves)",
                 "treedef, leaves = jax.tree.flatten(<tree>)\njax.tree.unflatten(treedef, leaves)",
                 "leaves, treedef = jax.tree.flatten(<tree>)\njax.tree.unflatten(leaves, treedef)",
                 "leaves, treedef = jax.tree.flatten(<tree>)\ntreedef.<asked>",
                 "leaves, treedef = jax.tree.flatten(<tree>)\nother = jax.tree.structure(<tree>)\n"
                 "jax.tree.unflatten(other, leaves)",
                 "outer = jax.tree.structure(<tree>)\ninner = jax.tree.structure(<tree>)\n"
                 "jax.tree.transpose(outer, inner, <tree>)"),
    # values
    "value": ("1", "-1", "300", "2**40", "1.0", "None", "'abc'", "'12'", "b'1'", "[1, 2]", "[1.0, None]", "['1', '2']",
              "{'a': 1}", "{1, 2}", "(1, 2)", "True", "jnp.ones(2)", "np.ones(2)", "range(3)", "[[1, 2], [3]]", "1j",
              "3_000_000_000", "[300, 1]", "np.int64(2**40)", "lambda: 1", "[jnp.ones(2), 1.0]", "2**64"),
    "dtype": ("", "", ", dtype=jnp.int8", ", dtype=jnp.uint8", ", dtype=float", ", int", ", 'float32'", ", copy=True",
              ", dtype=jnp.int64", ", dtype=None", ", dtype=bool"),
    "use": ("jnp.array(v<dtype>)", "jnp.asarray(v<dtype>)", "jnp.int32(v)", "jnp.uint8(v)",
            "jnp.ones(3) + v", "jnp.arange(3) < v", "jnp.where(jnp.ones(3) > 0, jnp.arange(3), v)",
            "jnp.arange(3).at[0].set(v)", "jax.jit(lambda x: x)(v)", "jax.random.key(v)"),
    "arrays": ("v = <value>\n<use>",),
    # transformations
    "function": ("lambda x: x", "lambda x, y: x + y", "lambda x, y=1.0: x", "lambda *a: a[0]", "lambda x: (x, x)",
                 "lambda d, y: d['a'] + y", "lambda x, y: (x, y)", "jnp.sum", "jnp.dot"),
    "argument": ("1.0", "2", "jnp.ones((3, 3))", "jnp.ones(3)", "{'a': jnp.ones(3), 'b': 2.0}", "(jnp.ones(3), 1.0)",
                 "None", "jnp.ones((3, 2))", "jnp.float32(1)", "np.ones(3)", "[1.0, 2.0]", "jnp.ones(4)"),
    "arguments": ("<argument>", "<argument>, <argument>"),
    "axes": ("0", "1", "None", "(0, 0)", "(0, None)", "[0, None]", "(0,)", "-1", "({'a': 0, 'b': None}, 0)", "'0'"),
    "in_axes": ("", "", ", in_axes=<axes>"),
    "out_axes": ("", "", "", ", out_axes=<axes>"),
    "axis_size": ("", "", "", ", axis_size=3"),
    "mapped": ("f = <function>\njax.vmap(f<in_axes><out_axes><axis_size>)(<arguments>)",),
    "loss": ("lambda x: x ** 2", "lambda x: jnp.sum(x)", "lambda x, y: jnp.sum(x * y)", "lambda x: (jnp.sum(x), x)",
             "lambda x: {'l': jnp.sum(x)}", "lambda x: None", "lambda p: jnp.sum(p['w'])",
             "lambda x: jnp.sum(x).astype(int)", "lambda x, y: (jnp.sum(x), y)"),
    "primal": ("1.0", "2", "jnp.ones(3)", "jnp.arange(3)", "jnp.arange(3.0)", "{'w': jnp.ones(2)}", "np.ones(3)", "True",
               "{'w': jnp.arange(2)}", "1j", "None"),
    "primals": ("<primal>", "<primal>, <primal>"),
    "derivative": ("jax.grad", "jax.value_and_grad", "jax.jacfwd", "jax.jacrev"),
    "options": ("", "", "", ", argnums=0", ", argnums=1", ", argnums=(0, 1)", ", has_aux=True", ", argnums=[0]"),
    "results": ("r = ", "r, s = ", "(r, s), t = "),
    "point": ("(1.0,)", "1.0", "[1.0]", "(jnp.ones(3),)", "(jnp.arange(3),)", "(1,)", "(1.0, 2.0)", "(None,)"),
    "differentiated": ("f = <loss>\ng = <derivative>(f<options>)\n<results>g(<primals>)",
                       "jax.jvp(<loss>, <point>, <point>)", "p = <point>\njax.jvp(<loss>, p, p)",
                       "y, pull = jax.vjp(<loss>, <primal>)\npull(y)"),
    "predicate": ("True", "1", "1.0", "jnp.ones(3) > 0", "jnp.sum(jnp.ones(3)) > 0", "np.array(True)", "None", "'a'",
                  "jnp.array([True])", "[True]", "jnp.bool_(True)"),
    "carry": ("0", "0.0", "None", "jnp.zeros(2)", "{'a': 1.0}", "2**40"),
    "branches": ("lax.cond(<predicate>, lambda x: x, lambda x: -x, 1.0)", "jnp.where(<predicate>, 1, 2)",
                 "lax.while_loop(lambda c: c < 3, lambda c: c + 1, <carry>)", "if <predicate>:\n    r = 1",
                 "lax.while_loop(lambda c: jnp.ones(2) > 3, lambda c: c, <carry>)",
                 "lax.fori_loop(0, 2, lambda i, c: c, <carry>)",
                 "lax.scan(lambda c, x: (c, x), <carry>, jnp.arange(3))"),
    # rematerialization
    "body": ("lambda x: jnp.sum(x)", "lambda x, n: x * n", "lambda x, flag: jnp.sin(x) if flag else x",
             "lambda x, flag=True: jnp.sin(x) if flag else x", "lambda x, n: sum(x for _ in range(n))",
             "lambda x, name: x", "lambda x, f: f(x)", "lambda d: d['a']", "lambda x: 'a'",
             "lambda x, s: jnp.zeros(s) + x", "lambda x, a: jnp.sum(x, axis=a)", "lambda x, i: x[i]",
             "lambda x, i: x[:i]", "lambda x: x if x.ndim else -x"),
    "static": ("", "", ", static_argnums=1", ", static_argnums=(1,)", ", static_argnums=[1]", ", static_argnums=-1",
               ", static_argnums=2", ", static_argnums='x'", ", static_argnums=(0, 1)", ", prevent_cse=False",
               ", prevent_cse=None", ", policy=jax.checkpoint_policies.dots_saveable",
               ", policy=jax.checkpoint_policies.save_only_these_names('a')", ", concrete=True"),
    "passed": ("", "", ", 2", ", True", ", 'relu'", ", jnp.sin", ", (2,)", ", 0", ", jnp.array(1)", ", flag=True", ", n=2"),
    "input": ("1.0", "jnp.ones(3)", "jnp.ones((3, 3))", "{'a': 1.0}", "2", "None", "np.ones(3)"),
    "checkpointed": ("f = <body>\ng = jax.checkpoint(f<static>)\ng(<input><passed>)",
                     "f = <body>\ng = jax.remat(f<static>)\njax.jit(g)(<input><passed>)",
                     "f = <body>\ng = jax.checkpoint(f<static>)\n"
                     "jax.grad(lambda *a, **k: jnp.sum(g(*a, **k)))(<input><passed>)"),
}  # fmt: skip
"""The first form of a name that can hold itself is a plain one."""


@dataclass(frozen=True)
class Verdict:
    """What JAX and jaxpert made of one program: an exception or "", and the codes of errors and of all findings."""

    program: str
    exception: str
    errors: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def is_false_alarm(self) -> bool:
        """Whether the program runs, and is said to raise."""
        return not self.exception and bool(self.errors)


def random_programs(seed: int, count: int) -> list[str]:
    """So many programs; the same for the same seed."""
    chance = random.Random(seed)
    return [f"{HEAD}{_derived('<program>', chance)}\n" for _ in range(count)]


def _derived(text: str, chance: random.Random, depth: int = 0) -> str:
    def form(name: re.Match[str]) -> str:
        forms = GRAMMAR[name[1]]
        return _derived(chance.choice(forms) if depth < _DEEPEST else forms[0], chance, depth + 1)

    return _NAME.sub(form, text)


def verdicts(programs: list[str], python: str = sys.executable) -> list[Verdict]:
    """What the JAX of ``python`` makes of each program, and jaxpert of the same version of JAX.

    Raises:
        RuntimeError: the interpreter has no JAX.
    """
    real = outcomes.run([{"program": program} for program in programs], python)
    request = Request((Path("program.py"),), {"jax-version": str(real.jax)}, describe_fixes=False)
    judged = []
    for program, outcome in zip(programs, real.outcomes):
        found = check_text(request, Path("program.py"), program.encode()).findings
        errors = tuple(finding.code for finding in found if finding.severity is Severity.ERROR)
        judged.append(Verdict(program, outcome.exception, errors, tuple(finding.code for finding in found)))
    return judged


def main() -> int:
    """Derive, run, check; print what is reported and runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="which programs; by chance")
    parser.add_argument("--count", type=int, default=500, help="how many programs")
    parser.add_argument("--python", action="append", metavar="PATH", help="an interpreter with JAX; may be repeated")
    arguments = parser.parse_args()
    programs = random_programs(arguments.seed, arguments.count)
    alarms = 0
    for python in arguments.python or [sys.executable]:
        judged = verdicts(programs, python)
        for one in judged:
            if one.is_false_alarm:
                print(f"\n{', '.join(one.errors)}, and it runs:\n{one.program.removeprefix(HEAD)}", end="")
        raising = [one for one in judged if one.exception]
        found = sum(bool(one.findings) for one in raising)
        alarms += sum(one.is_false_alarm for one in judged)
        print(
            f"{python}: of {len(judged)} programs (seed {arguments.seed}) {len(judged) - len(raising)} run, "
            f"{sum(one.is_false_alarm for one in judged)} of them with errors; {len(raising)} raise, {found} are found"
        )
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
