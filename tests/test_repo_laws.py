"""Laws of the repository: what no reviewer should have to look for."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jaxpert import __version__
from jaxpert.jaxdb.load import load, newest_known
from jaxpert.jaxdb.schema import ApiKind, JaxTarget
from jaxpert.rulekit.rule import FAMILIES, HEADINGS, Finding, Rule
from jaxpert.rules import ALL_RULES, rule_named
from tests.projects import Project
from tests.rules.pages import PAGES, all_examples

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPO = Path(__file__).resolve().parent.parent
PACKAGE = REPO / "server" / "jaxpert"

TOP_LEVEL = {
    ".ci", ".editorconfig", ".gitattributes", ".gitignore", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
    "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "server", "tests", "uv.lock", "vscode-client",
}  # fmt: skip

VAGUE_NAMES = {"common", "helper", "helpers", "manager", "managers", "misc", "tools", "util", "utilities", "utils"}

MOST_LINES = 400
LONG_FILES: dict[str, str] = {
    "server/jaxpert/model/evaluate.py": "one interpreter; its forms of expression are in the files beside it",
    "server/jaxpert/model/file_model.py": "the facade over all facts: one short property for each",
    "server/jaxpert/project/workspace.py": "one object owns the files; everything it does needs their state",
    "server/jaxpert/syntax/indexing.py": "one walk over a tree collects all that is asked of it later",
    "server/jaxpert/syntax/units.py": "one object owns the units; cutting it would expose their state",
    "tests/project/test_workspace.py": "cases of one object",
}
"""Files that may be longer, each with its one reason."""

# The brackets keep these two from finding themselves.
MACHINE_PATHS = re.compile(r"(?<![\w.~])/(?:w[o]rk|f[a]rm|r[o]ot|t[m]p)/[A-Za-z.]")
PACKAGE_HOSTS = re.compile(r"pypi[.]org|python[h]osted|registry[.]npmjs|deb[.]debian")

each_rule = pytest.mark.parametrize("rule", ALL_RULES, ids=[rule.name for rule in ALL_RULES])


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """Every file that belongs to the repository, committed or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    return tuple(REPO / name for name in listed.split("\0") if name and (REPO / name).is_file())


def _python_files(under: Path = REPO) -> list[Path]:
    return [file for file in tracked_files() if file.suffix == ".py" and under in file.parents]


def _run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}{done.stderr}"


# -- tools ------------------------------------------------------------------------------------------------------------


def test_layers_import_only_what_lies_below() -> None:
    _run("-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))")


def test_ruff_is_content() -> None:
    _run("-m", "ruff", "check", "--no-cache", ".")


def test_types_are_strict() -> None:
    _run("-m", "mypy", "-p", "jaxpert")


def test_generated_files_are_current() -> None:
    _run("server/tools/generate.py", "--check")


# -- rules ------------------------------------------------------------------------------------------------------------


def test_rules_stand_in_order_of_code() -> None:
    codes = [rule.code for rule in ALL_RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)


def test_every_rule_module_is_registered() -> None:
    modules = {file.stem for file in _python_files(PACKAGE / "rules") if file.stem != "__init__"}
    assert modules == {rule.name.replace("-", "_") for rule in ALL_RULES}


@each_rule
def test_rule_is_named_and_coded(rule: Rule) -> None:
    assert re.fullmatch(r"JXP[0-9]\d\d", rule.code)
    assert rule.code[3] in FAMILIES
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert rule_named(rule.name) is rule_named(rule.code) is rule
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)


@each_rule
def test_rule_names_the_apis_that_it_is_about(rule: Rule) -> None:
    apis = {api.name for api in load(JaxTarget(newest_known(), "test")).apis()}
    assert set(rule.apis) <= apis | {kind.value for kind in ApiKind}
    assert rule.apis or rule.code[3] not in "123"


@each_rule
def test_rule_has_a_page(rule: Rule) -> None:
    assert (PAGES / f"{rule.name}.md").is_file(), f"tests/rules/{rule.name}.md is missing"


