"""What a policy does with every kind of value: the table behind hovers, hints and lenses. Plain data."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.asked_primitives import CONVOLUTION, DOT, NAME, OtherText, Question, primitive_called
from jaxpert.model.calls import Argument
from jaxpert.model.fates import RECOMPUTED, UNKNOWN_ANSWER, Answers, Fate
from jaxpert.model.policies import CustomPolicy
from jaxpert.model.policy_answers import (
    answers_to,
    custom_policy,
    made_by,
    names_mentioned,
    passed_through,
    question_frame,
)
from jaxpert.model.primitive_matches import name_tests, object_tests
from jaxpert.model.primitive_tests import asked
from jaxpert.model.values import (
    PRIMITIVE_NAME,
    CallResult,
    Choice,
    Def,
    Literal,
    Partial,
    Sequence,
    Symbol,
    Table,
    Value,
    is_none,
    string,
)
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import BindingKind, Block, Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.model.transforms import Checkpoint

_OFFLOADS, _NAMES, _PRODUCTS = Version("0.11.0"), Version("0.11.2"), Version("0.12.0")
"""From which versions on ``jax_remat3`` asks for more: JAX's offloads, any policy about names, and about products."""

_MOST_PRIMITIVES = 12
_MOST_BRANCHES = 6
_MOST_HOPS = 3
_MOST_ALIKE = 60
_SAMPLES = ("sin", "add", "reduce_sum")
_ABOUT_DOTS = {"saves_dots", "saves_unbatched_dots", "offloads_unbatched_dots"}
_STANDARD = frozenset({DOT, CONVOLUTION, NAME})


@dataclass(frozen=True, slots=True)
class Decoded:
    """The answers of one policy.

    Attributes:
        names: for each checkpoint name that the policy mentions.
        primitives: for each further primitive that it mentions, by JAX's name.
        others: for everything else.
    """

    unbatched_dots: Answers
    batched_dots: Answers
    convolutions: Answers
    other_names: Answers
    others: Answers
    names: Mapping[str, Answers] = field(default_factory=dict)
    primitives: Mapping[str, Answers] = field(default_factory=dict)

    def name(self, name: str) -> Answers:
        """What becomes of values tagged with ``name``."""
        return self.names.get(name, self.other_names)

    @property
    def looks_at_names(self) -> bool:
        """Whether some named values fare otherwise than those without a name."""
        return bool(self.names) or self.other_names != self.others


@dataclass(frozen=True, slots=True)
class Branch:
    """One policy that an expression can be.

    Attributes:
        text: how it is written, shortened.
        when: the condition or the key that picks it, as it is written; "" when that is not seen.
        decoded: None when it is not known what it does.
        api: the policy, or the factory that makes it, by the name of its API; "" for functions of the user's.
    """

    text: str
    when: str
    decoded: Decoded | None
    api: str = ""


@dataclass(frozen=True, slots=True)
class DecodedPolicy:
    """A policy expression: one branch for each policy that it can be; none when that is not known."""

    branches: tuple[Branch, ...]

    @property
    def only(self) -> Decoded | None:
        """What it does, when there is one branch and that is known."""
        return self.branches[0].decoded if len(self.branches) == 1 else None

    @property
    def is_known(self) -> bool:
        """Whether all that it can be is known."""
        return bool(self.branches) and all(branch.decoded is not None for branch in self.branches)


DEFAULT = Decoded(RECOMPUTED, RECOMPUTED, RECOMPUTED, RECOMPUTED, RECOMPUTED)
"""What ``jax.checkpoint`` does without a policy."""


def policy_of(model: FileModel, checkpoint: Checkpoint) -> DecodedPolicy:
    """The policy of a checkpoint; that of none is JAX's default."""
    argument = checkpoint.role("policy")
    if argument is not None:
        return decoded_argument(model, argument)
    if checkpoint.call is not None and checkpoint.call.opened:
        return DecodedPolicy(())
    return DecodedPolicy((Branch("no policy", "", DEFAULT),))


def decoded_argument(model: FileModel, argument: Argument) -> DecodedPolicy:
    """The policy that an argument is."""
    return decoded_expression(model, argument.node, argument.site, argument.model)


def decoded_expression(model: FileModel, node: ast.expr, site: Site, owner: FileModel | None = None) -> DecodedPolicy:
    """The policy that an expression of ``owner``, which stands at ``site``, is; remembered in its tree."""
    owner = owner or model

    def decode(_: object) -> DecodedPolicy:
        value = owner.evaluate(node, site.scope, site.block)
        pickers = list(_pickers(owner, node, site)) if isinstance(value, Choice) else []
        return decoded_value(owner, value, pickers)

    return owner.tree_fact(site.block.tree, f"decoded policy {id(node)}", decode)


def decoded_value(model: FileModel, value: Value, pickers: list[tuple[str, Value]] | None = None) -> DecodedPolicy:
    """The policy that ``value`` is.

    Args:
        pickers: what leads to each of several, as it is written.
    """
    options = list(value.options())
    if len(options) > _MOST_BRANCHES:
        return DecodedPolicy(())
    return DecodedPolicy(tuple(_branch(model, option, _condition_of(option, pickers or [])) for option in options))


