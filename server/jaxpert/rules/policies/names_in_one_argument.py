"""Names are given to a policy factory in one argument, or as one string where a list belongs.

## What it finds

`save_only_these_names(["a", "b"])`, with a list, tuple, set, generator or NumPy array where separate strings belong;
several tagged names in one string, `"a, b"`; a string spread into its letters by `*"attn"`; and a bare string given to
`names_which_can_be_saved` or `names_which_can_be_offloaded`, which take collections.

## Why it matters

A list or set raises at once, because it cannot be hashed. A tuple, frozenset, generator or bare string is worse:
nothing is raised, the policy matches no name, and everything that was to be saved is recomputed.

    TypeError: unhashable type: 'list'

## In which versions

All. `save_anything_except_these_names` accepts even a list from 0.10.2 on; see *excluded-names-ignored*.

## What to write instead

`save_only_these_names("a", "b")`, or `save_only_these_names(*NAMES)`; and
`names_which_can_be_saved=["a"]`.

## Known limits

A variable whose value cannot be seen is not reported. Two names in one string are reported when the project tags a
value with one of them. A string all of whose letters are names of the project is right.

## Source

`jax/_src/ad_checkpoint.py`, where the names become a set; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import CallResult, Literal, Sequence, Table, Typed, Value, is_none, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, slice_lines

NAME = "names-in-one-argument"

_UNHASHABLE = {"list", "set", "dict", "numpy.ndarray"}
_COLLECTIONS = {"list", "tuple", "set", "frozenset", "generator", "map", "filter", "numpy.ndarray"}
_ARRAYS = ("numpy.array", "numpy.asarray")


def check(model: FileModel) -> Iterator[Finding]:
    """Arguments of the name-taking factories that hold names in the wrong shape."""
    for call in model.calls:
        if call.api.kind is not ApiKind.POLICY_FACTORY or model.is_dead(call.site.block):
            continue
        if "names_as_varargs" in call.api.traits:
            for argument in call.varargs:
                yield from _collection(model, call, argument)
                yield from _joined_names(model, argument)
            yield from _spread_strings(model, call)
        elif "names_as_collections" in call.api.traits:
            for role in ("names", "offloaded_names"):
                argument_ = call.role(role)
                if argument_ is not None and argument_.model is model:
                    yield from _bare_string(model, call, argument_)


def _collection(model: FileModel, call: ApiCall, argument: Argument) -> Iterator[Finding]:
    if argument.model is not model:
        return
    kinds = {kind for option in argument.value.options() if (kind := _kind(option)) in _COLLECTIONS | {"dict"}}
    where = model.range_of(argument.node)
    if len(kinds) != 1 or where is None or len(list(argument.value.options())) > 1:
        return
    kind = kinds.pop()
    name = call.api.name.rpartition(".")[2]
    if "names_have_no_effect" in call.api.traits and (
        kind not in _UNHASHABLE or model.db.signature_ignores_names(name)
    ):
        return
    if kind in _UNHASHABLE:
        consequence = raises(model, "where this stands", "TypeError", f"unhashable type: '{kind}'")
        effect, severity = "JAX raises here", Severity.ERROR
    else:
        consequence = silent(model, f"no value is named by a {kind}, so the policy matches nothing")
        effect, severity = "the policy matches no name", Severity.WARNING
    yield Finding(
        NAME,
        where,
        f"`{name}` takes each name as an argument of its own, not a {kind} of them: {effect}; "
        f"write `{_rewritten(model, name, argument)}`",
        severity,
        consequence,
        exceptions=("TypeError",) if severity is Severity.ERROR else (),
    )


def _kind(value: Value) -> str:
    if isinstance(value, Sequence):
        return value.kind
    if isinstance(value, Table):
        return "dict"
    if isinstance(value, CallResult) and value.path in _ARRAYS:
        return "numpy.ndarray"
    return value.type if isinstance(value, Typed) else ""


def _rewritten(model: FileModel, name: str, argument: Argument) -> str:
    node = argument.node
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and node.elts:
        items = [model.text_of(element) for element in node.elts]
        return f"{name}({', '.join(items[:3])}{', …' if len(items) > 3 else ''})"
    return f"{name}(*{model.text_of(node)})"


def _joined_names(model: FileModel, argument: Argument) -> Iterator[Finding]:
    """Several names in one string, of which the project tags at least one."""
    names = _names_in(model, argument)
    where = model.range_of(argument.node)
    if names and where is not None:
        shown = ", ".join(map(_double_quoted, names))
        yield Finding(
            NAME, where, f"this is one name, and no value has it: the policy matches nothing; write `{shown}`",
            Severity.WARNING, silent(model, "a name is looked for as it is written"),
        )  # fmt: skip


def _names_in(model: FileModel, argument: Argument) -> list[str]:
    text = string(argument.value) if argument.model is model and isinstance(argument.node, ast.Constant) else None
    names = re.split(r"\s*[,;]\s*|\s+", text.strip()) if text is not None else []
    if len(names) < 2 or not all(name.isidentifier() for name in names):
        return []
    tagged = {tag.text for tag in model.project_names.tags()}
    is_list = "," in str(text) or ";" in str(text)  # words may be one name
    found = tagged.intersection(names)
    return names if text not in tagged and (found if is_list else found == set(names)) else []


def _double_quoted(text: str) -> str:
    return f'"{text}"'


def _spread_strings(model: FileModel, call: ApiCall) -> Iterator[Finding]:
    for argument in call.node.args:
        if not isinstance(argument, ast.Starred):
            continue
        text = string(model.evaluate(argument.value, call.site.scope, call.site.block))
        where = model.range_of(argument)
        if text is None or len(text) < 2 or where is None or _is_names_of_one_letter(model, text):
            continue
        yield Finding(
            NAME,
            where,
            f"`*` spreads the string {_quoted(text)} into its letters, so the policy matches no name; "
            "write it without the `*`",
            Severity.WARNING,
            silent(model, f"the names are {_letters(text)}"),
        )


def _bare_string(model: FileModel, call: ApiCall, argument: Argument) -> Iterator[Finding]:
    options = list(argument.value.options())
    text = string(options[0]) if len(options) == 1 else None
    where = model.range_of(argument.node)
    keyword = argument.keyword.arg if argument.keyword is not None else "names"
    if where is not None and len(options) == 1 and isinstance(options[0], Literal) and text is None:
        kind = type(options[0].value).__name__
        yield Finding(
            NAME, where, f"`{keyword}` takes a list of names, and `{model.text_of(argument.node)}` is none: JAX raises "
            "here; write `[]` for no names", Severity.ERROR,
            raises(model, "where this stands", "TypeError", f"'{kind}' object is not iterable"),
            exceptions=("TypeError",),
        )  # fmt: skip
    if text is None or where is None:
        return
    if len(text) == 1:
        yield Finding(
            NAME, where, f"`{keyword}` takes a list of names, and a string is a list of letters: it works for a name "
            f"of one letter only; write `[{model.text_of(argument.node)}]`", Severity.INFORMATION,
        )  # fmt: skip
        return
    if _is_names_of_one_letter(model, text):
        return
    effect = f"the names are {_letters(text)}, so the policy matches no name" if text else "it holds no name"
    shown = model.text_of(argument.node)
    shared = _letter_in_both(call, text)
    if shared:
        message = "The names should be exclusive and should not intersect in … and …"
        yield Finding(
            NAME, where, f"`{keyword}` takes a list of names, and a string is a list of letters: JAX raises here, as "
            f'both lists hold "{shared}"; write `[{shown}]`', Severity.ERROR,
            raises(model, "where this stands", "ValueError", message), exceptions=("ValueError",),
        )  # fmt: skip
        return
    yield Finding(
        NAME,
        where,
        f"`{keyword}` takes a list of names, and a string is a list of letters: the policy matches no name; "
        f"write `[{shown}]`",
        Severity.WARNING,
        silent(model, effect),
    )


def _letter_in_both(call: ApiCall, text: str) -> str:
    """A letter that both arguments of the call have, when both are strings."""
    both = [call.role(role) for role in ("names", "offloaded_names")]
    texts = [string(one.value) if one is not None else None for one in both]
    first, second = (set(one) if one is not None else set() for one in texts)
    return next((letter for letter in text if letter in first & second), "")


def _is_names_of_one_letter(model: FileModel, text: str) -> bool:
    """Whether the project names values by each letter of ``text``, and none by all of it: they are meant then."""
    known = model.project_names.known()
    return bool(text) and known.issuperset(text) and text not in known


def _quoted(text: str) -> str:
    return f'`"{text}"`'


def _letters(text: str) -> str:
    """The names that a string turns into, the first few of them."""
    shown = ", ".join(f'"{letter}"' for letter in text[:3])
    return shown + (", …" if len(text) > 3 else "")


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Spread a literal, star a variable, wrap a string in a list, or drop a star."""
    lines = model.source.lines
    for call in model.calls:
        if call.api.kind is not ApiKind.POLICY_FACTORY:
            continue
        for starred in call.node.args:
            if isinstance(starred, ast.Starred) and model.range_of(starred) == finding.range:
                edits = verbs.replace_expression(lines, finding.range, model.text_of(starred.value))
                return Fix("Remove the `*`", Safety.SAFE, edits) if edits else None
        for argument in (*call.varargs, *call.arguments.values()):
            if argument.model is not model or model.range_of(argument.node) != finding.range:
                continue
            if "names_as_collections" in call.api.traits and string(argument.value) is None:
                none = is_none(argument.value)
                edits = verbs.replace_expression(lines, finding.range, "[]") if none else None
                return Fix("Write `[]`", Safety.SAFE, edits) if edits else None
            if "names_as_collections" in call.api.traits:
                edits = verbs.wrap_in_list(lines, finding.range)
                return Fix(f"Write `[{model.text_of(argument.node)}]`", Safety.SAFE, edits) if edits else None
            names = _names_in(model, argument)
            if names:
                edits = _in_place(model, call, finding.range, ", ".join(map(_double_quoted, names)))
                return Fix("Give each name as an argument of its own", Safety.SAFE, edits) if edits else None
            if isinstance(argument.node, (ast.List, ast.Tuple, ast.Set)) and argument.node.elts:
                edits = verbs.spread_argument(lines, finding.range)
                return Fix("Give each name as an argument of its own", Safety.SAFE, edits) if edits else None
            if isinstance(argument.value, (Sequence, Typed, CallResult)) and not isinstance(argument.value, Literal):
                edits = verbs.star_argument(lines, finding.range)
                return Fix(f"Spread it: `*{model.text_of(argument.node)}`", Safety.SAFE, edits) if edits else None
    return None


