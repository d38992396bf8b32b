"""What one function's body does besides giving its result, and which functions it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api
from jaxpert.model.callables import applies, bodies, has_own_derivative, is_receiver, value_of, worth_evaluating
from jaxpert.model.calls import ApiCall, bind
from jaxpert.model.effect_kinds import Effect, EffectKind, Passes, Ref, RefOrigin
from jaxpert.model.frames import remembered
from jaxpert.model.transforms import call_site
from jaxpert.model.values import (
    UNKNOWN,
    CallResult,
    ClassValue,
    Def,
    Frame,
    Instance,
    Partial,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
    truth,
)
from jaxpert.records import dataclass
from jaxpert.syntax.executed import executed
from jaxpert.syntax.reaching import reaching
from jaxpert.syntax.scopes import BindingKind, Block, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_REF_METHODS = {
    "get": (EffectKind.REF_READ,), "set": (EffectKind.REF_WRITE,), "addupdate": (EffectKind.REF_WRITE,),
    "swap": (EffectKind.REF_READ, EffectKind.REF_WRITE),
}  # fmt: skip
_CHANGING = {
    "append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "pop", "popleft",
    "popitem", "remove", "discard", "clear", "sort", "reverse",
}  # fmt: skip
_CONTAINERS = {"list", "set", "dict"}
_MADE_CONTAINERS = {"collections.deque", "collections.defaultdict", "collections.Counter", "queue.Queue"}
_GENERATORS = {"numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator", "random.Random"}
_SEEDS = {"numpy.random.PCG64", "numpy.random.Philox", "numpy.random.MT19937", "numpy.random.SeedSequence"}
_LOGGERS = {"logging.getLogger", "absl.logging.get_absl_logger"}
_LOGGING = {"logging", "absl.logging", "loguru.logger"}
_LOG_METHODS = {
    "debug", "info", "warning", "warn", "error", "critical", "fatal", "exception", "log", "vlog", "log_first_n",
    "log_every_n", "log_if",
}  # fmt: skip
_CLOCKS = {
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
}  # fmt: skip
_CONVERSIONS = {"time.gmtime", "time.localtime", "time.mktime", "time.strftime", "time.strptime", "time.get_clock_info"}


@dataclass(frozen=True, slots=True)
class Made:
    """Where an object is made: by a run of ``scope``; with ``is_receiver``, it is the ``self`` of that method."""

    scope: Scope
    is_receiver: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """A function that a body runs, and where its ``self`` is made; the rest as in ``Step``."""

    node: ast.Call
    target: Def
    frame: Frame
    receiver: Made | None
    site: Site
    passes: Passes
    own_derivative: bool


@dataclass(frozen=True, slots=True)
class Body:
    """What one body does by itself, and what it runs. An effect on an object comes with where that is made."""

    effects: list[tuple[Effect, Made | None]]
    followed: list[Followed]


def read_body(model: FileModel, target: Def, frame: Frame) -> Body:
    """What the body of ``target`` does when its parameters are as ``frame`` says."""
    return remembered(model, target, "body", frame, lambda: _Reader(model, target, frame).read())


class _Reader:
    """Reads one body, with what is known of the function's parameters."""

    def __init__(self, model: FileModel, target: Def, frame: Frame) -> None:
        self.model = model
        self.function = target.function
        self.frame = frame
        self.effects: list[tuple[Effect, Made | None]] = []
        self.followed: list[Followed] = []
        self.dropped: set[int] = set()
        """Expressions whose value is not used, and targets that get none."""
        self.stored: dict[int, ast.expr] = {}
        """What each target of an assignment gets, by the identity of the target."""
        self.site: Site | None = None

    def read(self) -> Body:
        """Everything in the body that runs when the function is called."""
        for site in executed(self.function, self._truth):
            if site.scope.function() is self.function.inner and not self.model.is_dead(site.block):
                self.site = site
                self._see(site)
        return Body(self.effects, self.followed)

    def _truth(self, test: ast.expr, scope: Scope, block: Block) -> bool | None:
        if not worth_evaluating(self.model, test, Site(test, scope, block), self.frame):
            return None
        return self.model.evaluator.condition(scope, block, self.frame)(test)

    def _evaluate(self, node: ast.expr, site: Site, is_called: bool = False) -> Value:
        if not worth_evaluating(self.model, node, site, self.frame, is_called):
            return UNKNOWN
        return self.model.evaluate(node, site.scope, site.block, self.frame)

    def _add(
        self, kind: EffectKind, node: ast.expr, name: str, made: Made | None = None, call: ApiCall | None = None,
        ref: Ref | None = None, ordered: bool | None = None, stored: tuple[ast.expr, ...] = (),
        is_sure: bool = True,
    ) -> None:  # fmt: skip
        value = self.stored.get(id(node))
        stored = stored or ((value,) if value is not None else ())
        effect = Effect(kind, node, self.model, name, (), call, ref, ordered, self.site, stored, is_sure)
        self.effects.append((effect, made))

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        """Note what ``target`` gets; of ``a, b = x, y`` each its own."""
        self.stored[id(target)] = value
        if isinstance(target, (ast.Tuple, ast.List)):
            items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            is_plain = len(items) == len(target.elts) and not any(
                isinstance(item, ast.Starred) for item in (*items, *target.elts)
            )
            for position, element in enumerate(target.elts):
                self._assigned(element, items[position] if is_plain else value)

    def _see(self, site: Site) -> None:
        node = site.node
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assigned(target, node.value)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self.stored[id(node.target)] = node.value
        if isinstance(node, ast.Expr):
            self.dropped.add(id(node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            self.dropped.add(id(node.target))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            self._use_ref(EffectKind.REF_READ, node.target, node.target.value, site)
        elif isinstance(node, ast.Call):
            self._call(node, site)
        elif isinstance(node, ast.Subscript):
            self._subscript(node, site)
        elif isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            made = self._outlives(node if isinstance(node, ast.Name) else node.value, site)
            if made is not None and id(node) not in self.dropped:
                kind = EffectKind.NAME if isinstance(node, ast.Name) else EffectKind.ATTRIBUTE
                self._add(kind, node, ast.unparse(node), made)

    # -- objects that outlive the call ------------------------------------------------------------------------

    def _outlives(self, node: ast.expr, site: Site) -> Made | None:
        """Where the object at the root of ``a.b[c]`` is made, when that is not for certain in this body."""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute) and node.attr == "at":
                return None  # x.at[…] belongs to a new array
            node = node.value
        found = site.scope.lookup(node.id) if isinstance(node, ast.Name) else None
        if found is None or not isinstance(node, ast.Name):
            return None
        owner = found[0]
        if is_receiver(owner, node.id):
            return Made(owner, is_receiver=True)
        return None if owner.function() is self.function.inner else Made(owner)

    def _subscript(self, node: ast.Subscript, site: Site) -> None:
        reads = isinstance(node.ctx, ast.Load)
        is_ref = self._use_ref(EffectKind.REF_READ if reads else EffectKind.REF_WRITE, node, node.value, site)
        made = None if is_ref or reads else self._outlives(node.value, site)
        if made is not None and any(map(self._is_container, self._evaluate(node.value, site).options())):
            self._add(EffectKind.CONTAINER, node, ast.unparse(node.value), made)

    def _is_container(self, value: Value) -> bool:
        if isinstance(value, CallResult):
            return value.path in _MADE_CONTAINERS
        if isinstance(value, (Sequence, Typed)):
            return (value.kind if isinstance(value, Sequence) else value.type) in _CONTAINERS
        return isinstance(value, Table)

    # -- Refs -------------------------------------------------------------------------------------------------

    def _use_ref(
        self, kind: EffectKind, node: ast.expr, base: ast.expr, site: Site, call: ApiCall | None = None
    ) -> bool:
        """Note the effect when ``base`` is a Ref, or ``ref.at[…]``."""
        if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Attribute) and base.value.attr == "at":
            base = base.value.value
        key = node.slice if isinstance(node, ast.Subscript) else None
        refs = list(self._refs(base, site, is_likely=isinstance(key, ast.Constant) and key.value is ...))
        stored = self._written(kind, node, call)
        for ref, made in refs:
            self._add(kind, node, ast.unparse(base), made, call, ref, stored=stored)
        return bool(refs)

    def _written(self, kind: EffectKind, node: ast.expr, call: ApiCall | None) -> tuple[ast.expr, ...]:
        """What a call writes to a Ref."""
        if kind is not EffectKind.REF_WRITE or not isinstance(node, ast.Call):
            return ()
        if call is not None:
            value = call.role("value")
            return (value.node,) if value is not None else ()
        return tuple(node.args[-1:])  # r.set(x), r.addupdate(x)

    def _refs(self, node: ast.expr, site: Site, is_likely: bool) -> Iterator[tuple[Ref, Made | None]]:
        found = False
        for option in self._evaluate(node, site, is_likely).options():
            if isinstance(option, Ref):
                found = True
                yield option, None
            creation = ref_creation(self.model, option)
            if creation is not None and creation.site is not None:
                found = True
                yield Ref(RefOrigin.UNKNOWN, creation, site=option.site, model=option.model), Made(creation.site.scope)
        named = site.scope.lookup(node.id) if isinstance(node, ast.Name) and not found else None
        if named is None:
            return
        owner, bindings = named
        for binding in reaching(bindings, node, site.scope, site.block, owner):
            hint: ast.expr | None = getattr(binding.node, "annotation", None)
            scope = owner.parent if binding.kind is BindingKind.PARAMETER else owner
            if hint is not None and scope is not None and means_ref(self.model, hint, scope, binding.block):
                yield Ref(RefOrigin.UNKNOWN, site=site, model=self.model), Made(owner)
                return

    # -- calls ------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, site: Site) -> None:
        func = node.func
        if isinstance(func, ast.Attribute) and self._method(node, func, site):
            return
        for option in self._evaluate(func, site, is_called=True).options():
            if isinstance(option, (Def, Partial, Instance, CallResult)):
                passes = Passes.OTHER if isinstance(option, Partial) else Passes.ARGUMENTS
                self._run(option, func, node, site, *self._given(node, site), passes=passes)
            if isinstance(option, ClassValue):
                evaluator = (option.model or self.model).evaluator
                for name in ("__init__", "__post_init__"):
                    method = evaluator.attribute(Instance(option, node), name, None)
                    args, keywords = self._given(node, site) if name == "__init__" else ([], {})
                    self._run(method, func, node, site, args, keywords, Made(site.scope))
            target = option
            while isinstance(target, Partial):
                target = target.target
            if isinstance(target, Symbol):
                api = self.model.db.api(target.path)
                if api is not None:
                    self._api(api, option, node, site)
                else:
                    self._library(target.path, node)

    def _given(self, node: ast.Call, site: Site) -> tuple[list[Value] | None, dict[str, Value]]:
        """Values of the arguments; None for the positional ones when a star hides some of either."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return None, {}
        named = {str(keyword.arg): self._evaluate(keyword.value, site) for keyword in node.keywords}
        return [self._evaluate(argument, site) for argument in node.args], named

    def _run(
        self, value: Value, source: ast.expr, node: ast.Call, site: Site, args: list[Value] | None,
        keywords: Mapping[str, Value], receiver: Made | None = None, passes: Passes = Passes.OTHER,
    ) -> None:  # fmt: skip
        """Follow the functions behind ``value``, which ``source`` gives and ``node`` calls."""
        for target, frame in bodies(self.model, value, args, keywords, self.frame):
            made = receiver
            if made is None and target.bound:
                made = self._receiver(value, source, site)
            by_hand = has_own_derivative(self.model, value, target)
            self.followed.append(Followed(node, target, frame, made, site, passes, by_hand))

    def _receiver(self, value: Value, source: ast.expr, site: Site) -> Made | None:
        """Where the object is made whose method ``source`` is, or which is called itself; None when before the call."""
        objects = [value]
        if not isinstance(value, Instance) and isinstance(source, ast.Attribute):
            objects = list(self._evaluate(source.value, site).options())
        for each in objects:
            if isinstance(each, Instance) and each.call is not None and each.site is not None:
                return Made(each.site.scope)
        return None

    def _api(self, api: Api, callee: Value, node: ast.Call, site: Site) -> None:
        call = bind(self.model, call_site(site, node), callee)
        kind = _kind(api)
        if kind is not None:
            self._add(kind, node, api.name, None, call, None, self._keeps_order(call))
        if "creates_ref" in api.traits:
            for option in self._evaluate(node, site).options():
                if isinstance(option, CallResult) and option.call is node:
                    ref = Ref(RefOrigin.UNKNOWN, option, site=option.site, model=option.model)
                    self._add(EffectKind.REF_CREATION, node, api.name, Made(site.scope), call, ref)
        for trait, use in (("reads_ref", EffectKind.REF_READ), ("writes_ref", EffectKind.REF_WRITE)):
            if trait in api.traits and node.args and not self._use_ref(use, node, node.args[0], site, call):
                ref = Ref(RefOrigin.UNKNOWN, site=site, model=self.model)
                self._add(use, node, ast.unparse(node.args[0]), None, call, ref)
        if call is None or not applies(api):
            return
        for role in ("fun", "second_fun", "funs"):
            argument = call.role(role)
            for option in value_of(argument, self.frame).options() if argument is not None else ():
                items = option.items if role == "funs" and isinstance(option, Sequence) else (option,)
                for item in items:
                    for function in item.options():
                        assert argument is not None
                        passes = Passes.TRACERS if "control_flow" in api.traits else Passes.OTHER
                        self._run(function, argument.node, node, site, None, {}, passes=passes)

    def _keeps_order(self, call: ApiCall | None) -> bool | None:
        """The argument ``ordered`` of a callback; None where there is none or it is not known."""
        signature = self.model.db.signature(call.api) if call is not None else None
        if call is None or signature is None or all(p.name != "ordered" for p in signature.parameters):
            return None
        argument = call.arguments.get("ordered")
        if argument is not None:
            return truth(value_of(argument, self.frame))
        return None if call.opened else False

    def _method(self, node: ast.Call, func: ast.Attribute, site: Site) -> bool:
        """Methods of Refs, containers, random generators and loggers. False when it is none of them."""
        uses = [self._use_ref(kind, node, func.value, site) for kind in _REF_METHODS.get(func.attr, ())]
        if any(uses):
            return True
        bases = list(self._evaluate(func.value, site).options())
        for base in bases:
            path = base.path if isinstance(base, CallResult) else ""
            if path in _GENERATORS and base.site is not None:
                self._add(EffectKind.RANDOM, node, f"{path}.{func.attr}", Made(base.site.scope))
                return True
            if path in _LOGGERS and func.attr in _LOG_METHODS:
                self._add(EffectKind.LOGGING, node, f"{path}.{func.attr}")
                return True
        made = self._outlives(func.value, site) if func.attr in _CHANGING else None
        # A method that is called for nothing but its effect changes something, whatever the object is.
        is_statement = id(node) in self.dropped and all(base is UNKNOWN for base in bases)
        is_sure = any(map(self._is_container, bases))
        if made is not None and (is_statement or is_sure):
            stored = (*node.args, *(keyword.value for keyword in node.keywords))
            self._add(EffectKind.CONTAINER, node, ast.unparse(func.value), made, stored=stored, is_sure=is_sure)
            return True
        return False

    def _library(self, path: str, node: ast.Call) -> None:
        """A function of the standard library or of NumPy."""
        module, _, name = path.rpartition(".")
        if path == "builtins.print":
            self._add(EffectKind.PRINT, node, "print")
        elif module in ("numpy.random", "random"):
            seeded = path in _SEEDS or (path in _GENERATORS and (node.args or node.keywords))
            if not seeded:
                self._add(EffectKind.RANDOM, node, path)
        elif (module == "time" and path not in _CONVERSIONS) or path in _CLOCKS:
            self._add(EffectKind.CLOCK, node, path)
        elif module in _LOGGING and name in _LOG_METHODS:
            self._add(EffectKind.LOGGING, node, path)


def _kind(api: Api) -> EffectKind | None:
    """The effect that a call of the API has on the host."""
    if "runs_on_host" in api.traits:
        if "debugging" in api.traits:
            return EffectKind.DEBUG_CALLBACK if "callback" in api.roles else EffectKind.DEBUG_PRINT
        return EffectKind.IO_CALLBACK if "side_effect" in api.traits else EffectKind.PURE_CALLBACK
    return EffectKind.CHECK if "side_effect" in api.traits else None


def ref_creation(model: FileModel, value: Value) -> CallResult | None:
    """``value``, when it is what a call that makes a Ref gives."""
    api = model.db.api(value.path) if isinstance(value, CallResult) else None
    return value if isinstance(value, CallResult) and api is not None and "creates_ref" in api.traits else None


def means_ref(model: FileModel, annotation: ast.expr, scope: Scope, block: Block) -> bool:
    """Whether an annotation is the class of Refs, or that or None."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return any(means_ref(model, side, scope, block) for side in (annotation.left, annotation.right))
    value = model.evaluate(annotation, scope, block)
    api = model.db.api(value.path) if isinstance(value, Symbol) else None
    return api is not None and api.name == "jax.Ref"
