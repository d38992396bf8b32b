"""What a decoded policy does, in words: a table for hovers, a short form for hints and lenses."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.model.decoded_policies import Decoded, DecodedPolicy
from jaxpert.model.fates import Answer, Answers, Fate

_ONLY_HOST = Version("0.7.1")
_MOST_NAMES = 4
_MOST_BRANCHES = 3
_LONGEST = 72

PRODUCTS, UNBATCHED, BATCHED = "matrix products", "matrix products without batch dimensions", "batched matrix products"
CONVOLUTIONS, OTHER_NAMES, NAMES, OTHERS = "convolutions", "other names", "named values", "everything else"


# -- one answer -------------------------------------------------------------------------------------------------------


def in_words(answers: Answers, version: Version) -> str:
    """What becomes of a value, in inline Markdown: "saved if `deep`, else recomputed"."""
    if len(answers) == 1:
        return _one(answers[0], version)
    parts = [f"{_one(answer, version)} if `{answer.when}`" for answer in answers if answer.when]
    parts += [_one(answer, version) for answer in answers if not answer.when]
    last = "" if answers[-1].when else "else "
    return ", ".join([*parts[:-1], last + parts[-1]]) if parts[0].find(" if ") >= 0 else " or ".join(parts)


def _one(answer: Answer, version: Version) -> str:
    if answer.fate is Fate.RAISES:
        return "**no decision**: JAX raises"
    if answer.fate is not Fate.OFFLOADED or not answer.destination:
        return str(answer.fate.value)
    way = f"offloaded `{answer.source}` → `{answer.destination}`" if answer.source else (
        f"offloaded to `{answer.destination}`")  # fmt: skip
    return f"{way} (stays on the device)" if stays_on_device(answer, version) else way


def stays_on_device(answer: Answer, version: Version) -> bool:
    """Whether an offload moves nothing: from 0.7.1 on every destination but "pinned_host" means the device."""
    return answer.fate is Fate.OFFLOADED and answer.destination not in ("", "pinned_host") and version >= _ONLY_HOST


# -- the table --------------------------------------------------------------------------------------------------------


def table_rows(decoded: Decoded, version: Version) -> tuple[tuple[str, str], ...]:
    """Kinds of values and what becomes of them: names and primitives that the policy mentions, then all the rest,
    where those that fare alike share a row.
    """
    rows = [(f"`{name}`", in_words(answers, version)) for name, answers in decoded.names.items()]
    alike: dict[str, list[str]] = {}
    for name, answers in decoded.primitives.items():
        alike.setdefault(in_words(answers, version), []).append(f"`{name}`")
    rows += [(f"results of {_listed(names)}", words) for words, names in alike.items()]
    shared: dict[str, list[str]] = {}
    for label, answers in _rest(decoded):
        shared.setdefault(in_words(answers, version), []).append(label)
    everything = len(shared) == 1 and not rows
    rows += [("everything" if everything else ", ".join(labels), words) for words, labels in shared.items()]
    return tuple(rows)


def _rest(decoded: Decoded) -> Iterator[tuple[str, Answers]]:
    if decoded.unbatched_dots == decoded.batched_dots:
        yield PRODUCTS, decoded.unbatched_dots
    else:
        yield UNBATCHED, decoded.unbatched_dots
        yield BATCHED, decoded.batched_dots
    yield CONVOLUTIONS, decoded.convolutions
    yield OTHER_NAMES if decoded.names else NAMES, decoded.other_names
    yield OTHERS, decoded.others


# -- the short form ---------------------------------------------------------------------------------------------------


def short_form(policy: DecodedPolicy) -> str:
    """What a policy saves and offloads in a few words: "saves: attn_out, mlp_up"; "" when that is not known."""
    if not policy.is_known:
        return ""
    forms = list(dict.fromkeys(_short(branch.decoded) for branch in policy.branches if branch.decoded is not None))
    if "" in forms:
        return ""
    text = " | ".join(forms)
    if len(forms) > 1 and (len(forms) > _MOST_BRANCHES or len(text) > _LONGEST):
        return f"one of {len(forms)} policies"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _short(decoded: Decoded) -> str:
    parts = [(label, answers) for label, answers in _short_parts(decoded)]
    if any(len(answers) == 1 and answers[0].fate is Fate.RAISES for _, answers in parts):
        return ""  # a rule says so
    saved = [label for label, answers in parts if _is(answers, Fate.SAVED)]
    if len(saved) == len(parts):
        return "saves everything"
    said = []
    if _is(decoded.others, Fate.SAVED):
        missing = [label for label, answers in parts if not _is(answers, Fate.SAVED)]
        said.append(f"saves: everything but {_listed(missing)}")
    elif saved:
        said.append(f"saves: {_listed(saved)}")
    if offloaded := [label for label, answers in parts if _is(answers, Fate.OFFLOADED)]:
        said.append(f"offloads: {_listed(offloaded)}")
    if depends := [label for label, answers in parts if len(answers) > 1]:
        said.append(f"depends: {_listed(depends)}")
    if unknown := [label for label, answers in parts if _is(answers, Fate.UNKNOWN)]:
        said.append(f"unknown: {_listed(unknown)}")
    return " · ".join(said) or "saves nothing"


def _short_parts(decoded: Decoded) -> Iterator[tuple[str, Answers]]:
    yield from decoded.names.items()
    if decoded.unbatched_dots == decoded.batched_dots:
        yield "dots", decoded.unbatched_dots
    else:
        yield "dots without batch dims", decoded.unbatched_dots
        yield "batched dots", decoded.batched_dots
    yield "convolutions", decoded.convolutions
    if len(decoded.primitives) <= _MOST_NAMES:
        yield from ((f"{name} results", answers) for name, answers in decoded.primitives.items())
    else:
        for answers in dict.fromkeys(decoded.primitives.values()):
            count = list(decoded.primitives.values()).count(answers)
            yield f"{count} other primitives", answers
    yield "other names" if decoded.names else "names", decoded.other_names
    yield "the rest", decoded.others


def _is(answers: Answers, fate: Fate) -> bool:
    return len(answers) == 1 and answers[0].fate is fate


def _listed(labels: list[str]) -> str:
    shown = labels if len(labels) <= _MOST_NAMES + 1 else [*labels[:_MOST_NAMES], f"+{len(labels) - _MOST_NAMES}"]
    return ", ".join(shown)


# -- one name ---------------------------------------------------------------------------------------------------------

KEPT, OFFLOADED, AGAIN, NOT_LOOKED = "kept", "offloaded", "recomputed", "no policy looks"
"""What policies do with the values of one name, in a word; the last: recomputed by one that looks at no names."""


def fates_of_name(policy: DecodedPolicy, name: str) -> list[str]:
    """What each policy that the expression can be does with values of this name; "" where that is not known."""
    found = []
    for branch in policy.branches:
        answers = branch.decoded.name(name) if branch.decoded is not None else ()
        fate = answers[0].fate if len(answers) == 1 else Fate.UNKNOWN
        if fate is Fate.RECOMPUTED and branch.decoded is not None and not branch.decoded.looks_at_names:
            found.append(NOT_LOOKED)
        else:
            found.append({Fate.SAVED: KEPT, Fate.OFFLOADED: OFFLOADED, Fate.RECOMPUTED: AGAIN}.get(fate, ""))
    return found or [""]


def together(fates: list[str]) -> str:
    """The fates under several policies in a few words: "kept", "kept by 2 of 3 policies"; "" when one is not known."""
    if not fates or "" in fates:
        return ""
    if len(set(fates)) == 1:
        return fates[0]
    kept = sum(fate in (KEPT, OFFLOADED) for fate in fates)
    if not kept:
        return AGAIN
    return f"kept by {kept} of {len(fates)} policies" if kept < len(fates) else KEPT
