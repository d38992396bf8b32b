"""An error explained on the terminal: the rule, the user's line, what the detected JAX does, the fix."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from jaxpert.cli.output.excerpt import message_text
from jaxpert.cli.output.source_lines import visible
from jaxpert.cli.output.text import TextOutput
from jaxpert.cli.placing import placed_findings, shown_path, source_lines
from jaxpert.cli.report import FileReport
from jaxpert.cli.terminal import console_for, make_printable, width_of
from jaxpert.engine.diagnosis import Diagnosis, QuotedLine, diagnose
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.rulekit.page import section
from jaxpert.rulekit.rule import Rule, Safety
from jaxpert.rulekit.urls import rule_url

_LONGEST_MESSAGE = 300
_WIDEST_PROSE = 100


def explain_error(text: str, jax_version: str | None = None) -> bool:
    """Print what ``text``, a message or a traceback, is about. False when no rule explains it.

    Args:
        jax_version: the JAX that raised it; None to find out.
    """
    make_printable(sys.stdout)
    console = console_for(sys.stdout)
    diagnosis = diagnose(text, Path.cwd(), jax_version)
    assert diagnosis is not None, "the text is not blank"
    for row in _rows(diagnosis, console):
        console.print(row, soft_wrap=True)
    return bool(diagnosis.rules)


def _rows(diagnosis: Diagnosis, console: Console) -> Iterator[Text]:
    width = width_of(sys.stdout, console)
    yield from _wrapped(_headline(diagnosis), console, width)
    if not diagnosis.rules:
        yield Text()
        what = "explains this: an `assert` of your own failed" if diagnosis.is_users_own else "explains this text"
        yield Text(f"Not in the catalogue: no rule of jaxpert {what}.", "bold")
        yield from _quotation(diagnosis.quoted)
        if diagnosis.similar:
            yield Text()
            yield Text("The rules that come nearest:")
            yield from _listed(diagnosis.similar)
        return
    first, *others = diagnosis.rules
    if diagnosis.is_certain:
        yield _name(first, "→ ")
        yield from _quotation(diagnosis.quoted)
        yield Text()
        yield from _explanation(diagnosis, first, console, width)
        if others:
            yield Text()
            yield Text("Also known with such a text:")
            yield from _listed(others)
        return
    yield Text()
    what = "this text" if diagnosis.error.message else "this exception"
    yield Text(f"{'Several mistakes end' if others else 'Among others, one mistake ends'} in {what}:", "bold")
    yield from _listed(diagnosis.rules)
    yield from _quotation(diagnosis.quoted)
    if diagnosis.searched:
        yield Text()
        yield from _wrapped(Text(f"None of them is found in {_names(diagnosis.searched)}."), console, width)
    yield Text()
    yield Text(f"More: jaxpert explain {first.name}")


def _headline(diagnosis: Diagnosis) -> Text:
    message = visible(" ".join(diagnosis.error.message.split()))
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE].rpartition(" ")[0] + " …"
    if not diagnosis.error.exception:
        return Text(message)
    return Text.assemble((diagnosis.error.exception, "bold red"), f": {message}" if message else "")


def _name(rule: Rule, before: str = "") -> Text:
    return Text.assemble(before, (rule.name, f"bold link {rule_url(rule.name)}"), f" ({rule.code}): ").append_text(
        message_text(rule.summary)
    )


def _listed(rules: tuple[Rule, ...] | list[Rule]) -> Iterator[Text]:
    for rule in rules:
        yield _name(rule, "  ")


def _quotation(quoted: QuotedLine | None) -> Iterator[Text]:
    """The user's line, and where it stands."""
    if quoted is None:
        return
    frame = quoted.frame
    if frame.cell is not None and not frame.path:
        where = f"cell {frame.cell}" + (f":{frame.line}" if frame.line else "")
    else:
        path = str(shown_path(quoted.path)) if quoted.path is not None else frame.path
        number = quoted.line + 1 if quoted.line is not None else frame.line
        where = f"{visible(path)}:{number}"
    runs = f" in {visible(frame.function)}" if frame.function else ""
    yield Text()
    yield Text.assemble("  ", (where, "bold"), runs)
    yield Text.assemble("      ", visible(quoted.text))
    if quoted.path is not None and quoted.line is None and quoted.path.suffix != ".ipynb":
        yield Text("      (the file has changed since: this line is not in it any more)", "dim")


