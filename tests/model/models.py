"""Models of small sources, and values in words."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from packaging.version import Version

from jaxpert.jaxdb.load import load, newest_known
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.model.file_model import FileModel
from jaxpert.model.values import (
    CallResult,
    Choice,
    ClassValue,
    Def,
    EnumMember,
    Instance,
    Literal,
    Partial,
    Pattern,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
)
from jaxpert.syntax.units import SourceFile


def model_of(source: str, modules: Mapping[str, str] | None = None, jax: str = "", **switches: bool) -> FileModel:
    """The model of ``source``, the module ``main``, next to other ``modules``; a name that ends in "/" is a package."""
    db = load(JaxTarget(Version(jax) if jax else newest_known(), "test", **switches))
    models: dict[str, FileModel] = {}

    def lookup(name: str) -> FileModel | None:
        return models.get(name)

    for name, text in {"main": source, **(modules or {})}.items():
        module = name.rstrip("/")
        path = module.replace(".", "/") + ("/__init__.py" if name.endswith("/") else ".py")
        models[module] = FileModel(SourceFile(text), db, path, module, name.endswith("/"), lookup)
    return models["main"]


def value_of_last_line(model: FileModel) -> Value:
    """What the expression that ends the source can be; inside a function, as that function's body sees it."""
    last = max(
        ((statement, block) for tree in model.source.trees() for statement, block in tree.block_of.items()),
        key=lambda found: (found[1].tree.first_line, found[0].lineno),
    )
    statement, block = last
    assert isinstance(statement, ast.Expr)
    return model.evaluate(statement.value, model.scope_of(block), block)


def in_words(value: Value) -> str:
    """``?`` for what is not known, ``…`` where more than the shown items is possible."""
    if isinstance(value, Choice):
        return " | ".join(in_words(option) for option in value.options())
    if isinstance(value, Literal):
        return repr(value.value)
    if isinstance(value, Pattern):
        return f"/{'…'.join(value.parts)}/"
    if isinstance(value, Typed):
        return f"<{value.type}>"
    if isinstance(value, Sequence):
        items = ", ".join([*map(in_words, value.items), *([] if value.exact else ["…"])])
        return f"{value.kind}({items})"
    if isinstance(value, Table):
        entries = [f"{in_words(key)}: {in_words(entry)}" for key, entry in value.entries]
        return "{" + ", ".join([*entries, *([] if value.exact else ["…"])]) + "}"
    if isinstance(value, Symbol):
        return value.path
    if isinstance(value, Def):
        owner = f"{value.owner.node.name}." if value.owner else ""
        return f"{'bound' if value.bound else 'def'} {owner}{value.name}"
    if isinstance(value, ClassValue):
        return f"class {value.node.name}"
    if isinstance(value, Instance):
        return f"a {value.cls.node.name}"
    if isinstance(value, EnumMember):
        return f"member {value.name} = {in_words(value.value)}"
    if isinstance(value, Partial):
        given = [*map(in_words, value.args), *(f"{name}={in_words(v)}" for name, v in value.keywords.items())]
        return f"partial({', '.join([in_words(value.target), *given, *(['…'] if value.open else [])])})"
    if isinstance(value, CallResult):
        return f"{value.path}(…)"
    return "?"
