"""Something else than the function is given to a checkpoint wrapper by position.

## What it finds

`jax.checkpoint(f, policy)`, `jax.checkpoint(f, x)` and the like: every option of a checkpoint wrapper is keyword-only,
and the function's own arguments belong into the call of what the wrapper returns. Also a policy in the place of the
function, as in `functools.partial(jax.checkpoint, policy)`, and a policy as second argument of `flax.linen.remat`,
where it is taken for `variables`.

## Why it matters

The call raises at once:

    TypeError: checkpoint() takes 1 positional argument but 2 were given

A policy in the place of the function is wrapped like one, and raises when it is called with the function. Flax says
`InvalidFilterError: Invalid Filter` when the module is used.

## In which versions

All.

## What to write instead

`jax.checkpoint(f, policy=policy)`; `jax.checkpoint(f)(x)`.

## Known limits

What a variable holds must be visible for the right one of the two to be offered as a safe fix.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8, Haiku 0.0.17 and Equinox
0.13.8.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.fixing import verbs, wrapper_calls
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.plain_data import is_data
from jaxpert.model.speech import raises, wrapper_name
from jaxpert.model.values import CallResult, Def, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "surplus-checkpoint-argument"


@dataclass(frozen=True, slots=True, eq=False)
class _Fault:
    """An argument in a place where it does not belong.

    Attributes:
        replaces: the parameter that takes it all the same; "" where none does.
    """

    call: ApiCall
    argument: Argument
    range: Range
    replaces: str = ""


def check(model: FileModel) -> Iterator[Finding]:
    """Positional arguments that are not the function."""
    for fault in _faults(model):
        call = fault.call
        wrapper, name = model.text_of(call.node.func), model.text_of(fault.argument.node)
        if fault.replaces:
            place = "for the function" if fault.replaces == call.api.roles["fun"] else f"as `{fault.replaces}`"
            when, exception, text = _of_misplaced(model, fault)
            effect, advice = f"is a policy, but stands here {place}: JAX raises", f"write `policy={name}`"
        else:
            when, exception = "where this stands", "TypeError"
            text = _too_many(model, call)
            effect = f"cannot be given to `{wrapper}` by position: JAX raises"
            named = f"name it: `policy={name}`"
            calls = f"pass it to the wrapped function: `{wrapper}(…)({name})`"
            certain = _is_policy(model, fault.argument)
            advice = named if certain else calls if certain is False else f"{calls}, or name the option"
        yield Finding(
            NAME,
            fault.range,
            f"`{name}` {effect} {exception}; {advice}",
            Severity.ERROR,
            raises(model, when, exception, text),
            exceptions=(exception,),
        )


def _faults(model: FileModel) -> Iterator[_Fault]:
    seen: set[int] = set()
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT or model.is_dead(call.site.block):
            continue
        for argument, replaces in _misplaced(model, call):
            where = model.range_of(argument.node) if argument.model is model else None
            if where is not None and id(argument.node) not in seen:
                seen.add(id(argument.node))
                yield _Fault(call, argument, where, replaces)


def _misplaced(model: FileModel, call: ApiCall) -> Iterator[tuple[Argument, str]]:
    fun = call.role("fun")
    if fun is not None and fun.keyword is None and _is_policy(model, fun):
        yield fun, call.api.roles["fun"]
    elif call.surplus:
        yield call.surplus[0], ""
    elif call.api.library != "jax":  # the others have options that can be given by position
        for name, argument in call.arguments.items():
            if argument.keyword is None and argument is not fun and name != "policy" and _is_policy(model, argument):
                yield argument, name


def _too_many(model: FileModel, call: ApiCall) -> str:
    """The TypeError's text, in Python's words."""
    by_position = [argument for argument in call.arguments.values() if argument.keyword is None]
    named = len(call.arguments) + len(call.unexpected) - len(by_position)
    given = f"{len(by_position) + len(call.surplus)}"
    if named:
        given += f" positional arguments (and {named} keyword-only argument{'s' if named > 1 else ''})"
    taken = "from 0 to 1 positional arguments" if "callable_without_fun" in call.api.traits else "1 positional argument"
    if len(by_position) > 1:
        taken = f"{len(by_position)} positional arguments"
    return f"{wrapper_name(model, call.api)}() takes {taken} but {given} were given"


def _of_misplaced(model: FileModel, fault: _Fault) -> tuple[str, str, str]:
    """When, and what is raised, where a policy takes the place of another argument."""
    call = fault.call
    if fault.replaces != call.api.roles["fun"]:
        return "when the module is used", "InvalidFilterError", "Invalid Filter: …"
    if call.is_partial:
        text = f"{wrapper_name(model, call.api)}() takes 1 positional argument but 2 were given"
        return "when it is applied to a function", "TypeError", text
    text = "Cannot interpret value of type <class 'function'> as an abstract array; it does not have a dtype attribute"
    return "when the result is applied to a function", "TypeError", text


def _is_policy(model: FileModel, argument: Argument) -> bool | None:
    """Whether an argument is a policy; None when it can be one."""
    if any(_is_ready_made(model, option) for option in argument.value.options()):
        return True
    if is_data(argument.model, argument.node, argument.site.scope, argument.site.block):
        return False
    return None


def _is_ready_made(model: FileModel, value: Value) -> bool:
    """Whether ``value`` is one of JAX's policies, or makes one and lacks its call."""
    path = value.path if isinstance(value, (Symbol, CallResult)) else ""
    api = model.db.api(path) if path else None
    return api is not None and api.kind in (ApiKind.POLICY, ApiKind.POLICY_FACTORY)


