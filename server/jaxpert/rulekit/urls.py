"""Where the documentation of a rule is published."""

from __future__ import annotations

_RULE_PAGES = "https://github.com/jaxpert/jaxpert/blob/main/server/docs/rules"


def rule_url(name: str) -> str:
    """The address of the page about the rule called ``name``."""
    return f"{_RULE_PAGES}/{name}.md"
