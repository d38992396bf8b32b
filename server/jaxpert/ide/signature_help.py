"""The signature of the call that is being typed, by version, and which parameter is next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxpert.ide.api_hover import signature_pieces
from jaxpert.ide.completion import COMPLETED
from jaxpert.model.open_calls import open_call
from jaxpert.records import dataclass
from jaxpert.syntax.open_brackets import surroundings
from jaxpert.text.lines import Position

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True)
class ShownParameter:
    """A parameter: where it stands in the label, and what it is, in inline Markdown."""

    start: int
    end: int
    documentation: str


@dataclass(frozen=True, slots=True)
class ShownSignature:
    """A signature.

    Attributes:
        label: the call as it is written.
        documentation: in inline Markdown.
        active: number of the parameter that is typed, or None.
    """

    label: str
    documentation: str
    parameters: tuple[ShownParameter, ...]
    active: int | None


def signature_help(model: FileModel, position: Position) -> ShownSignature | None:
    """The signature of the call of an API around checkpoints that ``position`` is in; None when it is in none."""
    if not model.concerns_jax:
        return None
    around = surroundings(model.source, position)
    call = open_call(model, around, directly=False) if not around.is_comment else None
    signature = call.api.signature(model.target.version) if call is not None else None
    if call is None or signature is None or call.api.kind not in COMPLETED:
        return None
    label = f"{call.api.name}("
    parameters: list[ShownParameter] = []
    active = None
    for text, parameter in signature_pieces(signature):
        label += "" if label.endswith("(") else ", "
        if parameter is not None:
            if call.current is not None and parameter.name == call.current.name:
                active = len(parameters)
            said = call.api.arguments.get(parameter.name, "")
            parameters.append(ShownParameter(len(label), len(label) + len(text), said))
        label += text
    documentation = f"JAX {model.target.version}: {call.api.summary}" if call.api.library == "jax" else call.api.summary
    return ShownSignature(f"{label})", documentation, tuple(parameters), active)