def is_policy(model: FileModel, value: Value) -> bool:
    """Whether everything that ``value`` can be is a policy of JAX, or made by a factory of JAX; or None beside one."""
    options = [option for option in value.options() if not is_none(option)]
    return bool(options) and all(api_of(model, option) is not None for option in options)


def api_of(model: FileModel, value: Value) -> Api | None:
    """The API that ``value`` is, or that made it, when that makes it a policy."""
    while isinstance(value, Partial) and not value.args and not value.keywords:
        value = value.target
    path = value.path if isinstance(value, (Symbol, CallResult)) else ""
    api = model.db.api(path) if path else None
    kind = ApiKind.POLICY_FACTORY if isinstance(value, CallResult) else ApiKind.POLICY
    if isinstance(value, CallResult) and isinstance(value.callee, CallResult):
        return None  # what a policy answers
    return api if api is not None and api.kind is kind else None


# -- one policy -------------------------------------------------------------------------------------------------------


def _branch(model: FileModel, option: Value, when: str) -> Branch:
    while isinstance(option, Partial) and not option.open and not option.args and not option.keywords:
        option = option.target
    api = api_of(model, option)
    return Branch(written(model, option), when, _decoded(model, option), api.name if api is not None else "")


def written(model: FileModel, value: Value) -> str:
    """How a policy is written, shortened."""
    if isinstance(value, Def):
        return f"{value.owner.node.name}.{value.name}" if value.owner is not None else value.name
    if isinstance(value, Literal):
        return repr(value.value)
    if isinstance(value, Symbol):
        return value.path.rpartition(".")[2]
    node, owner = value.site.node if value.site is not None else None, value.model or model
    if isinstance(node, ast.Call):
        func = owner.text_of(node.func).rpartition(".")[2]
        return f"{func}({', '.join(owner.text_of(argument) for argument in (*node.args, *node.keywords))})"
    return owner.text_of(node) if node is not None else ""


def _decoded(model: FileModel, policy: Value) -> Decoded | None:
    policy = passed_through(model, policy)
    customs = [custom for part in _joined(model, policy) if (custom := custom_policy(model, part)) is not None]
    mentioned = [names_mentioned(model, policy), *map(_names_compared, customs)]
    names = tuple(dict.fromkeys(name for some in mentioned for name in some))
    primitives = tuple(dict.fromkeys(name for custom in customs for name in _primitives_compared(custom)))
    no_names, no_primitives = frozenset(names), frozenset(primitives) | _STANDARD

    def answer(question: Question) -> Answers:
        if model.target.remat3 and not _is_asked(model, policy, question):
            return RECOMPUTED
        return answers_to(model, policy, question)

    others = answer(Question(not_primitives=no_primitives))
    if customs and _is_open(others):
        found = _one_by_one(customs, answer)
        if found is not None:
            primitives, others = found
    decoded = Decoded(
        unbatched_dots=answer(Question(DOT)),
        batched_dots=answer(Question(DOT, batched=True)),
        convolutions=answer(Question(CONVOLUTION)),
        other_names=answer(Question(NAME, not_tags=no_names)),
        others=others,
        names={name: answer(Question(NAME, tag=name)) for name in names},
        primitives={name: answers for name in primitives if (answers := answer(Question(name))) != others},
    )
    groups = (decoded.unbatched_dots, decoded.batched_dots, decoded.convolutions, decoded.other_names, others)
    is_known = any(answers != UNKNOWN_ANSWER for answers in (*groups, *decoded.names.values()))
    return decoded if is_known else None


def _joined(model: FileModel, policy: Value) -> Iterator[Value]:
    """The policies that ``save_from_both_policies`` joins, at any depth; of another policy itself."""
    call = made_by(model, policy) if isinstance(policy, CallResult) else None
    if call is None or "policies_as_varargs" not in call.api.traits:
        yield policy
        return
    for argument in (*call.arguments.values(), *call.varargs):
        for option in argument.value.options():
            yield from _joined(model, option)


def _is_open(answers: Answers) -> bool:
    return len(answers) > 1 or answers[0].fate is Fate.UNKNOWN


def _one_by_one(
    customs: list[CustomPolicy], answer: Callable[[Question], Answers]
) -> tuple[tuple[str, ...], Answers] | None:
    """Ask about each primitive whose name holds a string of the policy's, for ``prim.name.startswith("dot")`` and such.

    Returns:
        Those whose answer is not the usual one, and the usual one; None when it does not depend on the primitive.
    """
    texts = {
        site.node.value
        for policy in customs
        for site, _ in asked(policy, question_frame(policy, Question()))
        if isinstance(site.node, ast.Constant) and isinstance(site.node.value, str) and site.node.value
    }
    known = sorted(customs[0].model.db.primitive_names() - _STANDARD)
    alike = [name for name in known if any(text in name for text in texts)]
    usual_one = next((name for name in (*_SAMPLES, *known) if name not in alike), None)
    if not texts or usual_one is None or len(alike) > _MOST_ALIKE:
        return None
    usual = answer(Question(usual_one))
    if _is_open(usual):
        return None
    return tuple(name for name in alike if answer(Question(name)) != usual), usual


