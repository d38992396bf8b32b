"""What a policy answers when JAX asks it: to store a value, to move it to other memory, or to compute it again.

The answers of JAX's own policies follow from their traits in the database; functions of the user's are evaluated for
each question as far as the evaluator can follow them. ``tests/real_jax/test_policy_answers.py`` compares both with what
JAX keeps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.asked_primitives import (
    CONVOLUTION,
    DOT,
    NAME,
    OtherParameters,
    Question,
    operands_of,
    parameters_of,
    primitive_of,
)
from jaxpert.model.call_results import frame_of
from jaxpert.model.calls import ApiCall, Argument, bind
from jaxpert.model.fates import RAISES, RECOMPUTED, SAVED, UNKNOWN_ANSWER, Answer, Answers, Fate, merged
from jaxpert.model.paths import ends_of
from jaxpert.model.policies import CustomPolicy, callable_behind
from jaxpert.model.transforms import call_site
from jaxpert.model.values import (
    UNKNOWN,
    CallResult,
    Frame,
    Literal,
    Sequence,
    Symbol,
    Table,
    Value,
    string,
)
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Block

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_JOINS_ONLY_BOOLS = Version("0.4.38")
_PASSES_THROUGH = Version("0.12.0")
_LONGEST_CONDITION = 48


@dataclass(frozen=True, slots=True, eq=False)
class PolicyAnswer(Value):
    """The answer of one of JAX's policies, inside a policy that asks it."""

    answer: Answer


def answers_to(model: FileModel, policy: Value, question: Question) -> Answers:
    """What ``policy``, which is no choice, answers to ``question``; under ``jax_remat3`` it may not be asked."""
    policy = passed_through(model, policy)
    if isinstance(policy, Literal):
        return RECOMPUTED if policy.value is None else UNKNOWN_ANSWER
    if isinstance(policy, Symbol):
        api = model.db.api(policy.path)
        known = api is not None and api.kind is ApiKind.POLICY and model.db.exists(policy.path) is not False
        return _ready_made(api, question) if known and api is not None else UNKNOWN_ANSWER
    if isinstance(policy, CallResult):
        call = made_by(model, policy)
        return _Factory(model, call).answers(question) if call is not None else UNKNOWN_ANSWER
    custom = custom_policy(model, policy)
    return merged(_custom(custom, question)) if custom is not None else UNKNOWN_ANSWER


def passed_through(model: FileModel, policy: Value) -> Value:
    """The policy that ``save_from_both_policies`` gives back as it is: from 0.12.0 on it joins neither
    ``everything_saveable`` nor ``nothing_saveable`` with another. Other policies are themselves.
    """
    call = made_by(model, policy) if isinstance(policy, CallResult) else None
    if call is None or "policies_as_varargs" not in call.api.traits or model.target.version < _PASSES_THROUGH:
        return policy
    both = [argument.value for argument in (*call.arguments.values(), *call.varargs)]
    apis = [model.db.api(value.path) if isinstance(value, Symbol) else None for value in both]
    traits = [api.traits if api is not None else frozenset() for api in apis]
    if len(both) != 2 or call.opened:
        return policy
    for place in (0, 1):
        if "saves_everything" in traits[place]:
            return both[place]
    for place, other in ((0, 1), (1, 0)):
        if "saves_nothing" in traits[place] and len(list(both[other].options())) == 1:
            return passed_through(model, both[other])
    return policy


def custom_policy(model: FileModel, value: Value) -> CustomPolicy | None:
    """The function of the user's that ``value`` runs when it is asked."""
    found = callable_behind(model, value)
    if found is None:
        return None
    function, given, names = found
    return CustomPolicy(function, given, names, (), function.model or model)


def made_by(model: FileModel, policy: CallResult) -> ApiCall | None:
    """The call of a policy factory that makes ``policy``; None when it is another call, or a wrong one."""
    api = model.db.api(policy.path)
    if api is None or api.kind is not ApiKind.POLICY_FACTORY or policy.site is None:
        return None
    if isinstance(policy.callee, CallResult) or model.db.exists(policy.path) is False:
        return None
    call = bind(policy.model or model, call_site(policy.site, policy.call), policy.callee)
    return None if call is None or call.missing or call.unexpected or call.surplus else call


def answer_as_value(model: FileModel, policy: Value, question: Question) -> Value:
    """What ``policy(prim, …)`` gives inside another policy; unknown when that depends on a condition."""
    found = answers_to(model, policy, question)
    answer = found[0]
    if len(found) > 1 or answer.fate is Fate.UNKNOWN:
        return UNKNOWN
    if answer.is_bool:
        return Literal(answer.fate is Fate.SAVED)
    return PolicyAnswer(answer)


# -- policies of JAX --------------------------------------------------------------------------------------------------


def _ready_made(api: Api, question: Question) -> Answers:
    traits = api.traits
    if "saves_everything" in traits:
        return SAVED
    saves = question.primitive == CONVOLUTION and "saves_convolutions" in traits
    if question.primitive == DOT:
        saves = "saves_dots" in traits or ("saves_unbatched_dots" in traits and not question.batched)
    return SAVED if saves else RECOMPUTED