def _in_place(model: FileModel, call: ApiCall, argument: Range, new: str) -> tuple[Edit, ...] | None:
    """The call with ``new`` where the argument stands, which may be several arguments."""
    whole = model.range_of(call.node)
    if whole is None:
        return None
    before = slice_lines(model.source.lines, Range(whole.start, argument.start))
    behind = slice_lines(model.source.lines, Range(argument.end, whole.end))
    return verbs.replace_expression(model.source.lines, whole, f"{before}{new}{behind}")


_BAD = """\
import jax

policy = jax.checkpoint_policies.save_only_these_names(["attn_out", "mlp_up"])
"""

_SILENT = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names(("product",))


def loss(w, x):
    return jnp.sum(jnp.sin(checkpoint_name(jnp.cos(x @ w), "product")))


residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones((3, 3)), jnp.ones((2, 3)))
computed = [source for _, source in residuals if "argument" not in source]
"""

_STRING = _SILENT.replace(
    'save_only_these_names(("product",))',
    'save_and_offload_only_these_names(\n    names_which_can_be_saved="product",\n'
    '    names_which_can_be_offloaded=[],\n    offload_src="device",\n    offload_dst="pinned_host",\n)',
)

RULE = Rule(
    code="JXP208",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.checkpoint_policies.save_only_these_names",
        "jax.checkpoint_policies.save_any_names_but_these",
        "jax.checkpoint_policies.save_and_offload_only_these_names",
        "jax.checkpoint_policies.SaveOnlyTheseNames",
        "jax.checkpoint_policies.SaveAnyNamesButThese",
    ),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace('["attn_out", "mlp_up"]', '"attn_out", "mlp_up"'),
            proof=Raises("TypeError", "unhashable type: 'list'", "decorate"),
        ),
        Example(bad=_SILENT, good=_SILENT.replace('("product",)', '"product"'), proof=Silent("not computed")),
        Example(
            bad=_STRING,
            good=_STRING.replace('saved="product"', 'saved=["product"]'),
            proof=Silent("not computed", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
