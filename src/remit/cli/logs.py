"""Logging of a command: remit's own warnings in one line each on stderr, the libraries' not at all.

The MCP SDK logs a traceback for each line of a server that it cannot parse, which is the server's text on a user's terminal;
what matters of it is in the listing already. REMIT_DEBUG shows everything.
"""

import logging
import os
import sys

from remit.render.escape import escape_terminal

__all__ = ["configure_logging"]

LONGEST = 2_000
"""Characters of a message: it may quote a server."""


class _OneLine(logging.Formatter):
    """A record in one printable line, without its traceback: a traceback is for developers."""

    def format(self, record: logging.LogRecord) -> str:
        return f"remit: {record.levelname.lower()}: {escape_terminal(record.getMessage(), limit=LONGEST)}"


def configure_logging() -> None:
    """Set up logging for this process."""
    if os.environ.get("REMIT_DEBUG"):
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
        return
    # Without this, Python itself prints warnings of loggers that nobody configured.
    logging.lastResort = None
    own = logging.getLogger("remit")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    own.handlers[:] = [handler]
    own.setLevel(logging.WARNING)
    own.propagate = False
