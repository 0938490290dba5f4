"""The `remit` command as processes of its own that need not import it: each is forked from one that has it loaded.

For steps that call `remit` many times, each with arguments, streams, folder and environment of its own. Two seconds of imports
are gone, everything else is a process. What depends on how an interpreter starts is tried with the real command.
"""

import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from subprocess import DEVNULL, Popen
from types import TracebackType
from typing import Self

from remit.cli.main import main
from tests.cli.workspace import clean_environment

__all__ = ["Preloaded"]

_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as to:
    to.connect({address!r})
    request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(to, [len(request).to_bytes(4, "big")], [0, 1, 2])
    to.sendall(request)
    code = to.recv(1)
    # Nothing comes from one that was killed.
    sys.exit(code[0] if code else 137)
"""
_SECONDS = 20


class Preloaded:
    """A process that has remit loaded, as a context. `command` is a program to call like `remit`."""

    def __init__(self, folder: Path):
        self.command = folder / "remit"
        self._address = str(folder / "socket")
        self.command.write_text(_CLIENT.format(python=sys.executable, address=self._address), "utf-8")
        self.command.chmod(0o755)

    def __enter__(self) -> Self:
        listening = socket.socket(socket.AF_UNIX)
        with listening:
            listening.bind(self._address)
            listening.listen(16)
            self._process = Popen(
                [sys.executable, "-m", __name__, str(listening.fileno())],
                pass_fds=[listening.fileno()],
                cwd=Path(__file__).parents[2],
                env=clean_environment(),
                stdin=DEVNULL,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(_SECONDS)


def _serve(listening: socket.socket) -> None:
    """Fork for each request. There is one thread, so that a fork is a whole process."""
    while True:
        to, _ = listening.accept()
        with to:
            if os.fork() == 0:
                listening.close()
                _answer(to)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _answer(to: socket.socket) -> None:
    size, streams, _, _ = socket.recv_fds(to, 4, 3)
    request = bytearray()
    while len(request) < int.from_bytes(size, "big"):
        request += to.recv(65_536)
    arguments, folder, environ = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["remit", *arguments]
    code = 70
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        to.sendall(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    for name in ("alembic", "mcp.client", "remit.store.store", "remit.upstream.discovery", "remit.cli.commands.plan"):
        __import__(name)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _serve(socket.socket(fileno=int(sys.argv[1])))
