"""The page about other pages names only rules that exist."""

from __future__ import annotations

import re
from pathlib import Path

from jaxpert.rules import rule_named

PAGE = Path(__file__).resolve().parents[1] / "server/docs/catalogue-errata.md"


def test_every_rule_of_the_errata_exists() -> None:
    links = re.findall(r"\[([^\]]+)\]\(rules/([^)]+)\.md\)", PAGE.read_text(encoding="utf-8"))
    assert len(links) > 50
    for text, name in links:
        assert text == name
        assert rule_named(name) is not None, name
