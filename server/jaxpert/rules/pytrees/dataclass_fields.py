"""`register_dataclass` does not get the fields that the class has.

## What it finds

`jax.tree_util.register_dataclass` whose `data_fields` and `meta_fields` leave out a field of the dataclass, name one
that it does not have, or name one twice; only one of the two; neither, for a dataclass with a field that `__init__`
does not take; and the decorator below `@dataclass` instead of above.

## Why it matters

JAX rebuilds objects from these fields only, so it insists on all that `__init__` takes:

    ValueError: data_fields and meta_fields must include all dataclass fields with ``init=True`` and only them.
    Missing fields: {'b'}. Add them to drop_fields to suppress this error.

## In which versions

Since 0.4.33. Before, a missing field without a default raises `TypeError` when an object is rebuilt, and one with a
default is silently reset to it. Fields that are named twice raise since 0.9.0. Since 0.4.36 both lists may be left
out: then `field(metadata=dict(static=True))` marks those that are not children.

## What to write instead

Name each field once: arrays and trees in `data_fields`, static values that can be compared in `meta_fields`, and what
may be lost in `drop_fields`. As a decorator it belongs above `@dataclass`.

## Known limits

Classes with bases that are not known, and lists of fields that are computed, are not judged.

## Source

`register_dataclass` in `jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.dataclass_fields import Field, dataclass_decorator, fields_of
from jaxpert.model.file_model import FileModel
from jaxpert.model.registrations import Registration, registrations
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import ClassValue, Sequence, string
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, slice_lines

NAME = "dataclass-fields"

_CHECKED, _FROM_CLASS, _OVERLAP = Version("0.4.33"), Version("0.4.36"), Version("0.9.0")
_MUST = "data_fields and meta_fields must include all dataclass fields with ``init=True`` and only them."


@dataclass(frozen=True, slots=True)
class _Case:
    """One fault; ``exception`` is "" where nothing is raised, ``missing`` are the fields to add."""

    registration: Registration
    where: Range
    message: str
    exception: str
    text: str
    when: str = "where this runs"
    missing: tuple[Field, ...] = ()


def check(model: FileModel) -> Iterator[Finding]:
    """Registrations whose fields are not those of the class."""
    for case in _cases(model):
        if case.exception:
            yield Finding(
                NAME, case.where, case.message, Severity.ERROR, raises(model, case.when, case.exception, case.text),
                exceptions=(case.exception,),
            )  # fmt: skip
        else:
            yield Finding(NAME, case.where, case.message, Severity.WARNING, silent(model, case.text))


def _cases(model: FileModel) -> Iterator[_Case]:
    for registration in registrations(model):
        where = model.range_of(registration.node)
        if registration.name != "register_dataclass" or where is None or model.is_dead(registration.site.block):
            continue
        cls = registration.cls
        if not isinstance(cls, ClassValue):
            continue
        case = _wrong_lists(model, registration, cls, where) or _wrong_fields(model, registration, cls, where)
        if case is not None:
            yield case


def _wrong_lists(model: FileModel, registration: Registration, cls: ClassValue, where: Range) -> _Case | None:
    """Only one of the lists is given, or none where they are needed."""
    call = registration.call
    if call is not None and call.opened:
        return None
    given = [name for name in ("data_fields", "meta_fields") if call is not None and name in call.arguments]
    version = model.target.version
    if len(given) == 1:
        other = "meta_fields" if given == ["data_fields"] else "data_fields"
        text = f"register_dataclass() missing 1 required positional argument: '{other}'"
        if version >= _FROM_CLASS:
            text = "register_dataclass: data_fields and meta_fields must both be specified when either is specified. …"
        message = f"`{given[0]}` is given without `{other}`: give both, `{other}=[]` if there are none"
        return _Case(registration, where, message, "TypeError", text)
    if given:
        return None
    if version < _FROM_CLASS:
        text = "register_dataclass() missing 2 required positional arguments: 'data_fields' and 'meta_fields'"
        message = "this JAX does not read the fields off the class: give `data_fields` and `meta_fields`"
        return _Case(registration, where, message, "TypeError", text)
    decorator = dataclass_decorator(model, cls)
    decorators = cls.node.decorator_list
    if registration.by_decorator and decorator is not None and registration.node in decorators:
        if decorators.index(decorator) < decorators.index(registration.node):
            message = "this runs before `@dataclass` does, and needs the fields: put it above `@dataclass`"
            text = "register_dataclass: data_fields and meta_fields are required when nodetype is not a dataclass. …"
            return _Case(registration, where, message, "TypeError", text)
    return _not_in_init(model, registration, cls, where)


def _not_in_init(model: FileModel, registration: Registration, cls: ClassValue, where: Range) -> _Case | None:
    """Fields with ``init=False``, which JAX takes for children as well when it reads the fields off the class."""
    fields = fields_of(model, cls) if dataclass_decorator(model, cls) is not None else None
    call = registration.call
    names = sorted(name for name, one in (fields or {}).items() if not one.in_init)
    if not names or (call is not None and "drop_fields" in call.arguments):
        return None
    message = (
        f"`__init__` of `{cls.node.name}` does not take {_listed(names)}, and JAX takes every field for one that it "
        "can pass: name the others in `data_fields` and `meta_fields`"
    )
    return _Case(registration, where, message, "ValueError", f"{_MUST} Unexpected fields: {_set(names)}.")


def _wrong_fields(model: FileModel, registration: Registration, cls: ClassValue, where: Range) -> _Case | None:
    fields = fields_of(model, cls) if dataclass_decorator(model, cls) is not None else None
    call = registration.call
    if fields is None or call is None or "data_fields" not in call.arguments or _is_below(model, registration, cls):
        return None
    lists: dict[str, list[str]] = {}
    for name in ("data_fields", "meta_fields", "drop_fields"):
        argument = call.arguments.get(name)
        names = _names(argument.value) if argument is not None else []
        if names is None:
            return None
        lists[name] = names
    named = {*lists["data_fields"], *lists["meta_fields"]}
    wanted = {name: one for name, one in fields.items() if one.in_init}
    missing = [one for name, one in wanted.items() if name not in named | {*lists["drop_fields"]}]
    unexpected = sorted(named - wanted.keys())
    twice = sorted({*lists["data_fields"]} & {*lists["meta_fields"]})
    title = cls.node.name
    absent = [one.name for one in missing]
    if missing and model.target.version < _CHECKED:
        return _before_the_check(model, registration, where, title, missing)
    if missing or (unexpected and model.target.version >= _CHECKED):
        said = " ".join([
            *([f"Missing fields: {_set(absent)}. Add them to drop_fields to suppress this error."] if missing else []),
            *([f"Unexpected fields: {_set(unexpected)}."] if unexpected else []),
        ])  # fmt: skip
        what = f"leaves out {_listed(absent)} of `{title}`" if missing else ""
        if unexpected:
            not_taken = set(unexpected) & fields.keys()
            kind = "that `__init__` does not take" if not_taken else f"that `{title}` does not have"
            what += f"{' and ' if what else ''}names {_listed(unexpected)} {kind}"
        cure = "name every field once, in `data_fields` or in `meta_fields`"
        message = f"this {what}: {cure}"
        return _Case(registration, where, message, "ValueError", f"{_MUST} {said}", missing=tuple(missing))
    if twice and model.target.version >= _OVERLAP:
        message = f"{_listed(twice)} of `{title}` {'are' if twice[1:] else 'is'} in both lists: name every field once"
        text = f"data_fields and meta_fields must not overlap. Overlapping fields: {_set(twice)}."
        return _Case(registration, where, message, "ValueError", text)
    return None


def _is_below(model: FileModel, registration: Registration, cls: ClassValue) -> bool:
    """Whether it decorates the class before it is a dataclass: then JAX checks nothing."""
    decorator, decorators = dataclass_decorator(model, cls), cls.node.decorator_list
    if not registration.by_decorator or decorator is None or registration.node not in decorators:
        return False
    return decorators.index(decorator) < decorators.index(registration.node)


def _before_the_check(
    model: FileModel, registration: Registration, where: Range, title: str, missing: list[Field]
) -> _Case:
    needed = [one for one in missing if not one.has_default]
    what = f"this leaves out {_listed([one.name for one in needed or missing])} of `{title}`"
    cure = "name every field once, in `data_fields` or in `meta_fields`"
    if not needed:
        return _Case(
            registration, where, f"{what}, which is reset to its default whenever an object is rebuilt: {cure}",
            "", "what is not named is lost", missing=tuple(missing),
        )  # fmt: skip
    text = f"{title}.__init__() missing {len(needed)} required positional argument{'s' if needed[1:] else ''}: "
    text += " and ".join(repr(one.name) for one in needed)
    return _Case(
        registration, where, f"{what}, so no object can be rebuilt: {cure}", "TypeError", text,
        "when an object is rebuilt", tuple(missing),
    )  # fmt: skip


def _names(value: object) -> list[str] | None:
    if not isinstance(value, Sequence) or not value.exact or value.kind not in ("list", "tuple"):
        return None
    found = [string(item) for item in value.items]
    return None if None in found else [name for name in found if name is not None]


def _set(names: list[str]) -> str:
    return "{" + ", ".join(map(repr, names)) + "}"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Name the fields that are left out: arrays among the children, everything else among the static ones."""
    lines = model.source.lines
    for case in model.every(_cases):
        call = case.registration.call
        if case.where != finding.range or not case.missing or call is None:
            continue
        edits: list[Edit] = []
        for name, wanted in (("data_fields", True), ("meta_fields", False)):
            added = [repr(one.name).replace("'", '"') for one in case.missing if one.is_array is wanted]
            argument = call.arguments.get(name)
            if not added or argument is None:
                continue
            area = model.range_of(argument.node) if argument.model is model else None
            if area is None or not isinstance(argument.node, (ast.List, ast.Tuple)):
                return None
            source = slice_lines(lines, area)
            if source[0] not in "([":
                return None
            inner = source[1:-1].rstrip().rstrip(",")
            new = f"{source[0]}{', '.join([*([inner] if inner.strip() else []), *added])}"
            one_tuple = isinstance(argument.node, ast.Tuple) and not argument.node.elts and len(added) == 1
            found = verbs.replace_expression(lines, area, f"{new}{',' if one_tuple else ''}{source[-1]}")
            if found is None:
                return None
            edits.extend(found)
        names = ", ".join(f"`{one.name}`" for one in case.missing)
        return Fix(f"Name {names}", Safety.UNSAFE, tuple(edits)) if edits else None
    return None


_BAD = """\
from dataclasses import dataclass

import jax

STAGE = "call"


@dataclass
class State:
    x: float
    n: int


jax.tree_util.register_dataclass(State, data_fields=["x"], meta_fields=[])
jax.tree.map(lambda leaf: leaf, State(1.0, 2))
"""

_ORDER = """\
from dataclasses import dataclass

import jax

STAGE = "call"


@dataclass
@jax.tree_util.register_dataclass
class State:
    x: float
"""

RULE = Rule(
    code="JXP515",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree_util.register_dataclass",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("meta_fields=[]", 'meta_fields=["n"]'),
            proof=Raises("ValueError", "Missing fields: {'n'}.", since="0.4.33"),
        ),
        Example(
            bad=_ORDER,
            good=_ORDER.replace("@dataclass\n", "").replace("class State", "@dataclass\nclass State"),
            proof=Raises(
                "TypeError", "data_fields and meta_fields are required when nodetype is not a dataclass", since="0.4.36"
            ),
        ),
    ),
    error_texts=("ValueError: data_fields and meta_fields must not overlap. Overlapping fields: …",),
    check=check,
    fix=fix,
)
