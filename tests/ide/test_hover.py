"""What hovers say, as Markdown and as plain text."""

from dataclasses import replace

import pytest
from packaging.version import Version

from jaxpert.ide.api_hover import api_blocks, docstring_blocks, signature_text, usual_mistakes
from jaxpert.ide.blocks import Links
from jaxpert.ide.hover import (
    Code,
    Hover,
    Link,
    Prose,
    finding_blocks,
    to_markdown,
    to_plain_text,
)
from jaxpert.jaxdb.load import load, newest_known
from jaxpert.jaxdb.schema import Api, ApiKind, JaxTarget, Parameter, Signature, VersionNote
from jaxpert.rulekit.rule import Finding, Severity
from jaxpert.rulekit.urls import rule_url
from jaxpert.rules import rule_named
from jaxpert.text.lines import Position, Range

SOMEWHERE = Range(Position(0, 0), Position(0, 1))


def signature(*parameters: str) -> Signature:
    """A signature from "kind name" or "kind name=default"."""
    made = []
    for text in parameters:
        kind, _, rest = text.partition(" ")
        name, _, default = rest.partition("=")
        made.append(Parameter(name, kind, default or None))
    return Signature(tuple(made), Version("0.4.30"))


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ([], "()"),
        (["positional_only f"], "(f, /)"),
        (["positional_only f", "positional_or_keyword x=1"], "(f, /, x=1)"),
        (["positional_or_keyword f", "keyword_only p=None", "keyword_only q"], "(f, *, p=None, q)"),
        (["var_positional names", "keyword_only p", "var_keyword kw"], "(*names, p, **kw)"),
        (["positional_only f", "keyword_only p"], "(f, /, *, p)"),
    ],
)
def test_signatures_are_written_as_python_writes_them(parameters, text):
    assert signature_text(signature(*parameters)) == text


CHECKPOINT = Api(
    name="jax.checkpoint",
    library="jax",
    kind=ApiKind.CHECKPOINT,
    paths=("jax.checkpoint", "jax.remat"),
    signatures=(signature("positional_or_keyword fun", "keyword_only policy=None"),),
    summary="Recompute `fun`'s values on the backward pass.",
    arguments={"fun": "the function", "policy": "what is stored", "concrete": "gone"},
    notes=(
        VersionNote("0.11", "removed", "`concrete`"),
        VersionNote("any", "note", "Nothing."),
        VersionNote("0.5", "added", ""),
    ),
    url="https://example.org/checkpoint",
    example="f = jax.checkpoint(f)\n",
)


def test_an_api_is_shown_with_signature_version_notes_example_and_page():
    blocks = [block for block in api_blocks(CHECKPOINT, Version("0.12.0")) if not isinstance(block, Links)]
    assert to_markdown(Hover(SOMEWHERE, tuple(blocks))) == (
        "**`jax.checkpoint`**`(fun, *, policy=None)` · checkpoint · JAX 0.12.0\n\n"
        "Recompute `fun`'s values on the backward pass.\n\n"
        "- `fun`: the function\n- `policy=None`: what is stored\n\n"
        "History:\n\n- **0.11** removed: `concrete`\n- Nothing.\n- **0.5** added\n\n"
        "```python\nf = jax.checkpoint(f)\n```\n\n"
        "[Documentation ↗](https://example.org/checkpoint)"
    )


def test_the_rules_about_an_api_are_its_usual_mistakes():
    (mistakes,) = [block for block in api_blocks(CHECKPOINT, Version("0.12.0")) if isinstance(block, Links)]
    assert mistakes.links[0] == Link("static-argnums-invalid", rule_url("static-argnums-invalid"))
    assert mistakes.links[-1].label.endswith(" more")
    plain = to_plain_text(Hover(SOMEWHERE, (mistakes,)))
    assert plain.startswith("Usual mistakes: static-argnums-invalid · ") and "http" not in plain


@pytest.mark.parametrize("name", ["jax.jit", "jax.checkpoint_policies.dots_saveable", "jax.ad_checkpoint.Offloadable"])
def test_gravest_and_most_specific_mistakes_come_first(name):
    api = next(api for api in load(JaxTarget(newest_known(), "test")).apis() if api.name == name)
    rules = [rule_named(link.label) for link in usual_mistakes(api) if not link.label.endswith(" more")]
    ranks = [(name not in rule.apis, list(Severity).index(rule.severity)) for rule in rules]
    assert ranks and ranks == sorted(ranks)


def test_a_docstring_stands_beneath_and_nothing_stands_for_none():
    assert docstring_blocks("Text.", "JAX 0.12.0") == [
        Prose("---"),
        Prose("From JAX 0.12.0:"),
        Code("Text.", "text"),
    ]
    assert docstring_blocks("", "JAX 0.12.0") == []


def test_an_example_of_later_releases_is_not_shown():
    api = replace(CHECKPOINT, example_since=Version("0.11.1"))
    assert not any(isinstance(block, Code) for block in api_blocks(api, Version("0.11.0")))
    assert any(isinstance(block, Code) for block in api_blocks(api, Version("0.11.1")))


def test_an_api_that_the_version_lacks_says_so():
    blocks = api_blocks(CHECKPOINT, Version("0.4.30"), exists=False)
    assert Prose("**Not in JAX 0.4.30.**") in blocks


def test_plain_text_has_no_markup_and_keeps_the_code():
    hover = Hover(
        SOMEWHERE, (Prose("**`f_*x*`** *is* 2*3 and `a**b`"), Code("x = 1\ny = 2"), Link("More", "https://x"))
    )
    assert to_plain_text(hover) == "f_*x* is 2*3 and a**b\n\n    x = 1\n    y = 2\n\nMore: https://x"


def test_a_finding_is_shown_with_what_jax_says_and_the_page_of_its_rule():
    consequence = "JAX 0.12.0 raises:\n    TypeError: a `bool`\n      or so"
    finding = Finding("policy-falls-through", SOMEWHERE, "it falls through", Severity.ERROR, consequence)
    rule = rule_named("policy-falls-through")
    assert rule is not None
    heading, message, said, raised, page = finding_blocks(finding, rule)
    assert heading == Prose("**policy-falls-through** · JXP202 · error")
    assert message == Prose("it falls through")
    assert (said, raised) == (Prose("JAX 0.12.0 raises:"), Code("TypeError: a `bool`\n  or so", "text"))
    assert isinstance(page, Link) and page.url == rule_url("policy-falls-through")
