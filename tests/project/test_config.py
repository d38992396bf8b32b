"""Options: which file counts, what the values mean, and where each mistake is."""

import os
import sys
from pathlib import Path

import pytest

from jaxpert.project.config import ConfigProblem, Options, load_options, matches
from jaxpert.text.lines import range_at, slice_lines, split_lines

KNOWN = {
    "policy-signature": "JXP201",
    "policy-falls-through": "JXP202",
    "unknown-checkpoint-name": "JXP301",
}


def load(where: Path, **overrides: object) -> tuple[Options, tuple[ConfigProblem, ...]]:
    return load_options(where, overrides, known=KNOWN)


def test_every_key(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        """
[project]
name = "x"
[tool.jaxpert]
select = ["JXP2", "unknown-checkpoint-name"]
ignore = ["jxp202"]
exclude = ["generated/"]
jax-version = "0.4.30"
remat3 = true
x64 = false
[tool.jaxpert.per-file-ignores]
"tests/*" = ["JXP201"]
"""
    )
    assert load(tmp_path / "a" / "b.py") == (
        Options(
            root=tmp_path,
            source=path,
            select=("JXP2", "unknown-checkpoint-name"),
            ignore=("jxp202",),
            per_file_ignores=(("tests/*", ("JXP201",)),),
            exclude=("generated/",),
            jax_version="0.4.30",
            remat3=True,
            x64=False,
        ),
        (),
    )


# files -> the one that counts for a/b/c.py
NEAREST = [
    ({}, None),
    ({"pyproject.toml": "[tool.other]"}, None),
    ({"pyproject.toml": "[tool.jaxpert]"}, "pyproject.toml"),
    ({"pyproject.toml": "[tool.jaxpert]", "a/pyproject.toml": "[project]\nname = 'jaxpert'"}, "pyproject.toml"),
    ({"pyproject.toml": "[tool.jaxpert]", "a/b/jaxpert.toml": ""}, "a/b/jaxpert.toml"),
    ({"a/pyproject.toml": "[tool.jaxpert]", "a/jaxpert.toml": ""}, "a/jaxpert.toml"),
    ({"jaxpert.toml": "", "a/pyproject.toml": "broken = \n['jaxpert==1']"}, "jaxpert.toml"),
    ({"jaxpert.toml": "", "a/pyproject.toml": "broken = \n[tool.jaxpert]"}, "a/pyproject.toml"),
    ({"jaxpert.toml": "", "a/b/c/jaxpert.toml": ""}, "jaxpert.toml"),
]


@pytest.mark.parametrize(("files", "counts"), NEAREST)
def test_nearest(tmp_path: Path, files: dict[str, str], counts: str | None) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    options, _ = load(tmp_path / "a/b/c.py")
    if counts is None:
        assert options == Options(root=tmp_path / "a/b")
    else:
        assert (options.source, options.root) == (tmp_path / counts, (tmp_path / counts).parent)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "jaxpert.toml"
    path.write_text("remat3 = true")
    assert load(tmp_path)[0].remat3 is True
    path.write_text("remat3 = false")
    assert load(tmp_path)[0].remat3 is False
    path.unlink()
    assert load(tmp_path)[0].remat3 is None


