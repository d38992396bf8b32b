"""``jaxpert check``: every option, every exit code, and what happens to files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jaxpert.engine.analyze import analyze
from tests.cli.conftest import Run, write
from tests.cli.samples import CALLED, FALLS_THROUGH, MISSPELT

# -- exit codes and what is printed -----------------------------------------------------------------------------------


def test_clean_is_one_line_and_0(run: Run) -> None:
    write("a.py", "import jax\n")
    result = run()
    assert (result.exit_code, result.stdout) == (0, "No problems found in 1 file (JAX 0.10.2, as set).\n")


def test_findings_exit_with_1(run: Run) -> None:
    write("pkg/a.py", FALLS_THROUGH)
    write("pkg/b.py", "import jax\n")
    result = run()
    assert result.exit_code == 1
    assert result.stdout.startswith("pkg/a.py:5:5  error  JXP202 policy-falls-through\n\n")
    last = result.stdout.splitlines()[-1]
    assert last == "Found 1 error in 1 of 2 files (JAX 0.10.2, as set). 1 can be fixed: jaxpert check --fix"
    assert result.stderr == ""


def test_the_advice_repeats_the_paths(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    assert run("a.py").stdout.endswith("jaxpert check --fix a.py\n")


def test_exit_zero(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    assert run("--exit-zero").exit_code == 0
    assert run("--exit-zero", "missing.py").exit_code == 2


def test_what_cannot_be_read_is_named_and_the_rest_is_checked(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    write("latin.py", "x = 'é'\n".encode("latin-1"))
    write("binary.py", b"\0\1")
    result = run("missing.py", "a.py", "latin.py", "binary.py")
    assert result.exit_code == 2
    assert "JXP202" in result.stdout
    assert result.stderr.splitlines() == [
        "jaxpert: missing.py: no such file",
        "jaxpert: latin.py: not utf-8: byte 0xe9 on line 1; save it as UTF-8 or give it a coding line (PEP 263)",
        "jaxpert: binary.py: binary: null byte on line 1",
    ]


def test_no_files_at_all_is_said(run: Run) -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stderr == "jaxpert: no Python file or notebook found in .\n"


def test_a_crash_costs_one_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", FALLS_THROUGH)
    monkeypatch.delenv("JAXPERT_CRASH", raising=False)
    monkeypatch.setattr("jaxpert.cli.checking.analyze", lambda snapshot: 1 / 0)
    result = run()
    assert result.exit_code == 2
    assert result.stderr == "jaxpert: a.py: internal error: ZeroDivisionError: division by zero\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unsafe-fixes"], "--unsafe-fixes needs --fix or --diff"),
        (["--diff", "--output-format", "json"], "--diff prints a diff, not json"),
        (["--stdin-filename", "a.py"], "--stdin-filename needs `-`"),
        (["-", "a.py"], "`-` cannot be checked together with other paths"),
        (["--select", "JXP2,policy-fals-through"], "did you mean `policy-falls-through`?"),
        (["--ignore", "E501"], "there is no rule `E501`"),
        (["--jax-version", "new"], "`new` is not a version"),
        (["--jobs", "0"], "'--jobs'"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_exits_with_2(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


# -- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ([], ["JXP202", "JXP207"]),
        (["--select", "JXP202"], ["JXP202"]),
        (["--select", "policy-called"], ["JXP207"]),
        (["--select", "JXP2"], ["JXP202", "JXP207"]),
        (["--select", "JXP202, policy-called"], ["JXP202", "JXP207"]),
        (["--select", "JXP202", "--select", "JXP207"], ["JXP202", "JXP207"]),
        (["--ignore", "JXP202"], ["JXP207"]),
        (["--select", "JXP2", "--ignore", "policy-called"], ["JXP202"]),
        (["--select", "JXP3"], []),
    ],
)
def test_selection(run: Run, arguments: list[str], codes: list[str]) -> None:
    write("a.py", FALLS_THROUGH)
    write("b.py", CALLED)
    result = run("--output-format", "json", *arguments)
    assert [finding["code"] for finding in json.loads(result.stdout)] == codes
    assert result.exit_code == (1 if codes else 0)


def test_the_nearest_configuration_counts(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    write("sub/pyproject.toml", '[tool.jaxpert]\nignore = ["JXP202"]\njax-version = "0.7.2"\n')
    write("sub/b.py", FALLS_THROUGH)
    findings = json.loads(run("--output-format", "json").stdout)
    assert [Path(finding["filename"]).name for finding in findings] == ["a.py"]


def test_a_broken_configuration_is_one_message(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    write("jaxpert.toml", 'selct = ["JXP2"]\n')
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "jaxpert: jaxpert.toml:1:1: there is no option `selct`; did you mean `select`?\n"


def test_a_broken_configuration_further_down_does_not_stop_the_rest(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    write("sub/jaxpert.toml", 'jax-version = 0.7\n')
    write("sub/b.py", "import jax\n")
    write("sub/c.py", "import jax\n")
    result = run()
    assert result.exit_code == 2
    assert "JXP202" in result.stdout
    assert result.stderr.count("sub/jaxpert.toml:1:15: ") == 1


def test_jax_version_wins_over_the_configuration(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    assert "AssertionError" in run("--jax-version", "0.6.2").stdout
    assert "TypeError" in run("--jax-version", "0.7.2").stdout


def test_a_version_beyond_what_is_known_is_said(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    result = run("--jax-version", "9")
    assert result.exit_code == 1
    assert "jaxpert: JAX 9 is newer than" in result.stderr and "the newest that is known here" in result.stderr
    write("jaxpert.toml", 'jax-version = "0.3.1"\n')
    assert "(JAX 0.3.1, as set, older than 0.4.30, the oldest that is known here)" in run().stdout
    assert run("--jax-version", "0.7.2").stderr == ""


def test_show_config(run: Run) -> None:
    write("pyproject.toml", "[tool.jaxpert]\nignore = ['JXP2']\n")
    result = run("--show-config", "--select", "JXP202")
    assert result.exit_code == 0
    assert f"from {Path.cwd() / 'jaxpert.toml'}" in result.stdout
    assert 'select = ["JXP202"]\n' in result.stdout
    assert 'jax-version = "0.10.2"\n' in result.stdout
    assert result.stdout.endswith("# rules: JXP202\n")


def test_verbose_says_which_jax_from_where_and_how_long(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    result = run("-v")
    assert "jaxpert: JAX 0.10.2, as set\n" in result.stderr
    assert re.search(r"1 file, \d+ lines in [\d.]+ s", result.stderr)
    assert "a.py\n" in result.stderr


def test_statistics(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    write("b.py", FALLS_THROUGH + CALLED.partition("\n")[2])
    text = run("--statistics").stdout
    assert "2  JXP202  policy-falls-through  error        2 fixable\n1  JXP207  policy-called" in text
    result = run("--statistics", "--output-format", "json")
    assert len(json.loads(result.stdout)) == 3
    assert "2  JXP202" in result.stderr


def test_a_rule_that_crashed_is_not_passed_over(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", FALLS_THROUGH)
    monkeypatch.setattr(
        "jaxpert.cli.checking.analyze", lambda snapshot: replace(analyze(snapshot), crashed=("policy-called",))
    )
    result = run("--exit-zero")
    assert result.exit_code == 2
    assert result.stderr == "jaxpert: a.py: internal error in rule policy-called: not fully checked\n"
    assert "JXP202" in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ("check a.py >/dev/full", "standard output: No space left on device"),
        ("check a.py --output-format json >/dev/full", "standard output: No space left on device"),
        ("rules >/dev/full", "standard output: No space left on device"),
        ("--help >/dev/full", "standard output: No space left on device"),
        ("check --help >/dev/full", "standard output: No space left on device"),
        ("check missing.py 2>/dev/full", ""),
        ("check missing.py 2>&-", ""),
        ("check a.py >&-", "standard output is closed"),
        ("check - <&-", "standard input is closed"),
        ("check - 0>written", "standard input: Bad file descriptor"),
    ],
)
def test_streams_that_cannot_be_used(run: Run, streams: str, said: str) -> None:
    write("a.py", FALLS_THROUGH)
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m jaxpert {streams}', sys.executable], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, f"jaxpert: {said}\n" if said else "")


# -- standard input ---------------------------------------------------------------------------------------------------


def test_standard_input(run: Run) -> None:
    result = run("-", "--stdin-filename", "pkg/new.py", stdin=FALLS_THROUGH)
    assert result.exit_code == 1
    assert result.stdout.startswith("pkg/new.py:5:5  error")
    assert not Path("pkg").exists()


def test_the_name_of_standard_input_in_json(run: Run) -> None:
    result = run("-", "--stdin-filename", "pkg/../new.py", "--output-format", "json", stdin=FALLS_THROUGH)
    assert json.loads(result.stdout)[0]["filename"] == str(Path.cwd() / "new.py")
    result = run("-", "--stdin-filename", "../x/../new.py", "--output-format", "json", stdin=FALLS_THROUGH)
    assert json.loads(result.stdout)[0]["filename"] == str(Path.cwd().parent / "new.py")


def test_standard_input_fixed_comes_out(run: Run) -> None:
    result = run("-", "--fix", stdin=FALLS_THROUGH)
    assert result.exit_code == 0
    assert result.stdout == FALLS_THROUGH.replace("return True\n", "return True\n    return False\n")
    assert result.stderr == "Fixed 1. No problems found in 1 file (JAX 0.10.2, as set).\n"


def test_standard_input_without_anything_to_fix_comes_out_unchanged(run: Run) -> None:
    content = b"\xef\xbb\xbfimport jax\r\n"
    result = run("-", "--fix", stdin=content)
    assert result.stdout_bytes == content


def test_standard_input_diff(run: Run) -> None:
    result = run("-", "--diff", stdin=FALLS_THROUGH)
    assert result.exit_code == 1
    assert "\n+    return False\n" in result.stdout


def test_standard_input_that_is_no_text(run: Run) -> None:
    result = run("-", stdin=b"\0")
    assert result.exit_code == 2
    assert "stdin.py: binary" in result.stderr


# -- processes, pipes, terminals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "github"])
def test_any_number_of_processes_says_the_same(run: Run, output_format: str) -> None:
    for number in range(30):
        write(f"pkg/m{number:02}.py", [FALLS_THROUGH, MISSPELT, CALLED, "import jax\n"][number % 4])
    write("pkg/latin.py", b"\xff")
    arguments = ("--output-format", output_format, "pkg", "missing.py")
    one, *others = (run(*arguments, "--jobs", jobs) for jobs in ("1", "2", "3"))
    assert one.exit_code == 2
    assert one.stdout.count("JXP202") >= 8
    for other in others:
        assert (other.exit_code, other.stdout, other.stderr) == (one.exit_code, one.stdout, one.stderr)


def test_any_number_of_processes_fixes_the_same(run: Run) -> None:
    outcomes = []
    for jobs in ("1", "3"):
        paths = [write(f"pkg/m{n}.py", [FALLS_THROUGH, MISSPELT][n % 2]) for n in range(8)]
        result = run("--fix", "--unsafe-fixes", "--jobs", jobs)
        outcomes.append((result.exit_code, result.stdout, [path.read_text() for path in paths]))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1].startswith("Fixed 8. ")


def command(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "jaxpert", "check", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("arguments", [[], ["--output-format", "json"], ["--diff"], ["-", "--fix"], ["--show-config"]])
def test_a_closed_pipe_is_no_traceback(run: Run, arguments: list[str]) -> None:
    write("a.py", FALLS_THROUGH)
    process = command(*arguments, stdin=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, error = process.communicate(FALLS_THROUGH.encode())
    assert b"Traceback" not in error and b"BrokenPipe" not in error
    assert process.returncode in (0, 1)


def test_a_narrow_encoding_is_no_traceback(run: Run) -> None:
    write("a.py", FALLS_THROUGH.replace("keep_dots", "mäßig_日本"))
    process = command("a.py", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    out, error = process.communicate()
    assert (process.returncode, error) == (1, b"")
    assert rb"m\xe4\xdfig_\u65e5\u672c" in out


@pytest.mark.parametrize(
    ("environment", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colour_only_where_it_is_wanted(run: Run, environment: dict[str, str], colored: bool) -> None:
    write("a.py", FALLS_THROUGH)
    monkeypatched = {"TERM": "xterm", "NO_COLOR": "", "FORCE_COLOR": ""} | environment
    assert ("\x1b[" in run(**monkeypatched).stdout) is colored


def test_columns_wrap_even_in_a_pipe(run: Run) -> None:
    write("a.py", FALLS_THROUGH)
    rows = run(COLUMNS="60").stdout.splitlines()[1:-1]
    assert max(map(len, rows)) <= 60
    assert run(COLUMNS="0").stdout == run().stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only forked workers know the patch")
def test_a_worker_that_is_killed_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py"):
        write(name, FALLS_THROUGH)
    monkeypatch.setattr("jaxpert.cli.checking.analyze", lambda snapshot: os._exit(1))
    result = run("--jobs", "2")
    assert result.exit_code == 2
    assert result.stderr == (
        "jaxpert: a process that checks files was killed, perhaps for want of memory: try --jobs 1\n"
    )
