"""Where functions that ``jit``, ``vmap``, ``grad`` and their like made are called, and what these calls pass.

Only the outermost transformation counts: it is the one that looks at the arguments as they are written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.call_results import result_of
from jaxpert.model.calls import ApiCall, Argument, bind, callees_in
from jaxpert.model.decorators import decorating, without_function
from jaxpert.model.refused_types import Refused
from jaxpert.model.transforms import Checkpoint, call_site, indices_in
from jaxpert.model.values import (
    UNKNOWN,
    CallResult,
    Def,
    Instance,
    Literal,
    Partial,
    Sequence,
    Symbol,
    Value,
    is_none,
    string,
)
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import BindingKind, CallSite, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """One argument that a transformation looks at.

    Attributes:
        argument: as it is written.
        name: the parameter that takes it; "" when the function is not known.
        position: its number among the positional arguments that the transformation sees, ``self`` among them; None
            when it is passed by name.
    """

    argument: Argument
    name: str
    position: int | None


@dataclass(frozen=True, slots=True, eq=False)
class TransformedCall:
    """A call of what a transformation made.

    Attributes:
        site: the call that passes the arguments.
        made_by: how the transformation is applied; its ``call`` holds the options and is None for a bare decorator.
        owner: the model of the file in which it is applied.
        self_given: whether ``self`` is given by the way it is called.
        opened: whether ``*`` or ``**`` hides arguments.
        positional: the positional arguments, without those behind a star.
        keywords: the others.
    """

    site: CallSite
    made_by: Checkpoint
    owner: FileModel
    self_given: bool
    opened: bool
    positional: tuple[Argument, ...]
    keywords: tuple[Argument, ...]

    @property
    def api(self) -> Api:
        """The transformation."""
        return self.made_by.api

    @property
    def options(self) -> ApiCall | None:
        """The transformation's own call."""
        return self.made_by.call

    @property
    def target(self) -> Value:
        """The function that is transformed, as far as it is known."""
        return self.made_by.target

    @property
    def display(self) -> str:
        """What to call that function in a message."""
        target = self.target
        while isinstance(target, Partial):
            target = target.target
        return f"`{target.name}`" if isinstance(target, Def) and target.name != "lambda" else "the function"

    @property
    def names(self) -> tuple[str, ...] | None:
        """The parameters that positional arguments of the call are given to; None when they are not known."""
        names = parameter_names(self.target)
        return names[1:] if names is not None and self.self_given else names

    @property
    def count(self) -> int:
        """How many positional arguments the transformation sees, ``self`` among them."""
        return len(self.positional) + self.self_given


def transformed_calls(model: FileModel, everywhere: bool = False) -> Iterator[TransformedCall]:
    """Every call, in the trees in focus or ``everywhere`` in this file, of what a transformation of JAX made."""
    if not everywhere or not model.has_focus:
        yield from model.from_each_tree("transformed calls", _all_found)
        return
    for tree in model.every_tree:
        yield from model.tree_fact(tree, "transformed calls", lambda t: _all_found(model, t))


def _all_found(model: FileModel, tree: TreeIndex) -> list[TransformedCall]:
    return list(_found(model, tree))


def _found(model: FileModel, tree: TreeIndex) -> Iterator[TransformedCall]:
    for site, callee in callees_in(model, tree).calls:
        made = made_by_call(model, callee) if isinstance(callee, CallResult) else made_by_decorator(model, callee)
        if made is None:
            continue
        made_by, owner, self_given = made
        api = made_by.api
        if not _makes_function(api):
            continue
        node = site.node
        stars = [index for index, argument in enumerate(node.args) if isinstance(argument, ast.Starred)]
        positional = node.args[: stars[0]] if stars else node.args
        yield TransformedCall(
            site,
            made_by,
            owner,
            self_given,
            bool(stars) or any(keyword.arg is None for keyword in node.keywords),
            tuple(Argument(argument, site, model) for argument in positional),
            tuple(Argument(keyword.value, site, model, keyword) for keyword in node.keywords if keyword.arg),
        )


def applications(model: FileModel) -> Iterator[Checkpoint]:
    """Every place, in this file, where a transformation of JAX makes a new function of a known one."""
    for call in model.calls:
        fun = call.role("fun")
        if _makes_function(call.api) and fun is not None and not call.is_partial and not call.opened:
            yield Checkpoint(call.api, call, call.node, call.site, fun.value, False)
    for function, decorator, value in model.callees.decorated:
        api, options = decorating(model, value) or (None, None)
        if api is None or not _makes_function(api):
            continue
        below = getattr(function.node, "decorator_list", [])
        if below.index(decorator) != len(below) - 1:
            continue  # another decorator stands between
        owner = model.evaluator.class_of(function.scope) if function.scope.kind == "class" else None
        target = Def(function, owner, site=Site(function.node, function.scope, function.block), model=model)
        yield Checkpoint(api, options, decorator, Site(decorator, function.scope, function.block), target, True)


