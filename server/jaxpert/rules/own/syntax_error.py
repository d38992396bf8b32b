"""A file that mentions JAX does not parse.

## What it finds

A file that mentions JAX, or a library around it, and is not valid Python, or is too long or nested too deeply to
be read. Everything in it that can be read is checked all the same.

## Why it matters

A file that cannot be read is a file that is not checked, and a check that passes without having looked is worse
than none.

## In which versions

Independent of JAX. The grammar is that of the Python that runs jaxpert: newer syntax does not parse, and the message
says which grammar was used.

## What to write instead

Valid Python; or `exclude` the file in the configuration.

## Known limits

Editors show syntax errors of their own, so there this is shown only for a file that is not analysed at all.

## Source

Python's own parser.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.model.file_model import FileModel
from jaxpert.rulekit.rule import Finding, Rule, Severity
from jaxpert.text.lines import Range, clamp

NAME = "syntax-error"


def check(model: FileModel) -> Iterator[Finding]:
    """The problem that the last full parse met."""
    problem = model.source.problem
    if problem is not None:
        message = f"not analysed: {problem.message}" if problem.total else f"this does not parse: {problem.message}"
        lines = model.source.lines  # the text may have been edited since it was last parsed as a whole
        where = Range(clamp(lines, problem.range.start), clamp(lines, problem.range.end))
        severity = Severity.INFORMATION if problem.may_be_newer else Severity.ERROR
        yield Finding(NAME, where, message, severity, data=(("total", "yes" if problem.total else ""),))


RULE = Rule(code="JXP001", name=NAME, severity=Severity.ERROR, since="0.1.0", doc=__doc__, examples=(), check=check)
