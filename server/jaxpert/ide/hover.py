"""What to show about the expression under the cursor: a finding's rule, or what a JAX function does here.

The result is plain data in the order of reading; :func:`to_markdown` and :func:`to_plain_text` write it down.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, Parameter, Signature, VersionNote
from jaxpert.rulekit.rule import Finding, Rule
from jaxpert.rulekit.urls import rule_url
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from packaging.version import Version

    from jaxpert.engine.analyze import Analysis

_MARKUP = re.compile(r"\*\*|`|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")
_MOST_NOTES = 6


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph, in inline Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of Python, or of another ``language``."""

    text: str
    language: str = "python"


@dataclass(frozen=True, slots=True)
class Link:
    """A page to read on."""

    label: str
    url: str


Block = Prose | Code | Link


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show for ``range``."""

    range: Range
    blocks: tuple[Block, ...]


def hover_at(analysis: Analysis, position: Position) -> Hover | None:
    """What there is to say about ``position``: its findings first, then the API; None when there is nothing."""
    from jaxpert.rules import rule_named  # the rules are not needed before the first hover on a finding

    blocks: list[Block] = []
    areas: list[Range] = []
    for finding in analysis.findings:
        if finding.range.contains(position) and (rule := rule_named(finding.rule)):
            blocks += finding_blocks(finding, rule)
            areas.append(finding.range)
    model = analysis.model
    if symbol := model.symbol_at(position):
        area, path = symbol
        if api := model.db.api(path):
            blocks += api_blocks(api, model.target.version, model.db.exists(path))
            areas.append(area)
    if not blocks:
        return None
    return Hover(min(areas, key=_extent), tuple(blocks))


def finding_blocks(finding: Finding, rule: Rule) -> list[Block]:
    """The short form of a rule's documentation, about this finding."""
    blocks: list[Block] = [Prose(f"**{rule.name}** · {rule.code} · {finding.severity.value}"), Prose(finding.message)]
    said, _, raised = finding.consequence.partition("\n")
    if said:
        blocks.append(Prose(said))
    if raised:
        blocks.append(Code(textwrap.dedent(raised), "text"))
    return [*blocks, Link("What this rule finds, and why", rule_url(rule.name))]


def api_blocks(api: Api, version: Version, exists: bool | None = True) -> list[Block]:
    """What ``api`` is in JAX ``version``; ``exists``: whether that version has it (None when not known)."""
    of_jax = api.library == "jax"
    signature = api.signature(version)
    call = f"`{signature_text(signature)}`" if signature else ""
    where = f"JAX {version}" if of_jax else api.library
    blocks: list[Block] = [Prose(f"**`{api.name}`**{call} · {api.kind.value} · {where}")]
    if of_jax and exists is False:
        blocks.append(Prose(f"**Not in JAX {version}.**"))
    if api.summary:
        blocks.append(Prose(api.summary))
    if api.notes:
        blocks.append(Prose("\n".join(f"- {_note_text(note)}" for note in api.notes[-_MOST_NOTES:])))
    if api.example:
        blocks.append(Code(api.example.strip("\n")))
    if api.url:
        blocks.append(Link("Documentation", api.url))
    return blocks


def signature_text(signature: Signature) -> str:
    """``signature`` as Python writes it, in brackets."""
    shown: list[str] = []
    previous = ""
    for parameter in signature.parameters:
        if previous == "positional_only" != parameter.kind:
            shown.append("/")
        if parameter.kind == "keyword_only" and previous not in ("keyword_only", "var_positional"):
            shown.append("*")
        shown.append(_parameter_text(parameter))
        previous = parameter.kind
    if previous == "positional_only":
        shown.append("/")
    return f"({', '.join(shown)})"


def _parameter_text(parameter: Parameter) -> str:
    stars = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
    default = f"={parameter.default}" if parameter.default is not None else ""
    return f"{stars}{parameter.name}{default}"


def _note_text(note: VersionNote) -> str:
    when = "" if note.version in ("", "any") else f"**{note.version}** "
    change = "" if note.change == "note" else note.change
    return f"{when}{change}{': ' if note.text and (when or change) else ''}{note.text}"


def _extent(area: Range) -> tuple[int, int]:
    return area.end.line - area.start.line, area.end.column - area.start.column


def to_markdown(hover: Hover) -> str:
    """``hover`` as Markdown."""
    written = []
    for block in hover.blocks:
        if isinstance(block, Code):
            written.append(f"```{block.language}\n{block.text}\n```")
        elif isinstance(block, Link):
            written.append(f"[{block.label} ↗]({block.url})")
        else:
            written.append(block.text)
    return "\n\n".join(written)


def to_plain_text(hover: Hover) -> str:
    """``hover`` without markup, for editors that show the text as it is."""
    written = []
    for block in hover.blocks:
        if isinstance(block, Code):
            written.append("\n".join(f"    {line}" for line in block.text.split("\n")))
        elif isinstance(block, Link):
            written.append(f"{block.label}: {block.url}")
        else:
            written.append(_plain(block.text))
    return "\n\n".join(written)


def _plain(text: str) -> str:
    """``text`` without backticks and emphasis; what stands inside backticks is kept as it is."""
    pieces = text.split("`")
    return "".join(piece if number % 2 else _MARKUP.sub("", piece) for number, piece in enumerate(pieces))
