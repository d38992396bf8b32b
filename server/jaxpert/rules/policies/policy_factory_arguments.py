"""A policy factory is called with arguments that it does not take.

## What it finds

Calls of `save_and_offload_only_these_names` with positional arguments, with a keyword missing or misspelled; of
`save_from_both_policies` with one policy, three, or a list of them; of `save_only_these_names` and its relatives with
a keyword, as in `names=["attn_out"]`; of `offload_dot_with_no_batch_dims` with one argument or three.

## Why it matters

Each factory has its own way of taking arguments: names one by one, two policies, or four keywords. JAX raises where
the policy is made:

    TypeError: save_and_offload_only_these_names() takes 0 positional arguments but 4 were given
    TypeError: save_from_both_policies() missing 1 required positional argument: 'policy_2'

## In which versions

All, with and without `jax_remat3`.

## What to write instead

`save_only_these_names("a", "b")`; `save_from_both_policies(one, other)`, nested for more than two; and
`save_and_offload_only_these_names(names_which_can_be_saved=[…], names_which_can_be_offloaded=[…],
offload_src="device", offload_dst="pinned_host")`.

## Known limits

Where `*` or `**` hides arguments, only those that are certainly too many or unknown are reported.

## Source

The signatures in `jax/_src/ad_checkpoint.py`, read from each release.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind, Parameter
from jaxpert.model.calls import ApiCall
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.values import Sequence
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.near_misses import nearest

NAME = "policy-factory-arguments"

_DEFAULTS = {"offload_src": '"device"', "offload_dst": '"pinned_host"', "names": "[]", "offloaded_names": "[]"}
"""What to write for an argument that is missing, by its role."""


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of factories that Python rejects."""
    for call in _calls(model):
        found = _wrong(model, call)
        where = model.range_of(found[0]) if found is not None else None
        if found is None or where is None:
            continue
        _, fault, text = found
        yield Finding(
            NAME, where, f"`{_name(call)}` {fault}: it raises here; write `{_correct(model, call)}`", Severity.ERROR,
            raises(model, "where this stands", "TypeError", f"{_name(call)}() {text}"), exceptions=("TypeError",),
        )  # fmt: skip


def _calls(model: FileModel) -> Iterator[ApiCall]:
    for call in model.calls:
        if call.api.kind is not ApiKind.POLICY_FACTORY or call.is_partial or model.is_dead(call.site.block):
            continue
        if call.unexpected or call.surplus or call.missing:
            yield call


def _name(call: ApiCall) -> str:
    return call.api.name.rpartition(".")[2]


def _parameters(model: FileModel, call: ApiCall) -> tuple[Parameter, ...]:
    signature = model.db.signature(call.api)
    return signature.parameters if signature is not None else ()


def _wrong(model: FileModel, call: ApiCall) -> tuple[ast.AST, str, str] | None:
    """Where to look, what is wrong in a clause, and what Python says behind the function's name."""
    for argument in call.unexpected:
        if argument.model is model and argument.keyword is not None:
            keyword = argument.keyword.arg
            node: ast.AST = call.node if argument.is_spread else argument.keyword
            return node, f"takes no `{keyword}`", f"got an unexpected keyword argument '{keyword}'"
    if call.unexpected:
        return None
    parameters = _parameters(model, call)
    slots = [p for p in parameters if p.kind in ("positional_only", "positional_or_keyword")]
    if call.surplus:
        taken, given = len(slots), len(slots) + len(call.surplus)
        what = f"takes {taken} policies, not {given}" if "policies_as_varargs" in call.api.traits else \
            f"takes {taken} arguments, not {given}" if taken else "takes keywords only"
        node = call.surplus[0].node if any(part is call.surplus[0].node for part in call.node.args) else call.node
        return node, what, f"takes {taken} positional argument{'s' * (taken != 1)} but {given} were given"
    missing = [p for p in parameters if p.name in call.missing]
    kind = "keyword-only" if missing[0].kind == "keyword_only" else "positional"
    names = " and ".join(f"'{p.name}'" for p in missing)
    text = f"missing {len(missing)} required {kind} argument{'s' * (len(missing) != 1)}: {names}"
    listed = _list_of_policies(model, call)
    if listed is not None:
        return listed, f"takes each policy as an argument of its own, not a {_kind(model, call)} of them", text
    if "policies_as_varargs" in call.api.traits:
        return call.node, f"takes two policies, not {'one' if call.arguments else 'none'}", text
    return call.node, f"needs {names.replace(chr(39), '`')}", text


