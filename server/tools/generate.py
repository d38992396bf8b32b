"""Write what is derived from the rules and the options: pages, tables, the schema, the VS Code extension's settings.

    python server/tools/generate.py            write
    python server/tools/generate.py --check    say what is out of date, and exit with 1 if anything is
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from vscode_manifest import lock_file, manifest, settings_table

from jaxpert import __version__
from jaxpert.project.config import KEYS
from jaxpert.rulekit.page import rule_page
from jaxpert.rulekit.rule import Rule, Stage
from jaxpert.rules import ALL_RULES

ROOT = Path(__file__).resolve().parents[2]
PAGES = Path("server/docs/rules")
VSCODE = Path("vscode-client")
TRUTH_TABLE = ROOT / "tests/real_jax/truth_table.json"
NOTE = "<!-- Written by server/tools/generate.py from the rule's module; edit that. -->\n\n"


def generated(root: Path) -> dict[Path, str]:
    """Every generated file, by its path relative to ``root``, with the content that it should have."""
    files = {PAGES / f"{rule.name}.md": NOTE + rule_page(rule) for rule in ALL_RULES}
    files[PAGES / "README.md"] = NOTE + "# Rules\n\n" + rule_table(ALL_RULES, "")
    files[Path("server/jaxpert/engine/error_texts.json")] = error_texts(ALL_RULES, TRUTH_TABLE)
    files[Path("server/docs/jaxpert.schema.json")] = json.dumps(options_schema(ALL_RULES), indent=2) + "\n"
    readme = root / "README.md"
    if readme.exists():
        table = folded_rule_tables(ALL_RULES, f"{PAGES.as_posix()}/")
        files[Path("README.md")] = with_block(readme.read_text(encoding="utf-8"), table, "rules")
    return files | _vscode_files(root / VSCODE)


def _vscode_files(folder: Path) -> dict[Path, str]:
    """The generated parts of the VS Code extension, where it is there."""
    options = options_schema(ALL_RULES)["properties"]
    assert isinstance(options, dict)
    written = {
        "package.json": lambda text: manifest(text, __version__, options),
        "package-lock.json": lambda text: lock_file(text, __version__),
        "README.md": lambda text: with_block(text, settings_table(options), "settings"),
    }
    return {
        VSCODE / name: write((folder / name).read_text(encoding="utf-8"))
        for name, write in written.items()
        if (folder / name).exists()
    }


def rule_table(rules: Iterable[Rule], folder: str) -> str:
    """A Markdown table of ``rules``; ``folder`` leads from the page with the table to the rule pages."""
    rows = ["| code | rule | severity | fix | what it finds |", "|---|---|---|---|---|"]
    for rule in rules:
        name = f"[{rule.name}]({folder}{rule.name}.md)"
        summary = rule.summary.replace("|", "\\|") + (" (preview)" if rule.stage is Stage.PREVIEW else "")
        rows.append(f"| {rule.code} | {name} | {rule.severity.value} | {'yes' if rule.fix else ''} | {summary} |")
    return "\n".join(rows) + "\n"


_FAMILIES = {
    "1": "Checkpoint calls and checkpointed functions",
    "2": "Policies",
    "3": "Checkpoint names",
    "4": "Effects and mutable arrays",
    "5": "Pytrees",
    "6": "Arguments and values of transformations",
    "0": "About jaxpert itself",
}
"""What the first digit of a code stands for."""


def folded_rule_tables(rules: Iterable[Rule], folder: str) -> str:
    """:func:`rule_table` of each family, folded away under its title."""
    parts = []
    for digit, title in _FAMILIES.items():
        family = [rule for rule in rules if rule.code[3] == digit]
        summary = f"<b>{title}</b>: {len(family)} rules, JXP{digit}xx"
        parts.append(f"<details><summary>{summary}</summary>\n\n{rule_table(family, folder)}\n</details>\n")
    return "\n".join(parts)


def error_texts(rules: Iterable[Rule], truth_table: Path) -> str:
    """What the rules' examples really raised, without what belongs to the example alone, as JSON by rule.

    The truth table has one row for each example, in the same order; examples without a row are left out.
    """
    rows = json.loads(truth_table.read_text(encoding="utf-8"))["rules"]
    texts: dict[str, list[str]] = {}
    for rule in rules:
        raised = [
            f"{outcome['bad']['exception']}: {_in_general(outcome['bad']['message'], example.bad)}".rstrip(": ")
            for example, row in zip(rule.examples, rows.get(rule.name, ()))
            for outcome in row["outcomes"]
            if isinstance(outcome["bad"], dict)
        ]
        if raised:
            texts[rule.name] = list(dict.fromkeys(raised))
    return json.dumps(texts, indent=1, ensure_ascii=False) + "\n"


_PARTICULAR = re.compile(
    r"https?://\S+|<[^<>\n]* at 0x[0-9a-f]+>|0x[0-9a-f]+|[\w./\\-]*\.py(?::\d+)*"
    r"|\b(?:bf|bfloat|float|uint|int|f|i|u)\d+\b"
)
_ALSO_JAXS_WORDS = {
    "argument", "array", "axis", "function", "index", "input", "key", "name", "names", "output", "policy", "primitive",
    "shape", "state", "tree", "type", "value",
}  # fmt: skip
_LONGEST_TEXT = 200


def _in_general(message: str, program: str) -> str:
    """``message`` with "…" for places, shapes, and the names and strings of ``program``."""
    own: set[str] = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            own.add(node.value)
    own -= _ALSO_JAXS_WORDS | _keywords(program)
    words = "|".join(sorted(map(re.escape, own), key=len, reverse=True))
    text = _PARTICULAR.sub("…", message)
    if words:
        text = re.sub(rf"(?<!\w)(?:{words})(?!\w)", "…", text)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT].rpartition(" ")[0] + " …"


def _keywords(program: str) -> set[str]:
    """The keywords of calls: names of JAX's parameters, or what somebody took for them."""
    return {node.arg for node in ast.walk(ast.parse(program)) if isinstance(node, ast.keyword) and node.arg}


