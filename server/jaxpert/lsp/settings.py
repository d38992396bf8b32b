"""What the client sets: the names of the settings and where in its messages they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from jaxpert.records import dataclass

SECTION = "jaxpert"
"""The name under which clients keep our settings."""

HINTS = ("policy", "staticArguments", "checkpointNames")
"""The kinds of inlay hints, each a setting below ``inlayHints``."""

_OVERRIDES = ("select", "ignore", "exclude", "jaxVersion", "remat3", "x64")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one folder.

    Attributes:
        enable: whether its files are checked at all.
        interpreter: the Python whose installed JAX counts, or "".
        overrides: options that win over the configuration file; not checked yet.
        hints_off: the kinds of inlay hints that are switched off, of :data:`HINTS`.
        code_lenses: whether code lenses are shown.
        cache: whether what is known about the folder is kept from one start to the next.
    """

    enable: bool = True
    interpreter: str = ""
    overrides: Mapping[str, object] = field(default_factory=dict)
    hints_off: frozenset[str] = frozenset()
    code_lenses: bool = True
    cache: bool = True


def section_of(sent: object) -> dict[str, Any] | None:
    """Our settings inside what a client sent, or None when there are none.

    Clients send them bare, under ``settings``, under ``jaxpert``, or under both.
    """
    value = sent
    for name in ("settings", SECTION):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
    return dict(value) if isinstance(value, Mapping) else None


def layered(*layers: Mapping[str, Any] | None) -> dict[str, Any]:
    """One mapping out of ``layers``, later ones winning; an absent or null value leaves the earlier one."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update({key: value for key, value in (layer or {}).items() if value is not None})
    return merged


def read_settings(raw: Mapping[str, Any]) -> Settings:
    """``raw`` as settings. Unknown names are ignored, and so are empty values: editors send them for "not set"."""
    interpreter = raw.get("interpreter")
    return Settings(
        enable=raw.get("enable") is not False,
        interpreter=interpreter if isinstance(interpreter, str) else "",
        overrides={name: raw[name] for name in _OVERRIDES if raw.get(name) not in (None, "", [])},
        hints_off=frozenset(kind for kind in HINTS if _inner(raw, "inlayHints", kind) is False),
        code_lenses=_inner(raw, "codeLens", "enable") is not False,
        cache=_inner(raw, "cache", "enable") is not False,
    )


def _inner(raw: Mapping[str, Any], group: str, name: str) -> object:
    """A setting below another, which clients send nested or with a dot; a group that is one value speaks for all."""
    value = raw.get(group)
    if isinstance(value, Mapping):
        value = value.get(name)
    return raw.get(f"{group}.{name}", value)
