"""Ask one installed JAX what it is: run by the Python that has it, answers with one JSON object on stdout.

Reads from stdin ``{"paths": [dotted path, …], "switches": [configuration option, …]}``. Uses only the standard
library and JAX itself, so that any environment can run it; :mod:`build_api` starts it and reads its answer.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import sys
import types
import warnings
from typing import Any

UNREAD = frozenset(
    {"array_serialization", "collect_profile", "examples", "jax2tf", "mlir", "mosaic", "source_mapper"}
    | {"test", "tests", "tools"}
)
"""Modules that are scripts or tests, need another framework, or mirror another project: their names stay unknown."""

NAMESPACE_OBJECTS = ("jax.checkpoint_policies", "jax.ad_checkpoint.checkpoint_policies")
"""Objects that are not modules but used as such."""

VERSION_NAMES = frozenset({"__version__", "__version_info__"})
_MISSING = object()


def find(path: str) -> Any:
    """The object at a dotted path, importing modules on the way; ``_MISSING`` when there is none."""
    parts = path.split(".")
    value: Any = _MISSING
    for index, part in enumerate(parts):
        with contextlib.suppress(Exception):
            importlib.import_module(".".join(parts[: index + 1]))
        if index == 0:
            value = sys.modules.get(part, _MISSING)
        else:
            value = attribute(value, part)
        if value is _MISSING:
            return _MISSING
    return value


def attribute(owner: Any, name: str) -> Any:
    """``owner.name``, or ``_MISSING``. A removed name that raises AttributeError with advice is missing."""
    try:
        return getattr(owner, name)
    except Exception:
        return _MISSING


def public_modules() -> tuple[list[str], list[str]]:
    """Every public module that ships with JAX, importable or not: those to read, and those of :data:`UNREAD`."""
    import jax

    read, unread = ["jax"], []
    pending = [("jax", list(jax.__path__))]
    while pending:
        package, folders = pending.pop()
        for info in pkgutil.iter_modules(folders):
            name = f"{package}.{info.name}"
            if info.name in UNREAD or info.name.endswith("_test"):
                unread.append(name)
            elif not info.name.startswith("_"):
                read.append(name)
                if info.ispkg:
                    pending.append((name, [os.path.join(folder, info.name) for folder in folders]))  # noqa: PTH118
    # Kernels come last: their primitives are no business of a policy.
    return sorted(read, key=lambda name: ("pallas" in name, name)), unread


def hidden_names(module: types.ModuleType) -> set[str]:
    """Names that ``dir`` does not show because the module's ``__getattr__`` makes them, mostly deprecated ones."""
    hook = vars(module).get("__getattr__")
    table = vars(module).get("_deprecations")
    names: set[str] = set(table) if isinstance(table, dict) else set()
    for cell in getattr(hook, "__closure__", None) or ():
        if isinstance(cell.cell_contents, dict):
            names.update(cell.cell_contents)
    if inspect.isfunction(hook) and hook.__module__ == module.__name__:
        with contextlib.suppress(OSError, SyntaxError, TypeError):
            for node in ast.walk(ast.parse(inspect.getsource(hook))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                    names.add(node.value)
    return names


def members(owner: Any) -> list[str]:
    """The names reachable on a module or namespace that an outsider may use."""
    candidates = set(dir(owner))
    if isinstance(owner, types.ModuleType):
        candidates |= hidden_names(owner)
    wanted = (name for name in candidates if not name.startswith("_") or name in VERSION_NAMES)
    return sorted(name for name in wanted if attribute(owner, name) is not _MISSING)


def default_text(value: Any) -> str:
    """A default as source text; ``...`` where its repr is not Python."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return str(value.__name__)
    text = repr(value)
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return "..."
    return text


def own_signature(value: Any) -> inspect.Signature | None:
    """What a call of ``value`` really accepts.

    A wrapper made with ``functools.wraps`` may take other parameters than the function it wraps, so only
    wrappers that pass everything on (``*args, **kwargs``) are looked through.
    """
    try:
        signature = inspect.signature(value, follow_wrapped=False)
    except (TypeError, ValueError):
        signature = None
    inner = getattr(value, "__wrapped__", None)
    if inner is None or inspect.isclass(value):
        return signature
    if signature is None or {item.kind for item in signature.parameters.values()} <= {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    }:
        return own_signature(inner)
    return signature


def signature_text(value: Any) -> str | None:
    """The signature as ``(a, *, b=1)``, without annotations; None where there is none."""
    signature = own_signature(value) if callable(value) else None
    if signature is None:
        return None
    parts: list[str] = []
    last_kind: Any = None
    for parameter in signature.parameters.values():
        kind = parameter.kind
        if last_kind is parameter.POSITIONAL_ONLY and kind is not parameter.POSITIONAL_ONLY:
            parts.append("/")
        if kind is parameter.KEYWORD_ONLY and last_kind not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
            parts.append("*")
        stars = "*" if kind is parameter.VAR_POSITIONAL else "**" if kind is parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is parameter.empty else "=" + default_text(parameter.default)
        parts.append(f"{stars}{parameter.name}{default}")
        last_kind = kind
    if last_kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return f"({', '.join(parts)})"


def primitives() -> set[str]:
    """Names of all primitives that exist at this moment."""
    from jax._src.core import Primitive

    names = {str(item.name) for item in gc.get_objects() if isinstance(item, Primitive)}
    return {name for name in names if not name.startswith("_")}


def answer(paths: list[str], switches: list[str]) -> dict[str, Any]:
    """Everything :mod:`build_api` stores about this JAX."""
    import jax

    read, unread = public_modules()
    modules: dict[str, Any] = {}
    before_kernels: set[str] = set()
    for name in read:
        if "pallas" in name and not before_kernels:
            before_kernels = primitives()
        try:
            modules[name] = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "jax").partition(".")[0] != "jax":
                modules[name] = None  # this environment lacks something that the module needs
        except Exception as error:  # nobody can import it: what JAX leaves behind when it removes one
            print(f"{name} only says: {error}", file=sys.stderr)
    # A module is a member of its package whether or not it can be read here.
    submodules: dict[str, set[str]] = {}
    for name in [*list(modules)[1:], *unread]:
        package, _, last = name.rpartition(".")
        submodules.setdefault(package, set()).add(last)
    found: dict[str, list[str] | None] = {}
    for name, module in modules.items():
        found[name] = None if module is None else sorted({*members(module), *submodules.get(name, ())})
    for name in NAMESPACE_OBJECTS:
        value = find(name)
        if value is not _MISSING:
            found[name] = members(value)
    signatures = {path: find(path) for path in paths}
    values = jax.config.values
    return {
        "version": jax.__version__,
        "modules": found,
        "primitives": sorted(before_kernels | ({"pallas_call"} & primitives())),
        "paths": {path: signature_text(value) for path, value in signatures.items() if value is not _MISSING},
        "switches": {name: values[name] for name in switches if name in values},
    }


def main() -> None:
    """Read the request, keep stray output of imported modules away from stdout, print the answer."""
    request = json.load(sys.stdin)
    os.environ["JAX_PLATFORMS"] = "cpu"
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        result = answer(request["paths"], request["switches"])
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
