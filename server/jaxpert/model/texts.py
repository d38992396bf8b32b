"""Strings that are put together: what is known of ``"a" + b``, ``f"{a}_b"``, ``"%s" % a`` and ``"{}".format(a)``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import TYPE_CHECKING

from jaxpert.model.values import PRIMITIVE_NAME, UNKNOWN, EnumMember, Literal, Pattern, Sequence, Typed, Value, string
from jaxpert.syntax.scopes import Site
from jaxpert.text import gaps

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_CONVERSION = re.compile(r"%(\(\w*\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?([a-zA-Z%])")
_FIELD = re.compile(r"\w*")
_METHODS = frozenset({
    "lower", "upper", "casefold", "title", "capitalize", "swapcase", "strip", "lstrip", "rstrip", "replace", "split",
    "rsplit", "splitlines", "removeprefix", "removesuffix", "startswith", "endswith",
})  # fmt: skip
_LONGEST = 2000


def is_text(value: Value) -> bool:
    """Whether ``value`` is a string, known or not."""
    if isinstance(value, Typed):
        return value.type in ("str", PRIMITIVE_NAME)
    return isinstance(value, Pattern) or string(value) is not None


def known_parts(value: Value) -> gaps.Parts:
    """What is known of the text of ``value``."""
    text = string(value)
    if text is not None:
        return (text,)
    return value.parts if isinstance(value, Pattern) else gaps.ANY


def joined(values: Iterable[Value], site: Site, model: FileModel) -> Value:
    """The texts, one behind the other: a literal when all are known, else a pattern."""
    parts = gaps.joined(known_parts(value) for value in values)
    if len(parts) + sum(map(len, parts)) > _LONGEST:  # put together again and again, it would fill the memory
        parts = gaps.ANY
    if len(parts) == 1:
        return Literal(parts[0], site=site, model=model)
    return Pattern(parts, site=site, model=model)


def formatted(value: Value) -> Value:
    """``value`` as ``str`` or an f-string writes it; what an enumeration member looks like depends on the Python."""
    if isinstance(value, EnumMember):
        return UNKNOWN
    return Literal(str(value.value)) if isinstance(value, Literal) else value


def percent(template: str, given: Value, site: Site, model: FileModel) -> Value:
    """``template % given``."""
    waiting = list(given.items) if isinstance(given, Sequence) and given.kind == "tuple" and given.exact else [given]
    parts: list[Value] = []
    end = 0
    for found in _CONVERSION.finditer(template):
        parts.append(Literal(template[end : found.start()]))
        end = found.end()
        if found[2] == "%":
            parts.append(Literal("%"))
        else:
            value = waiting.pop(0) if waiting and not found[1] else UNKNOWN
            parts.append(formatted(value) if found[0] in ("%s", "%d") else UNKNOWN)
    return joined([*parts, Literal(template[end:])], site, model)


def text_method(
    base: Value, name: str, args: list[Value] | None, keywords: Mapping[str, Value], site: Site, model: FileModel
) -> Value | None:
    """What a string's method gives; None when that is not known."""
    text = string(base)
    if text is None or args is None:
        return None
    if name == "format":
        return _format(text, args, keywords, site, model)
    if name == "join" and len(args) == 1 and isinstance(args[0], Sequence) and args[0].exact:
        items = [item for part in args[0].items for item in (Literal(text), part)]
        return joined(items[1:], site, model) if all(is_text(item) for item in items) else None
    plain = [arg.value for arg in args if isinstance(arg, Literal)]
    if name not in _METHODS or keywords or len(plain) != len(args) or len(text) > _LONGEST:
        return None
    try:
        result = getattr(text, name)(*plain)
    except (TypeError, ValueError):
        return None
    if isinstance(result, list):
        items = [Literal(part, site=site, model=model) for part in result]
        return Sequence("list", tuple(items), site=site, model=model)
    return Literal(result, site=site, model=model)


def _format(template: str, args: list[Value], keywords: Mapping[str, Value], site: Site, model: FileModel) -> Value:
    parts: list[Value] = []
    try:
        fields = list(Formatter().parse(template))
    except ValueError:
        return UNKNOWN
    for position, (before, field, layout, conversion) in enumerate(fields):
        parts.append(Literal(before))
        if field is None:
            continue
        key = field or str(position)
        value = keywords.get(key, UNKNOWN)
        if key.isdigit() and int(key) < len(args):
            value = args[int(key)]
        parts.append(UNKNOWN if layout or conversion or not _FIELD.fullmatch(field) else formatted(value))
    return joined(parts, site, model)
