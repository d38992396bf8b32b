"""A suppression comment names no rule that exists.

## What it finds

`# jaxpert: …` comments with a misspelt rule, without any rule, or with an unknown word.

## Why it matters

Such a comment silences nothing, and its author believes it does.

## In which versions

Independent of JAX.

## What to write instead

`# jaxpert: ignore[rule-name] reason`, with a name or code that `jaxpert rules` lists.

## Known limits

Nothing is reported while the file does not parse. Codes of other tools in `# noqa` are left alone.

## Source

jaxpert's own rules for comments.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.model.file_model import FileModel
from jaxpert.rulekit.rule import Finding, Fix, Rule, Safety, Severity
from jaxpert.syntax.comments import suppression_edit

NAME = "unknown-suppression"


def check(model: FileModel) -> Iterator[Finding]:
    """Nothing here: the engine reports these once all other findings are known."""
    return iter(())


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the rule that was meant, or take the code out."""
    if not finding.datum("title"):
        return None
    edit = suppression_edit(model.source, finding.range, finding.datum("replacement") or None)
    return Fix(finding.datum("title"), Safety.SAFE, (edit,)) if edit else None


RULE = Rule(
    code="JXP003", name=NAME, severity=Severity.WARNING, since="0.1.0", doc=__doc__, examples=(), check=check, fix=fix
)
