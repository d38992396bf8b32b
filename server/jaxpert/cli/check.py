"""``jaxpert check``: its options, what it prints where, and its exit code."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from packaging.version import InvalidVersion, Version

from jaxpert.cli.checking import FixMode, Request, check_files, check_text, describe_options, files_to_check
from jaxpert.cli.progress import ProgressBar
from jaxpert.cli.report import FileReport, Run
from jaxpert.cli.terminal import complain, make_printable
from jaxpert.rules import ALL_RULES
from jaxpert.text.decoding import write_source
from jaxpert.text.near_misses import did_you_mean

_FILES_A_PROCESS = 24  # fewer are checked sooner than another process starts
_SLOWEST = 5


class _Selectors(click.ParamType):
    """A comma list of rule codes, prefixes of codes, or names."""

    name = "rules"

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The selectors in ``value``; an unknown one is a usage error."""
        if isinstance(value, tuple):
            return value
        selectors = tuple(word for part in value.split(",") if (word := part.strip()))
        known = [word for rule in ALL_RULES for word in (rule.code, rule.name)]
        for selector in selectors:
            is_prefix = selector.startswith("JXP") and any(word.startswith(selector) for word in known)
            if not is_prefix and selector not in known:
                self.fail(f"there is no rule `{selector}`{did_you_mean(selector, known) or '.'}", param, ctx)
        return selectors


class _JaxVersion(click.ParamType):
    name = "version"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """``value``, when it is a version."""
        try:
            Version(value)
        except InvalidVersion:
            self.fail(f"`{value}` is no version; write one like 0.7.2.", param, ctx)
        return value


@click.command(short_help="Check files and folders.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--fix", is_flag=True, help="Apply the safe fixes, then report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also the fixes that want a look.")
@click.option("--diff", is_flag=True, help="Show what --fix would change; write nothing. Exit code 1 if anything.")
@click.option("--select", type=_Selectors(), multiple=True, help="Only these: codes, prefixes, names; repeatable.")
@click.option("--ignore", type=_Selectors(), multiple=True, help="Not these rules; repeatable.")
@click.option("--jax-version", type=_JaxVersion(), help="The JAX to check against, instead of the one detected.")
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
@click.option("--exit-zero", is_flag=True, help="Exit with 0 in spite of findings.")
@click.option("--show-config", is_flag=True, help="Print the options that hold for each path, and stop.")
@click.option("-v", "--verbose", is_flag=True, help="Say which JAX was found where, and how long it took.")
def check(
    paths: tuple[Path, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    select: tuple[tuple[str, ...], ...],
    ignore: tuple[tuple[str, ...], ...],
    jax_version: str | None,
    output_format: str,
    stdin_filename: Path | None,
    statistics: bool,
    jobs: int | None,
    exit_zero: bool,
    show_config: bool,
    verbose: bool,
) -> None:
    """Check PATHS: Python files, notebooks, folders, or `-` for standard input. Default: this folder.

    Exit code: 0 when there is nothing to report, 1 when there is, 2 when something could not be done: a wrong
    option, a broken configuration, an unreadable file.
    """
    make_printable(sys.stdout, sys.stderr)
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="jaxpert: %(message)s")
    from_stdin = Path("-") in paths
    if from_stdin and len(paths) > 1:
        raise click.UsageError("`-` cannot be checked together with other paths.")
    if stdin_filename and not from_stdin:
        raise click.UsageError("--stdin-filename needs `-` as the path.")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff.")
    if diff and output_format != "text":
        raise click.UsageError(f"--diff prints a diff, not {output_format}.")
    overrides: dict[str, object] = {}
    if select:
        overrides["select"] = [selector for group in select for selector in group]
    if ignore:
        overrides["ignore"] = [selector for group in ignore for selector in group]
    if jax_version:
        overrides["jax-version"] = jax_version
    mode = FixMode.NONE if not (fix or diff) else FixMode.UNSAFE if unsafe_fixes else FixMode.SAFE
    named = [stdin_filename or Path("stdin.py")] if from_stdin else list(paths or [Path()])
    request = Request(tuple(named), overrides, mode, describe_fixes=output_format != "github" and not diff)
    if show_config:
        click.echo(describe_options(request), nl=False)
        return

    started = time.perf_counter()
    if from_stdin:
        content = sys.stdin.buffer.read()
        files = [check_text(request, named[0], content)]
        processes = 1
    else:
        found = files_to_check(request)
        if not found:
            complain(f"no Python file or notebook found in {' '.join(map(str, named))}")
        processes = jobs or _processes_for(len(found))
        with ProgressBar(len(found)) as bar:
            files = check_files(request, found, processes, bar.advance)
    run = Run(tuple(files), fixing=mode is not FixMode.NONE)

    unwritten = False if diff or from_stdin else _write_changes(files)
    for file in files:
        if file.failure:
            complain(f"{file.path}: {file.failure}")
    if diff:
        _print_diffs(files)
    elif from_stdin and fix:
        change = files[0].change
        sys.stdout.flush()
        sys.stdout.buffer.write(change.content if change else content)
        _print_text(run, named, statistics, to_stderr=True)
    elif output_format == "text":
        _print_text(run, named, statistics)
    else:
        _print_machine_format(run, output_format)
        if statistics:
            _print_statistics(run)
    if verbose:
        _print_timing(run, time.perf_counter() - started, processes)
    if unwritten or any(file.failure for file in files):
        sys.exit(2)
    reported = any(file.change for file in files) if diff else bool(run.findings)
    sys.exit(1 if reported and not exit_zero else 0)


