"""Pages to read beside the code, as Markdown: of a rule, and of the policy at a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from jaxpert.lsp.convert import position_from
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.lsp.session import Session

RULES = "jaxpert/rules"
RULE_PAGE = "jaxpert/rulePage"
POLICY_PAGE = "jaxpert/policyPage"


def rules(session: Session, params: Any) -> list[dict[str, str]]:
    """``jaxpert/rules``: every rule, to choose one from."""
    from jaxpert.rules import ALL_RULES

    return [{"code": rule.code, "name": rule.name, "summary": rule.summary} for rule in ALL_RULES]


def rule_page(session: Session, params: Any) -> str | None:
    """``jaxpert/rulePage``: the page of the rule ``name``, which may be a code; null when there is none."""
    from jaxpert.rulekit.page import rule_page as page
    from jaxpert.rules import rule_named

    rule = rule_named(str(getattr(params, "name", "")))
    return page(rule) if rule is not None else None


def policy_page(session: Session, params: Any) -> str | None:
    """``jaxpert/policyPage``: what the policy at ``position`` of the document ``uri`` does, else one that is given in
    that line, else the rematerialized function there; null when there is none.
    """
    from jaxpert.ide.blocks import Hover, to_markdown
    from jaxpert.ide.policy_page import policy_page as page

    found = session.place(str(getattr(params, "uri", "")))
    if found is None:
        return None
    document, part, analysis = found
    asked = types.Position(int(params.position.line), int(params.position.character))
    position = document.absolute(part, position_from(part.text.lines, asked, session.client.encoding))
    blocks = page(analysis.model, position) if position is not None else None
    return to_markdown(Hover(Range(position, position), tuple(blocks))) if position and blocks else None
