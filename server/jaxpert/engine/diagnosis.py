"""From an error text to its explanation: the rules that know it, and the place in the user's code that they find.

Reads the files that the traceback names and analyses them as ever. Runs nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jaxpert.engine.analyze import Analysis, analyze
from jaxpert.engine.recognition import Claim, claims, nearest
from jaxpert.engine.tracebacks import RaisedError, TracebackFrame, read_errors
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.project.environment import detect
from jaxpert.project.settings import Overrides
from jaxpert.project.workspace import Workspace
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Finding, Rule, Severity
from jaxpert.rules import ALL_RULES, rule_named
from jaxpert.text.decoding import UnreadableSource

_MOST_FILES = 8
_MOST_OTHERS = 5
_CLOSE = 3
_OF_ANY_MISTAKE = {"TypeError", "ValueError", "AttributeError", "IndexError", "KeyError", "NotImplementedError"}
_SUFFIXES = {".py", ".pyi", ".ipynb"}
_SITE_PACKAGES = re.compile(r"^(?P<prefix>.+?)/(?:lib/python[\d.]+|Lib)/(?:site|dist)-packages/jax/", re.IGNORECASE)
_SAID_BY_US = re.compile(r"\bJXP\d{3}\b")


@dataclass(frozen=True, slots=True)
class QuotedLine:
    """The line of the user's that an error came through.

    Attributes:
        frame: the place in the traceback.
        path: the file where it is found; None when there is none.
        line: zero-based, as the file is now; None when the line is not in the file, or not known.
        text: the line itself, without indentation.
    """

    frame: TracebackFrame
    path: Path | None
    line: int | None
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What is known about an error.

    Attributes:
        error: the exception that is explained; of a chain, the one that a rule knows.
        rules: those that explain it, the likeliest first; () when none does.
        is_certain: whether the first of them is what it is about; else each of them is possible.
        is_users_own: whether an ``assert`` of the user's own failed.
        similar: when no rule explains it, those that come nearest; () when none is about anything like it.
        quoted: the user's line; None when the text names none.
        finding: what the first rule finds in the user's code, nearest to the traceback; None when nothing.
        analysis: of the file of ``finding``.
        searched: the user's files that were analysed.
        target: the JAX that was detected.
    """

    error: RaisedError
    rules: tuple[Rule, ...]
    is_certain: bool
    is_users_own: bool
    similar: tuple[Rule, ...]
    quoted: QuotedLine | None
    finding: Finding | None
    analysis: Analysis | None
    searched: tuple[Path, ...]
    target: JaxTarget


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A finding near a traceback; ``distance`` in lines, 0 where a frame runs through it."""

    finding: Finding
    analysis: Analysis
    distance: int


def diagnose(text: str, folder: Path, jax_version: str | None = None) -> Diagnosis | None:
    """Explain the last error in ``text``, or one that led to it; None when ``text`` says nothing.

    Args:
        text: a message, a traceback, or the output of a program that ended with one.
        folder: where relative paths start.
        jax_version: the JAX that raised the error; None to find out.
    """
    errors = read_errors(text)
    if not errors:
        return None
    error, known = _chosen(errors)
    values: dict[str, object] = {"select": ["ALL"], "ignore": [], "per-file-ignores": {}}
    if jax_version is not None:
        values["jax-version"] = jax_version
    overrides = Overrides(values, interpreter=_environment_of(errors), origin="explain")
    paths = _user_files([error, *errors], folder)
    roots = dict.fromkeys([folder, *(path.parent for path in paths if folder not in path.parents)])
    workspace = Workspace(roots, {rule.name: rule.code for rule in ALL_RULES}, overrides, files=paths)
    found, searched = _findings_near(workspace, paths, [error, *errors], folder)
    rules, is_certain = ((), False) if _is_users_own(error) else _ranked(error, known, found)
    if not rules and not error.exception:
        mentioned = (rule_named(code) for code in _SAID_BY_US.findall(error.message))
        rules = tuple(dict.fromkeys(rule for rule in mentioned if rule is not None))[:3]
        is_certain = len(rules) == 1
    best = min((it for it in found if rules and it.finding.rule == rules[0].name), key=_distance, default=None)
    if best is not None:
        target = best.analysis.model.target
    else:
        options = workspace.options_for(folder)
        target = detect(
            folder, paths[0] if paths else None, options.jax_version, overrides.interpreter, os.environ,
            remat3=options.remat3, x64=options.x64,
        )  # fmt: skip
    if overrides.interpreter is not None and target.origin == "the selected interpreter":
        target = replace(target, origin="the traceback")
    return Diagnosis(
        error=error,
        rules=rules,
        is_certain=is_certain,
        is_users_own=_is_users_own(error),
        similar=() if rules or _is_users_own(error) else nearest(error),
        quoted=_quoted([error, *errors], workspace, folder),
        finding=best.finding if best else None,
        analysis=best.analysis if best else None,
        searched=searched,
        target=target,
    )


def _chosen(errors: Sequence[RaisedError]) -> tuple[RaisedError, tuple[Claim, ...]]:
    """The last error that a rule surely knows, else the last that one may know, else the last."""
    known = [(error, () if _is_users_own(error) else claims(error)) for error in errors]
    for error, found in known:
        if found and found[0].is_certain:
            return error, found
    return next(((error, found) for error, found in known if found), known[0])


def _is_users_own(error: RaisedError) -> bool:
    """Whether an ``assert`` of the user's own failed: JAX has nothing to do with what it says."""
    last = error.frames[-1] if error.frames else None
    return error.name == "AssertionError" and last is not None and not last.is_library and bool(
        re.match(r"assert\b", last.source)
    )


