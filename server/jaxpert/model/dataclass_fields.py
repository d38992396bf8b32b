"""The fields of dataclasses: their names, annotations and options, those of the user's own base classes among them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.model.values import CallResult, ClassValue, Literal, Symbol, Table, Value
from jaxpert.records import dataclass

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_ARRAYS = {
    "jax.Array", "jax.numpy.ndarray", "numpy.ndarray", "jaxtyping.Array", "jax.typing.ArrayLike", "chex.Array",
    "jax.numpy.array", "jax._src.basearray.Array",
}  # fmt: skip
_EMPTY_BASES = {
    "typing.Generic", "abc.ABC", "builtins.object", "typing.Protocol", "typing.NamedTuple", "flax.struct.PyTreeNode",
    "equinox.Module",
}  # fmt: skip
_DEEPEST = 8


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field.

    Attributes:
        in_init: whether ``__init__`` takes it.
        has_default: whether it need not be given.
        options: the call of ``field`` that sets it, or None.
    """

    name: str
    annotation: ast.expr
    cls: ClassValue
    in_init: bool
    has_default: bool
    options: CallResult | None
    model: FileModel = field(repr=False)

    @property
    def is_array(self) -> bool:
        """Whether it is annotated as an array."""
        assert self.cls.site is not None
        return is_array_annotation(self.model, self.annotation, self.cls)

    def option(self, name: str) -> Value | None:
        """The value of an option of ``field``."""
        if self.options is None or self.options.site is None:
            return None
        site = self.options.site
        for keyword in self.options.call.keywords:
            if keyword.arg == name:
                return self.model.evaluate(keyword.value, site.scope, site.block)
        return None

    @property
    def is_static(self) -> bool:
        """Whether ``metadata=dict(static=True)`` or ``pytree_node=False`` says that it is no child."""
        metadata = self.option("metadata")
        if isinstance(metadata, Table):
            for key, value in metadata.entries:
                if isinstance(key, Literal) and key.value == "static":
                    return isinstance(value, Literal) and value.value is True
        node = self.option("pytree_node")
        if isinstance(node, Literal) and node.value is False:
            return True
        static = self.option("static") if self.options is not None and self.options.path == "equinox.field" else None
        return isinstance(static, Literal) and static.value is True


def is_array_annotation(model: FileModel, annotation: ast.expr, cls: ClassValue) -> bool:
    """Whether an annotation is that of an array."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value in _ARRAYS or annotation.value in ("jnp.ndarray", "np.ndarray")
    value = model.evaluate(annotation, cls.scope, cls.site.block) if cls.site is not None else Value()
    return isinstance(value, Symbol) and value.path in _ARRAYS


def is_dataclass(model: FileModel, cls: ClassValue) -> bool:
    """Whether ``dataclasses.dataclass`` makes it one."""
    return dataclass_decorator(model, cls) is not None


def dataclass_decorator(model: FileModel, cls: ClassValue) -> ast.expr | None:
    """The decorator ``dataclasses.dataclass`` of a class."""
    owner = cls.model or model
    for decorator in cls.node.decorator_list if cls.site is not None else ():
        assert cls.site is not None
        value = owner.evaluate(decorator, cls.site.scope, cls.site.block)
        if isinstance(value, (Symbol, CallResult)) and value.path == "dataclasses.dataclass":
            return decorator
    return None


def fields_of(model: FileModel, cls: ClassValue, depth: int = 0) -> dict[str, Field] | None:
    """The fields by name; None where a base or a special annotation leaves them open."""
    owner = cls.model or model
    if cls.site is None or depth > _DEEPEST:
        return None
    found: dict[str, Field] = {}
    for base in cls.node.bases:
        if isinstance(base, ast.Subscript):
            base = base.value
        value = owner.evaluate(base, cls.site.scope, cls.site.block)
        if isinstance(value, Symbol) and value.path in _EMPTY_BASES:
            continue
        inner = fields_of(owner, value, depth + 1) if isinstance(value, ClassValue) else None
        if inner is None:
            return None
        assert isinstance(value, ClassValue)
        if is_dataclass(owner, value):
            found |= inner
    for bindings in cls.scope.bindings.values():  # not the node's body: long classes are parsed in pieces
        statements = [(one.node, one.block) for one in bindings if isinstance(one.node, ast.AnnAssign)]
        if not statements:
            continue
        (statement, block), *others = statements
        sometimes = isinstance(block.owner, (ast.If, ast.For, ast.While, ast.With, ast.Try))
        if others or sometimes or not isinstance(statement.target, ast.Name):
            return None
        words = set(_words(statement.annotation))
        if words & {"InitVar"}:
            return None
        if words & {"ClassVar", "KW_ONLY"}:
            continue
        found[statement.target.id] = _field(owner, cls, statement)
    return found


def _words(annotation: ast.expr) -> Iterator[str]:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from annotation.value.replace("[", ".").split(".")
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _field(model: FileModel, cls: ClassValue, statement: ast.AnnAssign) -> Field:
    assert cls.site is not None and isinstance(statement.target, ast.Name)
    options: CallResult | None = None
    given = statement.value
    if isinstance(given, ast.Call):
        value = model.evaluate(given, cls.scope, cls.site.block)
        if isinstance(value, CallResult) and value.path.rpartition(".")[2] == "field":
            options = value
    keywords = {keyword.arg: keyword.value for keyword in options.call.keywords} if options is not None else {}
    init = keywords.get("init")
    in_init = not (isinstance(init, ast.Constant) and init.value is False)
    has_default = given is not None and (options is None or bool({"default", "default_factory"} & keywords.keys()))
    return Field(statement.target.id, statement.annotation, cls, in_init, has_default, options, model)
