"""Text for people: the source with the mistake underlined, what JAX does with it, and the fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from jaxpert.cli.output.excerpt import Gutter, Mark, excerpt, gutter_for, message_text
from jaxpert.cli.output.fix_diff import DiffLine, diff_hunks
from jaxpert.cli.output.source_lines import crop, shown_line, visible
from jaxpert.cli.report import FileReport, Place, PlacedFinding, PlacedFix, Run
from jaxpert.rulekit.rule import Safety, Severity
from jaxpert.rulekit.urls import rule_url
from jaxpert.text.lines import Range

SEVERITY_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.INFORMATION: "bold blue",
    Severity.HINT: "bold cyan",
}
_NOUNS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
    Severity.HINT: "hint",
}
_DIFF_STYLES = {"-": "red", "+": "green", " ": ""}
_LONGEST_DIFF = 14


class TextOutput:
    """Writes findings to a console.

    Args:
        console: where to; decides on colour.
        width: cells of the terminal, or None to crop and wrap nothing.
        fix_lines: whether the lines that a fix changes are shown, or only its title.
    """

    def __init__(self, console: Console, width: int | None, *, fix_lines: bool = True) -> None:
        self._console = console
        self._width = width
        self._fix_lines = fix_lines

    def findings(self, files: Iterable[FileReport]) -> None:
        """Every finding of ``files``, each with its excerpt."""
        for file in files:
            for finding in file.findings:  # printed at once, since the console takes its time for each print
                self._print(Text("\n").join([*self._finding(file, finding), Text()]))

    def statistics(self, findings: Sequence[PlacedFinding]) -> None:
        """How often each rule found something, most frequent first."""
        by_rule = Counter((finding.code, finding.name, finding.severity) for finding in findings)
        fixable = Counter((finding.code, finding.severity) for finding in findings if finding.fix)
        numbers = max((len(str(count)) for count in by_rule.values()), default=1)
        names = max((len(name) for _, name, _ in by_rule), default=0)
        for (code, name, severity), count in sorted(by_rule.items(), key=lambda item: (-item[1], item[0][0])):
            row = Text.assemble(f"{count:>{numbers}}  {code}  ", (name.ljust(names), "bold"), "  ")
            row.append(severity.value.ljust(11), SEVERITY_STYLES[severity])
            self._print(row.append(f"  {fixable[code, severity]} fixable" if fixable[code, severity] else ""))
        if by_rule:
            self._print(Text())

    def summary(self, run: Run, command: str) -> None:
        """The last line. ``command`` is the one that fixes, e.g. "jaxpert check --fix"; "" for no advice."""
        self._print(Text(summary_line(run, command)))

    def _finding(self, file: FileReport, finding: PlacedFinding) -> Iterator[Text]:
        style = SEVERITY_STYLES[finding.severity]
        yield Text.assemble(
            (place_name(file.path, finding.cell, finding.range), "bold"),
            "  ",
            (finding.severity.value, style),
            "  ",
            (f"{finding.code} {finding.name}", f"link {rule_url(finding.name)}"),
        )
        lines = file.lines.get(finding.cell, ())
        near = [place for place in finding.related if not place.path and place.cell == finding.cell]
        hunks = [] if finding.fix is None else _hunks(file, finding.fix)
        gutter = gutter_for(max(_last_lines(finding, near, hunks, len(lines)), default=0))
        marks = [Mark(finding.range, finding.message, "^", style)]
        marks += [Mark(place.range, place.message, "-", "blue") for place in near]
        yield Text()
        if finding.range.start.line < len(lines):
            yield from excerpt(lines, marks, gutter, self._console, self._width)
        else:
            yield from self._wrapped(message_text(finding.message), 2)
        far = [place for place in finding.related if place not in near]
        if far or finding.consequence or finding.fix:
            yield Text()
        for place in far:
            yield from self._wrapped(_far_place(file.path, place), 2, hanging=4)
        yield from self._consequence(finding.consequence)
        if finding.fix is not None:
            yield from self._fix(finding.fix, hunks, gutter)

    def _consequence(self, consequence: str) -> Iterator[Text]:
        if not consequence:
            return
        first, *rest = consequence.splitlines()
        yield from self._wrapped(message_text(first), 2)
        for line in rest:
            yield from self._wrapped(Text(line.strip()), 6)

    def _fix(self, fix: PlacedFix, hunks: Sequence[Sequence[DiffLine]], gutter: Gutter) -> Iterator[Text]:
        kind = Text("Fix (safe): ", "green") if fix.safety is Safety.SAFE else Text("Fix (look at it first): ", "green")
        yield from self._wrapped(kind.append_text(message_text(_decapitalized(fix.title))), 2, hanging=4)
        if not self._fix_lines:
            return
        rows = [row for hunk in hunks for row in self._hunk(hunk, gutter, first=hunk is hunks[0])]
        yield from rows[:_LONGEST_DIFF]
        if len(rows) > _LONGEST_DIFF:
            yield gutter.gap().append(f" {len(rows) - _LONGEST_DIFF} more lines")

    def _hunk(self, hunk: Sequence[DiffLine], gutter: Gutter, *, first: bool) -> Iterator[Text]:
        if not first:
            yield gutter.gap()
        for line in hunk:
            text = shown_line(line.text).text.rstrip()
            if self._width is not None:
                text = crop(text, 0, max(20, self._width - gutter.cells))
            head = str(line.line + 1) if line.sign == " " else line.sign
            yield gutter.row(head).append(f" {text}" if text else "", _DIFF_STYLES[line.sign])

    def _wrapped(self, text: Text, indent: int, *, hanging: int | None = None) -> Iterator[Text]:
        """``text`` behind ``indent`` spaces; further lines behind ``hanging``."""
        hanging = indent if hanging is None else hanging
        parts = [text] if self._width is None else text.wrap(self._console, max(20, self._width - hanging))
        for number, part in enumerate(parts):
            part.rstrip()
            yield Text(" " * (hanging if number else indent)).append_text(part)

    def _print(self, row: Text) -> None:
        if self._console.color_system is None:  # then styles and links come to nothing
            self._console.file.write(f"{row.plain}\n")
        else:  # the rows are already as wide as they should be: the console must not fold them
            self._console.print(row, soft_wrap=True)


def place_name(path: Path | str, cell: int | None, area: Range) -> str:
    """``path:line:column``, which terminals make clickable; in a notebook ``path:cell 3:line:column``."""
    where = visible(str(path)) if cell is None else f"{visible(str(path))}:cell {cell}"
    return f"{where}:{area.start.line + 1}:{area.start.column + 1}"


def summary_line(run: Run, command: str) -> str:
    """One sentence on the whole run, and what to do next."""
    findings = run.findings
    files = counted(len(run.files), "file")
    against = f" ({', '.join(run.targets)})" if run.targets else ""
    fixed = f"Fixed {run.applied}. " if run.applied else ""
    if not findings:
        unread = sum(bool(file.failure) for file in run.files)
        if unread:
            read = counted(len(run.files) - unread, "file")
            return f"{fixed}{counted(unread, 'file')} could not be checked; no problems found in {read}{against}."
        return f"{fixed}No problems found in {files}{against}."
    touched = sum(bool(file.findings) for file in run.files)
    where = files if touched == len(run.files) else f"{touched} of {files}"
    found = f"Found {_counts(findings)}" if not fixed else f"{fixed}{_counts(findings)} left"
    return f"{found} in {where}{against}.{_advice(run, findings, command)}"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 file``, ``1,200 files``; ``many`` where it is not ``one`` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _counts(findings: Sequence[PlacedFinding]) -> str:
    by_severity = Counter(finding.severity for finding in findings)
    found = [(severity, by_severity[severity]) for severity in Severity]
    return ", ".join(counted(number, _NOUNS[severity]) for severity, number in found if number)


def _advice(run: Run, findings: Sequence[PlacedFinding], command: str) -> str:
    if not command:
        return ""
    safe = sum(finding.fix is not None and finding.fix.safety is Safety.SAFE for finding in findings)
    unsafe = sum(finding.fix is not None and finding.fix.safety is Safety.UNSAFE for finding in findings)
    if safe and not run.fixing:
        more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
        return f" {safe} can be fixed: {command}{more}"
    if unsafe:
        return f" {unsafe} can be fixed after a look: {command} --unsafe-fixes"
    return ""


def _hunks(file: FileReport, fix: PlacedFix) -> list[list[DiffLine]]:
    cells = sorted({edit.cell for edit in fix.edits}, key=lambda cell: cell or 0)
    return [
        hunk
        for cell in cells
        if cell in file.lines
        for hunk in diff_hunks(file.lines[cell], [placed.edit for placed in fix.edits if placed.cell == cell])
    ]


def _last_lines(
    finding: PlacedFinding, near: Sequence[Place], hunks: Sequence[Sequence[DiffLine]], count: int
) -> Iterator[int]:
    for area in [finding.range, *(place.range for place in near)]:
        yield max(0, min(area.end.line, count - 1))
    yield from (line.line for hunk in hunks for line in hunk)


def _far_place(path: Path, place: Place) -> Text:
    where = place_name(place.path or path, place.cell, place.range)
    return Text.assemble((where, "bold"), "  ").append_text(message_text(place.message))


def _decapitalized(title: str) -> str:
    return title[:1].lower() + title[1:]
