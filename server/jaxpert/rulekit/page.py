"""The documentation of a rule as Markdown: for ``explain``, for the web pages, for hovers."""

from __future__ import annotations

import difflib
import re

from jaxpert.rulekit.rule import Example, Proof, Raises, Rule, Silent, Stage

# Marks for the test that runs the examples, of no use to a reader.
_STAGE_MARK = re.compile(r"^STAGE = .*\n", re.MULTILINE)
_WHEN = {"decorate": "when it is decorated", "call": "when it is called", "grad": "when it is differentiated"}


def rule_page(rule: Rule) -> str:
    """The whole page: what it is, its docstring (which is Markdown), and its proven examples."""
    facts = [f"`{rule.code}`", rule.family, rule.severity.value, f"since {rule.since}"]
    if rule.stage is Stage.PREVIEW:
        facts.append("preview")
    facts.append("has a fix" if rule.fix else "no automatic fix")
    headings = ["Example"] if len(rule.examples) == 1 else [f"Example {n}" for n, _ in enumerate(rule.examples, 1)]
    examples = "\n".join(_example(heading, example) for heading, example in zip(headings, rule.examples))
    return f"# {rule.name}\n\n{' · '.join(facts)}\n\n{rule.doc.strip()}\n\n{examples}".rstrip() + "\n"


def section(rule: Rule, heading: str) -> str:
    """What the documentation of ``rule`` says under one of the headings, as Markdown."""
    _, _, rest = rule.doc.partition(f"\n## {heading}\n")
    return rest.partition("\n## ")[0].strip()


def _example(heading: str, example: Example) -> str:
    return (
        f"## {heading}\n\n```python\n{_program(example.bad)}\n```\n\n{proof_text(example.proof)}\n\n"
        f"Write instead:\n\n```diff\n{_difference(_program(example.bad), _program(example.good))}\n```\n"
    )


def _difference(bad: str, good: str) -> str:
    """The lines that differ, with one line around them."""
    _, _, _, *lines = difflib.unified_diff(bad.splitlines(), good.splitlines(), n=1, lineterm="")
    return "\n".join(" …" if line.startswith("@@ ") else line.rstrip() for line in lines).strip("\n")


def _program(source: str) -> str:
    return _STAGE_MARK.sub("", source).strip()


def proof_text(proof: Proof) -> str:
    """What real JAX does with the example, in a sentence."""
    where = _versions(proof)
    if isinstance(proof, Raises):
        message = f": … {proof.message} …" if proof.message else " (without any text)"
        return f"{where}: raises {_WHEN[proof.when]}\n\n```text\n{proof.exception}{message}\n```"
    assert isinstance(proof, Silent)
    return f"{where}: no message, but afterwards this is true:\n\n```python\n{proof.evidence}\n```"


def _versions(proof: Proof) -> str:
    if proof.until:
        versions = f"JAX from {proof.since} up to, but not including, {proof.until}"
    else:
        versions = f"JAX {proof.since} and later"
    return versions if proof.remat3 else f"{versions}, without `jax_remat3`"