def _processes_for(files: int) -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, files // _FILES_A_PROCESS))


def _write_changes(files: Sequence[FileReport]) -> bool:
    """Write the fixed files; whether any could not be."""
    failed = False
    for file in files:
        if file.change is None:
            continue
        try:
            write_source(file.path, file.change.content)
        except OSError as error:
            complain(f"{file.path}: not written: {error.strerror or error}")
            failed = True
    return failed


def _print_text(run: Run, named: Sequence[Path], statistics: bool, *, to_stderr: bool = False) -> None:
    from jaxpert.cli.output.text import TextOutput
    from jaxpert.cli.terminal import console_for, width_of

    stream = sys.stderr if to_stderr else sys.stdout
    console = console_for(stream)
    output = TextOutput(console, width_of(stream, console))
    output.findings(run.files)
    if statistics:
        output.statistics(run.findings)
    output.summary(run, _fix_command(named))


def _print_statistics(run: Run) -> None:
    from jaxpert.cli.output.text import TextOutput
    from jaxpert.cli.terminal import console_for

    TextOutput(console_for(sys.stderr), None).statistics(run.findings)


def _fix_command(named: Sequence[Path]) -> str:
    """The command that fixes what was checked, as far as it fits on the line."""
    paths = "" if list(named) == [Path()] else " " + " ".join(map(str, named))
    return f"jaxpert check --fix{paths if len(paths) <= 50 else ' …'}"


def _print_machine_format(run: Run, output_format: str) -> None:
    from jaxpert.cli.output import github, json, sarif

    if output_format == "json":
        sys.stdout.write(json.render(run))
    elif output_format == "sarif":
        sys.stdout.write(sarif.render(run, ALL_RULES))
    else:
        sys.stdout.write(github.render(run))


def _print_diffs(files: Sequence[FileReport]) -> None:
    from jaxpert.cli.output.unified_diff import print_diff

    changed = [file for file in files if file.change]
    for file in changed:
        assert file.change is not None
        print_diff(str(file.path), file.change.before, file.change.after)
    applied = sum(file.change.applied for file in changed if file.change)
    if applied:
        complain(f"would fix {applied} in {len(changed)} of {len(files)} files; nothing is written with --diff")


def _print_timing(run: Run, seconds: float, processes: int) -> None:
    lines = sum(file.line_count for file in run.files)
    complain(
        f"{len(run.files):,} files, {lines:,} lines in {seconds:.2f} s ({lines / seconds:,.0f} lines/s) "
        f"with {processes} {'process' if processes == 1 else 'processes'}"
    )
    for target in run.targets:
        complain(target)
    for file in sorted(run.files, key=lambda file: -file.seconds)[:_SLOWEST]:
        complain(f"{file.seconds * 1000:8.1f} ms  {file.line_count:6,} lines  {file.path}")