class _Factory:
    """A policy made by a call of a factory."""

    def __init__(self, model: FileModel, call: ApiCall) -> None:
        self.model = model
        self.call = call

    def answers(self, question: Question) -> Answers:
        traits = self.call.api.traits
        if "policies_as_varargs" in traits:
            return self._either(question)
        if "names_have_no_effect" in traits:  # what stands under the name is stored
            return SAVED
        if "offloads_unbatched_dots" in traits:
            is_asked_for = question.primitive == DOT and not question.batched
            return self._offloaded() if is_asked_for else (Answer(Fate.RECOMPUTED),)
        if question.primitive != NAME:
            return RECOMPUTED if "offload_dst" not in self.call.api.roles else (Answer(Fate.RECOMPUTED),)
        return self._named(question)

    def _named(self, question: Question) -> Answers:
        is_open = self.call.opened
        for names, answer in self._groups():
            mentioned, open_too = names
            if question.tag in mentioned:
                return answer if mentioned[question.tag] else UNKNOWN_ANSWER
            is_open |= open_too
        if is_open:
            return UNKNOWN_ANSWER
        if "names_excluded" in self.call.api.traits:
            return SAVED
        return RECOMPUTED if "offload_dst" not in self.call.api.roles else (Answer(Fate.RECOMPUTED),)

    def _groups(self) -> Iterator[tuple[tuple[dict[str, bool], bool], Answers]]:
        """The names of each argument, whether each is certain, whether there may be more, and what is done to them."""
        call = self.call
        if "names_as_varargs" in call.api.traits:
            given = [*call.arguments.values(), *call.varargs]
            answer: Answers = RECOMPUTED if "names_excluded" in call.api.traits else SAVED
            yield _names_in([argument.value for argument in given]), answer
        for role in ("names", "offloaded_names") if "names_as_collections" in call.api.traits else ():
            argument = call.role(role)
            options = list(argument.value.options()) if argument is not None else []
            answer = self._offloaded() if role == "offloaded_names" else SAVED
            if "names_excluded" in call.api.traits:
                answer = RECOMPUTED
            if len(options) == 1 and isinstance(options[0], Sequence):
                names, is_open = _names_in(list(options[0].items))
                yield (names, is_open or not options[0].exact), answer
            elif argument is not None:
                yield ({}, True), answer

    def names(self) -> Iterator[str]:
        """Every name that is mentioned, in order."""
        for (names, _), _ in self._groups():
            yield from names

    def _offloaded(self) -> Answers:
        return (_offload(self.call),)

    def _either(self, question: Question) -> Answers:
        policies = [*self.call.arguments.values(), *self.call.varargs]
        if len(policies) != 2 or self.call.opened:
            return UNKNOWN_ANSWER
        options = [list(policy.value.options()) for policy in policies]
        if any(len(each) != 1 for each in options):
            return UNKNOWN_ANSWER
        first, second = (answers_to(self.model, each[0], question) for each in options)
        return merged(self._joined(a, b) for a in first for b in second)

    def _joined(self, one: Answer, other: Answer) -> Answer:
        when = " and ".join(dict.fromkeys(text for text in (one.when, other.when) if text))
        if one.is_bool and other.is_bool:
            return replace(one if one.fate is Fate.SAVED else other, when=when)
        if Fate.UNKNOWN in (one.fate, other.fate):
            return replace(UNKNOWN_ANSWER[0], when=when)
        if self.model.target.version >= _JOINS_ONLY_BOOLS:
            return replace(RAISES[0], when=when)
        return replace(other if one.is_bool and one.fate is Fate.RECOMPUTED else one, when=when)  # `a or b`


def names_mentioned(model: FileModel, policy: Value) -> tuple[str, ...]:
    """The checkpoint names that a policy made by a factory asks for, also through ``save_from_both_policies``."""
    call = made_by(model, policy) if isinstance(policy, CallResult) else None
    if call is None:
        return ()
    if "policies_as_varargs" not in call.api.traits:
        return tuple(dict.fromkeys(_Factory(model, call).names()))
    parts = [option for argument in (*call.arguments.values(), *call.varargs) for option in argument.value.options()]
    return tuple(dict.fromkeys(name for part in parts for name in names_mentioned(model, part)))


def _names_in(values: list[Value]) -> tuple[dict[str, bool], bool]:
    """The names among ``values``, whether each is certainly among them, and whether there may be more."""
    names: dict[str, bool] = {}
    is_open = False
    for value in values:
        options = list(value.options())
        for option in options:
            text = string(option)
            if text is not None:
                names[text] = names.get(text, False) or len(options) == 1
            elif not isinstance(option, (Literal, Sequence, Table)):
                is_open = True
    return names, is_open


def _offload(call: ApiCall) -> Answer:
    source, destination = (_text(call.role(role)) for role in ("offload_src", "offload_dst"))
    return Answer(Fate.OFFLOADED, source=source, destination=destination)


def _text(argument: Argument | None) -> str:
    return (string(argument.value) or "") if argument is not None else ""


# -- policies of the user's -------------------------------------------------------------------------------------------