def _is_asked(model: FileModel, policy: Value, question: Question) -> bool:
    """Whether JAX asks ``policy`` this under ``jax_remat3``; measured on 0.10.2 to 0.12.0.1."""
    version = model.target.version
    api = api_of(model, policy)
    traits = api.traits if api is not None else frozenset()
    if "saves_everything" in traits:  # taken for no checkpoint at all; before, known to names alone
        return version >= _NAMES or question.primitive == NAME
    if version >= _PRODUCTS:
        return question.primitive in _STANDARD
    offloads = api is not None and "offload_dst" in api.roles
    if offloads and version < _OFFLOADS:
        return False
    if question.primitive == NAME:
        takes_names = bool({"names_as_varargs", "names_as_collections"} & traits)
        return version >= _NAMES or (takes_names and "names_have_no_effect" not in traits)
    return question.primitive == DOT and bool(_ABOUT_DOTS & traits)


# -- what a function of the user's asks for ---------------------------------------------------------------------------


def _names_compared(policy: CustomPolicy) -> tuple[str, ...]:
    """The checkpoint names that the policy compares a value's name with, and those of policies of JAX that it asks."""
    found: dict[str, None] = {}
    model = policy.model
    for site, frame in asked(policy, question_frame(policy, Question(NAME))):
        node = site.node
        if isinstance(node, ast.Compare):
            sides = [model.evaluate(side, site.scope, site.block, frame) for side in (node.left, *node.comparators)]
            if any(isinstance(side, OtherText) and side.type != PRIMITIVE_NAME for side in sides):
                found.update((text, None) for side in sides for text in _texts(side))
        elif isinstance(node, ast.Call) and node.args and not isinstance(node.func, ast.Attribute):
            for option in model.evaluate(node.func, site.scope, site.block, frame).options():
                found.update((name, None) for name in names_mentioned(model, option))
    return tuple(found)


def _texts(value: Value) -> Iterator[str]:
    for option in value.options():
        text = string(option)
        if text is not None:
            yield text
        elif isinstance(option, Sequence):
            yield from (text for item in option.items if (text := string(item)) is not None)
        elif isinstance(option, Table):
            yield from (text for key, _ in option.entries if (text := string(key)) is not None)


def _primitives_compared(policy: CustomPolicy) -> tuple[str, ...]:
    """The primitives that the policy looks for by name or object, but for those that every table has."""
    known = policy.model.db.primitive_names() - _STANDARD
    by_name = (test.name for test in name_tests(policy) if not test.is_part)
    by_object = (primitive_called(test.path) for test in object_tests(policy))
    return tuple(dict.fromkeys(name for name in (*by_name, *by_object) if name in known))[:_MOST_PRIMITIVES]


# -- which of several -------------------------------------------------------------------------------------------------


def _pickers(model: FileModel, node: ast.expr, site: Site, depth: int = 0) -> Iterator[tuple[str, Value]]:
    """What picks a policy in ``node``, and the policy: conditions, keys of dictionaries, and the ``if`` around an
    assignment.
    """
    for part in ast.walk(node):
        if isinstance(part, ast.IfExp):
            text = model.text_of(part.test)
            yield text, model.evaluate(part.body, site.scope, site.block)
            yield f"not {text}", model.evaluate(part.orelse, site.scope, site.block)
        elif isinstance(part, ast.Dict):
            for key, value in zip(part.keys, part.values):
                if key is not None:
                    yield model.text_of(key), model.evaluate(value, site.scope, site.block)
        elif isinstance(part, ast.Name) and depth < _MOST_HOPS:
            found = site.scope.lookup(part.id)
            for binding in found[1] if found is not None else ():
                if binding.value is not None and binding.kind is BindingKind.ASSIGN:
                    if len(found[1] if found is not None else ()) > 1 and (text := _around(model, binding.block)):
                        yield text, model.evaluate(binding.value, binding.scope, binding.block)
                    inner = Site(binding.value, binding.scope, binding.block)
                    yield from _pickers(model, binding.value, inner, depth + 1)


def _condition_of(option: Value, pickers: list[tuple[str, Value]]) -> str:
    """The condition or key that leads to this of several policies; "" when that is not seen."""
    for text, value in pickers:
        if value.__class__ is not Choice and _identity(value) == _identity(option):
            return text
    return ""


def _identity(value: Value) -> object:
    if isinstance(value, Def):
        return id(value.function)
    if isinstance(value, Symbol):
        return value.path
    if isinstance(value, CallResult):
        return id(value.call)
    return ("literal", value.value) if isinstance(value, Literal) else id(value)


def _around(model: FileModel, block: Block) -> str:
    """The condition of the innermost ``if`` around ``block`` in the same function."""
    for around in block.enclosing():
        if isinstance(around.owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            break
        if isinstance(around.owner, ast.If):
            text = model.text_of(around.owner.test)
            return text if around.part == "body" else f"not {text}"
    return ""
