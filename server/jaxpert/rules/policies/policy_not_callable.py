"""Something that is no policy is given as one.

## What it finds

A string, True or a number, a list, tuple, dict or set, a member of an enumeration, `jax.checkpoint_policies` itself,
`Saveable` or `Recompute`, or an object whose class has no `__call__`, given as `policy=`; None or False among the
policies of `save_from_both_policies`; and what a function gives that defines a policy and never returns it. The value
is followed through variables, conditional expressions, tables and `functools.partial`.

## Why it matters

JAX calls the policy for each primitive when the function is differentiated. What cannot be called or hashed raises,
far from the place where it was given:

    TypeError: 'str' object is not callable
    TypeError: unhashable type: 'types.SimpleNamespace'

## In which versions

All. From 0.7.0 on lists, dicts, sets and the namespace raise already when the function is called under `jax.jit`: `As
of JAX v0.7, parameters to jaxpr equations must have __hash__ and __eq__ methods`. Without `jax_remat3`, False and other
false values are taken for no policy; with it they raise from 0.11.2 on, and nothing raises before.

## What to write instead

The policy itself: `policy=jax.checkpoint_policies.dots_saveable`. Several are joined by
`jax.checkpoint_policies.save_from_both_policies(one, other)`.

## Known limits

A name that may be given another value before it is used, such as a parameter with a default, is not reported.

## Source

`jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import imports, verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import PolicyUse, is_chosen
from jaxpert.model.policy_expressions import is_policy
from jaxpert.model.speech import at_first_grad, raises, silent
from jaxpert.model.values import (
    UNKNOWN,
    ClassValue,
    Def,
    EnumMember,
    Instance,
    Literal,
    Pattern,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
    is_none,
    string,
)
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.scopes import Site
from jaxpert.text.edits import Edit
from jaxpert.text.near_misses import nearest

NAME = "policy-not-callable"

_HASHED, _REMAT3_ASKS = Version("0.7.0"), Version("0.11.2")
_NAMESPACE = "jax.checkpoint_policies"
_UNHASHABLE = {"list", "dict", "set", "types.SimpleNamespace"}
_PLAIN_BASES = {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"}
_TYPES = {"str", "int", "float", "list", "tuple", "dict", "set", "frozenset", "generator", "range", "number"}


def check(model: FileModel) -> Iterator[Finding]:
    """Values of policy arguments that cannot be called."""
    rejected = {
        id(argument.node)
        for call in model.calls
        if call.missing and "policies_as_varargs" in call.api.traits
        for argument in call.arguments.values()
    }  # policy-factory-arguments says what is wrong with those
    for use in model.policy_uses:
        if id(use.argument.node) in rejected:
            continue
        yield from _made_by_nothing(model, use)
        options = list(use.value.options())
        kinds = [_kind(model, option, use.takes_bools) for option in options]
        for option, kind in zip(options, kinds):
            if kind and (all(kinds) or _is_taken(use, option) or is_chosen(use, option)):
                yield from _report(model, use, option, kind)


def _made_by_nothing(model: FileModel, use: PolicyUse) -> Iterator[Finding]:
    """What a function of the user's gives that defines a policy and does not return it."""
    node, site, where = use.argument.node, use.argument.site, model.range_of(use.argument.node)
    found = site.scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if found is not None and len(found[1]) == 1 and found[1][0].value is not None:
        node, site = found[1][0].value, Site(found[1][0].value, found[1][0].scope, found[1][0].block)
    if not isinstance(node, ast.Call) or where is None or use.takes_bools or not is_none(use.value):
        return
    maker = model.evaluate(node.func, site.scope, site.block)
    if not isinstance(maker, Def) or maker.function.returns or maker.function.is_generator:
        return
    body = getattr(maker.function.node, "body", [])
    made = body[-1] if isinstance(body, list) and body else None
    if not isinstance(made, ast.FunctionDef) or len(made.args.args) + len(made.args.posonlyargs) < 1:
        return
    definition = (maker.model or model).range_of(maker.function.node)
    path = "" if maker.model is model else (maker.model or model).path
    yield Finding(
        NAME, where, f"`{model.text_of(node)}` gives None, as `{maker.name}` never returns `{made.name}`: there is no "
        f"policy; end `{maker.name}` with `return {made.name}`", Severity.WARNING,
        silent(model, "without a policy everything is recomputed"),
        (Related(definition, f"`{maker.name}` is defined here", path),) if definition is not None else (),
    )  # fmt: skip


