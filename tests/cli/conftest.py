"""A folder to run ``jaxpert check`` in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jaxpert.__main__ import main

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs ``jaxpert check`` in an empty folder with a configuration that fixes the JAX version."""
    monkeypatch.chdir(tmp_path)
    for variable in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "jaxpert.toml").write_text('jax-version = "0.10.2"\n')

    def invoke(*arguments: str, stdin: str | bytes | None = None, **environment: str) -> Result:
        return CliRunner().invoke(main, ["check", *arguments], input=stdin, env=environment)

    return invoke


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
