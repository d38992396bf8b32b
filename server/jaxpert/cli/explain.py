"""``jaxpert explain``: the documentation of a rule, in the terminal."""

from __future__ import annotations

import difflib
import sys

import click

from jaxpert.cli.command import PrintingCommand
from jaxpert.rulekit.page import rule_page
from jaxpert.rulekit.rule import Rule
from jaxpert.rulekit.urls import rule_url
from jaxpert.rules import ALL_RULES, rule_named


@click.command(cls=PrintingCommand, short_help="Explain a rule.")
@click.argument("subject", metavar="NAME|CODE")
def explain(subject: str) -> None:
    """Explain the rule with this name or code: what it finds, why it matters, and what to write instead."""
    rule = rule_named(subject)
    if rule is None:
        near = _near(subject)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`jaxpert rules` lists them all."
        raise click.UsageError(f"There is no rule `{subject}`. {hint}")
    _show(rule)


def _near(subject: str) -> list[str]:
    """Names and codes like ``subject``, or that contain it, nearest first."""
    word = subject.lower().replace("_", "-")
    by_lower = {name.lower(): name for rule in ALL_RULES for name in (rule.name, rule.code)}
    containing = [name for name in by_lower if len(word) > 2 and word in name]
    close = difflib.get_close_matches(word, by_lower, n=3, cutoff=0.6)
    return [by_lower[name] for name in dict.fromkeys([*close, *containing])][:3]


def _show(rule: Rule) -> None:
    page = f"{rule_page(rule)}\n{rule_url(rule.name)}\n"
    if not sys.stdout.isatty():
        click.echo(page, nl=False)
        return
    from rich.markdown import Markdown
    from rich.padding import Padding

    from jaxpert.cli.terminal import console_for

    console = console_for(sys.stdout)
    # Lines of prose longer than this are hard to read, whatever the width of the terminal.
    console.print(Padding(Markdown(page, code_theme="ansi_dark"), (1, 2)), width=min(console.width, 100))
