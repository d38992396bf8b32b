"""What the server is doing, for an editor that shows it: which JAX, how many rules, what is missing.

``jaxpert/status`` answers with it. A client that names ``jaxpertStatus`` in its ``experimental`` capabilities is told
by ``jaxpert/statusChanged``, which carries nothing, when it is worth asking again.
"""

from __future__ import annotations

import platform
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jaxpert import __version__

if TYPE_CHECKING:
    from jaxpert.lsp.session import Session

STATUS = "jaxpert/status"
CHANGED = "jaxpert/statusChanged"


def status(session: Session, params: Any) -> dict[str, Any]:
    """``jaxpert/status``; with a ``uri`` among the parameters also about that document.

    Returns:
        ``jax`` and ``rules`` are null for a document that is not analysed.
    """
    from jaxpert.rules import ALL_RULES

    found = session.place(str(getattr(params, "uri", "")))
    jax = rules = None
    if found is not None:
        analysis = found[2]
        target, snapshot = analysis.model.target, analysis.snapshot
        known = {rule.name: rule.code for rule in ALL_RULES}
        enabled = snapshot.options.enabled_rules(snapshot.path, known)
        jax = {"version": str(target.version), "origin": target.origin}
        rules = {"enabled": len(enabled), "known": len(known)}
    return {
        "server": {"version": __version__, "python": sys.executable, "pythonVersion": platform.python_version()},
        "jax": jax,
        "rules": rules,
        "isIndexing": session.indexing.is_running,
        "missing": missing(),
    }


def missing() -> list[str]:
    """The packages that are not installed beside the server although it can use them. Without ``libcst`` findings
    that need an argument or a list item rewritten have no fix.
    """
    return [name for name in ("libcst",) if find_spec(name) is None]
