"""Which policy of JAX a function of the user's certainly is, and which policies of JAX are one and the same."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.asked_primitives import CONVOLUTION, DOT, NAME, Question
from jaxpert.model.decoded_policies import Decoded, api_of, decoded_value
from jaxpert.model.fates import RECOMPUTED, SAVED, Answers
from jaxpert.model.policy_answers import answers_to, made_by
from jaxpert.model.values import CallResult, Def, Literal, Value
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import FunctionNode

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

SCALED = "scaled_matmul_wrapper"
"""The primitive of ``jax.nn.scaled_matmul``: a matrix product to JAX's policies, but for its name."""

_STANDARD = frozenset({DOT, CONVOLUTION, NAME})
_KNOWS_SCALED = Version("0.7.1")
_STATEMENTS = (ast.If, ast.Return, ast.Assign, ast.Pass)
_PURE = {"len", "str", "bool", "any", "all", "isinstance", "tuple", "set", "frozenset", "list"}
_PURE_METHODS = {"get", "startswith", "endswith", "lower", "upper", "strip", "keys", "values", "items"}


@dataclass(frozen=True, slots=True)
class ReadyMade:
    """A policy of JAX: its dotted path, and for a factory the names that it is given."""

    path: str
    names: tuple[str, ...] | None = None


def ready_made_like(model: FileModel, policy: Value) -> ReadyMade | None:
    """The policy of JAX that answers as a function of the user's does, whatever it is asked; None unless certain.

    Certain is: the function only looks at the primitive, the checkpoint name and whether a product has batch
    dimensions, does nothing besides, and its answer to each question, that about any other primitive included, is one
    bool. Under ``jax_remat3`` JAX's own policies are asked otherwise than a user's.
    """
    if not isinstance(policy, Def) or policy.owner is not None or policy.frame or model.target.remat3:
        return None
    node = policy.function.node
    if not _takes_anything(node) or not _only_answers(policy.model or model, policy):
        return None
    decoded = decoded_value(model, policy).only
    if decoded is None or (decoded.looks_at_names and not _asks_whether_named(node)):
        return None
    # Asked about "any other" without excluding what it mentions: the answer must not depend on it.
    others = answers_to(model, policy, Question(not_primitives=_STANDARD | {SCALED}))
    scaled = answers_to(model, policy, Question(SCALED))
    parts = (decoded.unbatched_dots, decoded.batched_dots, decoded.convolutions, decoded.other_names, others, scaled)
    if not all(_is_certain(part) for part in (*parts, *decoded.names.values())):
        return None
    if decoded.others not in (others, scaled) or not decoded.primitives.keys() <= {SCALED}:
        return None
    found = _like(replace(decoded, others=others))
    if found is None or model.db.exists(found.path) is False or scaled != _scaled_of(found, model.target.version):
        return None
    return found


def _scaled_of(policy: ReadyMade, version: Version) -> Answers | None:
    """What a policy of JAX does with scaled matrix products; None when that depends on their shapes."""
    if policy.path.endswith(".everything_saveable"):
        return SAVED
    if version >= _KNOWS_SCALED and ".dots_" in policy.path:
        return SAVED if policy.path.endswith(".dots_saveable") else None
    return RECOMPUTED


def _like(decoded: Decoded) -> ReadyMade | None:
    saved = tuple(name for name, answers in decoded.names.items() if answers == SAVED)
    left_out = tuple(name for name, answers in decoded.names.items() if answers == RECOMPUTED)
    dots, batched = decoded.unbatched_dots == SAVED, decoded.batched_dots == SAVED
    convolutions, names, others = (
        answers == SAVED for answers in (decoded.convolutions, decoded.other_names, decoded.others)
    )
    pattern = (dots, batched, convolutions, others)
    if pattern == (True, True, True, True) and names and not left_out:
        return _named("everything_saveable")
    if pattern == (False, False, False, False):
        if names:
            return _named("save_any_names_but_these", left_out)
        return _named("save_only_these_names", saved) if saved else _named("nothing_saveable")
    if saved or names or others:
        return None
    plain = {(True, True, True): "dots_saveable", (True, False, False): "dots_with_no_batch_dims_saveable"}
    name = plain.get((dots, batched, convolutions))
    return _named(name) if name is not None else None


def _named(name: str, names: tuple[str, ...] | None = None) -> ReadyMade:
    return ReadyMade(f"jax.checkpoint_policies.{name}", names)


def _is_certain(answers: Answers) -> bool:
    return answers in (SAVED, RECOMPUTED) and answers[0].is_bool and not answers[0].when


def _takes_anything(node: FunctionNode) -> bool:
    """Whether the signature takes whatever JAX passes."""
    arguments = node.args
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    plain = required <= 1 and not arguments.kwonlyargs and not arguments.defaults
    return plain and arguments.vararg is not None and arguments.kwarg is not None


