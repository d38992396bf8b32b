"""A checkpoint wrapper is given an option that it does not have in the JAX at hand.

## What it finds

Keywords that `jax.checkpoint`, `jax.remat` and the wrappers of other libraries do not take: slips (`policies=`,
`static_argnum=`), and `concrete=`, which is gone, also in a dictionary in the same file that is spread into the call
with `**`; and an option that is given twice, by name and by such a dictionary. `static_argnames=` has a rule of its
own.

## Why it matters

    TypeError: checkpoint() got an unexpected keyword argument 'policies'

## In which versions

Slips and repeated options in all. `concrete=True` raises NotImplementedError in all up to 0.10.2; any `concrete=`
raises NotImplementedError from 0.10.0 on and is an unexpected keyword from 0.11.0 on; from 0.8.2 to 0.9.2
`concrete=False` warns. `flax.linen.remat` still has `concrete`, and raises NotImplementedError when it is true.

## What to write instead

The name that was meant. Where one option is to take the place of another: `**{**options, "policy": policy}`.
`concrete=False` can go. In place of `concrete=True` say which arguments are static:
`static_argnums=(…)`, and compute what has to be known under `jax.ensure_compile_time_eval()`.

## Known limits

For libraries other than JAX, whose version is not known, only slips of an existing option are reported, and the options
of `jax.checkpoint` that the wrapper has never had.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8 and Equinox 0.13.8.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, wrapper_name
from jaxpert.model.values import Literal, truth
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity, Tag
from jaxpert.text.near_misses import nearest

NAME = "unknown-checkpoint-option"

_WARNS, _GONE, _UNEXPECTED = Version("0.8.2"), Version("0.10.0"), Version("0.11.0")
_OPTIONS = ("policy", "prevent_cse", "static_argnums")
_RULE_OF_ITS_OWN = "static_argnames"


def check(model: FileModel) -> Iterator[Finding]:
    """Keywords that the wrapper does not take, and ``concrete``."""
    for call, argument in _options(model):
        keyword = argument.keyword
        where = model.range_of(keyword) if keyword is not None and argument.model is model else None
        if keyword is None or where is None or model.is_dead(argument.site.block):
            continue
        name = str(keyword.arg)
        if any(argument is one for one in call.repeated):
            found: _Effect | None = _twice(model, call, argument)
        else:
            found = _concrete(model, call, argument) if name == "concrete" else _unknown(model, call, argument)
        if found is None:
            continue
        effect, consequence, severity, exception = found
        yield Finding(
            NAME,
            where,
            f"`{call.api.name}` {effect}",
            severity,
            consequence,
            _related(model, call, argument),
            exceptions=(exception,) if exception else (),
            tags=(Tag.DEPRECATED,) if name == "concrete" else (),
        )


def _options(model: FileModel) -> Iterator[tuple[ApiCall, Argument]]:
    seen: set[int] = set()
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT:
            continue
        concrete = call.arguments.get("concrete")
        for argument in (*call.repeated, *call.unexpected, *((concrete,) if concrete is not None else ())):
            if id(argument.node) not in seen:  # a partial is seen again at each of its calls
                seen.add(id(argument.node))
                yield call, argument


_Effect = tuple[str, str, Severity, str]


def _related(model: FileModel, call: ApiCall, argument: Argument) -> tuple[Related, ...]:
    area = model.range_of(call.node) if argument.is_spread else None
    return (Related(area, "the options are given here"),) if area is not None else ()


def _when(call: ApiCall, argument: Argument) -> str:
    if call.is_partial:
        return "when it is applied to a function"
    return "where the options are given" if argument.is_spread else "where this stands"


def _twice(model: FileModel, call: ApiCall, argument: Argument) -> _Effect:
    name = argument.keyword.arg if argument.keyword is not None else ""
    text = f"{wrapper_name(model, call.api)}() got multiple values for keyword argument '{name}'"
    effect = f"gets `{name}` twice, by name and by `**`: Python raises TypeError; leave one of them out"
    return _raising(model, effect, _when(call, argument), "TypeError", text)


def _unknown(model: FileModel, call: ApiCall, argument: Argument) -> _Effect | None:
    name = str(argument.keyword.arg) if argument.keyword is not None else ""
    meant = _meant(call, name)
    if name == _RULE_OF_ITS_OWN or (call.api.library != "jax" and meant is None and name not in _OPTIONS):
        return None
    text = f"{wrapper_name(model, call.api)}() got an unexpected keyword argument '{name}'"
    when = _when(call, argument)
    advice = f"did you mean `{meant}`?" if meant else f"take it out; {_has(call)}"
    return f"has no `{name}`: JAX raises TypeError; {advice}", raises(model, when, "TypeError", text), Severity.ERROR, (
        "TypeError"
    )


def _has(call: ApiCall) -> str:
    known = [name for name in _OPTIONS if name in call.api.roles or name == "prevent_cse"]
    return f"its options are {', '.join(f'`{name}`' for name in known)}"


def _meant(call: ApiCall, name: str) -> str | None:
    """The option that ``name`` is a slip of; one that is given already is not meant."""
    known = {name for name in (*call.api.roles.values(), "prevent_cse") if name != call.api.roles.get("fun")}
    found = nearest(name, sorted(known))
    if found is None and "polic" in name:
        found = "policy"
    return found if found is not None and found in known and found not in call.arguments else None


def _concrete(model: FileModel, call: ApiCall, argument: Argument) -> _Effect | None:
    version, value = model.target.version, truth(argument.value)
    when = _when(call, argument)
    is_default = isinstance(argument.value, Literal) and not value
    advice = "take it out" if is_default else "take it out, and name what is static in `static_argnums`"
    if call.api.library != "jax":
        if value is not True:
            return None
        text = "The concrete argument is deprecated. Use static_argnums instead. …"
        when = "when the module is used"
        return _raising(model, f"no longer supports `concrete`; {advice}", when, "NotImplementedError", text)
    if version >= _UNEXPECTED:
        text = f"{wrapper_name(model, call.api)}() got an unexpected keyword argument 'concrete'"
        effect = f"has no `concrete` since JAX 0.11.0: it raises TypeError; {advice}"
        return _raising(model, effect, when, "TypeError", text)
    if version >= _GONE:
        text = "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. …"
        effect = f"no longer takes `concrete`: it raises NotImplementedError; {advice}"
        return _raising(model, effect, when, "NotImplementedError", text)
    if value:
        text = "The `concrete` option to `jax.checkpoint` has been deprecated. …"
        if version < _WARNS:
            text = "The 'concrete' option to jax.checkpoint / jax.remat is deprecated; …"
        effect = f"raises NotImplementedError for `concrete=True`; {advice}"
        return _raising(model, effect, when, "NotImplementedError", text)
    if version >= _WARNS:
        consequence = f"JAX {version} warns: DeprecationWarning: The `concrete` option … has been deprecated"
        return f"loses `concrete` in JAX 0.10.0: it warns; {advice}", consequence, Severity.INFORMATION, ""
    return None


def _raising(model: FileModel, effect: str, when: str, exception: str, text: str) -> _Effect:
    return effect, raises(model, when, exception, text), Severity.ERROR, exception


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Rename a slip; take ``concrete`` out."""
    for call, argument in model.every(_options):
        keyword = argument.keyword
        if keyword is None or argument.model is not model or model.range_of(keyword) != finding.range:
            continue
        where = model.range_of(argument.site.node)
        if where is None or keyword.arg is None:
            return None
        if keyword.arg == "concrete":
            edits = verbs.remove_keyword(model.source.lines, where, keyword.arg)
            is_safe = truth(argument.value) is False and not argument.is_spread  # others may use the dictionary
            safety = Safety.SAFE if is_safe else Safety.UNSAFE
            return Fix("Take `concrete` out", safety, edits) if edits else None
        meant = _meant(call, keyword.arg)
        edits = verbs.rename_keyword(model.source.lines, where, keyword.arg, meant) if meant else None
        safety = Safety.UNSAFE if argument.is_spread else Safety.SAFE
        return Fix(f"Rename `{keyword.arg}` to `{meant}`", safety, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policies=jax.checkpoint_policies.dots_saveable)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""
_CONCRETE = _BAD.replace("policies=jax.checkpoint_policies.dots_saveable", "concrete=False")

RULE = Rule(
    code="JXP108",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("policies=jax.checkpoint_policies", "policy=jax.checkpoint_policies"),
            proof=Raises("TypeError", "checkpoint() got an unexpected keyword argument 'policies'", "decorate"),
        ),
        Example(
            bad=_CONCRETE,
            good=_CONCRETE.replace(", concrete=False", ""),
            proof=Raises("TypeError", "got an unexpected keyword argument 'concrete'", "decorate", since="0.11.0"),
        ),
        Example(
            bad=_CONCRETE.replace("False", "True"),
            good=_CONCRETE.replace(", concrete=False", ""),
            proof=Raises("NotImplementedError", "concrete", "decorate", until="0.11.0"),
        ),
    ),
    check=check,
    fix=fix,
)
