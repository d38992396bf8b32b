"""A module is wrapped by a checkpoint in a way that does not work for modules.

## What it finds

`jax.checkpoint` on a Linen module class or object, on a function inside a Linen or Haiku module that makes or first
uses a submodule or a parameter, and on an Equinox module that holds arrays; an Equinox module with an activation
function given to a checkpointed function; `flax.linen.remat` on an object instead of a class, or with `methods` that
are no list of names; and `jax.checkpoint` on any class whose objects are no pytrees.

## Why it matters

`jax.checkpoint` knows arrays. It calls the function with tracers inside a trace of its own: a class gives an object,
which is no JAX value; parameters that a module makes there leak out of the trace; a module cannot be hashed, which the
function must be. Each library has a wrapper that carries its modules through.

    TypeError: … traced for checkpoint / remat returned a value of type <class 'Block'>, which is not a valid JAX type
    UnexpectedTracerError: Encountered an unexpected tracer.
    TypeError: Can't call __hash__ on modules that hold variables.
    TransformTargetError: Linen transformations must be applied to Modules classes or functions …

## In which versions

All. Where parameters leak, `init` itself succeeds and returns them as tracers, and JAX raises at their first use, as in
`apply`; where `init` runs under `jit`, it is raised there.

## What to write instead

`nn.remat(Block)(…)`, with the class; for part of a Linen module `nn.remat(lambda module, x: module.dense(x))(self, x)`;
`hk.remat(layer)(x)`; `eqx.filter_checkpoint(layer)(x)`. A function that only computes with arrays can be wrapped by
`jax.checkpoint` everywhere.

## Known limits

NNX modules are pytrees and often work. A submodule that is also called elsewhere may have its parameters already, and
fields that only have an annotation are not known: neither is reported.

## Source

Measured with JAX 0.10.2, Flax 0.12.8, Haiku 0.0.17 and Equinox 0.13.8; classes on JAX 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs, wrapper_calls
from jaxpert.fixing.imports import ensure_import
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.modules import Library, class_library, holds_arrays, holds_functions, module_uses, object_library
from jaxpert.model.registrations import Standing, has_heirs, standing
from jaxpert.model.speech import raises
from jaxpert.model.transforms import Checkpoint, parameters, static_names
from jaxpert.model.values import ClassValue, Def, Literal, Sequence, Value
from jaxpert.model.wrapped_calls import passed, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit

NAME = "module-wrapped-wrongly"

_OWN_WRAPPER = {Library.LINEN: "remat", Library.HAIKU: "remat", Library.EQUINOX: "filter_checkpoint"}
_SAYS = {Library.LINEN: "`nn.remat`", Library.HAIKU: "`hk.remat`", Library.EQUINOX: "`eqx.filter_checkpoint`"}
_AT_FIRST_USE = "at the first use of what `init` returns, or at `init` under `jit`"
_LEAK = ("UnexpectedTracerError", "Encountered an unexpected tracer. A function transformed by JAX had a side effect …")


@dataclass(frozen=True, slots=True, eq=False)
class _Fault:
    """A finding, and how it is cured: by the library's own wrapper, around the class where an object was wrapped."""

    finding: Finding
    checkpoint: Checkpoint | None = None
    library: Library | None = None
    made_here: bool = False


def check(model: FileModel) -> Iterator[Finding]:
    """Modules wrapped as if they were functions, and functions as if they had no modules in them."""
    return (fault.finding for fault in _faults(model))


def _faults(model: FileModel) -> Iterator[_Fault]:
    for checkpoint in model.checkpoints:
        if model.is_dead(checkpoint.site.block):
            continue
        if checkpoint.api.library == "jax" and _is_meant(model, checkpoint):
            yield from _under_jax(model, checkpoint)
        elif "wraps_classes" in checkpoint.api.traits:
            yield from _under_linen(model, checkpoint)
    for call in model.calls:
        methods = call.arguments.get("methods") if call.api.kind is ApiKind.CHECKPOINT else None
        if methods is not None and methods.model is model and not model.is_dead(methods.site.block):
            yield from _methods(model, methods)


# -- under jax.checkpoint ---------------------------------------------------------------------------------------------


