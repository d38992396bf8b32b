"""The stopwatch works, and what can be held without a clock is held: memory, and findings in a broken buffer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.bench.session import Figures, play

FUNCTION = """

def block_{number}(params, x, train):
    hidden = jnp.dot(x, params["w{number}"]) + params["b{number}"]
    hidden = checkpoint_name(jax.nn.gelu(hidden), "hidden_{number}")
    if x.ndim == 3:
        hidden = hidden.reshape(hidden.shape[0], -1)
    return jnp.where(train, hidden, jax.lax.stop_gradient(hidden))


remat_block_{number} = jax.checkpoint(block_{number}, policy={policy}, static_argnums=(2,))
"""


def _large_file(folder: Path) -> Path:
    """About 1,900 lines with a mistake in the first function; the session adds one at the end."""
    text = "import jax\nimport jax.numpy as jnp\nfrom jax.ad_checkpoint import checkpoint_name\n"
    for number in range(172):
        policy = f'save_only_these_names("hidden_{number}")' if number else "nothing_saveable()"
        text += FUNCTION.format(number=number, policy=f"jax.checkpoint_policies.{policy}")
    file = folder / "large.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_bare_server_is_measured(tmp_path: Path) -> None:
    figures = Figures()
    floor = Path(__file__).parent / "pygls_floor.py"
    asyncio.run(play([sys.executable, str(floor)], _large_file(tmp_path), figures, edits=12))
    assert (len(figures.edits), figures.unanswered) == (12, 0)
    assert 0 < len(figures.broken_edits) < 12
    assert len(figures.hovers) == 9


def test_jaxpert_stays_small_and_keeps_its_findings(tmp_path: Path) -> None:
    figures = Figures()
    asyncio.run(play([sys.executable, "-m", "jaxpert", "lsp"], _large_file(tmp_path), figures, edits=30))
    assert (len(figures.edits), figures.unanswered) == (30, 0)
    assert figures.broken_edits
    assert {after for after, _ in figures.kept} == {2}
    assert max(figures.megabytes) <= 90