def _explanation(diagnosis: Diagnosis, rule: Rule, console: Console, width: int | None) -> Iterator[Text]:
    finding, analysis = diagnosis.finding, diagnosis.analysis
    if finding is None or analysis is None:
        yield from _in_prose(diagnosis, rule, console, width)
        return
    analysis = replace(analysis, findings=(finding,))
    placed = placed_findings(analysis, describe_fixes=True)
    path = shown_path(analysis.snapshot.path)
    report = FileReport(path, placed, source_lines(analysis.snapshot.notebook, analysis.snapshot.text, placed))
    with console.capture() as captured:
        TextOutput(console, width).findings((report,))
    yield Text.from_ansi(captured.get().rstrip("\n"))
    yield Text()
    yield Text(f"Checked for {_target(diagnosis.target)}.")
    if placed[0].fix is not None:
        unsafe = " --unsafe-fixes" if placed[0].fix.safety is Safety.UNSAFE else ""
        yield Text.assemble(
            "Apply: ", (f"jaxpert check --fix{unsafe} --select {rule.name} {shlex.quote(str(path))}", "bold")
        )
    yield Text(f"More:  jaxpert explain {rule.name}")


def _in_prose(diagnosis: Diagnosis, rule: Rule, console: Console, width: int | None) -> Iterator[Text]:
    """The rule's own words, where nothing in the user's code can be pointed at."""
    if diagnosis.searched:
        yield from _wrapped(Text(f"The place is not found in {_names(diagnosis.searched)}."), console, width)
        yield Text()
    sections = [
        ("Why", section(rule, "Why it matters")),
        (f"In {_target(diagnosis.target)}", section(rule, "In which versions")),
        ("Write instead", section(rule, "What to write instead")),
    ]
    for heading, body in sections:
        if body:
            yield Text(heading, "bold")
            yield from _paragraphs(body, console, width)
            yield Text()
    yield Text(f"More: jaxpert explain {rule.name}")


def _paragraphs(body: str, console: Console, width: int | None) -> Iterator[Text]:
    """Markdown as text: code stays as it is, the lines of a paragraph are joined and folded anew."""
    for part in re.split(r"(```.*?```)", body, flags=re.DOTALL):
        if part.startswith("```"):
            for line in part.strip("`").split("\n")[1:]:
                yield Text(f"      {line}".rstrip())
            continue
        for paragraph in re.split(r"\n\s*\n|\n(?=[-*] )", part.strip("\n")):
            if paragraph.startswith("    "):  # code
                yield from (Text(f"  {line}") for line in paragraph.splitlines())
            elif paragraph.strip():
                folded = message_text(" ".join(paragraph.split()))
                yield from _wrapped(folded, console, min(width or _WIDEST_PROSE, _WIDEST_PROSE), indent=2)


def _target(target: JaxTarget) -> str:
    origin = {"newest known": ", the newest known", "setting": ", as set"}.get(target.origin)
    return f"JAX {target.version}{origin or f' from {visible(target.origin)}'}"


def _names(paths: tuple[Path, ...]) -> str:
    shown = [visible(str(shown_path(path))) for path in paths]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _wrapped(text: Text, console: Console, width: int | None, indent: int = 0) -> Iterator[Text]:
    parts = [text] if width is None else text.wrap(console, max(20, width - indent))
    for part in parts:
        part.rstrip()
        yield Text(" " * indent).append_text(part)
