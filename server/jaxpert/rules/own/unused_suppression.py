"""A suppression comment silences nothing.

## What it finds

`# jaxpert: ignore[…]`, `# jaxpert: ignore-file[…]` and the JXP codes of `# noqa: …` that no finding needs, and
suppressions placed where they cannot work.

## Why it matters

A suppression that is no longer needed hides the next real finding on its line.

## In which versions

Independent of JAX; but a finding that exists only in some versions makes its suppression unused in the others.

## What to write instead

Remove the comment, or the one code in it. Reasons and other tools' codes are kept.

## Known limits

Nothing is reported while the file does not parse, for rules that are switched off, or for a bare `# noqa`.

## Source

jaxpert's own rules for comments.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.model.file_model import FileModel
from jaxpert.rulekit.rule import Finding, Fix, Rule, Safety, Severity
from jaxpert.syntax.comments import suppression_edit

NAME = "unused-suppression"


def check(model: FileModel) -> Iterator[Finding]:
    """Nothing here: the engine reports these once all other findings are known."""
    return iter(())


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Take the suppression, or one of its codes, out of the comment."""
    if not finding.datum("title"):
        return None
    edit = suppression_edit(model.source, finding.range, finding.datum("replacement") or None)
    return Fix(finding.datum("title"), Safety.SAFE, (edit,)) if edit else None


RULE = Rule(
    code="JXP002", name=NAME, severity=Severity.WARNING, since="0.1.0", doc=__doc__, examples=(), check=check, fix=fix
)
