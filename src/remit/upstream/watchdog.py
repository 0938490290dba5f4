"""A second process that ends the servers' processes where this one was killed and could not.

Nothing can be done after SIGKILL, so somebody else has to: a watchdog that is told of every child process and reads from a
pipe whose other end only we hold. The end of that pipe is our end, however it came. Children in sessions of their own are
ended too, which a parent-death signal (`PR_SET_PDEATHSIG`) would not do. Works where `processes.mark_of` does (Linux).

Decides when a process starts and stops being watched; `processes.py` does the ending, also as the watchdog's program.
"""

import atexit
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from remit.upstream import processes
from remit.upstream.processes import ProcessMark

__all__ = ["Watchdog", "the_watchdog"]

_WAIT_AT_EXIT = 2.0


class Watchdog:
    """The watchdog of this process: started with the first process to watch, gone with us. Safe in several threads.

    Where it cannot be started, or was killed itself, nothing is watched: all that is lost is the tidying after a SIGKILL.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process number, None before it was started."""
        return self._process.pid if self._process else None

    def watch(self, mark: ProcessMark, pipes: Iterable[str]) -> None:
        """End this process and its family if we end before `forget`. `pipes` are as in `processes.family_of`."""
        self._tell(" ".join(("watch", str(mark.pid), mark.started, *pipes)))

    def forget(self, mark: ProcessMark) -> None:
        """The process was ended; its number may become a stranger's."""
        self._tell(f"forget {mark.pid}")

    def stop(self) -> None:
        """End the watchdog, and whatever is watched still."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            _let_go(process)

    def _tell(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            if self._process is not None and self._process.poll() is not None:
                _let_go(self._process)
                self._process = None
            self._process = self._process or _start()
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode() + b"\n")


def _start() -> "subprocess.Popen[bytes]":
    # -I -S: nothing of the environment, of the folder we run in or of site-packages gets into a process that kills others.
    return subprocess.Popen(  # noqa: S603 (our own interpreter and our own file)
        [sys.executable, "-I", "-S", str(Path(processes.__file__))],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
    )


def _let_go(process: "subprocess.Popen[bytes]") -> None:
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_WAIT_AT_EXIT)


the_watchdog = Watchdog()
"""One is enough for all servers of a process."""

atexit.register(the_watchdog.stop)