def _under_jax(model: FileModel, checkpoint: Checkpoint) -> Iterator[_Fault]:
    target = checkpoint.target
    of_class, of_object = class_library(model, target), object_library(model, target)
    if of_class is Library.LINEN or (isinstance(target, ClassValue) and _is_plain(model, target)):
        name = _name(model, checkpoint, target)
        text = f"function … traced for checkpoint / remat returned a value of type <class '{name}'>, …"
        effect = f"`{name}` is a class: JAX raises TypeError when it is called, as its objects are no JAX values"
        advice = "write `nn.remat(…)`" if of_class else "wrap the method that computes"
        yield from _wrapped(model, checkpoint, effect, advice, "when it is called", ("TypeError", text), of_class)
    elif of_object is Library.LINEN:
        text = "Can't call __hash__ on modules that hold variables."
        effect = "this is a Linen module, which `jax.checkpoint` cannot hash: it raises TypeError"
        advice = "write `nn.remat(…)` around its class"
        yield from _wrapped(model, checkpoint, effect, advice, "when it is called", ("TypeError", text), of_object)
    elif of_object is Library.EQUINOX and holds_arrays(model, target):
        text = "unhashable type: 'jaxlib._jax.ArrayImpl'"
        effect = "this Equinox module holds arrays, so `jax.checkpoint` cannot hash it: it raises TypeError"
        advice = "write `eqx.filter_checkpoint(…)`"
        yield from _wrapped(model, checkpoint, effect, advice, "when it is called", ("TypeError", text), of_object)
    elif of_object is Library.HAIKU and _is_made_in(checkpoint):
        effect = "this Haiku module makes its parameters inside `jax.checkpoint`, from where they leak"
        advice = "write `hk.remat(…)`"
        yield from _wrapped(model, checkpoint, effect, advice, _AT_FIRST_USE, _LEAK, of_object)
    elif isinstance(target, Def) and not target.function.is_generator:
        yield from _with_modules_inside(model, checkpoint, target)
        yield from _traced_modules(model, checkpoint)


def _is_meant(model: FileModel, checkpoint: Checkpoint) -> bool:
    """Whether the wrapper is nothing else than ``jax.checkpoint``: not one of the transformations of a loop, say."""
    node, site = checkpoint.node, checkpoint.site
    func = node.func if isinstance(node, ast.Call) else node
    return sum(1 for _ in model.evaluate(func, site.scope, site.block).options()) == 1


def _is_plain(model: FileModel, cls: ClassValue) -> bool:
    return not has_heirs(model, cls) and standing(model, cls) is Standing.PLAIN and not cls.node.bases


def _is_made_in(checkpoint: Checkpoint) -> bool:
    fun = checkpoint.role("fun")
    return fun is not None and isinstance(fun.node, ast.Call)


def _name(model: FileModel, checkpoint: Checkpoint, target: Value) -> str:
    fun = checkpoint.role("fun")
    return model.text_of(fun.node) if fun is not None else target.node.name if isinstance(target, ClassValue) else "it"


def _wrapped(
    model: FileModel, checkpoint: Checkpoint, effect: str, advice: str, when: str, raised: tuple[str, str],
    library: Library | None, related: tuple[Related, ...] = (),
) -> Iterator[_Fault]:  # fmt: skip
    fun = checkpoint.role("fun")
    node = fun.node if fun is not None and fun.model is model and not checkpoint.by_decorator else checkpoint.node
    where = model.range_of(node)
    if where is None:
        return
    finding = Finding(
        NAME, where, f"{effect}; {advice}", Severity.ERROR, raises(model, when, *raised), related,
        exceptions=(raised[0],),
    )  # fmt: skip
    yield _Fault(finding, checkpoint, library, _is_made_in(checkpoint))


def _with_modules_inside(model: FileModel, checkpoint: Checkpoint, target: Def) -> Iterator[_Fault]:
    """Functions that make parameters inside the trace."""
    use = next(module_uses(model, target), None)
    if use is None:
        return
    owner = target.model or model
    area = owner.range_of(use.node)
    call = owner.text_of(use.node.func)
    related = (Related(area, "here", "" if owner is model else owner.path),) if area is not None else ()
    effect = f"`{call}(…)` makes parameters inside `jax.checkpoint`, from where they leak: {_LEAK[0]} at their use"
    library = use.library if use.library is Library.HAIKU else None  # nn.remat wants the module as an argument
    advice = "wrap with `hk.remat` where it runs" if library else "write `nn.remat(lambda module, x: …)(self, x)`"
    yield from _wrapped(model, checkpoint, effect, advice, _AT_FIRST_USE, _LEAK, library, related)


def _traced_modules(model: FileModel, checkpoint: Checkpoint) -> Iterator[_Fault]:
    """Equinox modules with functions in them, given to a function that traces all its arguments."""
    if not model.source.contains("equinox"):
        return
    known = parameters(model, checkpoint)
    static = static_names(model, checkpoint, known) if known is not None else None
    if known is None or static is None:
        return
    for call in wrapped_calls(model, checkpoint):
        for name, passing in passed(known, call).arguments.items():
            values = list(model.evaluate(passing.node, passing.site.scope, passing.site.block).options())
            where, wrapper = model.range_of(passing.node), model.range_of(checkpoint.node)
            if name in static or where is None or not values or not all(map(holds_functions, values)):
                continue
            text = "Cannot interpret value of type <class '…custom_jvp'> as an abstract array; …"
            finding = Finding(
                NAME,
                where,
                f"`{model.text_of(passing.node)}` holds a function (its activation), which `{checkpoint.api.name}` "
                "cannot trace: JAX raises TypeError; wrap with `eqx.filter_checkpoint`",
                Severity.ERROR,
                raises(model, "at this call", "TypeError", text),
                (Related(wrapper, "it is wrapped here"),) if wrapper is not None else (),
                exceptions=("TypeError",),
            )
            yield _Fault(finding, checkpoint, Library.EQUINOX)


