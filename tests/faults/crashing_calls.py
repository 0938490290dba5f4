"""Crash one governed call at every point of its journal, once each: `python -m tests.faults.crashing_calls TEMPLATE OUT`.

TEMPLATE is a folder that was applied, with a server that keeps its files in the folder it runs in. For each n it is copied
to OUT/n, and a fork of this process makes one call there and kills itself with SIGKILL before the n-th SQL statement with which
the journal writes or commits from the call on; the last one runs them all and ends by itself. A batch of protocol events alone
has no such point, as it is chance when one comes. Prints a JSON list of [statement, how it ended].

It is a process of its own, with one thread, because a process with threads must not be forked.
"""

import asyncio
import itertools
import json
import os
import shutil
import signal
import sqlite3
import sys
import threading
from pathlib import Path

from sqlalchemy import Pool, event

import remit
from tests.faults.live import called

__all__ = ["main"]

_WRITES = ("INSERT", "UPDATE")


class Points:
    """Counts the statements of the journal once it is armed, and ends the process at one of them."""

    def __init__(self, fatal: int, note: Path):
        self._left = fatal
        self._note = note
        self._wrote = False
        self.armed = False
        event.listen(Pool, "connect", self._watch)

    def _watch(self, connection: sqlite3.Connection, _: object) -> None:
        connection.set_trace_callback(self._reach)

    def _reach(self, statement: str) -> None:
        if not self.armed or threading.current_thread().name != "remit-journal":
            return
        writes = statement.startswith(_WRITES) and "protocol_events" not in statement
        commits = statement.startswith("COMMIT") and self._wrote
        self._wrote = writes or (self._wrote and not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK")))
        if not (writes or commits):
            return
        self._left -= 1
        if self._left == 0:
            self._note.write_text(" ".join(statement.split()[:3]), "utf-8")
            os.kill(os.getpid(), signal.SIGKILL)


def main(template: Path, out: Path) -> None:
    """Crash at every statement; ends after the call that no statement stopped."""
    endings: list[tuple[str, int]] = []
    for number in itertools.count(1):
        folder, note = out / str(number), out / f"{number}.point"
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            asyncio.run(_call(folder, Points(number, note)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        endings.append((note.read_text("utf-8") if note.exists() else "", os.waitstatus_to_exitcode(status)))
        if not note.exists():
            break
    sys.stdout.write(json.dumps(endings))


async def _call(folder: Path, points: Points) -> None:
    async with remit.Runtime.open(folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
        points.armed = True
        await called(run, "write", 1, tool_call_id="c", idempotency_key="key")
        points.armed = False


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
