"""What the catalogue's tests share: a workspace's state on disk, a command under a memory limit, and what a model would get."""

import json
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import Any

from tests.cli.workspace import Ended, Workspace, clean_environment

__all__ = ["CONFIG", "codes", "files_of", "functions_of", "limited", "registrations_of"]

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
      envelope: {surface: locked, side_effecting: false}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [search, close]
"""
"""One server and one assistant with two of its tools."""

MEGABYTE = 1024 * 1024


def files_of(here: Workspace) -> dict[str, bytes]:
    """Every file of a workspace with its bytes: what a refused input must leave as it was."""
    return {str(path.relative_to(here.folder)): path.read_bytes() for path in here.folder.rglob("*") if path.is_file()}


def codes(ended: Ended) -> list[tuple[str, int]]:
    """Code and line of each diagnostic that `validate --format json` printed; line 0 where it is about the whole file."""
    return [(each["code"], (each["source"] or {"line": 0})["line"]) for each in ended.document["diagnostics"]]


def functions_of(here: Workspace) -> dict[str, dict[str, Any]]:
    """The model-facing functions in the database by name: description and parameters."""
    rows = _rows(here, "select name, document from assistant_functions")
    return {name: json.loads(text)["function"] for name, text in rows}


def registrations_of(here: Workspace) -> dict[str, str]:
    """The names of the registrations in the database by id."""
    return dict(_rows(here, "select id, name from mcp_server_registrations"))


def _rows(here: Workspace, question: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as database:
        return database.execute(question).fetchall()


def limited(here: Workspace, *arguments: str, megabytes: int = 1024, seconds: float = 30) -> Ended:
    """Run remit as a process that may use so much address space; more of it, or more time, fails the test."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE, megabytes * MEGABYTE))

    ended = subprocess.run(
        [sys.executable, "-m", "remit", *arguments],
        cwd=here.folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        preexec_fn=limit,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return Ended(ended.returncode, ended.stdout, ended.stderr)
