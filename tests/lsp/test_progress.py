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
    if consent == "after the end":
        server.answer(None)
    bar = [types.WorkDoneProgressBegin, types.WorkDoneProgressEnd] if consent == "before the end" else []
    assert server.sent == [types.WINDOW_WORK_DONE_PROGRESS_CREATE, *bar]