def _ranked(error: RaisedError, known: tuple[Claim, ...], found: Sequence[_Found]) -> tuple[tuple[Rule, ...], bool]:
    """The rules that explain ``error``, and whether the first is certain.

    Those that find something in the user's code go first, those that find what raises this in the very statement
    before all others: that counts even for a text that no rule knows. So does a finding close by where none of the
    rules that may know the text finds anything, and one in the very statement that says it raises something else.
    """
    errors = [it for it in found if it.finding.severity is Severity.ERROR]
    blamed = [it for it in errors if error.name in it.finding.exceptions]
    guilty = {it.finding.rule for it in blamed if it.distance == 0}
    if known and known[0].is_certain:
        possible = {it.finding.rule for it in blamed}
        known = tuple(claim for claim in known if claim.is_certain or claim.rule.name in possible)
    elif error.exception:
        if not any(it.finding.rule == claim.rule.name for it in found for claim in known):
            here = [it for it in found if it.distance == 0]
            guilty |= {it.finding.rule for it in here if error.name in it.finding.exceptions}
            guilty |= {it.finding.rule for it in blamed if known and it.distance <= _CLOSE}
            if not guilty and (error.name in _OF_ANY_MISTAKE or error.exception.startswith("jax.")):
                guilty = {it.finding.rule for it in errors if it.distance == 0}
        unknown = sorted(guilty - {claim.rule.name for claim in known})
        known += tuple(Claim(rule, 1.0, 0.0, False) for name in unknown if (rule := rule_named(name)) is not None)
    if not known:
        return (), False
    far = 1_000_000
    distances = {
        claim.rule.name: min((it.distance for it in found if it.finding.rule == claim.rule.name), default=far)
        for claim in known
    }
    places = {claim.rule.name: place for place, claim in enumerate(known)}

    def order(claim: Claim) -> tuple[bool, bool, bool, int]:
        name = claim.rule.name
        return distances[name] == far, name not in guilty, distances[name] > 0, places[name]

    first, *rest = sorted(known, key=order)
    seen = distances[first.rule.name] < far
    strength = first.share * first.weight
    others = [
        it for it in rest
        if it.share * it.weight >= 0.85 * strength and (not seen or distances[it.rule.name] < far)
    ]  # fmt: skip
    rivals = [it for it in others if it.share * it.weight >= 0.95 * strength]
    return (first.rule, *(claim.rule for claim in others[:_MOST_OTHERS])), seen or (first.is_certain and not rivals)


