"""What a decorator applies, and with which options: ``@jax.jit``, ``@partial(jax.jit, static_argnums=0)``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api
from jaxpert.model.calls import ApiCall, bind
from jaxpert.model.transforms import call_site
from jaxpert.model.values import CallResult, Partial, Symbol, Value

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


def decorating(model: FileModel, value: Value) -> tuple[Api, ApiCall | None] | None:
    """What the decorator ``value`` applies, with the options that it gives."""
    options = _options(model, value)
    api = model.db.api(value.path) if isinstance(value, Symbol) else options.api if options is not None else None
    return (api, options) if api is not None else None


def _options(model: FileModel, value: Value) -> ApiCall | None:
    """The options that a decorator gives to a transformation, by ``functools.partial`` or a call without function."""
    if isinstance(value, CallResult):
        return without_function(model, value)
    if isinstance(value, Partial) and value.site is not None and isinstance(value.site.node, ast.Call):
        options = bind(value.model or model, call_site(value.site, value.site.node), value.target, is_partial=True)
        return options if options is not None and not options.opened else None
    return None


def without_function(model: FileModel, value: Value) -> ApiCall | None:
    """The call of a transformation that got its options but not yet its function."""
    if not isinstance(value, CallResult) or value.site is None or isinstance(value.callee, CallResult):
        return None
    options = bind(value.model or model, call_site(value.site, value.call), value.callee)
    return options if options is not None and options.role("fun") is None and not options.opened else None
