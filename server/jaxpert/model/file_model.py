"""Everything that may be asked about one file: a façade over facts that are computed once, when first asked for.

A model belongs to one :class:`~jaxpert.syntax.units.SourceFile` for life. After an edit of that file, or a change of
another, :meth:`FileModel.renewed` makes it forget what may have changed; facts kept in ``tree.facts`` live on while
nothing they depend on changes. It reaches other files only through ``lookup``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.model import guards
from jaxpert.model.evaluate import Evaluator
from jaxpert.model.fuel import FUEL
from jaxpert.model.values import UNKNOWN, Frame, Symbol, Value, choice
from jaxpert.syntax.children import walk
from jaxpert.syntax.scopes import Binding, Block, Scope, Site, TreeIndex, scope_of
from jaxpert.syntax.units import SourceFile
from jaxpert.text.lines import Position, Range, slice_lines

if TYPE_CHECKING:
    from jaxpert.jaxdb.load import JaxDb
    from jaxpert.model.calls import ApiCall, Callees
    from jaxpert.model.effect_kinds import Effect
    from jaxpert.model.names import NameFacts, NameIndex
    from jaxpert.model.policies import CustomPolicy, PolicyUse
    from jaxpert.model.transforms import Checkpoint

Lookup = Callable[[str], "FileModel | None"]
"""Gives the model of a module by its absolute dotted name; None when it is not one of the workspace."""

T = TypeVar("T")

_LIBRARIES = frozenset({"jax", "jaxlib", "flax", "haiku", "equinox", "haliax", "functools"})
"""Packages whose objects we know; everything else outside the workspace is opaque."""


def nothing(module: str) -> FileModel | None:
    """The lookup of a file that stands alone."""
    return None


def _assigned_attributes(tree: TreeIndex) -> dict[str, list[tuple[str, ast.expr, Block]]]:
    """Every ``name.attribute = value`` of the tree, by name."""
    known: dict[str, list[tuple[str, ast.expr, Block]]] | None
    known = tree.facts.get("assigned attributes")  # type: ignore[assignment]
    if known is None:
        known = {}
        for statement, block in tree.block_of.items():
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                        known.setdefault(target.value.id, []).append((target.attr, statement.value, block))
        tree.facts["assigned attributes"] = known
    return known


def _spans_in(tree: TreeIndex) -> list[tuple[int, int, ast.stmt]]:
    """Every statement of a tree, with its first and its last line."""
    known = tree.facts.get("spans")
    if not isinstance(known, list):
        known = tree.facts["spans"] = [
            (first.lineno, statement.end_lineno or first.lineno, statement)
            for statement in tree.block_of
            for first in [*getattr(statement, "decorator_list", ()), statement][:1]
        ]
    return known


_COLLECTED = ("callees", "calls", "checkpoints", "checkpoint_effects", "policy_uses", "custom_policies")
"""The facts that are collected from the trees in focus."""


class FileModel:
    """The facts about one file.

    Args:
        source: the text and its trees.
        db: what JAX is, in the version that the file will meet.
        path: where the file is, for messages; may be "".
        module: its absolute dotted module name, or "".
        is_package: whether it is an ``__init__.py``.
        lookup: how to reach other modules.
        is_module: whether ``lookup`` would find a module, without reading it.
        may_wrap: whether a module of the workspace mentions rematerialization, or may pass on names of one that does.
        names: the checkpoint names of the whole project, or None when only this file is known.
        generation: changes whenever another file's exports may have changed.
    """

    def __init__(
        self,
        source: SourceFile,
        db: JaxDb,
        path: str = "",
        module: str = "",
        is_package: bool = False,
        lookup: Lookup = nothing,
        is_module: Callable[[str], bool] | None = None,
        may_wrap: Callable[[str], bool] | None = None,
        names: NameIndex | None = None,
        generation: int = 0,
    ) -> None:
        self.source = source
        self.db = db
        self.path = path
        self.module = module
        self.is_package = is_package
        self.names = names
        self.generation = generation
        self.looked_up: set[str] = set()
        """Modules of the workspace that facts of this file were taken from."""
        self.token = (source.environment, generation, id(db))
        """What facts that are kept in trees rest on besides trees."""
        self.token_in_haste = ("in haste", self.token)
        """The same for facts that may be poorer for lack of fuel than they would be in a quiet moment."""
        self.evaluator = Evaluator(self)
        self.memory: dict[object, Any] = {}
        """What was worked out for the file as it is now."""
        self._lasting: dict[object, tuple[object, Any]] = {}
        self._focus: list[TreeIndex] | None = None
        self._lookup = lookup
        self._may_wrap = may_wrap
        self._is_module = is_module or (lambda module: self.lookup(module) is not None)
        self._other_models: dict[str, FileModel | None] = {}
        self._exported: dict[str, Value] = {}
        self._exporting: set[str] = set()
        self._dead: dict[int, bool] = {}
        self._self_attributes: dict[int, dict[str, list[tuple[ast.expr, Scope, Block]]]] = {}

    def renewed(self, db: JaxDb, names: NameIndex | None = None, generation: int = 0) -> FileModel:
        """This model, ready for the text, the JAX and the other files as they are now."""
        for name in [name for name in self.__dict__ if isinstance(getattr(type(self), name, None), cached_property)]:
            del self.__dict__[name]
        self.db = db
        self.names = names
        self.generation = generation
        token = (self.source.environment, self.generation, id(self.db))
        if token != self.token:
            self.token = token
            self.token_in_haste = ("in haste", token)
        self.evaluator.forget()
        self.memory.clear()
        self._other_models.clear()
        self._exported.clear()
        self._dead.clear()
        self._self_attributes.clear()
        return self

    # -- text -------------------------------------------------------------------------------------------------

    @property
    def target(self) -> JaxTarget:
        """The JAX that the file will meet."""
        return self.db.target

    def range_of(self, node: ast.AST) -> Range | None:
        """Where ``node`` stands; None when its lines were edited since its tree was made."""
        return self.source.range_of(node)

    def text_of(self, node: ast.AST) -> str:
        """The source text of ``node`` as the user wrote it, its line breaks folded; "" when it was edited away."""
        area = self.range_of(node)
        if area is None:
            return ""
        text = slice_lines(self.source.lines, area)
        return text if area.start.line == area.end.line else " ".join(text.split())

    @cached_property
    def concerns_jax(self) -> bool:
        """Whether the text mentions JAX or a library around it at all."""
        return self.source.contains_any(self.db.markers)

    # -- other files ------------------------------------------------------------------------------------------

    def lookup(self, module: str) -> FileModel | None:
        """The model of another module of the workspace (or of this one), or None."""
        if module == self.module and module:
            return self
        if module not in self._other_models:
            other = self._lookup(module)
            self._other_models[module] = other
            if other is not None:
                self.looked_up.add(module)
        return self._other_models[module]

    def is_library(self, path: str) -> bool:
        """Whether ``path`` lies in a package that the database speaks for, even where its sources are the workspace."""
        return path.partition(".")[0] in _LIBRARIES

    def matters(self, module: str) -> bool:
        """Whether names from ``module`` can be an API or a function of the workspace."""
        first = module.partition(".")[0]
        return first in _LIBRARIES or self._is_module(first) or self._is_module(module)

    def may_wrap(self, module: str, name: str) -> bool:
        """Whether ``from module import name`` may bring a checkpoint wrapper, or something wrapped by one."""
        if module.partition(".")[0] in _LIBRARIES or self._may_wrap is None:
            return self.matters(module)
        return any(self._is_module(it) and self._may_wrap(it) for it in (module, f"{module}.{name}"))

    def absolute(self, module: str, level: int) -> str | None:
        """The absolute name of ``module`` as written in a ``from`` import with ``level`` leading dots."""
        if not level:
            return module
        parts = self.module.split(".") if self.module else []
        kept = len(parts) - level + (1 if self.is_package else 0)
        if not parts or kept < 0:
            return None
        return ".".join([*parts[:kept], *([module] if module else [])]) or None

    def exported(self, name: str) -> Value:
        """The value of a module-level name, as another module sees it."""
        known = self._exported.get(name)
        if known is not None:
            return known
        if name in self._exporting or FUEL.is_empty():
            FUEL.cuts += 1
            return UNKNOWN
        cuts = FUEL.cuts
        self._exporting.add(name)
        FUEL.depth += 1
        try:
            value = self._module_level(name)
        finally:
            self._exporting.discard(name)
            FUEL.depth -= 1
        if cuts == FUEL.cuts:
            self._exported[name] = value
        return value

    def _module_level(self, name: str) -> Value:
        bindings = self.source.module.bindings.get(name)
        if not bindings:
            found = self.lookup(f"{self.module}.{name}") if self.is_package and self.module else None
            return Symbol(found.module) if found is not None else self._star_exported(name)
        alive = [b for b in bindings if not self.is_dead(b.block)] or bindings
        return choice([self.evaluator.binding(b) for b in self._last_unconditional(alive)])

    def _last_unconditional(self, bindings: list[Binding]) -> list[Binding]:
        seen: list[Binding] = []
        for binding in reversed(bindings):
            seen.append(binding)
            if binding.block.parent is None:
                break
        return seen

    def _star_exported(self, name: str) -> Value:
        for binding in self.source.module.bindings.get("*", ()):
            module = self.absolute(str(binding.detail[0]), int(str(binding.detail[1])))
            if module is None:
                continue
            other = self.lookup(module)
            if other is not None and other is not self:
                value = other.exported(name)
                if value is not UNKNOWN:
                    return value
            elif self.db.api(f"{module}.{name}") is not None:
                return Symbol(f"{module}.{name}")
        return UNKNOWN

    # -- values -----------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr, scope: Scope, block: Block, frame: Frame | None = None) -> Value:
        """What ``node`` can be; see :mod:`jaxpert.model.evaluate`."""
        return self.evaluator.evaluate(node, scope, block, frame)

    def is_dead(self, block: Block) -> bool:
        """Whether ``block`` does not run, or may not run, on the target JAX."""
        if block.parent is None:
            return False
        known = self._dead.get(id(block))
        if known is None:
            self._dead[id(block)] = False  # a check that needs itself decides nothing
            known = self._dead[id(block)] = guards.is_dead(self, block)
        return known

    def version_condition(self, test: ast.expr, scope: Scope, block: Block) -> bool | None:
        """Whether a condition about the JAX version is true; None when ``test`` is not one or is undecided."""
        return self.remembered(("version", id(test)), lambda: guards.version_condition(self, test, scope, block))

    def scope_of(self, block: Block) -> Scope:
        """The scope in which the statements of ``block`` run."""
        return scope_of(block)

    def self_attributes(self, scope: Scope) -> dict[str, list[tuple[ast.expr, Scope, Block]]]:
        """What the methods of a class assign to ``self.<name>``."""
        known = self._self_attributes.get(id(scope))
        if known is not None:
            return known
        found: dict[str, list[tuple[ast.expr, Scope, Block]]] = {}
        for bindings in list(scope.bindings.values()):
            for binding in bindings:
                function = binding.block.tree.functions.get(binding.node)  # type: ignore[call-overload]
                if function is None or isinstance(function.node, ast.Lambda) or not function.node.args.args:
                    continue
                me = function.node.args.args[0].arg
                for target, value, block in _assigned_attributes(function.block.tree).get(me, ()):
                    if function.body_block in block.enclosing():
                        found.setdefault(target, []).append((value, self.scope_of(block), block))
        self._self_attributes[id(scope)] = found
        return found

    # -- facts of one tree, kept while nothing they depend on changes -------------------------------------------

    def tree_fact(self, tree: TreeIndex, key: str, compute: Callable[[TreeIndex], T]) -> T:
        """``compute(tree)``, remembered in the tree until module-level names or other files change."""
        token: tuple[object, ...] = self.token
        kept = tree.facts.get(key)
        entered = self.evaluator.entered
        if isinstance(kept, tuple) and (kept[0] is token or (FUEL.is_little and kept[0] is self.token_in_haste)):
            if not kept[1]:  # most facts rest on their own tree alone
                return kept[2]  # type: ignore[no-any-return]
            if all(other.alive for other in kept[1]):
                entered.extend(kept[1])
                return kept[2]  # type: ignore[no-any-return]
        start, cuts = len(entered), FUEL.cuts
        value = compute(tree)
        if cuts != FUEL.cuts and FUEL.is_little:
            token = self.token_in_haste
        tree.facts[key] = (token, self.evaluator.entered_since(start) if len(entered) > start else (), value)
        return value

    def remembered(self, key: object, compute: Callable[[], T]) -> T:
        """``compute()``, remembered while the file is as it is now."""
        kept = self.memory.get(key)
        if kept is not None:
            self.evaluator.entered.extend(kept[1])
            return kept[0]  # type: ignore[no-any-return]
        start, cuts = len(self.evaluator.entered), FUEL.cuts
        value = compute()
        if cuts == FUEL.cuts or not (FUEL.depth or FUEL.is_little):
            self.memory[key] = value, self.evaluator.entered_since(start)
        return value

    def every(self, find: Callable[[FileModel], Iterable[T]]) -> list[T]:
        """All that ``find`` finds in this file, remembered while the file is as it is now: fixes ask once each."""
        return list(find(self)) if self.has_focus else self.remembered(find, lambda: list(find(self)))

    def lasting(self, key: object, make: Callable[[], T]) -> T:
        """What ``make`` has made, until more changes than single statements of functions.

        Those bind no attributes, and nothing at module or class level.
        """
        token = (self.token, self.source.cut)
        kept = self._lasting.get(key)
        if kept is None or kept[0] != token:
            kept = self._lasting[key] = token, make()
        return kept[1]

    def from_each_tree(self, key: str, find: Callable[[FileModel, TreeIndex], list[T]]) -> list[T]:
        """What ``find`` finds in each tree in focus, in order; remembered as :meth:`tree_fact` does."""

        def collect() -> list[T]:
            return [found for tree in self.trees for found in self.tree_fact(tree, key, lambda t: find(self, t))]

        return collect() if self.has_focus else self.remembered(("each tree", key), collect)

    @cached_property
    def every_tree(self) -> list[TreeIndex]:
        """The trees of a file that concerns JAX; none of any other."""
        return self.source.trees() if self.concerns_jax else []

    @property
    def trees(self) -> list[TreeIndex]:
        """The trees in focus: all of them, unless :meth:`focus` says otherwise."""
        return self.every_tree if self._focus is None else self._focus

    @property
    def has_focus(self) -> bool:
        """Whether only some of the trees are looked at."""
        return self._focus is not None

    @contextmanager
    def focus(self, trees: list[TreeIndex]) -> Iterator[None]:
        """Within, facts that are collected from the trees of the file are collected from ``trees`` alone."""
        facts = [name for name in _COLLECTED if name in self.__dict__]
        before = {name: self.__dict__.pop(name) for name in facts}
        self._focus = trees
        try:
            yield
        finally:
            self._focus = None
            for name in _COLLECTED:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)

    # -- facts ------------------------------------------------------------------------------------------------

    @cached_property
    def callees(self) -> Callees:
        """Calls and decorators whose callee is known."""
        from jaxpert.model.calls import callees

        return callees(self)

    @cached_property
    def calls(self) -> tuple[ApiCall, ...]:
        """Every call of a known API, with its arguments bound, and every ``functools.partial`` of one."""
        from jaxpert.model.calls import api_calls

        return api_calls(self)

    @cached_property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every application of a checkpoint wrapper: by call, decorator, partial or alias."""
        from jaxpert.model.transforms import checkpoints

        return checkpoints(self)

    @cached_property
    def checkpoint_effects(self) -> tuple[tuple[Checkpoint, tuple[Effect, ...]], ...]:
        """Every checkpoint with what its function does besides giving its result."""
        from jaxpert.model.effects import checkpoint_effects

        return checkpoint_effects(self)

    @cached_property
    def policy_uses(self) -> tuple[PolicyUse, ...]:
        """Every expression that is given where a remat policy belongs."""
        from jaxpert.model.policies import policy_uses

        return policy_uses(self)

    @cached_property
    def custom_policies(self) -> tuple[CustomPolicy, ...]:
        """Every function of the user's that is used as a policy, once each."""
        from jaxpert.model.policies import custom_policies

        return custom_policies(self)

    @cached_property
    def replaced_attributes(self) -> frozenset[tuple[str, str]]:
        """``(name, attribute)`` of every ``name.attribute = …`` but ``self``: a patched library, say."""
        return self.lasting("replaced attributes", self._replaced_attributes)

    def _replaced_attributes(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            (name, attribute)
            for tree in self.every_tree
            for name, assigned in _assigned_attributes(tree).items()
            if name not in ("self", "cls")
            for attribute, _, _ in assigned
        )

    @cached_property
    def words_about_names(self) -> frozenset[str]:
        """Last words of the callees that can tag or use a checkpoint name."""
        from jaxpert.model.names import words_about_names

        return words_about_names(self)

    @cached_property
    def name_facts(self) -> NameFacts:
        """The checkpoint names tagged and used in this file."""
        from jaxpert.model.names import name_facts

        return name_facts(self)

    @cached_property
    def project_names(self) -> NameIndex:
        """The names of the whole project, with this file's as they are now."""
        from jaxpert.model.names import NameIndex

        files = dict(self.names.files) if self.names is not None else {}
        files[self.path] = self.name_facts
        return NameIndex(files)

    # -- positions to facts -----------------------------------------------------------------------------------

    def site_at(self, position: Position) -> Site | None:
        """The innermost statement at ``position``, with its scope and block."""
        unit = self.source.unit_at(position.line)
        best: tuple[ast.stmt, Block] | None = None
        for tree in unit.trees:
            local = tree.line_then(position.line) if tree.line_map is None else None
            line = None if local is None else tree.virtual_base + local
            near: Iterable[ast.stmt] = tree.block_of
            if line is not None:  # few are left; what the columns of the others are need not be worked out
                near = [one for first, end, one in _spans_in(tree) if first <= line <= end]
            for statement in near:
                block = tree.block_of[statement]
                area = self._statement_range(statement)
                if area is not None and area.contains(position):
                    if best is None or block.depth >= best[1].depth:
                        best = (statement, block)
        if best is None:
            return None
        return Site(best[0], self.scope_of(best[1]), best[1])

    def _statement_range(self, statement: ast.stmt) -> Range | None:
        decorators = getattr(statement, "decorator_list", None)
        return self.source.range_between(decorators[0] if decorators else statement, statement)

    def symbol_at(self, position: Position) -> tuple[Range, str] | None:
        """The expression under ``position`` and its dotted path, when it is a library object."""
        site = self.site_at(position)
        if site is None:
            return None
        smallest: tuple[Range, ast.expr] | None = None
        for node in walk(site.node):
            if isinstance(node, (ast.Name, ast.Attribute)):
                area = self.range_of(node)
                if area is None or not area.contains(position):
                    continue
                if isinstance(node, ast.Attribute):
                    base = self.range_of(node.value)
                    if base is not None and base.contains(position) and base.end != position:
                        continue
                if smallest is None or area.start >= smallest[0].start:
                    smallest = (area, node)
            elif isinstance(node, ast.alias):
                area = self.range_of(node)
                if area is not None and area.contains(position) and isinstance(site.node, (ast.Import, ast.ImportFrom)):
                    module = ""
                    if isinstance(site.node, ast.ImportFrom):
                        module = (self.absolute(site.node.module or "", site.node.level) or "") + "."
                    return area, f"{module}{node.name}"
        if smallest is None:
            return None
        for option in self.evaluate(smallest[1], site.scope, site.block).options():
            if isinstance(option, Symbol) and not option.path.startswith("builtins."):
                return smallest[0], option.path
        return None
