"""Sentences that several rules say about the JAX at hand, so that they say them alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.rulekit.rule import Related, Severity

if TYPE_CHECKING:
    from jaxpert.model.calls import ApiCall, Argument
    from jaxpert.model.file_model import FileModel
    from jaxpert.model.policies import CustomPolicy
    from jaxpert.model.traced_arguments import AskedArgument
    from jaxpert.text.lines import Range

_TYPED_RESULTS = Version("0.7.1")
_REMAT3_ASKS, _REMAT3_ASKS_ABOUT_NAMES = Version("0.12.0"), Version("0.11.2")


def raises(model: FileModel, when: str, exception: str, text: str) -> str:
    """What JAX does: "JAX 0.12.0 raises when this is differentiated:" and the exception below it."""
    return f"JAX {model.target.version} raises {when}:\n    {exception}: {text}".rstrip(": ")


def silent(model: FileModel, what: str) -> str:
    """What JAX does without a word: "JAX 0.12.0 says nothing: …"."""
    return f"JAX {model.target.version} says nothing: {what}"


def wrong_arguments(call: ApiCall) -> Iterator[tuple[Argument | None, str, str]]:
    """What Python rejects about a call: the argument (None for those missing), a clause, and the TypeError's text."""
    name = call.api.name.rpartition(".")[2]
    is_class = call.api.kind is ApiKind.CLASS
    function = f"{name}.__new__()" if is_class else f"{name}()"
    for argument in call.unexpected:
        keyword = argument.keyword.arg if argument.keyword else ""
        yield argument, f"takes no `{keyword}`", f"{function} got an unexpected keyword argument '{keyword}'"
    if call.unexpected:
        return
    if call.surplus:
        taken, given = len(call.arguments), len(call.arguments) + len(call.surplus)
        text = f"{function} takes {taken + is_class} positional arguments but {given + is_class} were given"
        yield call.surplus[0], f"takes {taken} arguments, not {given}", text
    elif call.missing:
        names, plural = " and ".join(map(repr, call.missing)), "s" if len(call.missing) > 1 else ""
        text = f"{function} missing {len(call.missing)} required positional argument{plural}: {names}"
        yield None, f"needs {names.replace(chr(39), '`')}", text


def at_first_grad(model: FileModel, who: str = "JAX") -> str:
    """When a faulty policy makes ``who`` raise: "JAX raises at the first `grad`".

    Measured on 0.10.2 to 0.12.0.1: with ``jax_remat3`` a custom policy is never asked before 0.11.2, only about
    names there, and from 0.12 on about matrix products and convolutions as well.
    """
    if not model.target.remat3:
        return f"{who} raises at the first `grad`"
    if model.target.version < _REMAT3_ASKS_ABOUT_NAMES:
        return "with `jax_remat3` it is never asked"
    asked = "a name" if model.target.version < _REMAT3_ASKS else "a matrix product, a convolution or a name"
    return f"{who} raises at the first `grad` through {asked}"


def raised_in_policy(model: FileModel, exception: str, text: str) -> tuple[str, Severity, tuple[str, ...]]:
    """Consequence, severity and exceptions of what a custom policy raises whenever it is asked about a primitive.

    Measured on 0.4.30 to 0.12.0.1: raised when the function is differentiated, but under ``jax_remat3`` before 0.12
    custom policies are not asked.
    """
    if model.target.remat3 and model.target.version < _REMAT3_ASKS:
        return (
            silent(model, "with jax_remat3 it does not ask custom policies about most primitives"),
            Severity.WARNING,
            (),
        )
    return raises(model, "when this is differentiated", exception, text), Severity.ERROR, (exception,)


