"""``jaxpert check``: its options, what it prints where, and its exit code."""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click

from jaxpert.cli.checking import (
    KNOWN_RULES,
    FixMode,
    Request,
    WorkerDied,
    check_files,
    check_text,
    config_problems,
    describe_options,
    files_to_check,
)
from jaxpert.cli.command import PrintingCommand, checked_version
from jaxpert.cli.output.source_lines import visible
from jaxpert.cli.output.text import TextOutput, counted
from jaxpert.cli.output.unified_diff import print_diff
from jaxpert.cli.placing import shown_path
from jaxpert.cli.progress import ProgressBar
from jaxpert.cli.report import Run
from jaxpert.cli.terminal import complain, console_for, make_printable, width_of
from jaxpert.cli.writing import written
from jaxpert.project.config import ConfigProblem, unknown_rule
from jaxpert.rules import ALL_RULES

_SLOWEST = 5


def _selectors(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """The rules, prefixes of codes, and names in comma lists; an unknown one is a usage error."""
    selectors = [word for value in values for part in value.split(",") if (word := part.strip())]
    for selector in selectors:
        if message := unknown_rule(selector, KNOWN_RULES):
            raise click.BadParameter(message, ctx, param)
    return selectors


@click.command(cls=PrintingCommand, short_help="Check files and folders.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--fix", is_flag=True, help="Apply the safe fixes, then report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also the fixes that want a look.")
@click.option("--diff", is_flag=True, help="Show what --fix would change; write nothing. Exit code 1 if anything.")
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    callback=_selectors,
    help="Only these rules: names, codes, or beginnings of codes, with commas between; repeatable.",
)
@click.option("--ignore", multiple=True, metavar="RULES", callback=_selectors, help="Not these rules; repeatable.")
@click.option(
    "--jax-version", metavar="VERSION", callback=checked_version, help="Check against this JAX, not the one found."
)
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="How findings are written.",
)
@click.option("--stdin-filename", type=click.Path(path_type=Path), help="With `-`: the name that the text goes by.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use.  [default: by files and CPUs]")
@click.option("--no-cache", is_flag=True, help="Look into every file, also those that did not change since last time.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 in spite of findings.")
@click.option("--show-config", is_flag=True, help="Print the options that hold for each path, and stop.")
@click.option("-v", "--verbose", is_flag=True, help="Say which JAX was found where, and how long it took.")
def check(
    paths: tuple[Path, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    select: list[str],
    ignore: list[str],
    jax_version: str | None,
    output_format: str,
    stdin_filename: Path | None,
    statistics: bool,
    jobs: int | None,
    no_cache: bool,
    exit_zero: bool,
    show_config: bool,
    verbose: bool,
) -> None:
    """Check PATHS: Python files, notebooks, folders, or `-` for standard input. Default: this folder.

    Exit code: 0 when there is nothing to report, 1 when there is, 2 when something could not be done: a wrong
    option, a broken configuration, an unreadable file.
    """
    from_stdin = Path("-") in paths
    if from_stdin and len(paths) > 1:
        raise click.UsageError("`-` cannot be checked together with other paths.")
    if stdin_filename and not from_stdin:
        raise click.UsageError("--stdin-filename needs `-` as the path.")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff.")
    if diff and output_format != "text":
        raise click.UsageError(f"--diff prints a diff, not {output_format}.")
    make_printable(sys.stdout, sys.stderr)
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="jaxpert: %(message)s")
    named = (stdin_filename or Path("stdin.py"),) if from_stdin else paths or (Path(),)
    given = {"select": select or None, "ignore": ignore or None, "jax-version": jax_version}
    mode = FixMode.NONE if not (fix or diff) else FixMode.UNSAFE if unsafe_fixes else FixMode.SAFE
    request = Request(
        named,
        {key: value for key, value in given.items() if value is not None},
        mode,
        describe_fixes=(output_format != "github" or statistics) and not diff,
        use_cache=not no_cache,
    )
    if problems := config_problems(request):
        _complain_about(problems)
        sys.exit(2)
    if show_config:
        click.echo(describe_options(request), nl=False)
        return

    started = time.perf_counter()
    try:
        content = _standard_input() if from_stdin else None
        run, processes = _checked(request, content, jobs)
    except (_NoInput, WorkerDied) as error:
        complain(str(error))
        sys.exit(2)
    if not from_stdin and not diff:
        run = written(run, request)
    complete = _complain(run)
    if diff:
        _print_diffs(run)
    elif content is not None and fix:
        change = run.files[0].change
        sys.stdout.flush()
        sys.stdout.buffer.write(change.content if change else content)
        _print_text(run, paths, statistics, sys.stderr)
    elif output_format == "text":
        _print_text(run, paths or named, statistics, sys.stdout)
    else:
        _print_for_machines(run, output_format, statistics)
    if verbose:
        _print_timing(run, time.perf_counter() - started, processes)
    if not complete:
        sys.exit(2)
    reported = any(file.change for file in run.files) if diff else bool(run.findings)
    sys.exit(1 if reported and not exit_zero else 0)


