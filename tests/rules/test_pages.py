"""The reader of rule pages reads what authors write, and refuses what would silently prove nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.pages import Mark, PageError, read_page

PAGE = '''\
# A page

```python
# jax: 0.7.2
x = 1  # kept  # error: [some-rule] "say `a["b"]`" warning: [other-rule] "in the message"
"# not a mark"
```
```fixed
x = 2  # kept
```

Two files:

```python
# file: pkg/a.py
a = 1
```
```python
# file: pkg/b.py
b = 1  # hint: [some-rule]
```

## Next

```python
# file: c.py
c = 1
```
'''


def _read(folder: Path, text: str) -> list:
    page = folder / "some-rule.md"
    page.write_text(text, encoding="utf-8")
    return read_page(page)


def test_marks_and_directives_are_not_text(tmp_path: Path) -> None:
    example = _read(tmp_path, PAGE)[0]
    (block,) = example.blocks
    assert (example.rule, example.options, example.where) == ("some-rule", {"jax": "0.7.2"}, "some-rule.md:5")
    assert block.text == 'x = 1  # kept\n"# not a mark"\n'
    assert block.marks == (
        Mark(0, "error", "some-rule", 'say `a["b"]`'),
        Mark(0, "warning", "other-rule", "in the message"),
    )
    assert block.fixed == "x = 2  # kept\n"


def test_files_up_to_the_next_heading_are_one_project(tmp_path: Path) -> None:
    examples = _read(tmp_path, PAGE)
    assert [[block.path for block in example.blocks] for example in examples] == [
        ["example.py"], ["pkg/a.py", "pkg/b.py"], ["c.py"],
    ]  # fmt: skip
    assert examples[1].blocks[1].marks == (Mark(0, "hint", "some-rule"),)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n",
        "```toml\nx = 1\n```\n",
        "```fixed\nx = 1\n```\n",
        "```python\n# file: ../x.py\n```\n",
        "```python\nx = 1  # error: [some_rule]\n```\n",
    ],
    ids=["open", "unknown kind", "fixed first", "outside", "mark of no rule"],
)
def test_mistakes_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(PageError):
        _read(tmp_path, text)
