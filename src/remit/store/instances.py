"""Which journals live: one row each, renewed while it is open, and the judgement whether a row's journal is dead.

A dead one's calls can be declared unknown by anybody; writes that it still tries are refused (reference: security.md
section 4, F4). On one boot of one machine the process itself is looked at, and time is the machine's own, so that a clock
set back or forth kills nobody; elsewhere the wall clock is all there is.
"""

import os
import socket
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Text, bindparam, delete, select, update

from remit.store.runtime_tables import instances
from remit.store.session import Session, Statement, inserting
from remit.store.texts import time_from, time_text

__all__ = ["HEARTBEAT_SECONDS", "Host", "Instances", "host_here"]

HEARTBEAT_SECONDS = 5.0
DEAD_AFTER_SECONDS = 30.0

_ROW = instances.c
_ALL = Statement(select(*instances.columns))
_INSERT = inserting(instances)
_MINE = bindparam("mine", type_=Text)
_RENEW = Statement(
    update(instances)
    .where(_ROW.id == _MINE)
    .values(heartbeat_at=bindparam("at"), heartbeat_seconds=bindparam("seconds"))
)
_DELETE = Statement(delete(instances).where(_ROW.id == _MINE))
_LIVES = Statement(select(_ROW.id).where(_ROW.id == _MINE))


@dataclass(frozen=True, slots=True)
class Host:
    """The machine and its boot; `boot` is empty where it cannot be told, and then no pid is looked at."""

    name: str
    boot: str


def host_here() -> Host:
    """This machine. Containers on one machine differ in their process ids, so their namespace is part of the boot."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        boot = f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        boot = ""
    return Host(socket.gethostname(), boot)


def pid_start(pid: int) -> str | None:
    """What tells a process from a later one of the same number; None where there is no such process."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None if sys.platform == "linux" or not _exists(pid) else ""
    except OSError:
        return ""
    # The third field comes first here; a zombie works on nothing any more.
    return None if words[0] == "Z" else words[19]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class Instances:
    """The instances as one journal on this host sees them."""

    def __init__(self, clock: Callable[[], datetime], host: Host | None = None):
        self._clock = clock
        self._host = host or host_here()

    def register(self, session: Session, instance: str) -> None:
        """Add a journal of this process."""
        row = {
            "id": instance,
            "host": self._host.name,
            "boot": self._host.boot,
            "pid": os.getpid(),
            "pid_start": pid_start(os.getpid()) or "",
        }
        session.run(_INSERT, row | self._now())

    def renew(self, session: Session, instance: str) -> bool:
        """Renew a heartbeat; False where the instance was declared dead."""
        now = self._now()
        return (
            session.run(_RENEW, {"mine": instance, "at": now["heartbeat_at"], "seconds": now["heartbeat_seconds"]}) == 1
        )

    def lives(self, session: Session, instance: str) -> bool:
        """Whether nobody has declared it dead."""
        return session.row(_LIVES, {"mine": instance}) is not None

    def remove(self, session: Session, ids: Iterable[str]) -> None:
        """Forget instances: their writes are refused from now on."""
        for instance in ids:
            session.run(_DELETE, {"mine": instance})

    def judged(self, session: Session, *, but: str) -> tuple[frozenset[str], frozenset[str]]:
        """The instances that live, and those that do not although their row is there; `but` lives in any case."""
        rows = session.rows(_ALL, {})
        dead = {row[0] for row in rows if row[0] != but and self._is_dead(*row[1:])}
        return frozenset(row[0] for row in rows) - dead, frozenset(dead)

    def _is_dead(self, host: str, boot: str, pid: int, start: str, at: str, seconds: float) -> bool:
        if self._host == Host(host, boot) and boot:
            return pid_start(pid) != start or time.monotonic() - seconds > DEAD_AFTER_SECONDS
        return (self._clock() - time_from(at)).total_seconds() > DEAD_AFTER_SECONDS

    def _now(self) -> dict[str, str | float]:
        return {"heartbeat_at": time_text(self._clock()), "heartbeat_seconds": time.monotonic()}