def bad_policy_result(model: FileModel, got: str, unmatched: bool = False) -> tuple[str, Severity, tuple[str, ...]]:
    """Consequence, severity and exceptions of a policy result that is no decision.

    ``unmatched``: the result is what the policy gives for primitives that it does not name. Measured on 0.4.30 to
    0.12.0.1: raised when the function is differentiated; an AssertionError without text before 0.7.1. Under
    ``jax_remat3`` custom policies are asked only about matrix products, convolutions and names, and before 0.11
    about nothing, so a bad result for other primitives goes unnoticed.
    """
    if model.target.remat3 and (unmatched or model.target.version < _REMAT3_ASKS):
        return (
            silent(
                model,
                "with jax_remat3 a custom policy is not asked about most primitives, so the mistake goes unnoticed",
            ),
            Severity.WARNING,
            (),
        )
    if model.target.version < _TYPED_RESULTS:
        consequence = raises(model, "when this is differentiated", "AssertionError", "(without any text)")
        return consequence, Severity.ERROR, ("AssertionError",)
    text = (
        "Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`, "
        f"`ad_checkpoint.Saveable` or `ad_checkpoint.Offloadable(...)`. Got {got}."
    )
    return raises(model, "when this is differentiated", "TypeError", text), Severity.ERROR, ("TypeError",)


def policy_places(model: FileModel, policy: CustomPolicy, fault: Range | None, what: str) -> tuple[Related, ...]:
    """The other places of a finding about a policy.

    In the file that defines the policy the finding stands in it, and these are its uses; elsewhere it stands at the
    use, and this is ``fault``, described by ``what``.
    """
    if policy.model is not model:
        return (Related(fault, what, policy.model.path),) if fault is not None else ()
    uses = [model.range_of(use.argument.node) for use in policy.uses]
    return tuple(Related(area, f"`{policy.name}` is used as a policy here") for area in uses if area is not None)


def static_cure(model: FileModel, asked: AskedArgument, arrays: str) -> str:
    """What to do about a traced argument whose value is asked for; ``arrays`` says it for arrays, where there is a way.

    Measured on 0.10.2 to 0.12.0.1: ``static_argnames`` of ``jax.checkpoint`` has no effect without ``jax_remat3``.
    """
    arrays = arrays or "keep it an array"
    if "static_argnums" not in asked.checkpoint.api.roles:
        return arrays
    if asked.passer:
        passing = model.db.api(asked.passer)
        if passing is not None and "compiles" in passing.traits:
            return f"{arrays} (`{asked.passer}` passes a tracer: a plain Python value has to be static there as well)"
        return f"{arrays} (`{asked.passer}` passes tracers: `static_argnums` does not help)"
    name, index = asked.static_candidate
    if name and index is None:
        if model.target.remat3 and "static_argnames" in asked.checkpoint.api.roles:
            return f'mark `{name}` with `static_argnames=("{name}",)` if it is a plain Python value, or {arrays}'
        return (
            f"an argument that can only be passed by keyword cannot be static: {arrays}, "
            f"or bind `{name}` with `functools.partial` before wrapping"
        )
    if not name:
        return f"{arrays} (`static_argnums` helps only where a plain Python value is passed)"
    cure = f"mark `{name}` with `static_argnums=({index},)` if it is a plain Python value"
    if asked.checkpoint.role("static_argnames") is not None and not model.target.remat3:
        cure += " (`static_argnames` has no effect without `jax_remat3`)"
    return f"{cure}, or {arrays} if it is an array"


def asked_places(model: FileModel, asked: AskedArgument) -> tuple[Related, ...]:
    """The other place of a finding about a value that is asked for: where the function is wrapped, or the function."""
    name = asked.known.display
    if asked.model is not model:
        area = asked.model.range_of(asked.conversion.node)
        return (Related(area, f"here, in `{name}`", asked.model.path),) if area is not None else ()
    area = model.range_of(asked.checkpoint.node)
    return (Related(area, f"`{name}` is wrapped here"),) if area is not None else ()


_REMAT_IS_ITS_OWN = Version("0.8.2")


def wrapper_name(model: FileModel, api: Api) -> str:
    """What a checkpoint wrapper calls itself in the text of its errors: ``jax.remat`` was ``jax.checkpoint`` itself."""
    if api.name == "flax.linen.remat" or (api.name == "jax.remat" and model.target.version < _REMAT_IS_ITS_OWN):
        return "checkpoint"
    return api.name.rpartition(".")[2]
