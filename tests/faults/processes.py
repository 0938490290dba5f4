"""Real remit processes and how they end: started, waited for and looked after, every wait bounded."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.cli.workspace import Workspace, measured_environment

__all__ = ["ROOT", "SECONDS", "ended_within", "start_remit", "until", "waited"]

ROOT = Path(__file__).parents[2]
SECONDS = 40.0
"""How long a test waits for anything at most; on an idle machine all of it takes a tenth."""


def start_remit(
    here: Workspace, *arguments: str, through: Sequence[str] = (), stdout: int = subprocess.PIPE, **environ: str
) -> "subprocess.Popen[str]":
    """A remit process in a session of its own, `through` being words before it on its command line."""
    # A test run that was put into the background hands on that Ctrl-C is ignored; a handler is not handed on.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        [*through, sys.executable, "-m", "remit", *arguments],
        cwd=here.folder,
        env={**measured_environment(), **environ},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def waited(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Exit code (a negative signal number), stdout and stderr; a process that does not end is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, out, err


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another process does and tells nobody."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        threading.Event().wait(0.01)


def ended_within(seconds: float, pids: Iterable[int]) -> list[int]:
    """The processes that still run after so many seconds."""
    deadline = time.monotonic() + seconds
    return [pid for pid in pids if not _ends_before(deadline, pid)]


def _ends_before(deadline: float, pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))[0])
    finally:
        os.close(descriptor)
