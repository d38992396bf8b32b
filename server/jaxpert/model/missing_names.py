"""Names around checkpointing that are asked for where JAX does not have them: by import, attribute or option."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.jaxdb.load import switch_exists
from jaxpert.model.aliases import last_word
from jaxpert.model.values import Symbol
from jaxpert.records import dataclass
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import Block, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_POLICIES = "jax.checkpoint_policies"
_SUBMODULE = "jax.ad_checkpoint"
_PRIVATE = "jax._src.ad_checkpoint"

_HOMES = {
    **dict.fromkeys(("checkpoint_name", "print_saved_residuals", "Offloadable", "Saveable", "Recompute"), _SUBMODULE),
    **dict.fromkeys(("checkpoint", "remat", "checkpoint_policies"), "jax"),
    **dict.fromkeys(
        (
            "checkpoint_dots", "checkpoint_dots_with_no_batch_dims", "dots_saveable",
            "dots_with_no_batch_dims_saveable", "everything_saveable", "nothing_saveable",
            "offload_dot_with_no_batch_dims", "save_only_these_names", "save_and_offload_only_these_names",
            "save_any_names_but_these", "save_anything_except_these_names", "save_from_both_policies",
        ),
        _POLICIES,
    ),
}  # fmt: skip
"""Where each name lives in every release since 0.4.30."""

_NO_MODULES = frozenset({_POLICIES, f"{_SUBMODULE}.checkpoint_policies", "jax.checkpoint", "jax.remat"})
"""What looks like a module and is an object: `from … import` fails (measured on 0.4.30 to 0.12.0.1)."""

_PRIVATE_LACKS = frozenset({"Offloadable", "Saveable", "Recompute"})

_WORDS = ("checkpoint", "remat", "aveable", "Offloadable", "Recompute", "save_", "offload_")

_OPTIONS_UNTIL = {
    "jax_remat_opt_barrier": Version("0.6.0"),
    **dict.fromkeys(("jax_new_checkpoint", "jax_new_remat", "jax_checkpoint", "jax_remat", "jax_remat2"), Version("0")),
}
"""The first release without each option; "0" for those that never were."""


@dataclass(frozen=True, slots=True, eq=False)
class MissingName:
    """A name that is not there.

    Attributes:
        node: the alias of an import, the attribute expression, or the string that names an option.
        owner: the dotted path of the module that is asked; "" for an option.
        name: what is asked for.
        home: the module where it is; "" when it is nowhere.
        is_module: whether the module itself is what is not there.
    """

    node: ast.alias | ast.expr
    site: Site
    owner: str
    name: str
    home: str = ""
    is_module: bool = False


def missing_names(model: FileModel) -> Iterator[MissingName]:
    """All of them in the file."""
    if model.source.contains_any(_WORDS):
        modules = _aliases(model)
        yield from model.from_each_tree("missing names", lambda m, t: list(_in_tree(m, t, modules)))


def home_of(name: str) -> str:
    """The module that has ``name``, or ""."""
    return _HOMES.get(name, "")


_ASKED = frozenset({"ad_checkpoint", *_HOMES} | {f".{name}" for name in (*_HOMES, "ad_checkpoint")})


def _in_tree(model: FileModel, tree: TreeIndex, modules: set[str]) -> Iterator[MissingName]:
    mentioned = tree.mentions()
    looks = not (mentioned.isdisjoint(_ASKED) and mentioned.isdisjoint(modules))
    for statement, block in tree.block_of.items():
        if isinstance(statement, ast.ImportFrom):
            yield from _imported_from(model, statement, block)
        elif isinstance(statement, ast.Import):
            yield from _imported(model, statement, block)
    for expression in compounds(tree, ast.Attribute) if looks else ():
        node = expression.node
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if last_word(node.value) in modules or (node.attr in _HOMES and isinstance(node.value, ast.Name)):
                yield from _attribute(model, node, expression.scope, expression.block)
    for call in tree.calls:
        if isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "update" and call.node.args:
            yield from _option(model, call)


def _aliases(model: FileModel) -> set[str]:
    """Names that the file's imports bind to the submodule."""
    found = {"ad_checkpoint"}
    for name, bindings in model.source.module.bindings.items():
        if any(isinstance(b.node, (ast.Import, ast.ImportFrom)) and "ad_checkpoint" in str(b.detail) for b in bindings):
            found.add(name)
    return found


def _imported_from(model: FileModel, statement: ast.ImportFrom, block: Block) -> Iterator[MissingName]:
    module = statement.module or ""
    if statement.level or not module.startswith("jax"):
        return
    site = Site(statement, model.scope_of(block), block)
    if module in _NO_MODULES:
        if model.lookup(module) is None:
            for alias in statement.names[:1]:
                yield MissingName(alias, site, module, alias.name, _HOMES.get(alias.name, ""), is_module=True)
        return
    for alias in statement.names:
        name = alias.name
        missing = module == _PRIVATE and name in _PRIVATE_LACKS
        if module == _SUBMODULE or (name in _HOMES and module != _PRIVATE):
            missing = model.db.exists(f"{module}.{name}") is False
        if missing and name != "*":
            yield MissingName(alias, site, module, name, _home(model, module, name))


def _imported(model: FileModel, statement: ast.Import, block: Block) -> Iterator[MissingName]:
    for alias in statement.names:
        if alias.name in _NO_MODULES and model.lookup(alias.name) is None:
            site = Site(statement, model.scope_of(block), block)
            owner, _, name = alias.name.rpartition(".")
            yield MissingName(alias, site, alias.name, name, owner, is_module=True)


def _attribute(model: FileModel, node: ast.Attribute, scope: Scope, block: Block) -> Iterator[MissingName]:
    base = node.value
    options = list(model.evaluate(base, scope, block).options())
    paths = {option.path for option in options if isinstance(option, Symbol)}
    if len(options) != 1 or paths - {"jax", _SUBMODULE, "jax.lax", "jax.numpy"} or not paths:
        return
    path = paths.pop()
    if model.db.exists(f"{path}.{node.attr}") is False and not _is_patched(model, base, node.attr):
        yield MissingName(node, Site(node, scope, block), path, node.attr, _home(model, path, node.attr))


def _is_patched(model: FileModel, base: ast.expr, name: str) -> bool:
    return isinstance(base, ast.Name) and (base.id, name) in model.replaced_attributes


def _home(model: FileModel, owner: str, name: str) -> str:
    home = _HOMES.get(name, "")
    return home if home != owner and home and model.db.exists(f"{home}.{name}") is not False else ""


def _option(model: FileModel, call: Site) -> Iterator[MissingName]:
    node = call.node
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    first = node.args[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str) or not first.value.startswith("jax_"):
        return
    value = model.evaluate(node.func.value, call.scope, call.block)
    if not isinstance(value, Symbol) or value.path not in ("jax.config", "jax._src.config.config"):
        return
    name, version = first.value, model.target.version
    until = _OPTIONS_UNTIL.get(name)
    gone = until is not None and version >= until
    if gone or (name == "jax_remat3" and not switch_exists(name, version)):
        yield MissingName(first, call, "", name)
