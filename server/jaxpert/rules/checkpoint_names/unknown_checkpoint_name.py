"""A policy asks for a checkpoint name that no value has.

## What it finds

A literal name given to `save_only_these_names`, `save_and_offload_only_these_names` or
`save_any_names_but_these`, when no `checkpoint_name` of the whole project tags a value with it, and one tags a
value with a name so similar that it must be the one that was meant. Also two names with no comma between them,
which Python joins to one, and an f-string without its `f`, on either side. All files of the project are looked at,
with unsaved changes.

## Why it matters

JAX never checks names. The value is recomputed on the backward pass instead of saved (or saved instead of
recomputed), and the only sign of it is a slower step or a higher peak of memory.

## In which versions

All, with `jax_remat3` on or off.

## What to write instead

The name as it is written in the tag. The fix changes the policy; renaming the tag is up to you.

## Known limits

Silent when a tag of the project is computed in a way that could give this name (a variable, an f-string), when
the literal is given to a `…checkpoint_name=` keyword, and when no similar tag exists: the tag may be in a
library. Silent as well when the same policy asks for the similar name too, or for another one of a series: of
`q_proj`, `k_proj` and `v_proj`, or of `mlp1` and `mlp2`, one may be tagged elsewhere.

## Source

Measured on 0.4.30 to 0.12.0.1 with `print_saved_residuals`.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.names import NameIndex, NamePlace, asked_beside
from jaxpert.model.speech import silent
from jaxpert.rulekit.rule import Example, Finding, Fix, Related, Rule, Safety, Severity, Silent
from jaxpert.text.edits import Edit
from jaxpert.text.gaps import Parts, fits, fits_format, format_parts
from jaxpert.text.lines import Position, Range, slice_lines

NAME = "unknown-checkpoint-name"


def check(model: FileModel) -> Iterator[Finding]:
    """Names used by policies in this file that no tag of the project can have."""
    uses = [use for use in model.name_facts.uses if use.text and _place(model, use) is not None]
    if not uses:
        return
    index = model.project_names
    for use in uses:
        if "{" in use.text and any(fits_format(use.text, parts) for parts in _computed(index)):
            yield _finding(model, use, "it is written without the `f` of an f-string", ())
            continue
        if index.may_be_tagged(use.text):
            continue
        pieces = [text for _, text in _pieces(use)]
        if len(pieces) > 1 and index.known().issuperset(pieces):
            shown = " and ".join(f'"{piece}"' for piece in pieces)
            yield _finding(model, use, f"it is {shown} without a comma between them", (("pieces", "joined"),))
            continue
        plain = next((tag for tag in index.tags() if "{" in tag.text and fits(use.text, format_parts(tag.text))), None)
        if plain is not None:
            related = _tags(index, plain.text, model.path)
            yield _finding(model, use, f'the tag "{plain.text}" is written without its `f`', (), tuple(related))
            continue
        near = index.nearest(use.text)
        if near is not None:
            near = index.nearest(use.text, asked_beside(model, use))
        if near is not None:
            related = _tags(index, near, model.path)
            yield _finding(model, use, f'the nearest name is "{near}"', (("near", near),), tuple(related))


def _finding(
    model: FileModel, use: NamePlace, advice: str, data: tuple[tuple[str, str], ...], related: tuple[Related, ...] = ()
) -> Finding:
    where = _place(model, use)
    assert where is not None
    if use.path != model.path and use.range is not None:
        related = (Related(use.range, f'"{use.text}" is written here', use.path), *related)
    return Finding(
        NAME,
        where,
        f'no value is named "{use.text}": {_effect(use)}; {advice}',
        Severity.WARNING,
        silent(model, f'"{use.text}" matches nothing'),
        related,
        data=data,
    )


def _place(model: FileModel, use: NamePlace) -> Range | None:
    """Where the name is written, or given to the policy when it is written in another file."""
    if use.path == model.path:
        return use.range
    return use.argument.range if use.argument is not None and use.argument.path == model.path else None


def _computed(index: NameIndex) -> Iterator[Parts]:
    for facts in index.files.values():
        yield from facts.computed_tags


def _pieces(use: NamePlace) -> list[tuple[tuple[int, int], str]]:
    """The strings that Python joins to the name, and where each ends: its line, counted from the first, and column."""
    if not use.written or use.written.count('"') + use.written.count("'") < 4:
        return []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({use.written})").readline))
        found = [(token.end, ast.literal_eval(token.string)) for token in tokens if token.type == tokenize.STRING]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return []
    texts = [(end, text) for end, text in found if isinstance(text, str)]
    return texts if "".join(text for _, text in texts) == use.text else []


def _effect(use: NamePlace) -> str:
    if use.policy.endswith("save_any_names_but_these"):
        return "the policy saves every named value"
    return "what was meant is recomputed instead of kept"


def _tags(index: NameIndex, name: str, path: str) -> Iterator[Related]:
    found = [tag for tag in index.tags() if tag.text == name and tag.range is not None]
    for tag in found[:3]:
        assert tag.range is not None
        yield Related(tag.range, f'a value is named "{name}" here', "" if tag.path == path else tag.path)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the nearest name, in the quotes that are there, or the commas that are missing."""
    if finding.datum("pieces"):
        return _with_commas(model, finding)
    near = finding.datum("near")
    if not near:
        return None
    written = slice_lines(model.source.lines, finding.range)
    quote = written[-1:]
    if quote not in ("'", '"') or written != f"{quote}{written[1:-1]}{quote}" or "\\" in written or quote in near:
        return None
    edits = verbs.replace_expression(model.source.lines, finding.range, f"{quote}{near}{quote}")
    return Fix(f'Rename to "{near}"', Safety.UNSAFE, edits) if edits else None


def _with_commas(model: FileModel, finding: Finding) -> Fix | None:
    use = next((one for one in model.name_facts.uses if one.range == finding.range and one.path == model.path), None)
    start, edits = finding.range.start, []
    for (line, column), _ in _pieces(use)[:-1] if use is not None else ():
        at = Position(start.line + line - 1, column - 1 + start.column if line == 1 else column)
        edits.append(Edit(Range(at, at), ","))
    return Fix("Put a comma between the names", Safety.SAFE, tuple(edits)) if edits else None


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names("attn_output")


def loss(w, x):
    return jnp.sum(jnp.sin(checkpoint_name(jnp.cos(x @ w), "attn_out")))


residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones((3, 3)), jnp.ones((2, 3)))
computed = [source for _, source in residuals if "argument" not in source]
"""

RULE = Rule(
    code="JXP301",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.checkpoint_policies.save_only_these_names",
        "jax.checkpoint_policies.save_any_names_but_these",
        "jax.checkpoint_policies.save_and_offload_only_these_names",
        "checkpoint name",
    ),
    examples=(Example(bad=_BAD, good=_BAD.replace('"attn_output"', '"attn_out"'), proof=Silent("not computed")),),
    check=check,
    fix=fix,
)
