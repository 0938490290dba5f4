"""Ending a child process with everything that it started.

A process group is not enough: a child that called setsid left it, and a server that exits politely leaves its own children
behind. On Linux the descendants are found in /proc; elsewhere only the process group is ended. A daemon that forked twice
before anybody looked is out of reach, unless it kept one of our pipes. Run as a script this is the program of `watchdog.py`,
so it imports the standard library only.
"""

import os
import signal
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ProcessMark", "end_group", "end_processes", "family_of", "mark_of", "still_running"]

_PROC = Path("/proc")
_STAT_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """A process by number and start time: a number alone may have been given to a stranger in the meantime."""

    pid: int
    started: str


def mark_of(pid: int) -> ProcessMark | None:
    """The mark of a running process."""
    entry = _entry(pid)
    return ProcessMark(pid, entry.started) if entry else None


def family_of(leader: ProcessMark, pipes: frozenset[str] = frozenset()) -> frozenset[ProcessMark]:
    """The processes that descend from `leader`, stay in its session or group, or write to one of `pipes`; itself excluded.

    `pipes` are link texts as /proc/PID/fd has them (`pipe:[123]`). Nothing that started before the leader is in it.
    """
    # Only what is younger than the leader: that also spares a look at the open files of every process of the machine.
    table = {pid: entry for pid, entry in _process_table().items() if int(entry.started) >= int(leader.started)}
    holder = table.get(leader.pid)
    # A number that a stranger has now leads to the stranger's children: then only the pipes tell who is meant.
    members = _below({leader.pid}, table) if holder is None or holder.started == leader.started else set[int]()
    if pipes:
        # What is below us in our own session is a fork of ours, even one that caught a pipe before we closed our end of it.
        # A session of its own and the writing end are an orphan's: where we are process 1 or a subreaper, it is our child now.
        forks = {pid for pid in _below({os.getpid()}, table) if _session(pid) == os.getsid(0)}
        members |= {pid for pid in table if pid not in members | forks and _writes_to(pid, pipes)}
    return frozenset(ProcessMark(pid, table[pid].started) for pid in members - {leader.pid} if pid in table)


def end_processes(marks: Iterable[ProcessMark]) -> None:
    """Kill the processes that still are the ones that were marked."""
    for mark in still_running(marks):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(mark.pid, signal.SIGKILL)


def still_running(marks: Iterable[ProcessMark]) -> list[ProcessMark]:
    """The marked processes that still run; one that ended and waits for its parent does not."""
    found = ((mark, _entry(mark.pid)) for mark in marks)
    return [mark for mark, entry in found if entry is not None and entry.started == mark.started]


def end_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to the process group of `leader`; a group that is gone is fine."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _outlive(lines: Iterable[str]) -> None:
    """Keep the book of watched processes until the lines end, which is when their owner did; then end what is left."""
    watched: dict[str, tuple[ProcessMark, frozenset[str]]] = {}
    for line in lines:
        word, pid, *rest = line.split()
        if word == "watch":
            watched[pid] = (ProcessMark(int(pid), rest[0]), frozenset(rest[1:]))
        else:
            watched.pop(pid, None)
    for mark, _ in watched.values():
        # Its stdin has just ended: stopped, it cannot leave before its children, which nobody would find without it.
        if still_running([mark]):
            end_group(mark.pid, signal.SIGSTOP)
    for mark, pipes in watched.values():
        end_processes({mark, *family_of(mark, pipes)})
        # Whoever was forked between the look and the kill.
        end_processes(family_of(mark, pipes))


def _below(roots: set[int], table: dict[int, "_Entry"]) -> set[int]:
    members = set(roots)
    while found := {pid for pid, entry in table.items() if pid not in members and members & entry.kin}:
        members |= found
    return members


@dataclass(frozen=True, slots=True)
class _Entry:
    kin: frozenset[int]
    """Parent, process group and session."""
    started: str


def _process_table() -> dict[int, _Entry]:
    try:
        numbers = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return {}
    table: dict[int, _Entry] = {}
    for number in numbers:
        entry = _entry(number)
        if entry is not None:
            table[number] = entry
    return table


def _entry(pid: int) -> _Entry | None:
    line = _stat_line(pid)
    # The command name stands in brackets and may hold anything, so fields are counted from the last bracket.
    fields = line.rpartition(b")")[2].split()
    if not fields or fields[0] == b"Z":
        return None
    return _Entry(kin=frozenset(map(int, fields[1:4])), started=fields[19].decode("ascii"))


def _stat_line(pid: int) -> bytes:
    # Below pathlib and text, as a server's end looks at every process of the machine: that takes a third of the time.
    try:
        descriptor = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _STAT_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _writes_to(pid: int, pipes: frozenset[str]) -> bool:
    """Whether it holds the end of a pipe that a server's processes have. A fork of ours has the reading end, as we do."""
    try:
        with os.scandir(_PROC / str(pid) / "fd") as descriptors:
            return any(_link(entry.path) in pipes and _is_writable(entry) for entry in descriptors)
    except OSError:
        return False


def _is_writable(descriptor: "os.DirEntry[str]") -> bool:
    # The permission bits of the link say how the descriptor was opened (proc_pid_fd(5)).
    return bool(descriptor.stat(follow_symlinks=False).st_mode & stat.S_IWUSR)


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


if __name__ == "__main__":
    _outlive(sys.stdin)