def _makes_function(api: Api) -> bool:
    return api.kind is ApiKind.TRANSFORM and api.library == "jax" and "applies" not in api.traits


def operands(call: ApiCall) -> list[Argument]:
    """The arguments that a transformation which runs at once passes to the user's function, or carries along."""
    names = _OPERANDS.get(call.api.name)
    if names is None or call.is_partial:
        return []
    found = [call.arguments[name] for name in names if name in call.arguments]
    if call.api.name == "jax.lax.cond":
        true_fun = call.arguments.get("true_fun")
        old = true_fun is None or not all(isinstance(v, (Def, Symbol, Partial)) for v in true_fun.value.options())
        if old or (len(call.varargs) == 2 and isinstance(call.varargs[1].value, (Def, Symbol, Partial))):
            return []  # cond(pred, true_operand, true_fun, false_operand, false_fun)
    return [*found, *call.varargs]


_OPERANDS: dict[str, tuple[str, ...]] = {
    "jax.vjp": (),
    "jax.linearize": (),
    "jax.eval_shape": (),
    "jax.jvp": ("primals", "tangents"),
    "jax.lax.scan": ("init", "xs"),
    "jax.lax.map": ("xs",),
    "jax.lax.associative_scan": ("elems",),
    "jax.lax.while_loop": ("init_val",),
    "jax.lax.fori_loop": ("init_val",),
    "jax.lax.cond": ("operand",),
    "jax.lax.switch": ("operand",),
}


_Made = tuple[Checkpoint, "FileModel", bool]


def made_by_call(model: FileModel, callee: CallResult) -> _Made | None:
    """``jax.jit(f)``, ``jax.jit(static_argnums=0)(f)`` and ``functools.partial(jax.jit, …)(f)``."""
    if callee.site is None:
        return None
    owner, site = callee.model or model, callee.site
    if isinstance(callee.callee, CallResult):
        options = without_function(owner, callee.callee)
        if options is None or not callee.call.args or isinstance(callee.call.args[0], ast.Starred):
            return None
        target = owner.evaluate(callee.call.args[0], site.scope, site.block)
    else:
        options = bind(owner, call_site(site, callee.call), callee.callee)
        fun = options.role("fun") if options is not None else None
        if options is None or fun is None or options.opened:
            return None
        target = fun.value
    return Checkpoint(options.api, options, callee.call, site, target, False), owner, False


def made_by_decorator(model: FileModel, callee: Value) -> _Made | None:
    """A function with a transformation as its outermost decorator."""
    target: Value = callee
    if isinstance(callee, Instance):
        target = (callee.cls.model or model).evaluator.attribute(callee, "__call__", None)
    if not isinstance(target, Def):
        return None
    owner, function = target.model or model, target.function
    for decorator in getattr(function.node, "decorator_list", ()):
        value = owner.evaluate(decorator, function.scope, function.block)
        if isinstance(value, Symbol) and value.path in ("builtins.staticmethod", "builtins.classmethod"):
            continue
        api, options = decorating(owner, value) or (None, None)
        site = Site(decorator, function.scope, function.block)
        whole = replace(target, bound=False)  # the transformation gets ``self`` like any other argument
        return (Checkpoint(api, options, decorator, site, whole, True), owner, target.bound) if api else None
    return None


def parameter_names(target: Value) -> tuple[str, ...] | None:
    """Names of the positional parameters of a function, ``self`` among them when it is not given yet.

    Returns:
        None when the function is not known, or takes any number of arguments.
    """
    if isinstance(target, Partial):
        names = parameter_names(target.target)
        if names is None or target.open:
            return None
        names = names[len(target.args) :]
        first = next((index for index, name in enumerate(names) if name in target.keywords), len(names))
        return names[:first]
    if not isinstance(target, Def):
        return None
    arguments = target.function.node.args
    if arguments.vararg is not None:
        return None
    names = tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args))
    return names[1:] if target.bound else names


def looked_at(call: TransformedCall) -> list[Passed] | None:
    """The arguments that the transformation turns into tracers; None when it is not known which these are.

    Those that it does not look at are static ones of ``jit`` (which knows numbers and names from each other,
    measured on 0.4.30 to 0.12.0.1), those that ``vmap`` does not map, and those that ``grad`` does not differentiate.
    """
    traits = call.api.traits
    if "maps" in traits:
        return _mapped(call) if "maps_axes" in traits and not _has_static(call) else None
    if "compiles" in traits or "static_argnums" in call.api.roles:
        return _compiled(call)
    return _differentiated(call) if "differentiates" in traits else None