# -- the user's code --------------------------------------------------------------------------------------------------


def _environment_of(errors: Iterable[RaisedError]) -> Path | None:
    """The environment whose JAX the traceback runs through."""
    for error in errors:
        for frame in error.frames:
            found = _SITE_PACKAGES.match(frame.path.replace("\\", "/"))
            if found and Path(found["prefix"]).is_dir():
                return Path(found["prefix"])
    return None


def _file_of(frame: TracebackFrame, folder: Path) -> Path | None:
    """The file of a frame, if it is there and can be source."""
    try:
        path = Path(os.path.abspath(folder / Path(frame.path).expanduser()))  # noqa: PTH100 (links stay as named)
        return path if frame.path and path.suffix in _SUFFIXES and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # no possible path, or nobody's home
        return None


def _user_files(errors: Iterable[RaisedError], folder: Path) -> list[Path]:
    paths = (_file_of(frame, folder) for error in errors for frame in error.user_frames)
    return list(dict.fromkeys(path for path in paths if path is not None))[:_MOST_FILES]


def _findings_near(
    workspace: Workspace, paths: Sequence[Path], errors: Sequence[RaisedError], folder: Path
) -> tuple[list[_Found], tuple[Path, ...]]:
    """All findings in the files, each with its distance from the frames in its file."""
    found: list[_Found] = []
    searched = []
    for path in paths:
        try:
            analysis = analyze(workspace.snapshot(path))
        except UnreadableSource:
            continue
        searched.append(path)
        if analysis.snapshot.notebook is not None:  # frames of notebooks count in other ways
            lines: list[int] = []
        else:
            here = [frame for error in errors for frame in error.user_frames if _file_of(frame, folder) == path]
            found_now = (_line_now(frame, analysis.snapshot.source.lines) for frame in here)
            lines = [line for line in found_now if line is not None]
        found += [_Found(finding, analysis, _lines_between(finding, lines)) for finding in analysis.findings]
    return found, tuple(searched)


def _lines_between(finding: Finding, lines: Sequence[int]) -> int:
    areas = [finding.range, *(place.range for place in finding.related if not place.path)]
    return min(
        (max(area.start.line - line, line - area.end.line, 0) for area in areas for line in lines), default=10_000
    )


def _distance(found: _Found) -> int:
    return found.distance


def _line_now(frame: TracebackFrame, lines: Sequence[str]) -> int | None:
    """Where the frame's line is in the file as it is now, zero-based: the same text, nearest to where it was."""
    line = frame.line - 1
    if not frame.source:
        return line if 0 <= line < len(lines) else None
    same = [number for number, text in enumerate(lines) if text.strip() == frame.source]
    if not same and 0 <= line < len(lines) and lines[line].strip().startswith(frame.source.rstrip("… ")[:60]):
        return line  # the traceback cut it off
    return min(same, key=lambda number: abs(number - line), default=None)


def _quoted(errors: Iterable[RaisedError], workspace: Workspace, folder: Path) -> QuotedLine | None:
    for frame in _worth_quoting(errors):
        path = _file_of(frame, folder)
        lines: Sequence[str] = ()
        if path is not None and path.suffix != ".ipynb":
            try:
                lines = workspace.snapshot(path).source.lines
            except UnreadableSource:
                path = None
        number = _line_now(frame, lines)
        text = lines[number].strip() if number is not None else frame.source
        if text:
            return QuotedLine(frame, path, number, text)
    return None


def _worth_quoting(errors: Iterable[RaisedError]) -> Iterator[TracebackFrame]:
    for error in errors:
        yield from error.user_frames