# text -> (reported text, key, part of the message); the options must be the defaults
WRONG = {
    "selct = []": ("selct", "selct", "there is no option `selct`; did you mean `select`?"),
    "jax_version = '0.4'": ("jax_version", "jax_version", "did you mean `jax-version`?"),
    "zzz = 1": ("zzz", "zzz", "there are `select`, `ignore`"),
    "[tool.jaxpert]\nselect = []": ("tool", "tool", "stand at the top: take `[tool.jaxpert]` out"),
    "select = 'JXP2'": ("'JXP2'", "select", '`select` must be a list of strings, not a string: write `["JXP2"]`'),
    "ignore = [1]": ("1", "ignore", "item 1 is a number"),
    "exclude = ['']": ("''", "exclude", "item 1 is an empty string"),
    "exclude = ['!']": ("'!'", "exclude", "`!` is not a pattern"),
    "select = [\n  # é\n  'JXP9'\n]": ("'JXP9'", "select", "there is no rule `JXP9`"),
    "ignore = ['policy-fall-trough']": ("'policy-fall-trough'", "ignore", "did you mean `policy-falls-through`?"),
    "ignore = ['J']": ("'J'", "ignore", "there is no rule `J`"),
    "remat3 = 'yes'": ("'yes'", "remat3", "`remat3` must be true or false, not a string"),
    "x64 = 1": ("1", "x64", "must be true or false, not a number"),
    "jax-version = 0.10": ("0.10", "jax-version", 'or 0.10 would be 0.1: write `jax-version = "0.7.2"`'),
    "jax-version = '>=0.4'": ("'>=0.4'", "jax-version", "`>=0.4` is not a version"),
    "jax-version = 1979-05-27": ("1979-05-27", "jax-version", "must be a string, not a date"),
    "per-file-ignores = ['x']": ("['x']", "per-file-ignores", "must be a table, not a list"),
    "per-file-ignores = 3": ("3", "per-file-ignores", "must be a table, not a number"),
    "select = [": ("", "", "not TOML: "),
    "a = 1\na = 2": ("", "", "not TOML: "),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong(tmp_path: Path, text: str) -> None:
    path = tmp_path / "jaxpert.toml"
    path.write_text(text, "utf-8")
    options, problems = load(tmp_path)
    expected, key, message = WRONG[text]
    (problem,) = problems
    assert slice_lines(split_lines(text), problem.range) == expected
    assert (problem.path, problem.key) == (path, key)
    assert message in problem.message
    assert options == Options(root=tmp_path, source=path)


def test_wrong_parts_do_not_spoil_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        "[tool]\njaxpert.remat3 = 3\njaxpert.select = ['JXP2', 'nope', 'JXP301']\n"
        "[tool.jaxpert.per-file-ignores]\n'a/*' = ['JXP2', 'nope']\n'!' = []\n"
    )
    options, problems = load(tmp_path)
    assert options.select == ("JXP2", "JXP301")
    assert options.per_file_ignores == (("a/*", ("JXP2",)),)
    assert [(problem.range.start, problem.key) for problem in problems] == [
        ((1, 17), "remat3"),
        ((2, 26), "select"),
        ((4, 17), "per-file-ignores"),
        ((5, 0), "per-file-ignores"),
    ]
    assert str(problems[0]) == f"{path}:2:18: `remat3` must be true or false, not a number"


