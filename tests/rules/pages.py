"""Reads a rule page: prose in Markdown whose code blocks are claims about what jaxpert finds.

````
```python                         one example; marks say what is found, on the line where its range starts
f = jax.checkpoint(g, policy=p)   # error: [policy-called]
x = 1                             # error: [a] warning: [b] "part of the message"
```
```fixed                          the text after this page's fixes, safe and unsafe, were applied until quiet
```
```diagnostics                    optional: every finding as `line:column-line:column severity [rule] message`
```
````

A block may start with directives, which are not part of its text: ``# file: pkg/other.py`` (the blocks with
this line that follow each other up to the next heading are one project), ``# jax: 0.7.2``, ``# remat3: on``,
``# x64: on``. Marks are not part of the text either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent

_FENCE = re.compile(r"^```(\w*)\s*$")
_DIRECTIVE = re.compile(r"^# (file|jax|remat3|x64): (\S+)\s*$")
_SEVERITIES = "error|warning|information|hint"
_MARK_COMMENT = re.compile(rf"\s*# (?=(?:{_SEVERITIES}): \[)")
_MARK = re.compile(
    rf'[\s#,]*({_SEVERITIES}): \[([a-z0-9-]+)\](?: "(.*?)"(?=\s*$|[\s#,]+(?:{_SEVERITIES}): \[))?\s*'
)


class PageError(ValueError):
    """A rule page is not written as it should be; the message says where."""


@dataclass(frozen=True)
class Mark:
    """A finding that must start on ``line`` (zero-based, of the block's text)."""

    line: int
    severity: str
    rule: str
    message: str = ""


@dataclass(frozen=True)
class Block:
    """One ``python`` block, without its directives and marks.

    Attributes:
        path: where the text stands in the example's project.
        first_line: one-based line of the page that holds the first line of ``text``.
        fixed: the text of the ``fixed`` block that follows, if any.
        diagnostics: the lines of the ``diagnostics`` block that follows, if any.
    """

    path: str
    first_line: int
    text: str
    marks: tuple[Mark, ...]
    fixed: str | None = None
    diagnostics: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PageExample:
    """A project of one or more files and what jaxpert must say about it."""

    page: Path
    blocks: tuple[Block, ...]
    options: dict[str, str] = field(default_factory=dict)

    @property
    def rule(self) -> str:
        """The rule that the page is about."""
        return self.page.stem

    @property
    def settings(self) -> dict[str, Any]:
        """The JAX that the directives ask for, as :class:`tests.projects.Project` takes it."""
        switches = {name: self.options[name] == "on" for name in ("remat3", "x64") if name in self.options}
        return {"jax": self.options.get("jax", ""), **switches}

    @property
    def where(self) -> str:
        """``page:line`` of the first block."""
        return f"{self.page.name}:{self.blocks[0].first_line}"


def all_examples() -> list[PageExample]:
    """The examples of every page, in order."""
    return [example for page in sorted(PAGES.glob("*.md")) for example in read_page(page)]


def read_page(page: Path) -> list[PageExample]:
    """The examples of one page.

    Raises:
        PageError: a fence is open, unknown or stands where it means nothing.
    """
    examples: list[PageExample] = []
    project_is_open = False
    for kind, first_line, lines in _fences(page):
        if kind == "heading":
            project_is_open = False
        elif kind == "python":
            block, options = _block(page, first_line, lines)
            if project_is_open and "file" in options:
                last = examples[-1]
                examples[-1] = replace(last, blocks=(*last.blocks, block), options={**last.options, **options})
            else:
                examples.append(PageExample(page, (block,), options))
            project_is_open = "file" in options
        elif not examples:
            raise PageError(f"{page.name}:{first_line}: a `{kind}` block before any `python` block")
        else:
            last = examples[-1]
            text = "".join(lines)
            shown = {"fixed": text} if kind == "fixed" else {"diagnostics": tuple(text.splitlines())}
            examples[-1] = replace(last, blocks=(*last.blocks[:-1], replace(last.blocks[-1], **shown)))
    return examples


def _fences(page: Path) -> Iterator[tuple[str, int, list[str]]]:
    """Each fenced block as (kind, one-based first line, lines), and each heading as ("heading", line, [])."""
    kind = ""
    opened = 0
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        fence = _FENCE.match(line)
        if kind and fence:
            yield kind, opened + 1, lines
            kind, lines = "", []
        elif kind:
            lines.append(line)
        elif fence:
            kind, opened = fence[1], number
            if kind not in ("python", "fixed", "diagnostics"):
                raise PageError(f"{page.name}:{number}: a block of kind `{kind}`; known: python, fixed, diagnostics")
        elif line.startswith("#"):
            yield "heading", number, []
    if kind:
        raise PageError(f"{page.name}:{opened}: the block is never closed")


def _block(page: Path, first_line: int, lines: list[str]) -> tuple[Block, dict[str, str]]:
    options: dict[str, str] = {}
    while lines and (directive := _DIRECTIVE.match(lines[0])):
        options[directive[1]] = directive[2]
        lines = lines[1:]
        first_line += 1
    text: list[str] = []
    marks: list[Mark] = []
    for number, line in enumerate(lines):
        comment = _MARK_COMMENT.search(line)
        if comment:
            announced = line[comment.end() :]
            marks += [Mark(number, severity, rule, message) for severity, rule, message in _MARK.findall(announced)]
            if rest := _MARK.sub("", announced):
                raise PageError(f"{page.name}:{first_line + number}: not a mark: {rest.strip()}")
            line = line[: comment.start()] + "\n"
        text.append(line)
    path = options.get("file", "example.py")
    if path.startswith(("/", "..")):
        raise PageError(f"{page.name}:{first_line}: `# file: {path}` leaves the project")
    return Block(path, first_line, "".join(text), tuple(marks)), options
