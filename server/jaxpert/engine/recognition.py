"""Which rules explain an error: JAX's texts, as rules know them, against the text at hand.

What a rule knows are the proofs of its examples, its ``error_texts``, and ``error_texts.json``: what its examples
really raised on every JAX of the truth table, with everything that belongs to the example alone cut out ("…").
JAX rewords its messages and fills in names, shapes and paths, so texts are compared by their words, in order, the
rare ones counting most.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from importlib.resources import files

from jaxpert.engine.tracebacks import RaisedError
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Raises, Rule
from jaxpert.rules import ALL_RULES

_MOST_WORDS = 400

_PYTHONS_OWN = frozenset(
    "got an unexpected keyword argument arguments missing required positional takes but was were given unhashable type "
    "types object is not callable has no attribute cannot import name from module named instance instances between "
    "supported operand for unsupported must have value values expected function class str int float bool list tuple "
    "dict set None NoneType bytes and or the a of to be with that in it as by on at this which only can self "
    "__new__ __init__ __call__ if are does do too many enough unpack invalid".lower().split()
)
"""Words that any Python program may raise: a text of nothing else says little."""

_OF_JAX = frozenset({
    "jax", "jaxpr", "jit", "grad", "vjp", "jvp", "vmap", "pmap", "scan", "cond", "lax", "jnp", "xla", "remat",
    "remat2", "checkpoint", "checkpoint_name", "checkpointed", "rematerialization", "rematerialized", "policy",
    "policies", "offload", "offloaded", "offloadable", "saveable", "recompute", "residual", "residuals",
    "prevent_cse", "static_argnums", "static_argnames", "in_axes", "out_axes", "has_aux", "tracer", "tracers",
    "traced", "tracing", "leaked", "pytree", "pytrees", "treedef", "treedefs", "pytreedef", "pytreespec", "leaf",
    "leaves", "aval", "avals", "shapedarray", "primitive", "primitives", "primals", "tangent", "tangents",
    "cotangent", "cotangents", "custom_vjp", "custom_jvp", "batched", "vmapped", "differentiated",
    "differentiation", "callback", "concretizationtypeerror", "tracerboolconversionerror",
    "tracerarrayconversionerror", "tracerintegerconversionerror", "nonconcretebooleanindexerror",
    "unexpectedtracererror",
})  # fmt: skip
"""Words that, among those of Python and of other libraries, say that a text is about JAX."""

_COMMON = 0.12
_CLAIMED = 0.72
"""Share of a known text, by weight, that must be found."""
_SURELY = 0.8
_SHARE_OF_BEST = 0.5
_UNUSUAL = 0.85
_UNSEEN = 0.4
_TELLING = 1.4
"""Weight of the words found from which on they cannot have come together by chance."""

_VARIABLE = re.compile(
    r"https?://\S+|0x[0-9a-f]+|(?:[A-Za-z]:)?[\w.~/\\-]*\.py(?::\d+)*|\b(?:bf|bfloat|float|complex|uint|int|f|i|u|c)\d+\b"
    r"|(?:\w*Tracer|Traced)<[^\n]*?>+(?:with<[^\n>]*>+)?|\w*Tracer\([^)\n]*\)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_](?:\w|(?<=\w)\.(?=\w))*(?:\(\))?|_\w+(?:\(\))?")


@dataclass(frozen=True, slots=True)
class Claim:
    """A rule that explains an error.

    Attributes:
        share: how much of the text that the rule knows was found, from 0 to 1.
        weight: how telling that is.
        is_certain: whether the text could hardly be about anything else; else it is one that many programs raise.
    """

    rule: Rule
    share: float
    weight: float
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _KnownText:
    """``is_usual``: what the rule says that JAX raises; else it was measured only under other circumstances."""

    rule: Rule
    exception: str
    words: tuple[str, ...]
    is_usual: bool


def claims(error: RaisedError) -> tuple[Claim, ...]:
    """The rules that explain ``error``, the most specific first; () when none does."""
    best: dict[str, Claim] = {}
    said = _words(error.message)[:_MOST_WORDS]
    for text in _known_texts():
        found = _compared(text, error, said)
        if found is None:
            continue
        old = best.get(text.rule.name)
        if old is None or _strength(found) > _strength(old):
            best[text.rule.name] = found
    ranked = sorted(best.values(), key=lambda claim: (*(-part for part in _strength(claim)), claim.rule.code))
    least = _SHARE_OF_BEST * ranked[0].share * ranked[0].weight if ranked else 0.0
    return tuple(claim for claim in ranked if claim.share * claim.weight >= least)


def nearest(error: RaisedError, count: int = 3) -> tuple[Rule, ...]:
    """The rules whose texts and documentation have most in common with ``error``; none that share no word of JAX's."""
    said = set(_words(f"{error.exception} {error.message}"))
    of_jax = _OF_JAX & _parts(said)
    weights = _weights()

    def common(rule: Rule) -> float:
        known = {word for text in _known_texts() if text.rule is rule for word in (*text.words, text.exception.lower())}
        spoken = set(_words(f"{rule.name.replace('-', ' ')} {rule.doc}"))
        return sum(weights.get(word, _weight_of_unseen(word)) * (2 if word in known else 1)
                   for word in said & (known | spoken))  # fmt: skip

    def is_about(rule: Rule) -> bool:
        texts = (word for text in _known_texts() if text.rule is rule for word in text.words)
        return not of_jax.isdisjoint(_parts((*texts, *_words(f"{rule.name.replace('-', ' ')} {rule.summary}"))))

    about = (rule for rule in ALL_RULES if rule.examples and of_jax and is_about(rule))
    return tuple(sorted(about, key=lambda rule: (-common(rule), rule.code))[:count])


