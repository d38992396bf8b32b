"""One entry of a list of completions, as plain data."""

from __future__ import annotations

import enum

from jaxpert.records import dataclass
from jaxpert.text.lines import Range

MOST = 60
"""How many entries of one sort are offered at once; a list of this length may have been cut."""


class CompletionKind(enum.Enum):
    """What an entry is, for its icon."""

    NAME = "name"
    FUNCTION = "function"
    POLICY = "policy"
    PARAMETER = "parameter"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class CompletionItem:
    """Something that may stand at the cursor.

    Attributes:
        label: what the list shows.
        range: what is replaced; on one line, around or before the cursor.
        new_text: what takes its place.
        detail: a few words beside the label.
        documentation: in inline Markdown.
        rank: the order in the list; entries of one rank are ordered by their labels.
        snippet: what takes its place in clients that know snippets, where that is something else.
        filter_text: what the typed text is compared with, where that is not ``new_text``.
    """

    label: str
    range: Range
    new_text: str
    kind: CompletionKind
    detail: str = ""
    documentation: str = ""
    rank: int = 0
    snippet: str = ""
    filter_text: str = ""