# -- under flax.linen.remat -------------------------------------------------------------------------------------------


def _under_linen(model: FileModel, checkpoint: Checkpoint) -> Iterator[_Fault]:
    if object_library(model, checkpoint.target) is Library.LINEN:
        text = "Linen transformations must be applied to Modules classes or functions taking a Module instance as …"
        effect = f"`{checkpoint.api.name}` wraps classes, and this is an object: Flax raises TransformTargetError"
        advice = "wrap the class, then make the object"
        raised = ("TransformTargetError", text)
        yield from _wrapped(model, checkpoint, effect, advice, "where this stands", raised, Library.LINEN)


def _methods(model: FileModel, methods: Argument) -> Iterator[_Fault]:
    for value in methods.value.options():
        items = value.items if isinstance(value, Sequence) else ()
        if isinstance(value, (Literal, Def)) and getattr(value, "value", "") is not None:
            where = model.range_of(methods.node)
            text = "transform methods argument must be None, tuple, list, or dict."
            if where is not None:
                message = "`methods` is no list of names: Flax raises ValueError; write a list of strings"
                consequence = raises(model, "where this stands", "ValueError", text)
                yield _Fault(Finding(NAME, where, message, Severity.ERROR, consequence, exceptions=("ValueError",)))
        for item in items:
            node = item.site.node if item.model is model and item.site is not None else None
            if not isinstance(item, Def) or isinstance(item.function.node, ast.Lambda):
                continue
            inside = next((one for one in getattr(methods.node, "elts", ()) if _ends_in(one, item.name)), node)
            where = model.range_of(inside) if inside is not None else None
            if where is None or inside is None:
                continue
            message = f"`methods` takes names, not functions: Flax raises TypeError; write `\"{item.name}\"`"
            text = "attribute name must be string, not 'function'"
            consequence = raises(model, "where this stands", "TypeError", text)
            yield _Fault(Finding(NAME, where, message, Severity.ERROR, consequence, exceptions=("TypeError",)))


def _ends_in(node: ast.expr, name: str) -> bool:
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == name


# -- fixes ------------------------------------------------------------------------------------------------------------


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Use the library's own wrapper; wrap the class instead of the object; name the method."""
    fault = next((one for one in _faults(model) if one.finding.range == finding.range), None)
    if fault is None:
        return None
    if fault.checkpoint is None:
        name = finding.message.rpartition('"')[0].rpartition('"')[2]
        if not name.isidentifier():
            return None
        edits = verbs.replace_expression(model.source.lines, finding.range, f'"{name}"')
        return Fix(f'Write "{name}"', Safety.SAFE, edits) if edits else None
    return _own_wrapper(model, fault, fault.checkpoint) if fault.library is not None else None


def _own_wrapper(model: FileModel, fault: _Fault, checkpoint: Checkpoint) -> Fix | None:
    call, lines, library = checkpoint.call, model.source.lines, fault.library
    if library is None or (call is not None and ("static_argnums" in call.arguments or call.is_partial or call.opened)):
        return None
    if library is Library.HAIKU and checkpoint.site.scope.kind == "module":
        return None  # `hk.remat` works only inside of `hk.transform`
    function = checkpoint.node if call is None else call.node.func
    where, whole = model.range_of(function), model.range_of(checkpoint.node)
    if where is None or whole is None or (call is not None and call.node is not checkpoint.node):
        return None
    edits: list[Edit] = []
    name = model.text_of(function)
    if checkpoint.api.library == "jax":
        imported = ensure_import(lines, library.value, where.start, model.source)
        if imported is None:
            return None
        name = f"{imported.name}.{_OWN_WRAPPER[library]}"
        edits += [*imported.edits, Edit(where, name)]
    if library is Library.LINEN and isinstance(object_library(model, checkpoint.target), Library):
        inner = wrapper_calls.wrap_callee(lines, whole) if fault.made_here else None
        if inner is None:
            return None
        edits += inner
    return Fix(f"Use `{name}`", Safety.SAFE, tuple(sorted(edits))) if edits else None


_BAD = """\
import jax
import jax.numpy as jnp


class Layer:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return jnp.sin(x) * self.scale


STAGE = "call"
layer = jax.checkpoint(Layer)(2.0)
y = layer(jnp.ones(3))
"""

RULE = Rule(
    code="JXP113",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("jax.checkpoint(Layer)(2.0)", "jax.checkpoint(Layer(2.0))"),
            proof=Raises("TypeError", "valid JAX type", "call"),
        ),
    ),
    check=check,
    fix=fix,
    error_texts=(
        "TypeError: Can't call __hash__ on modules that hold variables.",
        "TransformTargetError: Linen transformations must be applied to Modules classes or functions taking a Module …",
        "TypeError: attribute name must be string, not 'function'",
    ),
)
