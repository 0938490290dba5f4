"""`python -m remit_analytics`: serve the analytics tools over stdio.

`ANALYTICS_DB` names the database file, made on first use; unset or empty keeps the same data in memory. Standard output
carries only protocol messages; everything for people goes to standard error.
"""

import logging
import os
import sys
from pathlib import Path

from remit_analytics.server import build_server
from remit_analytics.source import Source
from remit_analytics.storage import DatabaseUnusable, open_database

__all__ = ["main"]


def main() -> int:
    """Serve until the client closes standard input; 2 where the database file cannot be used."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="remit_analytics: %(message)s")
    named = os.environ.get("ANALYTICS_DB", "")
    try:
        database = open_database(Path(named) if named else None)
    except DatabaseUnusable as error:
        print(f"remit_analytics: {error}", file=sys.stderr)
        return 2
    build_server(Source(database)).run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main())