def _is_taken(use: PolicyUse, option: Value) -> bool:
    """Whether the place of use takes ``option`` as it is: it is written there, or in the table looked up there."""
    node = option.site.node if option.site is not None else None
    if option.model is not use.argument.model:
        return False
    if any(part is node for part in ast.walk(use.argument.node)):
        return True
    given = use.argument.node
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "get":
        return isinstance(given.func.value, (ast.Name, ast.Attribute))
    return isinstance(given, ast.Subscript)


def _kind(model: FileModel, value: Value, among_policies: bool) -> str:
    """The type of a value that JAX cannot use as a policy, as Python prints it; "" for one that it can, or may."""
    found = ""
    if isinstance(value, Literal):
        found = "" if value.value is None and not among_policies else type(value.value).__name__
    elif isinstance(value, Pattern) or string(value) is not None:
        found = "str"
    elif isinstance(value, Sequence):
        found = value.kind
    elif isinstance(value, Table):
        found = "dict"
    elif isinstance(value, Typed):
        found = value.type if value.type in _TYPES else ""
    elif isinstance(value, Symbol):
        found = _kind_of_symbol(model, value)
    elif isinstance(value, EnumMember):
        scope = value.site.scope if value.site is not None else None
        found = "" if scope is None or "__call__" in scope.bindings else _class_name(value)
    elif isinstance(value, Instance):
        found = _kind_of_instance(model, value)
    if _is_false(value) and not among_policies:
        asked = model.target.remat3 and model.target.version >= _REMAT3_ASKS
        hashed = found in _UNHASHABLE and model.target.version >= _HASHED and found != "dict"
        return found if asked or (hashed and not model.target.remat3) else ""
    return found


def _is_false(value: Value) -> bool:
    if isinstance(value, Literal):
        return not value.value
    return isinstance(value, (Sequence, Table)) and value.exact and not (
        value.items if isinstance(value, Sequence) else value.entries
    )


def _class_name(value: EnumMember) -> str:
    node = value.site.scope.node if value.site is not None else None
    return node.name if isinstance(node, ast.ClassDef) else "Enum"


def _kind_of_symbol(model: FileModel, value: Symbol) -> str:
    api = model.db.api(value.path)
    if api is None:
        return ""
    if api.kind is ApiKind.SENTINEL:
        return f"{api.name.rpartition('.')[2]}Type"
    if api.kind is ApiKind.NAMESPACE:
        return "types.SimpleNamespace" if api.name == _NAMESPACE else "module"
    return ""


def _kind_of_instance(model: FileModel, value: Instance) -> str:
    """The class of an object that has no ``__call__``, where all of its bases are known."""
    if value.call is None or (value.model or model).evaluator.attribute(value, "__call__", None) is not UNKNOWN:
        return ""
    return value.cls.node.name if _is_fully_known(model, value.cls) else ""


def _is_fully_known(model: FileModel, cls: ClassValue, depth: int = 0) -> bool:
    if cls.node.keywords or cls.site is None or depth > 8 or "__call__" in cls.scope.bindings:
        return False
    owner = cls.model or model
    for base in cls.node.bases:
        node = base.value if isinstance(base, ast.Subscript) else base
        for option in owner.evaluate(node, cls.site.scope, cls.site.block).options():
            if isinstance(option, ClassValue):
                if not _is_fully_known(owner, option, depth + 1):
                    return False
            elif not isinstance(option, Symbol) or option.path not in _PLAIN_BASES:
                return False
    return True


def _report(model: FileModel, use: PolicyUse, option: Value, kind: str) -> Iterator[Finding]:
    here = option.model is model and option.site is not None and isinstance(option.site.node, ast.expr)
    node = option.site.node if here and option.site is not None else use.argument.node
    if isinstance(option, (EnumMember, Instance, Symbol)):
        node = use.argument.node
    where = model.range_of(node)
    if where is None:
        return
    related: tuple[Related, ...] = ()
    if node is not use.argument.node and (area := model.range_of(use.argument.node)) is not None:
        related = (Related(area, "it is given as a policy here"),)
    shown, text = _shown(model, node, option, kind), f"'{kind}' object is not callable"
    if kind in _UNHASHABLE and not use.takes_bools and not model.target.remat3:
        text = f"unhashable type: '{kind}'"
    if model.target.remat3 and model.target.version < _REMAT3_ASKS:
        yield Finding(
            NAME, where, f"{shown} is no policy: it is never asked; {_advice(model, option, use)}", Severity.WARNING,
            silent(model, "with jax_remat3 it does not ask custom policies about anything"), related,
        )  # fmt: skip
        return
    yield Finding(
        NAME, where, f"{shown} is no policy: {at_first_grad(model)}; {_advice(model, option, use)}",
        Severity.ERROR, raises(model, "when this is differentiated", "TypeError", text), related,
        exceptions=("TypeError",),
    )  # fmt: skip


