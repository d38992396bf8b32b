"""Progress bars come only for work that lasts, and always end."""

import pytest
from lsprotocol import types

from jaxpert.lsp import progress as bars
from jaxpert.lsp.progress import Progress


class FakeServer:
    """Records what is sent; ``answer`` is the client's consent to a bar."""

    def __init__(self):
        self.sent = []
        self.answer = None

    def ask(self, method, params, answered):
        self.sent.append(method)
        self.answer = answered

    def progress(self, params):
        self.sent.append(type(params.value))


@pytest.mark.parametrize(("patience", "shown"), [(60.0, True), (0.0, False)])
def test_short_work_and_simple_clients_have_no_bar(monkeypatch, patience, shown):
    monkeypatch.setattr(bars, "PATIENCE", patience)
    server = FakeServer()
    progress = Progress(server, "Working", shown)
    progress.step()
    progress.end()
    assert server.sent == []


def test_how_far_it_is(monkeypatch):
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setattr(bars, "SPACING", 0.0)
    server = FakeServer()
    sent = []
    server.progress = lambda params: sent.append(params.value)
    progress = Progress(server, "Working", True)
    progress.step("1 file")
    server.answer(None)
    for message, percentage in (("2 files", 0), ("1 of 3 files", 33), ("1 of 9 files", 11), ("9 of 9 files", 100)):
        progress.step(message, percentage)
    progress.end()
    progress.step("never", 0)
    begin, *reports, end = sent
    assert (begin.title, begin.cancellable, begin.percentage) == ("Working", True, 0)
    assert [report.percentage for report in reports] == [0, 33, 33, 100]
    assert reports[-1].message == "9 of 9 files"
    assert end.kind == "end"


def test_reports_are_spaced(monkeypatch):
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setattr(bars, "SPACING", 60.0)
    server = FakeServer()
    progress = Progress(server, "Working", True)
    progress.step()
    server.answer(None)
    for number in range(9):
        progress.step(str(number), number)
    progress.end()
    assert server.sent[1:] == [types.WorkDoneProgressBegin, types.WorkDoneProgressEnd]


@pytest.mark.parametrize("consent", ["before the end", "after the end", "never"])
def test_long_work_has_one_bar_that_ends(monkeypatch, consent):
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    server = FakeServer()
    progress = Progress(server, "Working", True)
    progress.step()
    progress.step()
    if consent == "before the end":
        server.answer(None)
    progress.end()
    progress.end()
    if consent == "after the end":
        server.answer(None)
    bar = [types.WorkDoneProgressBegin, types.WorkDoneProgressEnd] if consent == "before the end" else []
    assert server.sent == [types.WINDOW_WORK_DONE_PROGRESS_CREATE, *bar]