class _NoInput(Exception):
    """Standard input cannot be read."""


def _standard_input() -> bytes:
    if sys.stdin is None:  # the process was started without
        raise _NoInput("standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise _NoInput(f"standard input: {error.strerror or error}") from error


def _checked(request: Request, content: bytes | None, jobs: int | None) -> tuple[Run, int]:
    """The reports, and how many processes it took; of ``content`` instead of files where that is given."""
    fixing = request.fix is not FixMode.NONE
    if content is not None:
        return Run((check_text(request, request.paths[0], content),), fixing), 1
    files = files_to_check(request)
    if not files:
        complain(f"no Python file or notebook found in {' '.join(map(str, request.paths))}")
    with ProgressBar(len(files)) as bar:
        reports, processes = check_files(request, files, jobs, bar.advance)
        return Run(tuple(reports), fixing), processes


def _complain(run: Run) -> bool:
    """Say on standard error what could not be done; whether everything could."""
    problems = tuple(dict.fromkeys(problem for file in run.files for problem in file.problems))
    _complain_about(problems)
    failed = [file for file in run.files if file.failure]
    for file in failed:
        complain(f"{visible(str(file.path))}: {file.failure}")
    return not problems and not failed


def _complain_about(problems: Sequence[ConfigProblem]) -> None:
    for problem in problems:
        path = shown_path(problem.path)
        line, column = problem.range.start
        complain(f"{path}:{line + 1}:{column + 1}: {problem.message}")


def _print_text(run: Run, paths: Sequence[Path], statistics: bool, stream: TextIO) -> None:
    console = console_for(stream)
    output = TextOutput(console, width_of(stream, console))
    output.findings(run.files)
    if statistics:
        output.statistics(run.findings)
    output.summary(run, _fix_command(paths))


def _fix_command(paths: Sequence[Path]) -> str:
    """The command that fixes what was checked, as far as it fits on the line."""
    named = "" if list(paths) == [Path()] else " " + shlex.join(map(str, paths))
    return f"jaxpert check --fix{named if len(named) <= 50 else ' …'}"


def _print_for_machines(run: Run, output_format: str, statistics: bool) -> None:
    from jaxpert.cli.output import github, json, sarif  # of no use to somebody who reads text

    if output_format == "json":
        sys.stdout.write(json.render(run))
    elif output_format == "sarif":
        sys.stdout.write(sarif.render(run, ALL_RULES))
    else:
        sys.stdout.write(github.render(run))
    if statistics:
        TextOutput(console_for(sys.stderr), None).statistics(run.findings)


def _print_diffs(run: Run) -> None:
    changes = [(file.path, file.change) for file in run.files if file.change]
    for path, change in changes:
        print_diff(str(path), change.before, change.after)
    if changes:
        fixes = counted(run.applied, "fix", "fixes")
        complain(f"--fix would apply {fixes} in {counted(len(changes), 'file')}; nothing is written")


def _print_timing(run: Run, seconds: float, processes: int) -> None:
    lines = sum(file.line_count for file in run.files)
    speed = f"{seconds:.2f} s ({lines / seconds:,.0f} lines a second)"
    by = counted(processes, "process", "processes")
    complain(f"{counted(len(run.files), 'file')}, {counted(lines, 'line')} in {speed} with {by}")
    for target in run.targets:
        complain(target)
    for file in sorted(run.files, key=lambda file: -file.seconds)[:_SLOWEST]:
        complain(f"{file.seconds * 1000:8.1f} ms  {file.line_count:6,} lines  {visible(str(file.path))}")
