"""A child process as an MCP transport, with our own byte layer.

Decides what a line on stdout is: a message, noise, or a broken message. A line over the cap costs the
one request that it answers, undecodable bytes are replaced, noise is skipped and counted, stderr goes into a ring. The child gets the SDK's allow-list of variables and what the file
declares, and nothing of ours; it leads its own session, and all that it started is ended with it.

The SDK's own stdio client is not used because it has no line cap, grows its buffer quadratically, leaves the children of
a server that exits politely alive, and must be closed by the task that opened it (all measured with 2.3.0). Here plain
asyncio tasks pump the pipes, so any task may close.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification

from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault
from remit.upstream.lines import Broken, LineSplitter, Noise, read_line
from remit.upstream.marked_errors import error_of_fault
from remit.upstream.overlong import Overlong
from remit.upstream.processes import ProcessMark, end_group, end_processes, family_of, mark_of, still_running
from remit.upstream.references import ResolvedStdio
from remit.upstream.watchdog import the_watchdog

__all__ = ["STDERR_RING", "StdinSide", "StdioTransport", "Streams"]

STDERR_RING = 64 * 1024
"""Bytes of stderr that are kept: the last ones."""

_CHUNK = 64 * 1024
_POLL = 0.01
_DRAIN_AFTER_EXIT = 0.25
_MOST_DRAIN = 5.0
"""Seconds in which a session that fell behind may still take what its server wrote before it exited."""

_KILL_WAIT = 2.0
_GIVEN_UP = 0.4
_LINE = "a line on stdout"

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], "StdinSide"]


class StdinSide:
    """The child's stdin, written to by whoever has a message: a line is handed over whole, so no task needs to pass it on.

    One line at a time: where the child does not read, only one waits in the buffer, and where the pipe breaks it is this one
    that was not taken. A line that others were behind could have been read in full by then.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._is_closed = False

    def open(self, writer: asyncio.StreamWriter) -> None:
        """The pipe is there."""
        self._writer = writer

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message, and wait where the child does not read. Raises anyio's errors where nobody can take it.

        A pipe that breaks ends nothing but this: the watcher sees the death, and stdout may still hold an answer.
        """
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "replace") + b"\n"
        async with self._turn:
            writer = self._writer
            if self._is_closed or writer is None:
                raise anyio.ClosedResourceError
            if writer.is_closing():
                raise anyio.BrokenResourceError
            writer.write(line)
            try:
                await writer.drain()
            except ConnectionError:
                raise anyio.BrokenResourceError from None

    def close(self) -> None:
        """Take no message any more."""
        self._is_closed = True

    async def aclose(self) -> None:
        """Take no message any more."""
        self.close()

    def end(self) -> None:
        """Close the pipe, by which a child learns that it is to leave."""
        self.close()
        if self._writer is not None:
            self._writer.close()


class StdioTransport:
    """One child process. An async context manager that yields (read, write) streams of SessionMessage.

    Entering raises Fault `start_failed` where the process cannot be started. `polite_seconds` is how long the child may
    take to exit after its stdin was closed, and half of it again after SIGTERM; then it is killed.
    """

    def __init__(
        self,
        launch: ResolvedStdio,
        *,
        environ: Mapping[str, str],
        on_noise: Callable[[str], None],
        on_dropped: Callable[[str], None],
        polite_seconds: float = 2.0,
    ):
        self._launch = launch
        self._environ = environ
        self._on_noise = on_noise
        self._on_dropped = on_dropped
        self._polite_seconds = polite_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._mark: ProcessMark | None = None
        self._stdin = StdinSide()
        self._tasks: list[asyncio.Task[None]] = []
        self._pipes: list[asyncio.BaseTransport] = []
        self._stderr = bytearray()
        self._is_taking = True
        self.look: Callable[[SessionMessage], bool] = lambda _: False
        """Sees each message first; False where it has to go to the session."""
        self.received = 0
        self.noise = 0
        self.fault: Fault | None = None
        self.exit_code: int | None = None

    async def __aenter__(self) -> Streams:
        self._process = self._spawn()
        self._mark = mark_of(self._process.pid)
        if self._mark is not None:
            the_watchdog.watch(self._mark, _pipes_of(self._process))
        self._to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._ends = (self._to_session, read, self._stdin)
        try:
            await self._connect_pipes(self._process)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return read, self._stdin

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in self._ends:
            end.close()
        try:
            await self._stop()
        finally:
            self.kill()
            if self._mark is not None:
                the_watchdog.forget(self._mark)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for pipe in self._pipes:
                _close_pipe(pipe)
            # One pass, so that the closed pipes are released before whoever asked goes on.
            await asyncio.sleep(0)

    @property
    def pid(self) -> int | None:
        """The child's process number, None before it was started."""
        return self._process.pid if self._process else None

    async def exit_status(self, seconds: float) -> int | None:
        """The child's exit code (a negative signal number), or None while it still runs after `seconds`."""
        process = self._process
        if process is None or (process.returncode is None and not await _exits_within(process, seconds)):
            return None
        return _exit_code(process)

    def stderr_text(self) -> str:
        """What is kept of stderr, undecodable bytes replaced."""
        return self._stderr.decode("utf-8", "replace")

    def give_up(self) -> None:
        """The child did not answer: closing need not wait long for it either."""
        self._polite_seconds = min(self._polite_seconds, _GIVEN_UP)

    def kill(self) -> None:
        """End the child and all that it started, at once and without waiting for anything but the kernel."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        family = self._family(process)
        end_group(process.pid, signal.SIGKILL)
        end_processes(family)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_KILL_WAIT)
        self.exit_code = process.returncode

    def _spawn(self) -> subprocess.Popen[bytes]:
        launch = self._launch
        try:
            return subprocess.Popen(  # noqa: S603 (starting the reviewed command is the purpose)
                launch.command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._child_environment(),
                cwd=launch.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            what = "the working directory" if not launch.cwd.is_dir() else launch.command[0]
            raise Fault(UnreachableReason.START_FAILED, f"{what} cannot be started: {why}") from error

    def _child_environment(self) -> dict[str, str]:
        # The allow-list of names is the SDK's, the values are those of the environment that was given to us.
        inherited = {name: self._environ[name] for name in get_default_environment() if name in self._environ}
        return inherited | dict(self._launch.env)

    async def _connect_pipes(self, process: subprocess.Popen[bytes]) -> None:
        loop = asyncio.get_running_loop()
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise Fault(UnreachableReason.START_FAILED, "the process has no pipes")
        stdout, stderr = asyncio.StreamReader(), asyncio.StreamReader()
        for reader, pipe in ((stdout, process.stdout), (stderr, process.stderr)):
            self._pipes.append((await loop.connect_read_pipe(_protocol_for(reader), pipe))[0])
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
        self._pipes.append(transport)
        self._stdin.open(asyncio.StreamWriter(transport, protocol, None, loop))
        pumps = (self._read_stdout(stdout), self._read_stderr(stderr), self._watch(process))
        self._tasks = [asyncio.create_task(pump) for pump in pumps]

    async def _read_stdout(self, reader: asyncio.StreamReader) -> None:
        splitter = LineSplitter()
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            async with self._to_session:
                while chunk := await self._next_chunk(reader):
                    for line in splitter.feed(chunk):
                        await self._take(line)
                        # After each line: what follows a broken one must not depend on how the pipe cut them.
                        if self.fault:
                            return
                    if splitter.lost:
                        self._fail(splitter.lost.fault(_LINE))
                        return
                if splitter.rest.strip():
                    self._on_unfinished(splitter.rest)
        self._is_taking = False
        # Somebody must go on reading, or a server that still writes cannot see that its stdin was closed.
        while await reader.read(_CHUNK):
            pass

    async def _next_chunk(self, reader: asyncio.StreamReader) -> bytes:
        self._is_taking = False
        chunk = await reader.read(_CHUNK)
        self._is_taking = True
        self.received += len(chunk)
        return chunk

    async def _take(self, line: bytes | Overlong) -> None:
        match line if isinstance(line, Overlong) else read_line(line):
            case Overlong() as overlong:
                await self._take_overlong(overlong)
            case Noise(text=text):
                if text:
                    self.noise += 1
                    self._on_noise(text)
            case Broken(text=text, why=why):
                self._fail(Fault(UnreachableReason.PROTOCOL, f"{_LINE} {why}: {text}"))
            case SessionMessage() as message:
                await self._pass(message)

    async def _pass(self, message: SessionMessage) -> None:
        try:
            is_kept = self.look(message)
        except Exception as error:  # noqa: BLE001 (a message that nobody can look at must not leave a session without a reader)
            self._fail(Fault(UnreachableReason.PROTOCOL, f"{_LINE} could not be taken ({type(error).__name__})"))
            return
        if not is_kept:
            await self._to_session.send(message)
        elif isinstance(message.message, JSONRPCNotification):
            # A flood of them comes in one piece, and whoever is told of one must get its turn before the next.
            await asyncio.sleep(0)

    async def _take_overlong(self, line: Overlong) -> None:
        fault = line.fault(_LINE)
        if line.request_id is not None:
            answer = JSONRPCError(jsonrpc="2.0", id=line.request_id, error=error_of_fault(fault))
            await self._pass(SessionMessage(answer))
        elif line.answers_nobody:
            self._on_dropped(fault.message)
        else:
            self._fail(fault)

    def _on_unfinished(self, rest: bytes) -> None:
        self.noise += 1
        self._on_noise(rest.decode("utf-8", "replace"))

    def _fail(self, fault: Fault) -> None:
        """End the session: what this line was for is not known, so whoever waits might wait for it."""
        self.fault = self.fault or fault

    async def _read_stderr(self, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(_CHUNK):
            self._stderr += chunk
            del self._stderr[:-STDERR_RING]

    async def _watch(self, process: subprocess.Popen[bytes]) -> None:
        await _until_exit(process)
        # A grandchild may hold stdout open for ever, so the end of the process counts, not the end of the pipe.
        await asyncio.sleep(_DRAIN_AFTER_EXIT)
        await self._all_taken()
        self._to_session.close()

    async def _all_taken(self) -> None:
        """Return once the session has what the process wrote; an answer among it counts, however far behind the session is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST_DRAIN):
                seen = -1
                # Twice the same, as what is in the pipe is read between two looks, and only where nothing waits to be taken.
                while self._is_taking or seen != self.received:
                    seen = self.received
                    await asyncio.sleep(_POLL)

    def _family(self, process: subprocess.Popen[bytes]) -> frozenset[ProcessMark]:
        return family_of(self._mark, _pipes_of(process)) if self._mark else frozenset()

    async def _stop(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        before = self._family(process)
        self._stdin.end()
        if not await _exits_within(process, self._polite_seconds):
            before |= self._family(process)
            end_group(process.pid, signal.SIGTERM)
            await _exits_within(process, self._polite_seconds / 2)
        self.kill()
        end_processes(before)
        # A signal is delivered a moment later; who asked for the close may count on nothing being left.
        with suppress(TimeoutError):
            async with asyncio.timeout(_KILL_WAIT):
                while still_running(before):  # noqa: ASYNC110 (nobody tells us about a process that is not our child)
                    await asyncio.sleep(_POLL)


def _pipes_of(process: subprocess.Popen[bytes]) -> frozenset[str]:
    return frozenset(
        f"pipe:[{os.fstat(pipe.fileno()).st_ino}]"
        for pipe in (process.stdout, process.stderr)
        if pipe is not None and not pipe.closed
    )


def _protocol_for(reader: asyncio.StreamReader) -> Callable[[], asyncio.StreamReaderProtocol]:
    return lambda: asyncio.StreamReaderProtocol(reader)


def _close_pipe(pipe: asyncio.BaseTransport) -> None:
    if isinstance(pipe, asyncio.WriteTransport):
        # close() would wait for the buffer of a server that reads no more; abort() fails where the pipe is gone already.
        with suppress(AttributeError):
            pipe.abort()
    else:
        pipe.close()


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether the child ended. It is not reaped: until then its number cannot become a stranger's."""
    return _exit_code(process) is not None


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    if process.returncode is not None:
        return process.returncode
    try:
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        # Somebody else reaped our child (a host that ignores SIGCHLD): how it ended is lost.
        return process.poll()
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


async def _exits_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await _until_exit(process)
    except TimeoutError:
        return False
    return True


async def _until_exit(process: subprocess.Popen[bytes]) -> None:
    try:
        descriptor = os.pidfd_open(process.pid)
    except (OSError, AttributeError):
        while not _has_exited(process):  # noqa: ASYNC110 (where the kernel has no pidfd nobody can tell us)
            await asyncio.sleep(_POLL)
        return
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    loop.add_reader(descriptor, exited.set)
    try:
        await exited.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
