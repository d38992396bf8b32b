"""``jaxpert explain``: the documentation of a rule, or what an error of JAX means, in the terminal."""

from __future__ import annotations

import difflib
import re
import sys

import click

from jaxpert.cli.command import PrintingCommand, checked_version
from jaxpert.rulekit.page import rule_page
from jaxpert.rulekit.rule import Rule
from jaxpert.rulekit.urls import rule_url
from jaxpert.rules import ALL_RULES, rule_named

_MOST_BYTES = 4 * 1024 * 1024
"""So much of the end of a log is read: errors come last."""

_FIRST_OF_CODE = re.compile(r"JXP\d{0,2}", re.IGNORECASE)
_LIKE_AN_ERROR = re.compile(r"\s|:|(?:Error|Exception|Warning|Interrupt)$")


@click.command(cls=PrintingCommand, short_help="Explain a rule or an error.")
@click.argument("subject", metavar="NAME|CODE|ERROR|-", nargs=-1)
@click.option("--jax-version", metavar="VERSION", callback=checked_version, help="The JAX that raised the error.")
@click.pass_context
def explain(context: click.Context, subject: tuple[str, ...], jax_version: str | None) -> None:
    """Explain a rule, or an error that JAX raised.

    Give the name or code of a rule, the first digits of codes to list what begins so, the text of an error, or - to
    read a whole traceback:

    \b
        jaxpert explain policy-falls-through
        jaxpert explain "TypeError: Value returned by a remat policy should be a bool"
        python train.py 2>&1 | jaxpert explain -

    Nothing is run: files that the traceback names are read and checked. Exit code 1: no rule explains the error.
    """
    text = " ".join(subject)
    if not subject or subject == ("-",):
        if not subject and sys.stdin is not None and sys.stdin.isatty():
            raise click.UsageError("Say what to explain: a rule, an error, or - for a traceback on standard input.")
        text = _standard_input()
        if not text.strip():
            raise click.UsageError("Standard input is empty: there is nothing to explain.")
    elif not text.strip():
        raise click.UsageError("Say what to explain: a rule, or an error.")
    rule = rule_named(text.strip())
    if rule is not None:
        _show(rule)
    elif _FIRST_OF_CODE.fullmatch(text.strip()):
        _show_family(text.strip().upper())
    elif len(subject) == 1 and subject != ("-",) and not _LIKE_AN_ERROR.search(text.strip()):
        near = _near(text)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`jaxpert rules` lists them all."
        raise click.UsageError(f"There is no rule `{text}`. {hint}")
    else:
        from jaxpert.cli.explain_error import explain_error  # only here: it needs what analyses files

        if not explain_error(text, jax_version):
            context.exit(1)


def _standard_input() -> str:
    """What is left of standard input, its end if it is very long."""
    if sys.stdin is None:
        return ""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return str(sys.stdin.read())
    kept = b""
    while chunk := stream.read(1024 * 1024):
        kept = (kept + chunk)[-_MOST_BYTES:] if kept[:2] not in _UTF16 else kept + chunk
    return kept.decode("utf-16" if kept[:2] in _UTF16 else "utf-8-sig", errors="replace")


_UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""How a file starts that the shell of Windows has written."""


def _show_family(beginning: str) -> None:
    """List the rules whose codes begin so."""
    from jaxpert.cli.rules import print_table

    chosen = [rule for rule in ALL_RULES if rule.code.startswith(beginning)]
    if not chosen:
        raise click.UsageError(f"No code of a rule begins with `{beginning}`. `jaxpert rules` lists them all.")
    print_table(chosen)


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