def _shown(model: FileModel, node: ast.AST, option: Value, kind: str) -> str:
    if isinstance(option, (Sequence, Table, Typed, Pattern)) and not isinstance(node, ast.Name):
        return f"a {kind}"
    if kind == "types.SimpleNamespace":
        return f"`{model.text_of(node)}`, the namespace of all policies,"
    text = model.text_of(node)
    return f"`{text}`" if len(text) < 40 else f"a {kind}"


def _advice(model: FileModel, option: Value, use: PolicyUse) -> str:
    name = _meant(model, option)
    if name:
        return f"write `{_NAMESPACE}.{name}`"
    if isinstance(option, Sequence) and _policies_in(model, option):
        return f"join them: `{_NAMESPACE}.save_from_both_policies(…, …)`"
    if is_none(option):
        return "give two policies"
    if isinstance(option, Instance):
        return f"give the class `{option.cls.node.name}` a `__call__(self, prim, *avals, **params)`"
    if isinstance(option, Symbol) and option.path.endswith(("Saveable", "Recompute")):
        return "that is what a policy returns"
    return f"write one, such as `{_NAMESPACE}.dots_saveable`"


def _meant(model: FileModel, option: Value) -> str:
    """The ready-made policy that a string names, perhaps misspelled."""
    text = string(option)
    if not text:
        return ""
    names = _ready_made(model)
    last = text.rpartition(".")[2]
    return last if last in names else nearest(last, names) or ""


def _ready_made(model: FileModel) -> list[str]:
    paths = {name: model.db.api(f"{_NAMESPACE}.{name}") for name in sorted(model.db.policy_names())}
    return [name for name, api in paths.items() if api is not None and api.kind is ApiKind.POLICY]


def _policies_in(model: FileModel, value: Sequence) -> bool:
    return len(value.items) > 1 and value.exact and all(is_policy(model, item) for item in value.items)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the policy that a string names, or join those in a list."""
    for use in model.policy_uses:
        for option in use.value.options():
            node = option.site.node if option.site is not None and option.model is model else None
            if node is None or model.range_of(node) != finding.range:
                continue
            name = _meant(model, option)
            listed = isinstance(option, Sequence) and _policies_in(model, option)
            if not isinstance(node, ast.expr) or not (name or listed):
                return None
            added = imports.ensure_import(model.source.lines, "import jax", finding.range.start, model.source)
            if added is None:
                return None
            space = f"{added.name}.checkpoint_policies"
            exact = bool(name) and (string(option) or "").endswith(name)
            is_here = any(part is node for part in ast.walk(use.argument.node))  # elsewhere others may use it
            if not is_here and option.site is not None and option.site.scope.kind == "class":
                return _look_up(model, use, space, added.edits) if exact and string(option) == name else None
            new = f"{space}.{name}"
            if listed and isinstance(node, (ast.List, ast.Tuple)):
                parts = [model.text_of(element) for element in node.elts]
                new = parts[0]
                for part in parts[1:]:
                    new = f"{space}.save_from_both_policies({new}, {part})"
            edits = verbs.replace_expression(model.source.lines, finding.range, new)
            safety = Safety.SAFE if exact and is_here else Safety.UNSAFE
            return Fix(f"Write `{new}`", safety, (*added.edits, *edits)) if edits else None
    return None


def _look_up(model: FileModel, use: PolicyUse, space: str, added: tuple[Edit, ...]) -> Fix | None:
    """Where the name is a member of an enumeration or the default of a field: look the policy up by it."""
    where = model.range_of(use.argument.node) if use.argument.model is model else None
    if where is None:
        return None
    new = f"getattr({space}, {model.text_of(use.argument.node)})"
    edits = verbs.replace_expression(model.source.lines, where, new)
    return Fix(f"Write `{new}`", Safety.UNSAFE, (*added, *edits)) if edits else None


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy="dots_saveable")
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""
_GOOD = _BAD.replace('"dots_saveable"', "jax.checkpoint_policies.dots_saveable")

RULE = Rule(
    code="JXP210",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies"),
    examples=(
        Example(bad=_BAD, good=_GOOD, proof=Raises("TypeError", "'str' object is not callable", "grad", remat3=False)),
        Example(
            bad=_BAD.replace('"dots_saveable"', "jax.checkpoint_policies"),
            good=_GOOD,
            proof=Raises("TypeError", "unhashable type: 'types.SimpleNamespace'", "grad", remat3=False),
        ),
    ),
    error_texts=(
        "TypeError: As of JAX v0.7, parameters to jaxpr equations must have __hash__ and __eq__ methods. …",
    ),
    check=check,
    fix=fix,
)
