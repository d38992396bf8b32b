"""What somebody does in JupyterLab, in a browser. Run by the Python that has the browser's driver.

Its arguments are the address of JupyterLab, the path of the browser, and the texts of the sample as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

from playwright.sync_api import Page, expect, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 40.0


def until(found: Callable[[], bool], page: Page, what: str) -> None:
    """Wait until ``found``, while the page goes on."""
    deadline = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < deadline, what
        page.wait_for_timeout(30)


def marked(page: Page) -> str:
    """All text that is marked."""
    return "".join(page.locator(".cm-editor:visible .cm-lintRange").all_text_contents())


def in_a_file(page: Page, address: str, sample: SimpleNamespace) -> None:
    page.goto(f"{address}/lab/tree/model.py?reset", wait_until="domcontentloaded")
    until(lambda: marked(page) == sample.mistake, page, "the mistake")

    # Look at what the policy does: a hover needs motion.
    word = page.locator(".cm-line", has_text="dots_saveable").locator("span", has_text="dots_saveable").last
    box = word.bounding_box()
    assert box is not None
    hover = page.locator(".lsp-hover, .lsp-tooltip")
    moved = iter(range(10_000))

    def shown() -> bool:
        step = next(moved) % 12
        page.mouse.move(box["x"] + box["width"] - 30 - step, box["y"] + box["height"] / 2 + step % 3)
        return sample.hover in " ".join(hover.all_text_contents())

    until(shown, page, "the hover")
    page.mouse.move(5, 500)

    # JupyterLab offers no quick fixes: write the fix, and another mistake.
    page.locator(".cm-line", has_text="dots_saveable").click()
    page.keyboard.press("End")
    for _ in "())":
        page.keyboard.press("Backspace")
    page.keyboard.type(")")
    until(lambda: marked(page) == "", page, "nothing marked")
    page.keyboard.press("Control+End")
    page.keyboard.type(sample.newMistake)
    until(lambda: marked(page).endswith("save_only_these_names"), page, "the new mistake")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.press("Delete")
    until(lambda: marked(page) == "", page, "nothing marked")

    # Complete a name that another file asks for.
    page.keyboard.type(sample.completed)
    page.keyboard.press("Tab")
    expect(page.locator(".jp-Completer-item", has_text=sample.name)).to_be_visible(timeout=PATIENCE * 1000)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+s")


def in_a_notebook(page: Page, address: str, sample: SimpleNamespace) -> None:
    page.goto(f"{address}/lab/tree/model.ipynb?reset", wait_until="domcontentloaded")
    until(lambda: marked(page) == sample.mistake, page, "the mistake in the cell")


def main(address: str, browser: str, texts: str) -> None:
    sample = SimpleNamespace(**json.loads(texts))
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        page = chromium.new_page(viewport={"width": 1600, "height": 900})
        try:
            in_a_file(page, address, sample)
            in_a_notebook(page, address, sample)
        except BaseException:
            page.screenshot(path="jupyterlab.png")
            raise
        chromium.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
