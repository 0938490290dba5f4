"""Crash one apply at every point it passes, once each: `python -m tests.faults.crashing TEMPLATE OUT`.

TEMPLATE is a folder with the database to start from. For each n the folder is copied to OUT/n and a fork of this process
applies there and kills itself with SIGKILL at the n-th point; the last one passes all points and ends by itself. Prints a
JSON list of [n, name of the point, how it ended].

Points are: before and after the listing, the begin of the transaction, after every SQL statement, savepoints and their
releases included, before the commit, after it (before the connection is closed, then before the caches are told), and
after the caches were told. It is a process of its own, with one thread, because a process with threads must not be forked.
"""

import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection, Engine, Pool, event

from remit.core.acceptance import Acceptance
from tests.faults.world import AFTER, LISTED_AFTER, Here, held

__all__ = ["main"]


class Points:
    """Counts the points that are passed, and ends the process at one of them."""

    def __init__(self, fatal: int, note: Path):
        self._left = fatal
        self._note = note

    def reach(self, name: str) -> None:
        self._left -= 1
        if self._left == 0:
            self._note.write_text(name, "utf-8")
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Pass a point wherever any connection does something."""
        event.listen(Engine, "begin", self._begun)
        event.listen(Engine, "after_cursor_execute", self._executed)
        event.listen(Engine, "commit", self._about_to_commit)
        event.listen(Pool, "close", self._about_to_close)

    def _begun(self, _: Connection) -> None:
        self.reach("begin")

    def _about_to_commit(self, _: Connection) -> None:
        self.reach("commit")

    def _about_to_close(self, *_: object) -> None:
        self.reach("close")

    def _executed(self, _: Connection, __: object, statement: str, ___: object, ____: object, _____: bool) -> None:
        self.reach(" ".join(statement.split()[:3]))


class FatalCaches:
    """Caches that are told after the commit."""

    def __init__(self, points: Points):
        self._points = points

    def assistants_changed(self, owner: str, assistants: Sequence[str]) -> None:
        self._points.reach("committed")


def main(template: Path, out: Path) -> None:
    """Crash at every point; ends after the apply that no point stopped."""
    # Planned once here too, so that no fork has to import anything.
    accept = held(Here(template).plan(AFTER, LISTED_AFTER))
    endings: list[tuple[int, str, str]] = []
    for number in itertools.count(1):
        folder, note = out / str(number), out / f"{number}.point"
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            _apply(Here(folder), accept, Points(number, note))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        endings.append(
            (number, note.read_text("utf-8") if note.exists() else "end", str(os.waitstatus_to_exitcode(status)))
        )
        if not note.exists():
            break
    sys.stdout.write(json.dumps(endings))


def _apply(here: Here, accept: Sequence[Acceptance], points: Points) -> None:
    points.reach("before the listing")
    planned = here.plan(AFTER, LISTED_AFTER, accept=accept)
    points.reach("after the listing")
    points.watch()
    here.apply(planned, caches=FatalCaches(points))
    points.reach("done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
