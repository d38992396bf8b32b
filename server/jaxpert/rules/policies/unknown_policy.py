"""`jax.checkpoint_policies` has no policy of this name.

## What it finds

`jax.checkpoint_policies.dot_saveable` and other names that are not there in the JAX at hand, by attribute or through
`getattr` with a name that is known; with a default, as in `getattr(jax.checkpoint_policies, "dots_savable", None)`,
nothing is raised.

## Why it matters

The attribute raises. The default of `getattr` is worse: with None the function is rematerialized in full, as if no
policy had been asked for, and JAX says nothing.

    AttributeError: 'types.SimpleNamespace' object has no attribute 'dot_saveable'

## In which versions

All; each version is asked for its own names. `SaveOnlyTheseNames` and its two relatives are there in 0.11 only.

## What to write instead

One of the names that are there, such as `dots_saveable`, `dots_with_no_batch_dims_saveable`, `everything_saveable`,
`nothing_saveable`, `save_only_these_names`.

## Known limits

Names that come from a configuration are not seen. In releases newer than those that are known, nothing is reported.
Code that expects the error, or asks with `hasattr` first, is left alone, and so is `getattr` with a policy as its
default, unless the name looks like a slip of one that there is.

## Source

The members of `jax.checkpoint_policies`, read from each release from 0.4.30 on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxpert.fixing import verbs
from jaxpert.model.aliases import last_word, standing_for, trees_about
from jaxpert.model.file_model import FileModel
from jaxpert.model.policy_expressions import gives_policy
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import Literal, Symbol, Value, is_none, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import Site, TreeIndex
from jaxpert.text.near_misses import nearest

NAME = "unknown-policy"

_NAMESPACE = "jax.checkpoint_policies"
_WORDS = frozenset({"checkpoint_policies"})
_OLD_NAMES = {
    "save_dots": "dots_saveable",
    "save_all": "everything_saveable",
    "save_everything": "everything_saveable",
    "save_nothing": "nothing_saveable",
    "save_none": "nothing_saveable",
    "save_dots_with_no_batch_dims": "dots_with_no_batch_dims_saveable",
    "dots_no_batch_dims": "dots_with_no_batch_dims_saveable",
    "save_these_names": "save_only_these_names",
    "SaveOnlyTheseNames": "save_only_these_names",
    "SaveAnyNamesButThese": "save_any_names_but_these",
    "SaveAndOffloadOnlyTheseNames": "save_and_offload_only_these_names",
}
"""What is meant by names that people write, beyond misspellings."""


class _Unknown(NamedTuple):
    """A name that is not there, where it is written, and the default of ``getattr`` if it has one.

    ``by_key``: it is looked up in the dictionary of the namespace.
    """

    name: str
    node: ast.expr
    default: ast.expr | None
    default_value: Value | None
    site: Site
    by_key: bool = False


def check(model: FileModel) -> Iterator[Finding]:
    """Each such name, where it is written."""
    for found in _unknown(model):
        where = model.range_of(found.node)
        if where is None:
            continue
        near = _meant(model, found.name)
        advice = f"; write `{near}`" if near else ""
        if not near and found.default_value is not None and gives_policy(model, found.default_value):
            continue  # asks for what a later JAX may bring
        if found.default is None:
            text = f"'types.SimpleNamespace' object has no attribute '{found.name}'"
            exception, text = ("KeyError", f"'{found.name}'") if found.by_key else ("AttributeError", text)
            yield Finding(
                NAME, where, f"`{_NAMESPACE}` has no `{found.name}`: it raises here{advice}", Severity.ERROR,
                raises(model, "where this stands", exception, text), exceptions=(exception,),
            )  # fmt: skip
            continue
        effect = f"`{model.text_of(found.default)}` is taken instead"
        if found.default_value is not None and is_none(found.default_value):
            effect = "with None everything is recomputed"
        look_up = "`get`" if found.by_key else "`getattr`"
        yield Finding(
            NAME, where, f"`{_NAMESPACE}` has no `{found.name}`, and {look_up} gives its default: {effect}{advice}",
            Severity.WARNING, silent(model, effect),
        )  # fmt: skip


def _unknown(model: FileModel) -> Iterator[_Unknown]:
    trees = trees_about(model, _WORDS)
    asked = _asked_for(model) if trees else frozenset()
    for tree in trees:
        for found in model.tree_fact(tree, "unknown policies", lambda t: list(_unknown_in(model, t))):
            if found.name not in asked:
                yield found


def _asked_for(model: FileModel) -> frozenset[str]:
    """Names that the file asks for with ``hasattr`` before it uses them."""
    if not model.source.contains("hasattr"):
        return frozenset()
    values = (
        model.evaluate(site.node.args[1], site.scope, site.block)
        for tree in model.every_tree
        if "hasattr" in tree.mentions()
        for site in tree.calls
        if isinstance(site.node.func, ast.Name) and site.node.func.id == "hasattr" and len(site.node.args) == 2
    )
    return frozenset(text for value in values if (text := string(value)))


def _unknown_in(model: FileModel, tree: TreeIndex) -> Iterator[_Unknown]:
    words = standing_for(model, _WORDS)
    for node, _, scope, block in compounds(tree, ast.Attribute):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and last_word(node.value) in words:
            if not node.attr.startswith("__") and _is_missing(model, node.value, node.attr, Site(node, scope, block)):
                yield _Unknown(node.attr, node, None, None, Site(node, scope, block))
    for call in tree.calls:
        node, scope, block = call.node, call.scope, call.block
        site = Site(node, scope, block)
        if isinstance(node.func, ast.Name) and node.func.id == "getattr":
            if len(node.args) in (2, 3) and scope.lookup("getattr") is None and not node.keywords:
                default = node.args[2] if len(node.args) == 3 else None
                yield from _named(model, node.args[0], node.args[1], default, site)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            if (space := _dictionary_of(node.func.value)) is not None and node.args and not node.keywords:
                default = node.args[1] if len(node.args) > 1 else None
                for found in _named(model, space, node.args[0], default, site):
                    if default is None:
                        found = found._replace(default=node, default_value=Literal(None))
                    yield found._replace(by_key=True)
    for node, _, scope, block in compounds(tree, ast.Subscript):
        if isinstance(node, ast.Subscript) and (space := _dictionary_of(node.value)) is not None:
            for found in _named(model, space, node.slice, None, Site(node, scope, block)):
                yield found._replace(by_key=True)


def _dictionary_of(node: ast.expr) -> ast.expr | None:
    """What ``vars(x)`` and ``x.__dict__`` are the dictionary of."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars":
        return node.args[0] if len(node.args) == 1 else None
    return node.value if isinstance(node, ast.Attribute) and node.attr == "__dict__" else None


