"""A remat policy cannot take the arguments that JAX passes.

## What it finds

A function given as a remat policy that does not accept `(prim, *avals, **params)`: it lacks `**params` or
`*avals`, has required parameters that nothing fills, or none for the primitive. Parameters given earlier through
`functools.partial`, and `self`, are not counted.

## Why it matters

JAX calls the policy once for every primitive of the differentiated function, with the primitive, one abstract
value for each operand, and the primitive's parameters as keywords. Their number and names differ from primitive
to primitive, so a fixed signature fits some and not others:

    TypeError: policy() got an unexpected keyword argument 'dimension_numbers'

## In which versions

All; raised when the function is differentiated. With `jax_remat3` on, custom policies are asked about few
primitives, and the error comes only when one of those occurs.

## What to write instead

`def policy(prim, *_, **params):`, or `**__` when the parameters are not looked at.

## Known limits

Functions whose decorators may change the signature are not reported. A keyword parameter of your own that has a
default is accepted, although a primitive's parameter of the same name will overwrite it.

## Source

The policy is called in `jax/_src/interpreters/partial_eval.py`. Measured on 0.4.30 to 0.12.0.1. The public error
page suggests `lambda prim, inner_axis, *args: …`; JAX never calls a policy that way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import CustomPolicy
from jaxpert.model.speech import at_first_grad, policy_places, raises, silent
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "policy-signature"


def check(model: FileModel) -> Iterator[Finding]:
    """Policies whose parameters cannot take every call."""
    for policy in model.custom_policies:
        fault = _fault(policy)
        if fault is None:
            continue
        here = policy.model is model
        where = _signature_range(model, policy) if here else model.range_of(policy.uses[0].argument.node)
        if where is None:
            continue
        if model.target.remat3:
            consequence, severity = (
                silent(model, "with jax_remat3 it fails only for the primitives that are asked about"),
                Severity.WARNING,
            )
        else:
            consequence, severity = (
                raises(model, "when this is differentiated", fault.exception, fault.text),
                Severity.ERROR,
            )
        yield Finding(
            NAME,
            where,
            f"policy `{policy.name}` {fault.lacking}, but JAX calls it as `policy(prim, *avals, **params)`: "
            f"{at_first_grad(model, 'it')}; write `{_corrected(policy)}`",
            severity,
            consequence,
            policy_places(
                model, policy, _signature_range(policy.model, policy), f"`{policy.name}` is defined here"
            ),
            exceptions=(fault.exception,),
        )


class _Fault(NamedTuple):
    """What the signature lacks, as the end of a sentence, and what JAX's call of it raises.

    ``is_too_narrow`` when it is enough to take more.
    """

    lacking: str
    text: str
    exception: str = "TypeError"
    is_too_narrow: bool = False


def _fault(policy: CustomPolicy) -> _Fault | None:
    """What is wrong with the signature; None when it fits every call."""
    name = "<lambda>" if policy.value.name == "lambda" else policy.value.name
    counted = f"{name}() takes a fixed number of positional arguments, but primitives have one, two or more operands"
    if policy.value.function.node.args.kwarg is None and policy.value.function.node.args.vararg is None:
        if policy.primitive is None:
            return _Fault("takes no primitive", counted, is_too_narrow=True)
    arguments = policy.value.function.node.args
    positional = [*arguments.posonlyargs, *arguments.args][policy.given :]
    required = (
        positional[: len(positional) - len(arguments.defaults)] if len(arguments.defaults) < len(positional) else []
    )
    required = [a for a in required if a.arg not in policy.given_names]
    if policy.primitive is None and arguments.vararg is None:
        return _Fault("takes no primitive", counted, is_too_narrow=True)
    lacks = []
    if arguments.vararg is None:
        lacks.append("`*avals`")
    if arguments.kwarg is None:
        lacks.append("`**params`")
    if lacks:
        unexpected = f"{name}() got an unexpected keyword argument … (whatever parameter the first primitive has)"
        text = counted if arguments.kwarg is not None else unexpected
        return _Fault(f"does not take {' and '.join(lacks)}", text, is_too_narrow=True)
    if len(positional) > 1 and positional[1].arg in policy.given_names:
        second = positional[1].arg
        text = f"{name}() got multiple values for argument '{second}'"
        return _Fault(f"has `{second}` set by keyword, where the first operand goes", text, is_too_narrow=True)
    if _reads_operand_as_primitive(policy):
        lacking = f"is taken from its class, so that `{positional[0].arg}` is the primitive"
        return _Fault(lacking, "'ShapedArray' object has no attribute 'name'", "AttributeError")
    if len(required) > 2:
        return _Fault(f"requires {len(required)} positional arguments", counted)
    unfilled = [
        a.arg
        for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)
        if d is None and a.arg not in policy.given_names
    ]
    return _Fault(f"requires the keyword `{unfilled[0]}`", counted) if unfilled else None


def _reads_operand_as_primitive(policy: CustomPolicy) -> bool:
    """Whether it is a method without an object, whose second parameter, the first operand, is asked for its name."""
    node, owner = policy.value.function.node, policy.value.owner
    if owner is None or policy.value.bound or policy.given or isinstance(node, ast.Lambda) or node.decorator_list:
        return False
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    if len(names) != 2 or names[0] != "self" or len(policy.value.function.inner.bindings.get(names[1], ())) != 1:
        return False
    return any(
        isinstance(part, ast.Attribute) and part.attr == "name" and getattr(part.value, "id", "") == names[1]
        for part in ast.walk(node)
    )


def _corrected(policy: CustomPolicy) -> str:
    arguments = policy.value.function.node.args
    if _reads_operand_as_primitive(policy) and policy.value.owner is not None:
        return f"{policy.value.owner.node.name}(…).{policy.value.name}"
    first = policy.primitive.arg if policy.primitive is not None else "prim"
    avals = arguments.vararg.arg if arguments.vararg is not None else "_"
    params = arguments.kwarg.arg if arguments.kwarg is not None else "__" if avals != "__" else "_"
    if policy.value.name == "lambda":
        return f"lambda {first}, *{avals}, **{params}: …"
    start = "self, " if policy.value.bound else ""
    behind = "".join(f"{name}, " for name in _names_of_operands(policy))
    return f"def {policy.value.name}({start}{first}, *{avals}, {behind}**{params})"


def _names_of_operands(policy: CustomPolicy) -> list[str]:
    """The parameters in the place of operands that a partial sets by keyword: they belong behind the ``*``."""
    arguments = policy.value.function.node.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][policy.given + 1 :]
    return [name for name in positional if name in policy.given_names]


def _signature_range(model: FileModel, policy: CustomPolicy) -> Range | None:
    """The parameters, from the first to the last; the whole lambda or ``def`` line when there are none."""
    node = policy.value.function.node
    arguments = node.args
    parameters: list[ast.AST] = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    if parameters:
        ordered = sorted(parameters, key=lambda a: (a.lineno, a.col_offset))  # type: ignore[attr-defined]
        return model.source.range_between(ordered[0], ordered[-1])
    if isinstance(node, ast.Lambda):
        return model.range_of(node)
    whole = model.range_of(node)
    if whole is None:
        return None
    text = model.source.lines[whole.start.line].rstrip()
    return Range(whole.start, whole.start._replace(column=len(text)))


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Add ``*_`` and ``**__`` where they are missing; only when nothing else is wrong with the parameters."""
    for policy in model.custom_policies:
        if policy.model is not model or _signature_range(model, policy) != finding.range:
            continue
        arguments = policy.value.function.node.args
        extra = [*arguments.posonlyargs, *arguments.args][policy.given + 1 :]
        definition = model.range_of(policy.value.function.node)
        fault = _fault(policy)
        if definition is None or policy.primitive is None or extra or fault is None or not fault.is_too_narrow:
            return None
        edits = verbs.add_parameters(model.source.lines, definition)
        return Fix(f"Let `{policy.name}` take whatever JAX passes", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


def keep_dots(prim, *_):
    return prim.name == "dot_general"


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=keep_dots)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP201",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("prim, *_)", "prim, *_, **__)"),
            proof=Raises("TypeError", "got an unexpected keyword argument", "grad", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
