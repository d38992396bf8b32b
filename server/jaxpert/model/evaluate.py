"""A small abstract interpreter: what is this expression, as far as it can be known?

It follows names through imports (also of the workspace's own modules), assignments, dictionaries, conditional
expressions, ``functools.partial``, ``getattr`` with a literal name, enumerations, class attributes, and calls of
the user's own functions, whose returns it collects along the branches that the arguments allow. Everything else
is :data:`~jaxpert.model.values.UNKNOWN`. It never loops: depth is limited, and an expression that needs itself
is unknown.

Here are names and attributes; :mod:`classes`, :mod:`call_results` and :mod:`operators` hold the rest.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jaxpert.model import call_results, classes, operators
from jaxpert.model.asked_primitives import AskedPrimitive, name_of
from jaxpert.model.comprehensions import ITEM
from jaxpert.model.fuel import FUEL, MOST_NESTED
from jaxpert.model.paths import ends_of
from jaxpert.model.values import (
    PRIMITIVE_NAME,
    UNKNOWN,
    CallResult,
    Choice,
    ClassValue,
    Def,
    EnumMember,
    Frame,
    Instance,
    Literal,
    Partial,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
    choice,
    truth,
)
from jaxpert.syntax.changes import Change, changes
from jaxpert.syntax.reaching import is_changed_elsewhere, reaching
from jaxpert.syntax.scopes import Binding, BindingKind, Block, Function, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_BUILTINS = frozenset(dir(builtins))
_MOST_OPTIONS = 40
_MOST_FRAMES = 200
_MAY_STAND_OUTSIDE = frozenset({ast.Name, ast.Attribute, ast.Constant})

_TRANSPARENT = {
    "functools.lru_cache", "functools.cache", "functools.wraps", "builtins.staticmethod", "builtins.classmethod",
    "builtins.property", "functools.cached_property", "typing.no_type_check", "typing.final", "typing.override",
    "abc.abstractmethod", "jax.named_scope", "flax.linen.compact", "flax.linen.nowrap", "jaxtyping.jaxtyped",
    "beartype.beartype", "typeguard.typechecked",
}  # fmt: skip

_OTHER_RESULTS = {"jax.custom_gradient", "jax.make_jaxpr", "jax.experimental.checkify.checkify"}
"""What these make of a function gives something else than the function; so do derivatives."""


_SETTLING: set[str] = set()
"""The paths that are being followed, one because of the other."""


class Evaluator:
    """Evaluates expressions of one file; asks the models of other files for theirs."""

    def __init__(self, model: FileModel) -> None:
        self.model = model
        self.entered: list[TreeIndex] = []
        """Trees whose function bodies values came out of: those may change without a module-level name changing."""
        self.token: tuple[object, ...] = model.token
        """Changes when all that is known of values is void; they are kept in the trees."""
        self._framed: dict[int, tuple[Frame, dict[int, Any]]] = {}
        """What :meth:`_values_under` gives, with the frame, which must live as long."""
        self._running: set[tuple[int, int]] = set()

    # -- entry --------------------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, scope: Scope, block: Block, frame: Frame | None = None) -> Value:
        """The value of ``node``, which stands in ``scope`` and ``block``."""
        kind = node.__class__
        handler = _HANDLERS.get(kind)
        if handler is None:
            return UNKNOWN
        if frame and kind in _MAY_STAND_OUTSIDE and _stands_outside(node, scope):
            frame = None
        values, identity = self._values_under(frame) if frame else block.tree.values, id(node)
        if (known := values.get(identity)) is not None:
            token, came_out_of, value = known
            if token is self.token or (FUEL.is_little and token is self.model.token_in_haste):
                if not came_out_of:
                    return value  # type: ignore[no-any-return]
                if all(tree.alive for tree in came_out_of):
                    self.entered.extend(came_out_of)
                    return value  # type: ignore[no-any-return]
        key = (identity, id(frame) if frame else 0)
        if not FUEL.depth:
            FUEL.steps = 0
        FUEL.steps += 1
        if key in self._running or FUEL.is_empty():
            FUEL.cuts += 1
            return UNKNOWN
        cuts, entered = FUEL.cuts, len(self.entered)
        FUEL.depth += 1
        self._running.add(key)
        try:
            value = handler(self, node, scope, block, frame or {})
        finally:
            FUEL.depth -= 1
            self._running.discard(key)
        if value.__class__ is Choice and len(value.values) > _MOST_OPTIONS:
            value = UNKNOWN
        # Below a cut the value may be poorer than it would be when asked for by itself.
        is_whole = cuts == FUEL.cuts
        if is_whole or not FUEL.depth:
            token = self.token if is_whole or not FUEL.is_little else self.model.token_in_haste
            values[identity] = (token, self.entered_since(entered) if len(self.entered) > entered else (), value)
        return value

    def _values_under(self, frame: Frame) -> dict[int, Any]:
        """What is known of expressions, by the identity of their nodes, where parameters are as ``frame`` says."""
        known = self._framed.get(id(frame))
        if known is None:
            if not FUEL.depth and len(self._framed) > _MOST_FRAMES:
                self._framed.clear()
            known = self._framed[id(frame)] = frame, {}
        return known[1]

    def entered_since(self, mark: int) -> tuple[TreeIndex, ...]:
        """The trees entered since ``entered`` was ``mark`` long, once each."""
        if len(self.entered) == mark:
            return ()
        unique = tuple(dict.fromkeys(self.entered[mark:]))
        self.entered[mark:] = unique
        return unique

    def forget(self) -> None:
        """Start again: the text, or another file, has changed."""
        self.entered.clear()
        self._framed.clear()
        self.token = self.model.token

    def condition(self, scope: Scope, block: Block, frame: Frame | None = None) -> Callable[[ast.expr], bool | None]:
        """A function that says whether a condition in ``scope`` is known to be true or false."""

        def known(test: ast.expr) -> bool | None:
            version = self.model.version_condition(test, scope, block)
            if version is not None:
                return version
            return truth(self.evaluate(test, scope, block, frame))

        return known

    # -- names --------------------------------------------------------------------------------------------------------

    def name(self, node: ast.Name, scope: Scope, block: Block, frame: Frame) -> Value:
        """The value of a name where it is used."""
        found = scope.lookup(node.id)
        if found is None:
            site = Site(node, scope, block)
            starred = self._starred(node.id, site)
            if starred is not None:
                return starred
            return Symbol(f"builtins.{node.id}", site=site, model=self.model) if node.id in _BUILTINS else UNKNOWN
        owner, bindings = found
        if is_changed_elsewhere(bindings, owner):
            return UNKNOWN
        seen = reaching(bindings, node, scope, block, owner, self.model.is_dead)
        if "*" in owner.bindings and self._hidden_by_star(seen, owner, node.id):
            return UNKNOWN
        values = []
        for binding in seen:
            if (
                binding.kind is BindingKind.LOOP
                and owner.kind != "comprehension"
                and binding.block not in block.enclosing()
            ):
                values.append(UNKNOWN)  # behind the loop only the last item is left
                continue
            value = self.binding(binding, frame)
            if isinstance(value, Symbol):
                if value.site is None:  # an imported object is written where its name is used
                    value = Symbol(value.path, site=Site(node, scope, block), model=self.model)
            elif isinstance(value, (Sequence, Table)) and (binding.value is not None or frame):
                value = self._after_changes(value, node.id, owner, frame)
            values.append(value)
        return choice(values)

    def _starred(self, name: str, site: Site) -> Value | None:
        """A name that only a star import can bring."""
        for binding in self.model.source.module.bindings.get("*", ()):
            module = self.model.absolute(str(binding.detail[0]), int(str(binding.detail[1])))
            other = self.model.lookup(module) if module else None
            if other is not None:
                if name in other.source.module.bindings:
                    return other.exported(name)
            elif self.model.db.api(f"{module}.{name}") is not None:
                return Symbol(f"{module}.{name}", site=site, model=self.model)
        return UNKNOWN if "*" in self.model.source.module.bindings else None

    def _hidden_by_star(self, bindings: list[Binding], owner: Scope, name: str) -> bool:
        """Whether a later star import may bring another ``name``."""
        last = max((_place(binding) for binding in bindings), default=(0, 0))
        for star in owner.bindings["*"]:
            module = self.model.absolute(str(star.detail[0]), int(str(star.detail[1])))
            if module is None or _place(star) < last or self.model.is_library(module):
                continue
            other = self.model.lookup(module)
            if other is None or name in other.source.module.bindings:
                return True
        return False

    def _after_changes(self, value: Sequence | Table, name: str, owner: Scope, frame: Frame) -> Value:
        """A list, set or dictionary that is also changed in place through its name."""
        made = self._changes(name, owner)
        if not made or (isinstance(value, Sequence) and value.kind in ("tuple", "frozenset")):
            return value
        removes = any(change.removes for change in made)
        if isinstance(value, Sequence):
            return replace(value, items=() if removes else value.items, exact=False)
        if removes:
            return replace(value, entries=(), exact=False)
        entries = list(value.entries)
        for change in made:
            if change.key is not None and change.value is not None:
                scope = self.model.scope_of(change.block)
                key, entry = (self.evaluate(node, scope, change.block, frame) for node in (change.key, change.value))
                entries.append((key, entry))
        return replace(value, entries=tuple(entries), exact=False)

    def _changes(self, name: str, owner: Scope) -> list[Change]:
        shared = owner.kind in ("module", "class") or owner.block is None
        trees = self.model.source.trees() if shared else [owner.block.tree]  # type: ignore[union-attr]
        found = (change for tree in trees for change in changes(tree).get(name, ()))
        return [change for change in found if change.owner() is owner]

    def binding(self, binding: Binding, frame: Frame | None = None) -> Value:
        """What one binding gives its name."""
        kind = binding.kind
        if binding.value is not None and binding.scope.kind in ("module", "class"):
            self.entered.append(binding.block.tree)  # the value's nodes are others once that tree is parsed again
        if kind is BindingKind.ASSIGN and binding.value is not None:
            return self.evaluate(binding.value, binding.scope, binding.block, frame)
        if kind is BindingKind.IMPORT:
            return Symbol(str(binding.detail[0]))
        if kind is BindingKind.FROM_IMPORT:
            module = self.model.absolute(str(binding.detail[0]), int(str(binding.detail[1])))
            return self.settle(Symbol(f"{module}.{binding.detail[2]}")) if module is not None else UNKNOWN
        if kind is BindingKind.FUNCTION:
            function = binding.block.tree.functions.get(binding.node)  # type: ignore[call-overload]
            return self.definition(function, frame or {}) if function else UNKNOWN
        if kind is BindingKind.CLASS and isinstance(binding.node, ast.ClassDef):
            inner = binding.block.tree.classes.get(binding.node)
            return (self.class_of(inner) if inner is not None else None) or UNKNOWN
        if kind is BindingKind.UNPACK and binding.value is not None:
            return _unpacked(self.evaluate(binding.value, binding.scope, binding.block, frame), binding)
        if kind is BindingKind.AUGMENTED and isinstance(binding.node, ast.AugAssign):
            scope = self.model.scope_of(binding.block)
            return operators.operated(self, binding.node, scope, binding.block, frame or {})
        if kind is BindingKind.LOOP and binding.value is not None:
            turn = frame.get((id(binding.scope), ITEM)) if frame else None
            return self._looped(binding, frame) if turn is None else _unpacked(turn, binding)
        if kind is BindingKind.PARAMETER:
            given = (frame or {}).get((id(binding.scope), binding.name))
            return self._parameter(binding) if given is None else given
        return UNKNOWN

    def _looped(self, binding: Binding, frame: Frame | None) -> Value:
        values: list[Value] = []
        assert binding.value is not None
        for option in self.evaluate(binding.value, binding.scope, binding.block, frame).options():
            if isinstance(option, Sequence):
                items = list(option.items)
            elif isinstance(option, Table):
                items = [key for key, _ in option.entries]
            else:
                return UNKNOWN
            values.extend(_unpacked(item, binding) for item in items)
            if not option.exact:
                values.append(UNKNOWN)
        return choice(values)

    def _parameter(self, binding: Binding) -> Value:
        """``self``, or a parameter whose default is one of the values it can have."""
        scope = binding.scope
        node = scope.node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return UNKNOWN
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        parent = scope.parent
        if (
            positional
            and positional[0] is binding.node
            and parent is not None
            and parent.kind == "class"
            and not isinstance(node, ast.Lambda)
        ):
            cls = self.class_of(parent)
            decorators = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
            if cls is None or "staticmethod" in decorators:
                return UNKNOWN
            return cls if "classmethod" in decorators else Instance(cls, None, model=self.model)
        default: ast.expr | None = None
        if binding.node in positional:
            position = positional.index(binding.node) - (len(positional) - len(arguments.defaults))
            default = arguments.defaults[position] if position >= 0 else None
        elif binding.node in arguments.kwonlyargs:
            default = arguments.kw_defaults[arguments.kwonlyargs.index(binding.node)]
        if default is None or parent is None or scope.block is None:
            return UNKNOWN
        return choice([self.evaluate(default, parent, scope.block), UNKNOWN])

    def class_of(self, scope: Scope) -> ClassValue | None:
        """The class whose body ``scope`` is."""
        node = scope.node
        if not isinstance(node, ast.ClassDef) or scope.block is None or scope.parent is None:
            return None
        self.entered.append(scope.block.tree)
        return ClassValue(scope, node, site=Site(node, scope.parent, scope.block), model=self.model)

    def definition(
        self, function: Function, frame: Frame, owner: ClassValue | None = None, bound: bool = False
    ) -> Value:
        """The value of a ``def``; unknown when a decorator may have replaced the function by something else."""
        self.entered.append(function.block.tree)  # the function is another one once its tree is parsed again
        node = function.node
        value = Def(function, owner, bound, frame, site=Site(node, function.scope, function.block), model=self.model)
        if isinstance(node, ast.Lambda):
            return value
        for decorator in node.decorator_list:
            applied = self.evaluate(decorator, function.scope, function.block)
            for option in applied.options():
                if not self.keeps_function(option):
                    return UNKNOWN
        return value

    def keeps_function(self, decorator: Value) -> bool:
        """Whether what a decorator gives takes the same arguments as the function it stands on."""
        path = decorator.path if isinstance(decorator, (Symbol, CallResult)) else ""
        if isinstance(decorator, Partial):
            return self.keeps_function(decorator.target)
        if path in _TRANSPARENT:
            return True
        api = self.model.db.api(path) if path else None
        return api is not None and (api.kind.value in ("checkpoint", "transform"))

    def keeps_result(self, function: Function) -> bool:
        """Whether a function of this file still gives what its ``return`` statements say, whatever decorates it."""
        for decorator in getattr(function.node, "decorator_list", ()):
            for option in self.evaluate(decorator, function.scope, function.block).options():
                while isinstance(option, Partial):
                    option = option.target
                api = self.model.db.api(option.path) if isinstance(option, (Symbol, CallResult)) else None
                if api is not None and (api.name in _OTHER_RESULTS or "differentiates" in api.traits):
                    return False
        return True

    # -- symbols and attributes ---------------------------------------------------------------------------------------

    def settle(self, symbol: Symbol) -> Value:
        """Follow a symbol into the workspace when its module is the user's own."""
        path = symbol.path
        if self.model.db.api(path) is not None or self.model.is_library(path):
            return symbol
        if path in _SETTLING or len(_SETTLING) >= MOST_NESTED:  # packages that give out each other's names
            FUEL.cuts += 1
            return symbol
        _SETTLING.add(path)
        try:
            return self._followed(symbol)
        finally:
            _SETTLING.discard(path)

    def _followed(self, symbol: Symbol) -> Value:
        parts = symbol.path.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            other = self.model.lookup(".".join(parts[:cut]))
            if other is None:
                continue
            if other is self.model and cut == len(parts) - 1 and parts[-1] not in self.model.source.module.bindings:
                return symbol
            value: Value = other.exported(parts[cut])
            for name in parts[cut + 1 :]:
                value = other.evaluator.attribute(value, name, symbol.site)
            return value if value is not UNKNOWN else symbol
        return symbol

    def never_returns(self, scope: Scope, block: Block) -> Callable[[ast.Call], bool]:
        """A function that says whether a call in ``scope`` is of a function of the user's that always raises."""

        def known(call: ast.Call) -> bool:
            options = list(self.evaluate(call.func, scope, block).options())
            return all(isinstance(option, Def) and self._always_raises(option) for option in options)

        return known

    def _always_raises(self, target: Def) -> bool:
        node = target.function.node
        if isinstance(node, ast.Lambda) or target.function.is_generator:
            return False
        if node.returns is not None and ast.unparse(node.returns).rpartition(".")[2] in ("NoReturn", "Never"):
            return True
        ends = ends_of(node.body, node, lambda test: None)
        return ends.falls is None and not ends.returns

    def attribute_expression(self, node: ast.Attribute, scope: Scope, block: Block, frame: Frame) -> Value:
        """The value of ``a.b``."""
        if (path := self._path_in_library(node, scope)) is not None:
            return Symbol(path, site=Site(node, scope, block), model=self.model)
        if isinstance(node.value, ast.Name) and (node.value.id, node.attr) in self.model.replaced_attributes:
            return UNKNOWN
        base = self.evaluate(node.value, scope, block, frame)
        site = Site(node, scope, block)
        return choice([self.attribute(option, node.attr, site) for option in base.options()])

    def _path_in_library(self, node: ast.Attribute, scope: Scope) -> str | None:
        """The dotted path of ``jnp.linalg.norm`` where ``jnp`` is imported in one place: most attributes are such."""
        names, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            names.append(root.attr)
            root = root.value
        found = scope.lookup(root.id) if isinstance(root, ast.Name) else None
        if found is None or len(found[1]) > 1:
            return None
        owner, bindings = found
        kind, detail = bindings[0].kind, bindings[0].detail
        if kind is BindingKind.IMPORT:
            base = str(detail[0])
        elif kind is BindingKind.FROM_IMPORT and not detail[1]:
            base = f"{detail[0]}.{detail[2]}"
        else:
            return None
        if not self.model.is_library(base) or "*" in owner.bindings or is_changed_elsewhere(bindings, owner):
            return None
        if (bindings[0].name, names[-1]) in self.model.replaced_attributes:
            return None
        return ".".join([base, *reversed(names)])

    def attribute(self, base: Value, name: str, site: Site | None) -> Value:
        """``base.name``."""
        if isinstance(base, Symbol):
            return self.settle(Symbol(f"{base.path}.{name}", site=site, model=self.model))
        if isinstance(base, ClassValue):
            return classes.attribute(self, base, name, bound=False)
        if isinstance(base, Instance):
            return classes.instance_attribute(self, base, name)
        if isinstance(base, EnumMember):
            if name == "value" or name == "_value_":
                return base.value
            if name == "name":
                return Literal(base.name, site=base.site, model=base.model)
        if isinstance(base, Partial) and name == "func":
            return base.target
        if isinstance(base, AskedPrimitive) and name == "name":
            return name_of(base)
        if isinstance(base, Typed) and base.type == "primitive" and name == "name":
            return Typed(PRIMITIVE_NAME, site=site, model=self.model)
        if isinstance(base, CallResult) and base.path == "re.compile":
            return Symbol(f"re.Pattern.{name}", site=site, model=self.model)
        return UNKNOWN


def _stands_outside(node: ast.expr, scope: Scope) -> bool:
    """Whether ``node`` is a constant, or a name of the module or an attribute of one: no frame says more about it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        found = scope.lookup(node.id)
        return found is None or found[0].kind == "module"
    return isinstance(node, ast.Constant)


def _place(binding: Binding) -> tuple[int, int]:
    return binding.block.tree.first_line, getattr(binding.node, "lineno", 0)


def _unpacked(value: Value, binding: Binding) -> Value:
    """What the binding's target takes out of ``value``."""
    for step in binding.detail:
        value = UNKNOWN if step is None else operators.item(value, int(str(step)))
    return value


_HANDLERS: dict[type, operators.Handler] = {
    ast.Name: Evaluator.name,
    ast.Attribute: Evaluator.attribute_expression,
    ast.Call: call_results.call,
    **operators.HANDLERS,
}