def question_frame(policy: CustomPolicy, question: Question) -> Frame:
    """What the policy's parameters are when it is asked ``question``."""
    model, function = policy.model, policy.value.function
    arguments = function.node.args
    inner = function.inner
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][policy.given :]
    operands = operands_of(question)
    values: list[Value] = [primitive_of(question), *operands.items]
    params = parameters_of(question)
    keywords = {}
    if isinstance(params, Table):
        keywords = {str(string(key)): value for key, value in params.entries}
    found = dict(frame_of(model.evaluator, policy.value, [], keywords))
    found.update(policy.value.frame)
    for name, value in zip(positional, values):
        found[id(inner), name] = value
    for name in positional[len(values) :] if not operands.exact else ():
        found[id(inner), name] = UNKNOWN
    if isinstance(params, OtherParameters):
        for argument in arguments.kwonlyargs:
            if argument.arg not in params.lacks and argument.arg not in policy.given_names:
                found[id(inner), argument.arg] = UNKNOWN
    if arguments.vararg is not None:
        rest = values[len(positional) :]
        found[id(inner), arguments.vararg.arg] = Sequence("tuple", tuple(rest), operands.exact)
    if arguments.kwarg is not None:
        found[id(inner), arguments.kwarg.arg] = params
    return found


def _custom(policy: CustomPolicy, question: Question) -> Iterator[Answer]:
    """What a function answers, along every path that the question leaves open."""
    node, function, model = policy.value.function.node, policy.value.function, policy.model
    model.evaluator.entered.append(function.block.tree)
    if policy.kind != "function":
        yield RAISES[0]
        return
    frame = question_frame(policy, question)
    reader = _Reader(model, policy, frame)
    if isinstance(node, ast.Lambda):
        yield from reader.expression(node.body, function.body_block, "")
        return
    condition = model.evaluator.condition(function.inner, function.body_block, frame)
    never_returns = model.evaluator.never_returns(function.inner, function.body_block)
    ends = ends_of(node.body, node, condition, never_returns)
    blocks = dict(function.returns)
    for returned in ends.returns:
        block = blocks.get(returned)
        if block is not None and not model.is_dead(block):
            when = reader.condition_around(block)
            if returned.value is None:
                yield replace(RAISES[0], when=when)
            else:
                yield from reader.expression(returned.value, block, when)
    if ends.falls is not None or not ends.returns:
        yield RAISES[0]


class _Reader:
    """Reads the answers out of the expressions of one policy, asked one question."""

    def __init__(self, model: FileModel, policy: CustomPolicy, frame: Frame) -> None:
        self.model = model
        self.function = policy.value.function
        self.frame = frame

    def expression(self, node: ast.expr, block: Block, when: str) -> Iterator[Answer]:
        """The answers that an expression gives."""
        if isinstance(node, ast.IfExp):
            known = self._known(node.test, block)
            if known is not False:
                yield from self.expression(node.body, block, _all_of(when, "" if known else self._text(node.test)))
            if known is not True:
                yield from self.expression(node.orelse, block, when)
            return
        value = self.model.evaluate(node, self.function.inner, block, self.frame)
        for option in value.options():
            yield replace(self._answer(option), when=when)

    def condition_around(self, block: Block) -> str:
        """The conditions under which ``block`` runs, as far as the question leaves them open."""
        texts: list[str] = []
        for around in block.enclosing():
            if around is self.function.body_block:
                break
            owner = around.owner
            if isinstance(owner, ast.If) and around.part == "body" and self._known(owner.test, around) is None:
                texts.insert(0, self._text(owner.test))
        return _all_of(*texts)

    def _known(self, test: ast.expr, block: Block) -> bool | None:
        return self.model.evaluator.condition(self.function.inner, block, self.frame)(test)

    def _text(self, node: ast.expr) -> str:
        text = self.model.text_of(node)
        return text if len(text) <= _LONGEST_CONDITION else f"{text[: _LONGEST_CONDITION - 1]}…"

    def _answer(self, value: Value) -> Answer:
        if isinstance(value, PolicyAnswer):
            return value.answer
        if isinstance(value, Literal):
            return (SAVED if value.value else RECOMPUTED)[0] if isinstance(value.value, bool) else RAISES[0]
        api = self.model.db.api(value.path) if isinstance(value, (Symbol, CallResult)) and value.path else None
        if api is not None and isinstance(value, Symbol):
            if api.kind is ApiKind.SENTINEL:
                return Answer(Fate.SAVED if api.name.endswith(".Saveable") else Fate.RECOMPUTED)
            return RAISES[0] if api.kind in (ApiKind.CLASS, ApiKind.POLICY) else UNKNOWN_ANSWER[0]
        if api is not None and isinstance(value, CallResult) and value.site is not None:
            if api.kind is ApiKind.CLASS and "offload_dst" in api.roles:
                call = bind(value.model or self.model, call_site(value.site, value.call), value.callee)
                if call is not None and not call.unexpected and not call.missing and not call.surplus:
                    return _offload(call)
        return UNKNOWN_ANSWER[0]


def _all_of(*conditions: str) -> str:
    return " and ".join(condition for condition in conditions if condition)
