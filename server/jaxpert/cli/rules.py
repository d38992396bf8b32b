"""``jaxpert rules``: what is checked."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from jaxpert.cli.command import PrintingCommand
from jaxpert.rulekit.rule import Rule, Stage
from jaxpert.rulekit.urls import rule_url
from jaxpert.rules import ALL_RULES


@click.command(cls=PrintingCommand, short_help="List the rules.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(output_format: str) -> None:
    """List the rules: code, name, severity, whether there is a fix, and what each finds."""
    if output_format == "json":
        click.echo(json.dumps([_described(rule) for rule in ALL_RULES], indent=2))
    else:
        print_table(ALL_RULES)


def _described(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "severity": rule.severity.value,
        "stage": rule.stage.value,
        "since": rule.since,
        "fix": rule.fix is not None,
        "summary": rule.summary,
        "url": rule_url(rule.name),
    }


def print_table(chosen: Sequence[Rule]) -> None:
    """Print a line about each rule."""
    from rich.table import Table
    from rich.text import Text

    from jaxpert.cli.output.excerpt import message_text
    from jaxpert.cli.output.text import SEVERITY_STYLES
    from jaxpert.cli.terminal import console_for, make_printable, width_of

    make_printable(sys.stdout)
    console = console_for(sys.stdout)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("code", "name", "severity", "fix"):
        table.add_column(heading, no_wrap=True)
    table.add_column("what it finds")
    family = ""
    for rule in chosen:
        if rule.family != family:
            family = rule.family
            table.add_section()
        summary = message_text(rule.summary + (" (preview)" if rule.stage is Stage.PREVIEW else ""))
        severity = Text(rule.severity.value, SEVERITY_STYLES[rule.severity])
        table.add_row(
            Text(rule.code, f"link {rule_url(rule.name)}"),
            Text(rule.name, "bold"),
            severity,
            "yes" if rule.fix else "",
            summary,
        )
    # A pipe gets one line a rule, however long.
    console.width = width_of(sys.stdout, console) or 10_000
    for line in console.render_lines(table, pad=False):
        row = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        row.rstrip()
        console.print(row, soft_wrap=True)