def fix(model: FileModel, finding: Finding) -> Fix | tuple[Fix, ...] | None:
    """Name the policy, or call the wrapped function with the rest."""
    fault = next((fault for fault in _faults(model) if fault.range == finding.range), None)
    where = model.range_of(fault.call.node) if fault is not None else None
    if fault is None or where is None or fault.argument.node not in fault.call.node.args:
        return None
    lines, call, name = model.source.lines, fault.call, model.text_of(fault.argument.node)
    is_policy = _is_policy(model, fault.argument)
    fixes: list[Fix] = []
    if not is_policy and not call.is_partial and not call.opened:
        own = frozenset(call.arguments)
        edits = wrapper_calls.call_with_rest(lines, where, own)
        sure = is_policy is False or _fits(call)
        title = f"Call the wrapped function with `{name}`"
        if edits:
            fixes.append(Fix(title, Safety.SAFE if sure else Safety.UNSAFE, edits))
    if is_policy is not False and "policy" not in call.arguments:
        edits = _named(model, fault, where)
        if edits:
            fixes.append(Fix(f"Write `policy={name}`", Safety.SAFE if is_policy else Safety.UNSAFE, edits))
    if "policy" in getattr(fault.argument.node, "id", "").lower():
        fixes.reverse()
    return tuple(fixes) or None


def _named(model: FileModel, fault: _Fault, where: Range) -> tuple[Edit, ...] | None:
    call, lines = fault.call, model.source.lines
    index = call.node.args.index(fault.argument.node)
    if fault.replaces == call.api.roles["fun"] and not call.is_partial:
        named = f"policy={model.text_of(fault.argument.node)}"
        if len(call.node.args) != 1 or call.node.keywords:
            return None
        partial = wrapper_calls.partial_name(lines, where.start, model.source)
        if "callable_without_fun" in call.api.traits:
            return wrapper_calls.name_argument(lines, where, 0, "policy")
        if partial is None:
            return None
        new = f"{partial[0]}({model.text_of(call.node.func)}, {named})"
        edits = verbs.replace_expression(lines, where, new)
        return (*partial[1], *edits) if edits else None
    return wrapper_calls.name_argument(lines, where, index, "policy")


def _fits(call: ApiCall) -> bool:
    """Whether the surplus arguments are as many as the function takes, and the function is no policy's user."""
    fun = call.role("fun")
    targets = list(fun.value.options()) if fun is not None else []
    if len(targets) != 1 or not isinstance(targets[0], Def):
        return False
    arguments = targets[0].function.node.args
    positional = len(arguments.posonlyargs) + len(arguments.args) - (1 if targets[0].bound else 0)
    given = len(call.surplus) + len(call.unexpected)
    looks = any("policy" in getattr(one.node, "id", "").lower() for one in call.surplus)
    return positional - len(arguments.defaults) <= given <= positional and given > 0 and not looks


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, jax.checkpoint_policies.dots_saveable)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

_CALLED = """\
import jax
import jax.numpy as jnp


def layer(x):
    return jnp.sin(jnp.sin(x))


STAGE = "decorate"
y = jax.checkpoint(layer, jnp.ones(3))
"""

RULE = Rule(
    code="JXP104",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("jax.checkpoint_policies", "policy=jax.checkpoint_policies"),
            proof=Raises("TypeError", "checkpoint() takes 1 positional argument but 2 were given", "decorate"),
        ),
        Example(
            bad=_CALLED,
            good=_CALLED.replace("layer, jnp.ones(3))", "layer)(jnp.ones(3))"),
            proof=Raises("TypeError", "checkpoint() takes 1 positional argument but 2 were given", "decorate"),
        ),
    ),
    check=check,
    fix=fix,
)
