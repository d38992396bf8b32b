"""Starts the language server. Imports almost nothing, so that what costs time is imported without collections."""

from __future__ import annotations

import gc
import logging
import sys
from typing import TYPE_CHECKING

from jaxpert.lsp import transport

if TYPE_CHECKING:
    from jaxpert.lsp.language_server import JaxpertServer


def run(port: int | None = None, host: str = "127.0.0.1") -> None:
    """Serve through ``port`` if given, else standard input and output, and exit."""
    sys.exit(run_stdio() if port is None else run_tcp(host, port))


def run_stdio() -> int:
    """Serve one client through standard input and output; returns the exit code."""
    incoming, outgoing = transport.claim_standard_streams()
    return transport.run_on_descriptors(create_server(), incoming, outgoing)


def run_tcp(host: str, port: int) -> int:
    """Serve one client that connects to ``host:port``; returns the exit code.

    Raises:
        OSError: the address cannot be listened on.
    """
    return transport.run_on_port(create_server(), host, port)


def create_server() -> JaxpertServer:
    """A server that waits for its client. From here on the scheduler collects garbage, when it is quiet: collections
    of their own accord would lengthen the start, and later strike in the middle of a keystroke.
    """
    gc.disable()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s: %(message)s")
    logging.getLogger("jaxpert").setLevel(logging.INFO)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # we log what matters of it ourselves, in one line
    from jaxpert.lsp.language_server import JaxpertServer

    return JaxpertServer()