def options_schema(rules: Iterable[Rule]) -> dict[str, object]:
    """A JSON schema of ``jaxpert.toml``, and of ``[tool.jaxpert]`` in ``pyproject.toml``."""
    words = [word for rule in rules for word in (rule.code, rule.name)]
    selector = {"anyOf": [{"enum": ["ALL", *words]}, {"type": "string", "pattern": "^[Jj][Xx][Pp][0-9]{0,3}$"}]}
    selectors = {"type": "array", "items": selector, "uniqueItems": True}
    properties: dict[str, dict[str, object]] = {
        "select": {**selectors, "description": "The rules to run: names, codes, or beginnings of codes. Default: all."},
        "ignore": {**selectors, "description": "The rules not to run. The longer of two entries that disagree wins."},
        "per-file-ignores": {
            "type": "object",
            "additionalProperties": selectors,
            "description": "For a pattern of file names, the rules not to run there.",
        },
        "exclude": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "Patterns, as in .gitignore, of files and folders that are not looked for.",
        },
        "jax-version": {
            "type": "string",
            "pattern": "^[0-9]+([.][0-9]+)*",
            "description": "The JAX that the code is for. Default: the one found in the environment.",
        },
        "remat3": {"type": "boolean", "description": "The value of jax_remat3. Default: JAX's own."},
        "x64": {"type": "boolean", "description": "The value of jax_enable_x64. Default: JAX's own."},
    }
    if set(properties) != set(KEYS):
        raise ValueError(f"the schema describes {sorted(properties)}, the options are {sorted(KEYS)}")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "jaxpert",
        "description": "Options of jaxpert.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def with_block(page: str, block: str, name: str) -> str:
    """``page`` with what stands between the markers called ``name`` replaced by ``block``.

    Raises:
        ValueError: the markers are missing.
    """
    first, last = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"README.md needs the lines {first} and {last}")
    return f"{before}{first}\n{block}{last}{after}"


def main() -> int:
    """Write, or compare; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    files = generated(ROOT)
    stale = [path for path, text in files.items() if _content(ROOT / path) != text]
    gone = [path.relative_to(ROOT) for path in (ROOT / PAGES).glob("*.md") if path.relative_to(ROOT) not in files]
    for path in [*stale, *gone]:
        print(f"{'out of date' if check else 'removed' if path in gone else 'written'}: {path}")
    if check:
        return 1 if stale or gone else 0
    for path in stale:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(files[path], encoding="utf-8", newline="\n")
    for path in gone:
        (ROOT / path).unlink()
    return 0


def _content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