@each_rule
def test_rule_is_documented(rule: Rule) -> None:
    assert tuple(re.findall(r"^## (.+)$", rule.doc, re.MULTILINE)) == HEADINGS
    assert rule.summary
    assert len(rule.summary) <= 100


@each_rule
def test_rule_is_proven(rule: Rule) -> None:
    about_jaxpert_itself = rule.code[3] == "0"
    assert rule.examples or about_jaxpert_itself
    for example in rule.examples:
        assert ast.dump(ast.parse(example.bad)) != ast.dump(ast.parse(example.good))


@functools.cache
def _findings_on_pages() -> tuple[tuple[str, Finding], ...]:
    found = []
    for example in all_examples():
        with tempfile.TemporaryDirectory() as folder:
            files = {block.path: block.text for block in example.blocks}
            project = Project(Path(folder), files, **example.settings)
            for name in files:
                found += [(example.where, finding) for finding in project.findings(name)]
    return tuple(found)


def test_messages_speak_alike() -> None:
    """Lower case, no final stop, balanced backticks, one sentence, no hedging."""
    assert _findings_on_pages()
    wrong = [f"{where}: {finding.message}" for where, finding in _findings_on_pages() if _is_odd(finding.message)]
    assert not wrong, "\n".join(wrong)


def _is_odd(message: str) -> bool:
    words = re.sub(r"`[^`]*`", "", message)
    starts_upper = message[:1].isupper() and not message.startswith("JAX")
    return (
        starts_upper
        or message.endswith((".", "!"))
        or message.count("`") % 2 == 1
        or "\n" in message
        or re.search(r"\b(may|might|could|consider|please)\b", words) is not None
    )


def test_every_rule_speaks_on_its_page() -> None:
    heard = {finding.rule for _, finding in _findings_on_pages()}
    assert heard >= {rule.name for rule in ALL_RULES}


# -- the tree ---------------------------------------------------------------------------------------------------------


def test_top_level_is_the_agreed_one() -> None:
    assert {file.relative_to(REPO).parts[0] for file in tracked_files()} <= TOP_LEVEL


def test_nothing_runs_the_users_code() -> None:
    """No text or named module is run, and no program is started but our own reader of docstrings; only our own
    commands are imported by name."""
    running = {"subprocess", "runpy", "os.system", "exec", "eval", "compile", "__import__", "import_module"}
    found = []
    for file in _python_files(PACKAGE):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if isinstance(node, ast.Call):
                names = [ast.unparse(node.func), ast.unparse(node.func).removeprefix("importlib.")]
            found += [(str(file.relative_to(PACKAGE)), name) for name in names if name in running]
    assert sorted(found) == [("__main__.py", "import_module"), ("ide/installed_docs.py", "subprocess")]


def test_no_vague_module_names() -> None:
    vague = [
        file for file in _python_files(PACKAGE) if {file.stem, *file.relative_to(PACKAGE).parent.parts} & VAGUE_NAMES
    ]
    assert not vague


def test_no_machine_paths_or_package_hosts() -> None:
    found = []
    for file in tracked_files():
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATHS.search(line) or PACKAGE_HOSTS.search(line):
                found.append(f"{file.relative_to(REPO)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_long_files_have_a_reason() -> None:
    long = {
        str(file.relative_to(REPO))
        for file in _python_files()
        if len(file.read_text(encoding="utf-8").splitlines()) > MOST_LINES
    }
    assert long == set(LONG_FILES)


def test_syntax_of_the_oldest_python() -> None:
    """Its standard library is held by the type check, which targets the same version."""
    for file in _python_files(PACKAGE):
        ast.parse(file.read_text(encoding="utf-8"), str(file.relative_to(REPO)), feature_version=(3, 10))


def test_version_stands_in_one_place() -> None:
    settings = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"]["path"] == "server/jaxpert/__init__.py"
    elsewhere = [
        file.relative_to(REPO)
        for file in _python_files(PACKAGE)
        if f'"{__version__}"' in re.sub(r'\bsince="[\d.]+"', "", file.read_text(encoding="utf-8"))
    ]
    assert elsewhere == [Path("server/jaxpert/__init__.py")]
    assert f"## {__version__}\n" in (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
