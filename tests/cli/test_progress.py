"""The progress bar: for people who wait, and for nobody else."""

from __future__ import annotations

import io
import sys

import pytest

from jaxpert.cli import progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "patience", "shown"),
    [(Terminal(), 0.0, True), (Terminal(), 3600.0, False), (io.StringIO(), 0.0, False)],
    ids=["long run", "short run", "no terminal"],
)
def test_shown_only_to_somebody_who_waits(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float, shown: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    with progress.ProgressBar(3) as bar:
        for _ in range(3):
            bar.advance()
    assert ("3/3" in stream.getvalue()) is shown
