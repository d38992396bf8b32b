"""What to show about the expression under the cursor: a finding's rule, or what a JAX function does here.

The result is plain data in the order of reading; :mod:`jaxpert.ide.blocks` writes it down.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from jaxpert.ide.api_hover import api_hover
from jaxpert.ide.blocks import Block, Code, Hover, Link, Prose, to_markdown, to_plain_text
from jaxpert.ide.checkpoint_hover import checkpoint_hover
from jaxpert.ide.parameter_hover import parameter_hover
from jaxpert.ide.policy_hover import policy_hover
from jaxpert.rulekit.rule import Finding, Rule
from jaxpert.rulekit.urls import rule_url
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis

__all__ = ["Block", "Code", "Hover", "Link", "Prose", "to_markdown", "to_plain_text"]


def hover_at(analysis: Analysis, position: Position) -> Hover | None:
    """What there is to say about ``position``: findings, then what it is here, then the API; None for nothing."""
    from jaxpert.rules import rule_named  # the rules are not needed before the first hover on a finding

    blocks: list[Block] = []
    areas: list[Range] = []
    for finding in analysis.findings:
        if finding.range.contains(position) and (rule := rule_named(finding.rule)):
            blocks += finding_blocks(finding, rule)
            areas.append(finding.range)
    model = analysis.model
    for describe in (policy_hover, checkpoint_hover, parameter_hover, api_hover):
        if described := describe(model, position):
            areas.append(described[0])
            blocks += described[1]
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


def _extent(area: Range) -> tuple[int, int]:
    return area.end.line - area.start.line, area.end.column - area.start.column