def _list_of_policies(model: FileModel, call: ApiCall) -> ast.expr | None:
    """The only argument of a call that takes policies, when it is a collection of them."""
    if "policies_as_varargs" not in call.api.traits or len(call.arguments) != 1:
        return None
    argument = next(iter(call.arguments.values()))
    return argument.node if argument.model is model and isinstance(argument.value, Sequence) else None


def _kind(model: FileModel, call: ApiCall) -> str:
    value = next(iter(call.arguments.values())).value
    return value.kind if isinstance(value, Sequence) else "list"


def _correct(model: FileModel, call: ApiCall) -> str:
    """The call as it should look, with what can be kept of it."""
    name = _name(call)
    if "names_as_varargs" in call.api.traits:
        return f'{name}("…")'
    if "policies_as_varargs" in call.api.traits:
        return f"{name}({name}(…, …), …)" if call.surplus else f"{name}(…, …)"
    return f"{name}({', '.join(f'{p.name}=…' for p in _parameters(model, call))})"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Name the arguments, add those that are missing, nest policies, or spread a list."""
    for call in model.every(_calls):
        found = _wrong(model, call)
        if found is None or model.range_of(found[0]) != finding.range or call.opened:
            continue
        if call.unexpected:
            return _renamed(model, call)
        if call.surplus:
            return _nested(model, call) if "policies_as_varargs" in call.api.traits else _named(model, call)
        listed = _list_of_policies(model, call)
        if listed is not None:
            return _spread(model, call, listed)
        return _completed(model, call)
    return None


def _renamed(model: FileModel, call: ApiCall) -> Fix | None:
    keyword = call.unexpected[0].keyword
    where = model.range_of(call.node)
    if keyword is None or keyword.arg is None or where is None or len(call.unexpected) > 1:
        return None
    if "names_as_varargs" in call.api.traits:
        value = keyword.value
        if call.node.args or len(call.node.keywords) > 1 or _has_comment(model, call):
            return None
        text = model.text_of(value)
        if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            text = ", ".join(model.text_of(element) for element in value.elts)
        elif not isinstance(value, ast.Constant):
            text = f"*{text}"
        new = f"{model.text_of(call.node.func)}({text})"
        edits = verbs.replace_expression(model.source.lines, where, new)
        return Fix(f"Write `{new}`", Safety.SAFE, edits) if edits else None
    meant = nearest(keyword.arg, call.missing) or (call.missing[0] if len(call.missing) == 1 else None)
    if meant is None:
        return None
    edits = verbs.rename_keyword(model.source.lines, where, keyword.arg, meant)
    return Fix(f"Rename `{keyword.arg}` to `{meant}`", Safety.SAFE, edits) if edits else None


def _named(model: FileModel, call: ApiCall) -> Fix | None:
    """Positional arguments become keywords, in the order of the signature."""
    names = [p.name for p in _parameters(model, call) if p.kind == "keyword_only"]
    where = model.range_of(call.node)
    if where is None or len(call.node.args) != len(names) - len(call.node.keywords) or _has_comment(model, call):
        return None
    if [keyword.arg for keyword in call.node.keywords] != names[len(call.node.args) :]:
        return None
    parts = [f"{name}={model.text_of(node)}" for name, node in zip(names, call.node.args)]
    parts += [f"{keyword.arg}={model.text_of(keyword.value)}" for keyword in call.node.keywords]
    new = f"{model.text_of(call.node.func)}({', '.join(parts)})"
    edits = verbs.replace_expression(model.source.lines, where, new)
    return Fix("Give the arguments by keyword", Safety.SAFE, edits) if edits else None


def _nested(model: FileModel, call: ApiCall) -> Fix | None:
    where = model.range_of(call.node)
    if where is None or call.node.keywords or _has_comment(model, call):
        return None
    if any(isinstance(node, ast.Starred) for node in call.node.args):
        return None
    return _combined(model, call, [model.text_of(node) for node in call.node.args], "Nest the calls")


def _spread(model: FileModel, call: ApiCall, listed: ast.expr) -> Fix | None:
    if not isinstance(listed, (ast.List, ast.Tuple)) or len(listed.elts) < 2 or _has_comment(model, call):
        return None
    if any(isinstance(element, ast.Starred) for element in listed.elts):
        return None
    return _combined(
        model, call, [model.text_of(element) for element in listed.elts], "Give each policy as an argument"
    )


def _combined(model: FileModel, call: ApiCall, policies: list[str], title: str) -> Fix | None:
    where = model.range_of(call.node)
    if where is None or not all(policies):
        return None
    function, new = model.text_of(call.node.func), policies[0]
    for policy in policies[1:]:
        new = f"{function}({new}, {policy})"
    edits = verbs.replace_expression(model.source.lines, where, new)
    return Fix(title, Safety.SAFE, edits) if edits else None


def _completed(model: FileModel, call: ApiCall) -> Fix | None:
    """The arguments that are missing, when only one way to fill them makes sense."""
    where = model.range_of(call.node)
    roles = {name: role for role, name in call.api.roles.items()}
    if where is None or len(call.missing) != 1 or roles.get(call.missing[0]) not in _DEFAULTS:
        return None
    name = call.missing[0]
    value = _DEFAULTS[roles[name]]
    edits = verbs.add_keyword(model.source.lines, where, name, value)
    return Fix(f"Add `{name}={value}`", Safety.SAFE, edits) if edits else None


def _has_comment(model: FileModel, call: ApiCall) -> bool:
    """Whether rewriting the whole call would lose a comment."""
    where = model.range_of(call.node)
    return where is None or any(
        "#" in line for line in model.source.lines[where.start.line : where.end.line]
    )


_BAD = """\
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(["attn_out"], ["mlp_up"], "device", "pinned_host")
"""

_GOOD = """\
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["attn_out"],
    names_which_can_be_offloaded=["mlp_up"],
    offload_src="device",
    offload_dst="pinned_host",
)
"""

_BOTH = """\
import jax

cp = jax.checkpoint_policies
policy = cp.save_from_both_policies([cp.dots_saveable, cp.save_only_these_names("attn_out")])
"""

RULE = Rule(
    code="JXP216",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("policy factory",),
    examples=(
        Example(
            bad=_BAD, good=_GOOD, proof=Raises("TypeError", "takes 0 positional arguments but 4 were given", "decorate")
        ),
        Example(
            bad=_GOOD.replace('    offload_dst="pinned_host",\n', ""),
            good=_GOOD,
            proof=Raises("TypeError", "missing 1 required keyword-only argument: 'offload_dst'", "decorate"),
        ),
        Example(
            bad=_BOTH,
            good=_BOTH.replace("([", "(").replace("])", ")"),
            proof=Raises("TypeError", "missing 1 required positional argument: 'policy_2'", "decorate"),
        ),
    ),
    error_texts=(
        "TypeError: save_only_these_names() got an unexpected keyword argument '…'",
        'TypeError: save_from_both_policies() takes 2 positional arguments but 3 were given',
    ),
    check=check,
    fix=fix,
)
