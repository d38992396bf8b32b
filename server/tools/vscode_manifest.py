"""The parts of the VS Code extension that follow from the server: its settings, in the manifest and in its README.

What the options of ``jaxpert.toml`` mean is said once, in the schema that :mod:`generate` makes; here stands only what
an editor has besides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from jaxpert.lsp.settings import HINTS, SECTION

Setting = dict[str, Any]

_START: dict[str, Setting] = {
    "enable": {"type": "boolean", "default": True, "description": "Whether code is checked."},
    "path": {
        "scope": "machine-overridable",
        "type": "string",
        "default": "",
        "markdownDescription": "A `jaxpert` program to run as the server, in place of the bundled one.",
    },
    "interpreter": {
        "type": "string",
        "default": "",
        "markdownDescription": "The Python whose installed JAX counts, and which runs the server. Not set: the one "
        "selected in the Python extension, else `.venv` in the folder, `VIRTUAL_ENV`, or the one on `PATH`.",
    },
    "importStrategy": {
        "scope": "machine-overridable",
        "type": "string",
        "enum": ["useBundled", "fromEnvironment"],
        "enumDescriptions": [
            "The server that comes with the extension.",
            "The jaxpert that is installed for the interpreter; where there is none, the bundled one.",
        ],
        "default": "useBundled",
        "description": "Which server runs.",
    },
    "args": {
        "scope": "machine-overridable",
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "markdownDescription": "More arguments for `jaxpert lsp`.",
    },
}
_OPTIONS = ("select", "ignore", "exclude", "jax-version", "remat3", "x64")
_HINT_TEXTS = {
    "policy": "what a policy keeps, behind where it is given.",
    "staticArguments": "which arguments of a rematerialized function are static, where it is called.",
    "checkpointNames": "what becomes of a checkpoint name, behind where it is given.",
}
_EDITOR: dict[str, Setting] = {
    "codeLens.enable": {
        "type": "boolean",
        "default": True,
        "description": "Show lines above rematerialized functions: what is kept, names, calls.",
    },
    "cache.enable": {
        "type": "boolean",
        "default": True,
        "description": "Keep what is known about a project in your user cache folder, for the next start.",
    },
    "trace.server": {
        "scope": "window",
        "type": "string",
        "enum": ["off", "messages", "verbose"],
        "default": "off",
        "description": "Log the messages between the editor and the server.",
    },
}


def configuration(options: Mapping[str, Mapping[str, Any]]) -> Setting:
    """``contributes.configuration`` of the manifest.

    Args:
        options: the properties of the schema of the options.
    """
    hints = {
        f"inlayHints.{kind}": {"type": "boolean", "default": True, "description": f"Show hints: {_HINT_TEXTS[kind]}"}
        for kind in HINTS
    }
    settings = {**_START, **{_camel(key): _as_setting(options[key]) for key in _OPTIONS}, **hints, **_EDITOR}
    properties = {f"{SECTION}.{name}": {"scope": "resource", **setting} for name, setting in settings.items()}
    return {"title": "jaxpert", "properties": properties}


def manifest(text: str, version: str, options: Mapping[str, Mapping[str, Any]]) -> str:
    """``package.json`` with the version and the settings as they should be."""
    content = json.loads(text)
    content["version"] = version
    content["contributes"]["configuration"] = configuration(options)
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def lock_file(text: str, version: str) -> str:
    """``package-lock.json`` with the version as it should be."""
    content = json.loads(text)
    content["version"] = content["packages"][""]["version"] = version
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def settings_table(options: Mapping[str, Mapping[str, Any]]) -> str:
    """A Markdown table of the settings."""
    rows = ["| setting | default | |", "|---|---|---|"]
    for name, setting in configuration(options)["properties"].items():
        default = json.dumps(setting["default"])
        rows.append(f"| `{name}` | `{default}` | {setting.get('markdownDescription') or setting['description']} |")
    return "\n".join(rows) + "\n"


def _camel(key: str) -> str:
    """``jax-version`` as editors write it."""
    return re.sub("-(.)", lambda match: match[1].upper(), key)


def _as_setting(option: Mapping[str, Any]) -> Setting:
    """An option of the configuration file as a setting, whose default says "not set"."""
    if option["type"] == "array":
        return {**option, "default": []}
    if option["type"] == "boolean":
        return {**option, "type": ["boolean", "null"], "default": None}
    # The pattern must let the default pass.
    return {**option, "pattern": f"^$|{option['pattern']}", "default": ""}
