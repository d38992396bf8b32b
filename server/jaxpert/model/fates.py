"""What becomes of a value on the way to the backward pass, as a policy answers it. Plain data."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import field, replace

from jaxpert.records import dataclass


class Fate(enum.Enum):
    """What becomes of a value."""

    SAVED = "saved"
    OFFLOADED = "offloaded"
    RECOMPUTED = "recomputed"
    RAISES = "raises"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        source, destination: of an offloaded value, the kinds of memory; "" when they are not known.
        when: the condition under which this is the answer, as it is written; "" for always, or otherwise.
        is_bool: whether the policy answers with a bool.
    """

    fate: Fate
    source: str = field(default="", kw_only=True)
    destination: str = field(default="", kw_only=True)
    when: str = field(default="", kw_only=True)
    is_bool: bool = field(default=False, kw_only=True, compare=False)


Answers = tuple[Answer, ...]
"""What a policy answers to one question: one answer, or several of which a condition picks one."""

SAVED = (Answer(Fate.SAVED, is_bool=True),)
RECOMPUTED = (Answer(Fate.RECOMPUTED, is_bool=True),)
UNKNOWN_ANSWER = (Answer(Fate.UNKNOWN),)
RAISES = (Answer(Fate.RAISES),)


def merged(answers: Iterable[Answer]) -> Answers:
    """The answers, each once; without conditions where these decide nothing."""
    found = tuple(dict.fromkeys(answers))
    plain = {replace(answer, when="") for answer in found}
    if len(plain) == 1:
        return (plain.pop() if len(found) > 1 else found[0],)
    return found or UNKNOWN_ANSWER