def _named(
    model: FileModel, space: ast.expr, name: ast.expr, default: ast.expr | None, site: Site
) -> Iterator[_Unknown]:
    """Names that ``name`` can be and ``space`` does not have."""
    options = list(model.evaluate(name, site.scope, site.block).options())
    for option in options:
        text = string(option)
        if not text or not _is_missing(model, space, text, site):
            continue
        written = option.site.node if option.site is not None and option.model is model else None
        inside = any(part is written for part in ast.walk(name))
        if len(options) > 1 and not inside:
            continue  # something between may have ruled it out
        value = model.evaluate(default, site.scope, site.block) if default is not None else None
        yield _Unknown(text, written if inside and isinstance(written, ast.expr) else name, default, value, site)


def _is_missing(model: FileModel, base: ast.expr, name: str, site: Site) -> bool:
    if last_word(base) not in standing_for(model, _WORDS) or model.is_dead(site.block):
        return False
    options = list(model.evaluate(base, site.scope, site.block).options())
    paths = [option.path for option in options if isinstance(option, Symbol)]
    if not paths or len(paths) != len(options):
        return False
    apis = [model.db.api(path) for path in paths]
    if not all(api is not None and api.name == _NAMESPACE for api in apis):
        return False
    return model.db.exists(f"{_NAMESPACE}.{name}") is False


def _meant(model: FileModel, name: str) -> str:
    names = sorted(model.db.policy_names())
    known = _OLD_NAMES.get(name, "")
    return known if known in names else nearest(name, names) or ""


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the name that is meant."""
    for found in model.every(_unknown):
        near = _meant(model, found.name)
        if model.range_of(found.node) != finding.range or not near:
            continue
        new = f'"{near}"'
        if isinstance(found.node, ast.Attribute):
            new = f"{model.text_of(found.node.value)}.{near}"
        elif not isinstance(found.node, ast.Constant):
            return None
        edits = verbs.replace_expression(model.source.lines, finding.range, new)
        safety = Safety.UNSAFE if found.name in _OLD_NAMES and found.name[0].islower() else Safety.SAFE
        return Fix(f"Write `{near}`", safety, edits) if edits else None
    return None


_BAD = """\
import jax

STAGE = "decorate"
policy = jax.checkpoint_policies.dot_saveable
"""

_DEFAULT = """\
import jax

policy = getattr(jax.checkpoint_policies, "dots_savable", None)
"""

RULE = Rule(
    code="JXP211",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.checkpoint_policies",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("dot_saveable", "dots_saveable"),
            proof=Raises("AttributeError", "has no attribute 'dot_saveable'", "decorate"),
        ),
        Example(bad=_DEFAULT, good=_DEFAULT.replace("savable", "saveable"), proof=Silent("policy is None")),
    ),
    check=check,
    fix=fix,
)