def _only_answers(model: FileModel, policy: Def) -> bool:
    """Whether the function does nothing but decide, on grounds that the questions tell apart."""
    node = policy.function.node
    if isinstance(node, ast.AsyncFunctionDef) or policy.function.is_generator:
        return False
    if getattr(node, "decorator_list", None):
        return False
    body = [] if isinstance(node, ast.Lambda) else node.body
    statements = [one for part in body for one in ast.walk(part) if isinstance(one, ast.stmt)]
    if not all(isinstance(one, _STATEMENTS) or _is_docstring(one) for one in statements):
        return False
    if any(isinstance(target, (ast.Attribute, ast.Subscript)) for one in statements if isinstance(one, ast.Assign)
           for target in one.targets):
        return False
    looks_at_dimensions = False
    for part in ast.walk(node):
        if isinstance(part, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Starred)):
            return False
        if isinstance(part, ast.Call) and not _is_pure(model, policy, part):
            return False
        looks_at_dimensions |= isinstance(part, ast.Constant) and part.value == "dimension_numbers"
    if not looks_at_dimensions:
        return True
    # One batch dimension stands for any number of them: only emptiness may be asked for.
    return all(_asks_for_emptiness(part) for part in ast.walk(node) if isinstance(part, ast.Compare))


def _asks_whether_named(node: FunctionNode) -> bool:
    """Whether the function tests for the primitive of ``checkpoint_name``: others may have a ``name`` as well."""
    for one in ast.walk(node):
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
            for side in (one.left, *one.comparators):
                if isinstance(side, ast.Constant) and side.value == "name":
                    return True
                if (isinstance(side, ast.Attribute) and side.attr == "name_p") or (
                    isinstance(side, ast.Name) and side.id == "name_p"
                ):
                    return True
    return False


def _is_docstring(one: ast.stmt) -> bool:
    return isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)


def _is_pure(model: FileModel, policy: Def, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _PURE_METHODS
    if isinstance(call.func, ast.Name) and call.func.id in _PURE:
        return policy.function.inner.lookup(call.func.id) is None
    value = model.evaluate(call.func, policy.function.inner, policy.function.body_block)
    return all(api_of(model, option) is not None for option in value.options())


def _asks_for_emptiness(compare: ast.Compare) -> bool:
    """Whether a comparison asks whether something is empty, or is about a text or a primitive."""
    sides = [compare.left, *compare.comparators]
    if any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in sides):
        return True
    if any(isinstance(one, ast.Attribute) and (one.attr == "name" or one.attr.endswith("_p")) for one in sides):
        return True
    if len(sides) != 2 or not isinstance(compare.ops[0], (ast.Eq, ast.NotEq, ast.Gt)):
        return False
    left, right = sides
    if isinstance(right, ast.Tuple) and not right.elts:
        return not isinstance(compare.ops[0], ast.Gt)
    counts = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "len"
    return counts and isinstance(right, ast.Constant) and right.value == 0


# -- policies of JAX --------------------------------------------------------------------------------------------------


def is_default(model: FileModel, policy: Value) -> bool:
    """Whether a policy certainly does what no policy does: None, or ``nothing_saveable`` itself."""
    if isinstance(policy, Literal):
        return policy.value is None
    api = api_of(model, policy)
    return api is not None and api.kind is ApiKind.POLICY and "saves_nothing" in api.traits


def joined_policies(model: FileModel, policy: Value) -> tuple[Value, Value] | None:
    """The two policies of JAX, each known, that ``save_from_both_policies`` joins; None for anything else."""
    call = made_by(model, policy) if isinstance(policy, CallResult) else None
    if call is None or call.opened or "policies_as_varargs" not in call.api.traits:
        return None
    parts = [argument.value for argument in (*call.arguments.values(), *call.varargs)]
    if len(parts) != 2 or not all(_is_of_jax(model, part) for part in parts):
        return None
    return parts[0], parts[1]


def _is_of_jax(model: FileModel, policy: Value) -> bool:
    if joined_policies(model, policy) is not None:
        return True
    api = api_of(model, policy)
    return api is not None and "names_have_no_effect" not in api.traits and "policies_as_varargs" not in api.traits


def same(model: FileModel, one: Value, other: Value) -> bool:
    """Whether two policies of JAX certainly answer alike."""
    first, second = decoded_value(model, one).only, decoded_value(model, other).only
    if first is None or second is None or model.target.remat3:
        return False
    names = {*first.names, *second.names}
    pairs = [(first.name(name), second.name(name)) for name in names]
    pairs += [
        (first.unbatched_dots, second.unbatched_dots),
        (first.batched_dots, second.batched_dots),
        (first.convolutions, second.convolutions),
        (first.other_names, second.other_names),
        (first.others, second.others),
    ]
    return not first.primitives and not second.primitives and all(
        _is_certain(a) and _is_certain(b) and a == b for a, b in pairs
    )