UNREADABLE = {
    "invalid TOML": (b"x = 1\n  y = = 2\n", range_at(1, 6, 1, 6)),
    "end of file": (b"x = '''\ny", range_at(1, 1, 1, 1)),
    "not UTF-8": (b"\nx = '\xff'", range_at(1, 0, 1, 0)),
    "binary": (b"\0", range_at(0, 0, 0, 0)),
    "too deep": (b"x = " + b"[" * 20_000, None),
    "too long a number": (b"x = " + b"1" * 20_000, None),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable(tmp_path: Path, case: str) -> None:
    data, area = UNREADABLE[case]
    path = tmp_path / "jaxpert.toml"
    path.write_bytes(data)
    options, (problem,) = load(tmp_path)
    assert options == Options(root=tmp_path, source=path)
    assert problem.message.startswith(("not TOML: ", "cannot be read: "))
    assert "(at" not in problem.message
    if area:
        assert problem.range == area


def test_table_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\njaxpert = 'on'")
    _, (problem,) = load(tmp_path)
    assert problem.range == range_at(1, 0, 1, 7)
    assert "must be a table" in problem.message


def test_explicit_file(tmp_path: Path) -> None:
    (tmp_path / "jaxpert.toml").write_text("remat3 = true")
    other = tmp_path / "other" / "ci.toml"
    other.parent.mkdir()
    other.write_text("x64 = true")
    options, problems = load_options(tmp_path / "a.py", known=KNOWN, config_file=other)
    assert (options.x64, options.remat3, options.root, problems) == (True, None, other.parent, ())
    _, (problem,) = load_options(tmp_path / "a.py", known=KNOWN, config_file=tmp_path / "missing.toml")
    assert problem.message == "there is no such file"


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jaxpert.toml").write_text("per-file-ignores = { 'a/*' = ['JXP201'] }")
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    options, _ = load(Path("a/b.py"))
    assert options.root == tmp_path
    assert options.enabled_rules(Path("a/b.py"), KNOWN) == set(KNOWN) - {"policy-signature"}


# options of the file, overrides -> rules that run
SELECTION = [
    ({}, {}, {"JXP201", "JXP202", "JXP301"}),
    ({"select": ("JXP2",)}, {}, {"JXP201", "JXP202"}),
    ({"select": ("jxp3", "policy-signature")}, {}, {"JXP201", "JXP301"}),
    ({"select": ("ALL",), "ignore": ("JXP2",)}, {}, {"JXP301"}),
    ({"select": ("JXP2",), "ignore": ("JXP202",)}, {}, {"JXP201"}),
    ({"select": ("JXP202",), "ignore": ("JXP2",)}, {}, {"JXP202"}),
    ({"select": ("JXP202",), "ignore": ("policy-falls-through",)}, {}, set()),
    ({"ignore": ("ALL",)}, {}, set()),
    ({"ignore": ("JXP2",)}, {"ignore": ["JXP3"]}, set()),
    ({"ignore": ("JXP2",)}, {"select": ["JXP2"]}, {"JXP201", "JXP202"}),
    ({"select": ("JXP3",)}, {"select": ["JXP2"], "ignore": ["JXP202"]}, {"JXP201"}),
    ({"select": ("JXP3",)}, {"select": None}, {"JXP301"}),
]


@pytest.mark.parametrize(("in_file", "overrides", "codes"), SELECTION)
def test_selection(
    tmp_path: Path, in_file: dict[str, tuple[str, ...]], overrides: dict[str, object], codes: set[str]
) -> None:
    text = "".join(f"{key} = {list(value)}\n" for key, value in in_file.items())
    (tmp_path / "jaxpert.toml").write_text(text)
    options, problems = load(tmp_path, **overrides)
    assert not problems
    assert {KNOWN[name] for name in options.enabled_rules(None, KNOWN)} == codes


def test_overrides_are_checked_and_spelled_as_editors_do(tmp_path: Path) -> None:
    options, problems = load_options(
        tmp_path,
        {"jaxVersion": "0.5.0", "perFileIgnores": {"a": ["JXP2"]}, "select": ["nope"], "x64": None, "debounce": 3},
        known=KNOWN,
        overrides_from="editor settings",
    )
    assert (options.jax_version, options.per_file_ignores, options.x64) == ("0.5.0", (("a", ("JXP2",)),), None)
    assert sorted(str(problem).partition(";")[0] for problem in problems) == [
        "editor settings: there is no option `debounce`",
        "editor settings: there is no rule `nope`",
    ]


GLOBS = [
    ("tests/*", "tests/a.py", True),
    ("tests/*", "tests/a/b.py", True),
    ("tests", "a/tests/b.py", True),
    ("/tests", "a/tests/b.py", False),
    ("*.ipynb", "a/b.ipynb", True),
    ("a/**/c.py", "a/c.py", True),
    ("!src/*", "src/a.py", False),
    ("!src/*", "b/a.py", True),
]


@pytest.mark.parametrize(("glob", "path", "expected"), GLOBS)
def test_globs(tmp_path: Path, glob: str, path: str, expected: bool) -> None:
    assert matches(glob, tmp_path / path, tmp_path) is expected


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "jaxpert.toml"
    path.write_text("")
    path.chmod(0)
    _, (problem,) = load(tmp_path)
    assert problem.message == "cannot be read: permission denied"