def _parts(words: Iterable[str]) -> frozenset[str]:
    """The words, dotted ones and calls taken apart."""
    return frozenset(part for word in words for part in re.split(r"\W+", word))


def _strength(claim: Claim) -> tuple[float, ...]:
    return (claim.is_certain, round(claim.share * claim.weight, 2), round(claim.share, 2))


def _compared(text: _KnownText, error: RaisedError, said: Sequence[str]) -> Claim | None:
    other_class = bool(error.name and text.exception and error.name != text.exception)
    if not text.words:  # raised without a text
        same = error.name == text.exception and not error.message.strip()
        return Claim(text.rule, 1.0, 0.0, False) if same else None
    weights = _weights()
    total = sum(weights[word] for word in text.words)
    blocks = SequenceMatcher(None, text.words, said, autojunk=False).get_matching_blocks()
    matched = sum(weights[word] for block in blocks for word in text.words[block.a : block.a + block.size])
    # Somebody may have given a part of a message: a search term, a line that was cut off.
    given = sum(weights.get(word, _UNSEEN) for word in said)
    share = max(matched / total, 0.95 * matched / given if given >= _TELLING else 0.0)
    if other_class:
        share *= 0.9 if matched >= 2 * _TELLING else 0.5  # classes differ between versions, texts hardly
    if share < _CLAIMED:
        return None
    if not text.is_usual:
        share *= _UNUSUAL
    return Claim(text.rule, share, matched, matched >= (_TELLING if share >= _SURELY else 2 * _TELLING))


@functools.cache
def _known_texts() -> tuple[_KnownText, ...]:
    measured: dict[str, list[str]] = json.loads(
        files("jaxpert.engine").joinpath("error_texts.json").read_text(encoding="utf-8")
    )
    known: dict[tuple[str, str, tuple[str, ...]], _KnownText] = {}
    for rule in ALL_RULES:
        proofs = [example.proof for example in rule.examples if isinstance(example.proof, Raises)]
        usual = [_parsed(f"{proof.exception}: {proof.message}") for proof in proofs]
        usual += map(_parsed, rule.error_texts)
        for exception, words in (*usual, *map(_parsed, measured.get(rule.name, ()))):
            is_usual = any(exception == other and set(words) >= set(some) for other, some in usual)
            known.setdefault((rule.name, exception, words), _KnownText(rule, exception, words, is_usual))
    return tuple(known.values())


def _parsed(text: str) -> tuple[str, tuple[str, ...]]:
    exception, _, message = text.partition(": ")
    return exception.rstrip(":"), tuple(_words(message))


@functools.cache
def _weights() -> dict[str, float]:
    """How telling each word is: the fewer rules know it the more."""
    rules = {text.rule.name for text in _known_texts()}
    frequency = Counter(
        word for name in rules for word in {w for text in _known_texts() if text.rule.name == name for w in text.words}
    )
    return {word: _weight(word, count, len(rules)) for word, count in frequency.items()}


def _weight(word: str, count: int, rules: int) -> float:
    if word in _PYTHONS_OWN:
        return _COMMON
    return max(0.25, math.log((rules + 1) / count) / math.log(rules + 1))


def _weight_of_unseen(word: str) -> float:
    return _COMMON if word in _PYTHONS_OWN else _UNSEEN


def _words(text: str) -> list[str]:
    """The words of a text in lower case, without what is different in every program."""
    return [word.lower() for word in _WORD.findall(_VARIABLE.sub(" ", text.replace("…", " ")))]