def _has_static(call: TransformedCall) -> bool:
    return call.options is not None and call.options.role("static_argnums") is not None


def _all(call: TransformedCall) -> list[Passed]:
    names = call.names or ()
    found = [
        Passed(argument, names[index] if index < len(names) else "", index + call.self_given)
        for index, argument in enumerate(call.positional)
    ]
    return [*found, *(Passed(one, str(one.keyword.arg), None) for one in call.keywords if one.keyword is not None)]


def _compiled(call: TransformedCall) -> list[Passed] | None:
    static = static_parameters(call.made_by)
    if static is None:
        return None
    names, indices = static
    if not names and not indices:
        return _all(call)
    if parameter_names(call.target) is None and call.keywords:
        return None
    return [
        passed
        for passed in _all(call)
        if (passed.name not in names if passed.position is None else passed.position not in indices)
    ]


def static_parameters(made_by: Checkpoint) -> tuple[set[str], set[int]] | None:
    """Names and numbers of the parameters that ``jit`` leaves alone; None when they are not known."""
    numbers, by_name = made_by.role("static_argnums"), made_by.role("static_argnames")
    names = parameter_names(made_by.target)
    static: set[str] = set()
    indices: set[int] = set()
    if numbers is not None:
        known = indices_in(numbers.value)
        if known is None or (names is None and any(index < 0 for index in known)):
            return None
        indices = {index + len(names or ()) if index < 0 else index for index in known}
        static |= {names[index] for index in indices if names is not None and index < len(names)}
    if by_name is not None:
        written = strings_in(by_name.value)
        if written is None or names is None:
            return None
        static |= written
        indices |= {index for index, name in enumerate(names) if name in written}
    return static, indices


def results(model: FileModel, target: Def) -> list[Value]:
    """What a function can return, one value for each of its ends; a generator or coroutine has none."""
    owner, function = target.model or model, target.function
    node = function.node
    if function.is_generator or isinstance(node, ast.AsyncFunctionDef):
        return []
    if isinstance(node, ast.Lambda):
        return list(owner.evaluate(node.body, function.inner, function.body_block, target.frame).options())
    return list(result_of(owner.evaluator, target, None, {}).options())


def string_parameter(argument: Argument) -> Refused | None:
    """The string that an argument is when it is a parameter of the function around: by default, or by type."""
    node = argument.node
    found = argument.site.scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if found is None or len(found[1]) != 1 or found[1][0].kind is not BindingKind.PARAMETER:
        return None
    binding = found[1][0]
    annotation = binding.node.annotation if isinstance(binding.node, ast.arg) else None
    is_text = isinstance(annotation, ast.Name) and annotation.id == "str" and argument.site.scope.lookup("str") is None
    default = next((option for option in argument.value.options() if string(option) is not None), None)
    if default is None and not is_text:
        return None
    return Refused(default or UNKNOWN, "a string", "<class 'str'>", True)


def strings_in(value: Value) -> set[str] | None:
    """The strings of a string or a collection of strings; None for anything else."""
    items = value.items if isinstance(value, Sequence) and value.exact else (value,)
    texts = [item.value for item in items if isinstance(item, Literal) and isinstance(item.value, str)]
    return set(texts) if len(texts) == len(items) else None


def axes_of(call: TransformedCall) -> Value | None:
    """What ``in_axes`` of a mapped function is; None when it is left out."""
    argument = call.options.arguments.get("in_axes") if call.options is not None else None
    return argument.value if argument is not None else None


def _mapped(call: TransformedCall) -> list[Passed] | None:
    """Every argument with an axis that is not None; keyword arguments always have axis 0."""
    axes = axes_of(call)
    found = _all(call)
    if axes is None or (isinstance(axes, Literal) and type(axes.value) is int):
        return found
    by_name = [passed for passed in found if passed.position is None]
    if is_none(axes):
        return by_name
    if not isinstance(axes, Sequence) or not axes.exact or len(axes.items) != call.count or call.opened:
        return None
    given = zip(found, axes.items[call.self_given :])
    mapped = [one for one, axis in given if isinstance(axis, Literal) and type(axis.value) is int]
    return [*mapped, *by_name]


def _differentiated(call: TransformedCall) -> list[Passed] | None:
    numbers = call.options.arguments.get("argnums") if call.options is not None else None
    indices = (0,) if numbers is None else indices_in(numbers.value)
    if indices is None:
        return None
    count = call.count
    if call.opened and any(index < 0 for index in indices):
        return None
    wanted = {index + count if index < 0 else index for index in indices}
    return [passed for passed in _all(call) if passed.position is not None and passed.position in wanted]
