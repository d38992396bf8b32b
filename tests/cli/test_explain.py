"""``jaxpert explain`` with errors: messages, tracebacks, and what else is piped into it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from packaging.version import Version

from jaxpert.__main__ import main
from jaxpert.rulekit.rule import Example, Raises, Rule
from jaxpert.rules import ALL_RULES
from tests.cli.conftest import write
from tests.cli.samples import FALLS_THROUGH

RAISING = [
    (rule, example) for rule in ALL_RULES for example in rule.examples if isinstance(example.proof, Raises)
]  # fmt: skip
GOT_NONE = (
    "TypeError: Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`, "
    "`ad_checkpoint.Saveable` or `ad_checkpoint.Offloadable(...)`. Got None of type <class 'NoneType'>."
)

MEASURED = json.loads(files("jaxpert.engine").joinpath("error_texts.json").read_text(encoding="utf-8"))

Explain = Callable[..., Result]


@pytest.fixture
def explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explain:
    """Runs ``jaxpert explain`` in an empty folder with a configuration that fixes the JAX version."""
    monkeypatch.chdir(tmp_path)
    for variable in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "jaxpert.toml").write_text('jax-version = "0.10.2"\n')

    def invoke(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, ["explain", *arguments], input=stdin)

    return invoke


def traceback_at(path: str, line: int, source: str, error: str = GOT_NONE) -> str:
    return f'Traceback (most recent call last):\n  File "{path}", line {line}, in step\n    {source}\n{error}\n'


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subject",
    [
        (GOT_NONE,),
        tuple(GOT_NONE.split()),
        ("jax.errors." + GOT_NONE,),
        (GOT_NONE.partition(": ")[2],),
        ("got none of type NoneType, value returned by a remat policy should be a bool or ad_checkpoint.Recompute",),
    ],
    ids=["line", "words", "dotted", "message", "lower case"],
)
def test_a_text_leads_to_its_rule(explain: Explain, subject: tuple[str, ...]) -> None:
    result = explain(*subject)
    assert result.exit_code == 0, result.output
    assert "policy-falls-through (JXP202)" in result.stdout
    assert "Not in the catalogue" not in result.stdout


def test_a_text_is_explained_for_the_configured_version(explain: Explain) -> None:
    result = explain(
        "ValueError: The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
        "`names_which_can_be_offloaded`. Got names_which_can_be_saved={'x'}, names_which_can_be_offloaded={'x'}"
    )
    assert result.exit_code == 0
    assert "→ offload-names-overlap (JXP209)" in result.stdout
    assert "\nIn JAX 0.10.2, as set\n" in result.stdout
    assert "\nWrite instead\n" in result.stdout
    assert result.stdout.endswith("More: jaxpert explain offload-names-overlap\n")


def test_a_text_is_explained_for_the_version_that_is_given(explain: Explain) -> None:
    text = (
        "ValueError: The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
        "`names_which_can_be_offloaded`. Got names_which_can_be_saved={'x'}, names_which_can_be_offloaded={'x'}"
    )
    assert "\nIn JAX 0.7.2, as set\n" in explain("--jax-version", "0.7.2", text).output
    refused = explain("--jax-version", "seven", text)
    assert refused.exit_code == 2
    assert "`seven` is not a version" in refused.output


def test_prose_is_folded_and_code_is_not(explain: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = explain("TypeError: checkpoint_name() missing 1 required positional argument: 'name'").stdout
    assert "\n      TypeError: checkpoint_name() missing 1 required positional argument: 'name'\n" in shown
    prose = [line for line in shown.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    assert prose and max(map(len, prose)) <= 60


def test_a_text_of_several_rules_names_them(explain: Explain) -> None:
    result = explain("AssertionError")
    assert result.exit_code == 0
    assert "Several mistakes end in this exception:" in result.stdout
    assert "policy-falls-through (JXP202)" in result.stdout and "offloadable-misused (JXP204)" in result.stdout


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("NameError: name 'foo' is not defined", ""),
        ("ZeroDivisionError: division by zero", ""),
        ("my model is slow", ""),
        ("KeyError", ""),
        ("ModuleNotFoundError: No module named 'torch'", ""),
        ("RuntimeError: CUDA error: out of memory", ""),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)", ""),
        ("UnexpectedTracerError: something leaked a tracer", "tracer-leak"),
        ("TypeError: a policy may only say yes or no", "policy-"),
    ],
)
def test_an_unknown_text_is_not_in_the_catalogue(explain: Explain, text: str, near: str) -> None:
    result = explain(text)
    assert result.exit_code == 1
    assert "Not in the catalogue: no rule of jaxpert explains this text." in result.stdout
    _, heading, listed = result.stdout.partition("The rules that come nearest:\n")
    assert bool(heading) is bool(near)
    assert near in listed


def test_the_beginning_of_a_code_lists_what_begins_so(explain: Explain) -> None:
    result = explain("jxp2")
    assert result.exit_code == 0
    listed = [line.split()[0] for line in result.stdout.splitlines()[1:]]
    assert listed == [rule.code for rule in ALL_RULES if rule.code.startswith("JXP2")]
    assert "No code of a rule begins with `JXP7`" in explain("JXP7").stderr
    assert explain("JXP7").exit_code == 2


@pytest.mark.parametrize(
    ("version", "said"), [("0.1", "older than 0.4.30"), ("9", "newer than"), ("0.7.2", ""), ("0.10", "")]
)
def test_a_version_beyond_what_is_known_is_said(explain: Explain, version: str, said: str) -> None:
    result = explain("--jax-version", version, GOT_NONE)
    assert result.exit_code == 0
    assert said in result.stderr and bool(result.stderr) is bool(said)


def test_input_that_cannot_be_explained(explain: Explain) -> None:
    for stdin in ("", " \n\n", b"\xef\xbb\xbf"):
        result = explain("-", stdin=stdin)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Standard input is empty" in result.stderr
    assert "Say what to explain" in explain(" ").stderr
    assert "There is no rule `policy-fals`" in explain("policy-fals").stderr


@pytest.mark.parametrize("arguments", [("-",), ()])
def test_a_rule_or_our_own_output_can_be_piped(explain: Explain, arguments: tuple[str, ...]) -> None:
    assert explain(*arguments, stdin="JXP202\n").stdout.startswith("# policy-falls-through\n")
    reported = "train.py:6:5  error  JXP202 policy-falls-through\n\n   6 | if prim.name"
    assert "policy-falls-through (JXP202)" in explain(*arguments, stdin=reported).stdout


# -- tracebacks -------------------------------------------------------------------------------------------------------


def test_a_traceback_shows_the_line_the_finding_and_the_fix(explain: Explain) -> None:
    write("model/train.py", FALLS_THROUGH)
    line = "block = jax.checkpoint(lambda x: x, policy=keep_dots)"
    result = explain("-", stdin=traceback_at("model/train.py", 9, line))
    assert result.exit_code == 0
    shown = result.stdout
    assert f"  model/train.py:9 in step\n      {line}\n" in shown
    assert "\nmodel/train.py:5:5  error  JXP202 policy-falls-through\n" in shown
    assert "JAX 0.10.2 raises when this is differentiated" in shown
    assert "   + |     return False\n" in shown
    assert "Apply: jaxpert check --fix --select policy-falls-through model/train.py\n" in shown
    assert Path("model/train.py").read_text() == FALLS_THROUGH


def test_the_line_is_found_where_it_is_now(explain: Explain) -> None:
    write("train.py", "# a new comment\n\n" + FALLS_THROUGH)
    shown = explain("-", stdin=traceback_at("train.py", 9, "block = jax.checkpoint(lambda x: x, policy=keep_dots)"))
    assert "  train.py:11 in step\n" in shown.stdout
    assert "\ntrain.py:7:5  error  JXP202" in shown.stdout
    gone = explain("-", stdin=traceback_at("train.py", 9, "block = remat(keep_dots)"))
    assert "      block = remat(keep_dots)\n      (the file has changed since" in gone.stdout


@pytest.mark.parametrize("path", ["gone.py", r"C:\\Users\\me\\train.py", "<string>.py", "nul\x00l.py", "~nobody-at-all/a.py"])
def test_without_the_file_the_traceback_is_quoted(explain: Explain, path: str) -> None:
    shown = explain("-", stdin=traceback_at(path, 9, "return jax.grad(block)(x)"))
    assert shown.exit_code == 0, shown.output
    assert "→ policy-falls-through (JXP202)" in shown.stdout
    assert path.startswith("<") or "      return jax.grad(block)(x)\n" in shown.stdout


def test_files_that_are_no_source_are_not_read(explain: Explain) -> None:
    write("notes.txt", "secret\n")
    Path("folder.py").mkdir()
    write("broken.py", b"\xff\xfe\x00")
    for name in ("notes.txt", "folder.py", "broken.py"):
        shown = explain("-", stdin=traceback_at(name, 1, "step()"))
        assert (shown.exit_code, "secret" in shown.output) == (0, False), shown.output


def test_a_rule_that_finds_something_goes_before_a_text_that_fits_better(explain: Explain) -> None:
    write("train.py", FALLS_THROUGH.replace("return True", "return 1") + "    return None\n")
    write("train.py", FALLS_THROUGH.replace("        return True\n", "        return True\n    return None\n"))
    shown = explain("-", stdin=traceback_at("train.py", 10, "block = jax.checkpoint(lambda x: x, policy=keep_dots)"))
    assert "→ policy-returns-non-bool (JXP203)" in shown.stdout


def test_the_cause_of_an_exception_is_explained(explain: Explain) -> None:
    write("train.py", FALLS_THROUGH)
    cause = traceback_at("train.py", 9, "block = jax.checkpoint(lambda x: x, policy=keep_dots)")
    chain = "\nThe above exception was the direct cause of the following exception:\n\n"
    last = traceback_at("train.py", 1, "import jax", "my_app.TrainingFailed: see above")
    shown = explain("-", stdin=cause + chain + last)
    assert "→ policy-falls-through (JXP202)" in shown.stdout
    assert "  train.py:9 in step\n" in shown.stdout


def test_a_finding_in_the_very_statement_explains_a_text_that_no_rule_knows(explain: Explain) -> None:
    write("train.py", "import jax\nf = jax.checkpoint(print, policy=jax.checkpoint_policies.dots_savable)\n")
    line = "f = jax.checkpoint(print, policy=jax.checkpoint_policies.dots_savable)"
    shown = explain("-", stdin=traceback_at("train.py", 2, line, "AttributeError: something new"))
    assert "unknown-policy" in shown.stdout


def test_a_finding_close_by_goes_before_a_text_that_many_programs_raise(explain: Explain) -> None:
    source = "import jax\n\n\ndef apply(f, x):\n    h = jax.checkpoint(jax.numpy.sin(x))\n    return h ** 2\n"
    write("train.py", source)
    error = "TypeError: unsupported operand type(s) for ** or pow(): 'function' and 'int'"
    shown = explain("-", stdin=traceback_at("train.py", 6, "return h ** 2", error)).stdout
    assert "→ checkpoint-of-result (JXP106)" in shown and "policies-combined-by-operator" not in shown
    write("train.py", source.replace("jax.checkpoint(", "("))
    assert "policies-combined-by-operator" in explain("-", stdin=traceback_at("train.py", 6, "return h ** 2", error)).stdout


def test_a_finding_in_the_very_statement_explains_another_exception_too(explain: Explain) -> None:
    source = "import jax\n\n\ndef norm(tree):\n    td, flat = jax.tree.flatten(tree)\n    return jax.tree.unflatten(td, flat)\n"
    write("train.py", source)
    line = "return jax.tree.unflatten(td, flat)"
    shown = explain("-", stdin=traceback_at("train.py", 6, line, "TypeError: 'PyTreeDef' object is not iterable")).stdout
    assert "→ flatten-order (JXP506)" in shown
    other = explain("-", stdin=traceback_at("train.py", 6, line, "NameError: name 'td' is not defined")).stdout
    assert "Not in the catalogue" in other


def test_an_axis_that_must_be_known_is_told_from_a_branch(explain: Explain) -> None:
    text = "Abstract tracer value encountered where concrete value is expected: traced array with shape int32[] "
    line = "red = jax.checkpoint(lambda x, axis: jax.numpy.mean(x, axis=axis))"
    write("train.py", f"import jax\n{line}\nred(jax.numpy.ones((2, 8)), 1)\n")
    error = f"jax.errors.ConcretizationTypeError: {text}The axis argument must be known statically."
    assert "→ shape-from-traced-argument" in explain("-", stdin=traceback_at("train.py", 2, line, error)).stdout
    mask = "jax.errors.NonConcreteBooleanIndexError: Array boolean indices must be concrete; got bool[3]"
    assert "→ branch-on-traced-argument" in explain(mask).stdout


def test_an_assertion_of_the_users_own_is_not_explained(explain: Explain) -> None:
    shown = explain("-", stdin=traceback_at("train.py", 2, "assert 'remat' in shown", "AssertionError"))
    assert shown.exit_code == 1
    assert "an `assert` of your own failed" in shown.stdout and "(JXP" not in shown.stdout
    assert "policy-falls-through" in explain("-", stdin=traceback_at("t.py", 2, "jax.grad(f)(x)", "AssertionError")).stdout


def test_the_jax_of_the_traceback_counts(explain: Explain) -> None:
    Path("jaxpert.toml").unlink()
    package = Path("env/lib/python3.11/site-packages")
    write(str(package / "jax-0.7.2.dist-info/METADATA"), "Metadata-Version: 2.1\nName: jax\nVersion: 0.7.2\n")
    write("train.py", FALLS_THROUGH)
    frame = f'  File "{(package / "jax/_src/core.py").absolute()}", line 7, in bind\n    return x\n'
    text = traceback_at("train.py", 9, "block = jax.checkpoint(lambda x: x, policy=keep_dots)", frame + GOT_NONE)
    assert "Checked for JAX 0.7.2 from the traceback." in explain("-", stdin=text).stdout


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_other_encodings(explain: Explain, encoding: str) -> None:
    shown = explain("-", stdin=f"é\n{GOT_NONE}\n".encode(encoding))
    assert "policy-falls-through (JXP202)" in shown.stdout


def test_bytes_that_are_no_text_and_very_long_input(explain: Explain) -> None:
    noise = b"\xff\xfb\x80 step \x00\n" * 500_000 + b"x" * 3_000_000 + b"\n"
    shown = explain("-", stdin=noise + GOT_NONE.encode())
    assert "policy-falls-through (JXP202)" in shown.stdout
    assert len(shown.stdout) < 10_000


def test_nothing_that_a_terminal_would_act_on_is_printed(explain: Explain) -> None:
    shown = explain("-", stdin=traceback_at("a\x1b[2J.py", 1, "x\x07", "ValueError: \x1b]0;title\x07\x9b2J\x00"))
    assert not {"\x1b", "\x07", "\x9b", "\x00"} & set(shown.stdout)


# -- real JAX ---------------------------------------------------------------------------------------------------------

RUNNER = """
import json, os, sys, traceback
import jax
for folder in json.load(sys.stdin):
    if os.fork() == 0:
        os.chdir(folder)
        sys.stdout = sys.stderr = open("output.txt", "w", encoding="utf-8")
        text = open("program.py", encoding="utf-8").read()
        try:
            exec(compile(text, os.path.abspath("program.py"), "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)
    os.wait()
print(jax.__version__)
"""


@cache
def _tracebacks(root: Path) -> Version:
    """Run every example that raises on the installed JAX; its traceback is then in ``output.txt`` beside it."""
    for number, (_, example) in enumerate(RAISING):
        folder = root / str(number)
        folder.mkdir()
        (folder / "program.py").write_text(example.bad, encoding="utf-8")
    folders = json.dumps([str(root / str(number)) for number, _ in enumerate(RAISING)])
    done = subprocess.run([sys.executable, "-c", RUNNER], input=folders, capture_output=True, text=True, check=True)
    return Version(done.stdout.split()[-1])


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Version]:
    """The folder with the tracebacks, and the JAX that raised them."""
    root = tmp_path_factory.mktemp("tracebacks")
    return root, _tracebacks(root)


@pytest.mark.jax
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("number", range(len(RAISING)), ids=[rule.name for rule, _ in RAISING])
def test_real_tracebacks_lead_to_their_rule(
    number: int, real: tuple[Path, Version], explain: Explain, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, example = RAISING[number]
    root, version = real
    if rule.name not in MEASURED:
        pytest.skip("the truth table does not have it yet")
    if not _raises_on(example, version):
        pytest.skip(f"does not raise on JAX {version}")
    monkeypatch.chdir(root / str(number))
    Path("jaxpert.toml").write_text(f'jax-version = "{version}"\n')
    shown = explain("-", stdin=Path("output.txt").read_bytes())
    assert shown.exit_code == 0, shown.output
    assert f"→ {rule.name} ({rule.code})" in shown.stdout
    assert f"  {rule.code} {rule.name}\n" in shown.stdout
    assert "  program.py:" in shown.stdout


def _raises_on(example: Example, version: Version) -> bool:
    proof = example.proof
    return Version(proof.since) <= version and not (proof.until and version >= Version(proof.until))


def test_every_rule_that_raises_is_recognized_by_its_own_proof(explain: Explain) -> None:
    def texts(rule: Rule) -> list[str]:
        return [f"{e.proof.exception}: {e.proof.message}" for r, e in RAISING if r is rule and isinstance(e.proof, Raises)]

    for rule in dict.fromkeys(rule for rule, _ in RAISING):
        for text in texts(rule):
            assert f"({rule.code})" in explain(text).stdout, (rule.name, text)
