"""The project that every editor opens, and what there is to see in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MODEL = '''\
"""Blocks 🚀."""
import jax
from jax.ad_checkpoint import checkpoint_name


def layer(x, w):
    return checkpoint_name(x @ w, "attn_out")


note = "🎉🎉 größe"; block = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable())
'''
TRAIN = """\
import jax
from model import layer

keep = jax.checkpoint_policies.save_only_these_names("attn_out")
step = jax.checkpoint(layer, policy=keep)
"""

MISTAKE = "jax.checkpoint_policies.dots_saveable()"
"""What is marked when `model.py` is opened."""
MISTAKE_LINE = 9
FIXED = MODEL.splitlines()[MISTAKE_LINE].replace("dots_saveable()", "dots_saveable")
RULE = "policy-called"

NEW_MISTAKE = "other = jax.checkpoint(layer, policy=jax.checkpoint_policies.save_only_these_names)"
"""A line to type, and the rule that reports it."""
NEW_RULE = "policy-factory-not-called"

HOVERED = "dots_saveable"
"""A word of the line with the mistake, and what its hover says."""
HOVER = "Store the results of matrix products"

COMPLETED = 'more = jax.checkpoint_policies.save_only_these_names("'
"""The begin of a line behind which a checkpoint name is offered."""
NAME, NEW_NAME = "attn_out", "attention"
NAME_LINE = 6


@dataclass(frozen=True)
class Sample:
    """The project in a folder whose path has blanks and characters beyond ASCII.

    Attributes:
        folder: the project.
        link: a symbolic link to it.
        outside: a file with the same mistake that belongs to no project.
    """

    folder: Path
    link: Path
    outside: Path

    @property
    def model(self) -> Path:
        """The file with the mistake."""
        return self.folder / "model.py"

    @property
    def train(self) -> Path:
        """The file that asks for the name that the other one gives."""
        return self.folder / "train.py"


def lay_out(place: Path) -> Sample:
    """Write the project below ``place``."""
    folder = place / "größe 模型 project"
    folder.mkdir()
    (folder / "jaxpert.toml").write_text('jax-version = "0.10.2"\n', encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    link = place / "a link"
    link.symlink_to(folder, target_is_directory=True)
    outside = place / "alone" / "notes.py"
    outside.parent.mkdir()
    outside.write_text(MODEL, encoding="utf-8")
    return Sample(folder, link, outside)
