"""`RemoteMcpClient`: the narrow boundary to one MCP server. No policy, no persistence, no aliases.

One task, the owner, opens and closes the session and decides when (Active Object). Callers put requests into its inbox and
await a future; each request runs in a task of its own, outside the SDK's scopes, because inside them a dying server looks
like cancellation (python-sdk#3560) and a scope must be left by the task that entered it (#922). So a client may be
opened in one task and closed in another, in any order; every waiter ends by its own deadline. While a session is open a
request need not pass through the inbox: its task is started at once.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Protocol

from remit.core.canonical import JsonObject
from remit.core.live import UnreachableReason
from remit.core.remote_ports import OnProgress
from remit.upstream.circuit import Circuit
from remit.upstream.connector import Opened
from remit.upstream.faults import SERVER_GONE, Fault, breaks_connection, fault_of
from remit.upstream.http_transport import SESSION_LOST
from remit.upstream.inbox import Answer, Close, Command, Ended, Job, Request, Retired, SessionGone, session_gone
from remit.upstream.patience import Patience, Waits
from remit.upstream.progress import listen
from remit.upstream.sdk_session import RPC_ERROR, Negotiated
from remit.upstream.tickets import Ticket

__all__ = [
    "CIRCUIT_OPEN",
    "CLOSE_SECONDS",
    "MAX_WAITING",
    "TIMEOUT_ABSOLUTE",
    "TIMEOUT_IDLE",
    "RemoteMcpClient",
    "SessionSource",
]

MAX_WAITING = 1_000
"""Requests that may wait or run at the same time; the next one is refused at once (`queue_full`)."""

CLOSE_SECONDS = 8.0
"""Seconds after which a close stops being polite."""

CIRCUIT_OPEN = "circuit_open"
TIMEOUT_IDLE = "timeout_idle"
TIMEOUT_ABSOLUTE = "timeout_absolute"
"""The two limits of a request that has both; where there is one only, its fault is a plain `timeout`."""

_CALL = "tools/call"
_GRACE = 1.0
_EXPLAIN_SECONDS = 2.0
_LINKS_KEPT = 1_000


class SessionSource(Protocol):
    """Where a client's sessions come from, one at a time."""

    @property
    def received(self) -> int:
        """Bytes received so far."""
        ...

    def notes(self) -> tuple[str, ...]:
        """What a person should know about the connection."""
        ...

    def open(
        self, seconds: float, on_end: Callable[[], None], trace_id: str | None = None
    ) -> AbstractAsyncContextManager[Opened]:
        """A session, negotiated within `seconds`, under a trace. `on_end` tells that the server's side of it ended."""
        ...

    def give_up(self) -> None:
        """The server did not answer: closing need not wait long for it."""
        ...

    def kill(self) -> None:
        """End a child process at once."""
        ...


class _Serving:
    """The session that is open: its number, what runs on it, the traces that were linked with it."""

    def __init__(self, opened: Opened, epoch: int):
        self.opened = opened
        self.epoch = epoch
        self.running: set[asyncio.Task[None]] = set()
        self.linked: set[str] = {opened.trace_id}
        self.retired = False
        self.ended = False
        self.counted = False


class RemoteMcpClient:
    """One connection to one MCP server; it opens at the first request or `connect`, and again after a death.

    `sessions` is where sessions come from; an HTTP client that it was given belongs to whoever made it, who closes it after
    this client. `start_seconds` bounds each opening, `circuit` says what follows from failures in a row, `numbers` give
    the numbers of sessions, `link` is told of a request of another trace than the one that opened the connection, with
    that trace and the connection's id. `beside` runs beside the requests of each session and ends with it: no request waits
    for it, and how it ends changes nothing. All methods raise Fault. To be used from one event loop.
    """

    def __init__(
        self,
        sessions: SessionSource,
        *,
        name: str,
        start_seconds: float = 60.0,
        circuit: Circuit | None = None,
        numbers: Iterator[int] | None = None,
        link: Callable[[str, str], None] = lambda _trace, _connection: None,
        beside: Callable[[Opened], Awaitable[None]] | None = None,
    ):
        self._sessions = sessions
        self._name = name
        self._start_seconds = start_seconds
        self._circuit = circuit or Circuit()
        self._numbers = numbers or itertools.count(1)
        self._link = link
        self._beside = beside
        self._inbox: asyncio.Queue[Command] = asyncio.Queue()
        self._jobs: set[Job] = set()
        self._waits: Waits | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._opening = False
        self._serving: _Serving | None = None
        self._negotiated: Negotiated | None = None

    @property
    def negotiated(self) -> Negotiated | None:
        """What the newest handshake settled; None before the first."""
        return self._negotiated

    @property
    def session(self) -> int | None:
        """The number of the session that takes requests, None while there is none."""
        serving = self._serving
        return None if serving is None or serving.ended or serving.retired else serving.epoch

    @property
    def received(self) -> int:
        """Bytes received so far."""
        return self._sessions.received

    def notes(self) -> tuple[str, ...]:
        """What a person should know about the connection."""
        return self._sessions.notes()

    async def connect(self, *, timeout: float | None = None) -> Negotiated:
        """Open the session if it is not open, and give what was negotiated."""
        # The opening has its own deadline and says more about it, so the waiter's comes a little later.
        seconds = self._start_seconds + _EXPLAIN_SECONDS if timeout is None else timeout
        return (await self.ask(Request(ticket=Ticket(), total=seconds))).negotiated

    async def list_page(self, cursor: str | None = None, *, timeout: float) -> JsonObject:
        """One page of tools/list, the raw result; within `timeout` seconds, an opening included."""
        params: JsonObject = {} if cursor is None else {"cursor": cursor}
        return (await self.ask(Request(method="tools/list", params=params, ticket=Ticket(), total=timeout))).result

    async def call_tool(
        self,
        name: str,
        arguments: JsonObject,
        *,
        timeout: float,
        on_progress: OnProgress | None = None,
        input_schema: JsonObject | None = None,
    ) -> JsonObject:
        """Call a tool by its remote name and give the raw result, secrets masked; within `timeout` seconds, all included.

        The arguments are sent exactly as given. Progress never extends the time. `input_schema` is the approved one; it
        says which arguments are mirrored into headers (x-mcp-header).
        """
        params: JsonObject = {"name": name, "arguments": arguments}
        request = Request(method=_CALL, params=params, input_schema=input_schema, ticket=Ticket(), total=timeout)
        relay = listen(request.ticket, on_progress)
        try:
            return (await self.ask(request)).result
        finally:
            if relay is not None:
                relay.end()

    async def ask(self, request: Request) -> Answer:
        """Send a request and wait for its answer, no longer than it says. Whoever stops waiting cancels it on the server."""
        job = Job(request, asyncio.get_running_loop().create_future())
        self._admit(job)
        waits = self._waits = self._waits or Waits()
        patience = Patience(waits, request.total, request.idle, lambda idle: job.settle(self._late(request, idle=idle)))
        request.ticket.on_handed, request.ticket.on_sign = patience.sent, patience.heard
        try:
            serving = self._serving
            if serving is None or serving.ended or serving.retired:
                self._inbox.put_nowait(job)
            else:
                self._start(job, serving)
            return await job.answer
        finally:
            patience.end()
            request.ticket.forget()
            self._circuit.left(job)
            self._jobs.discard(job)
            if not job.answer.cancel() and not job.answer.cancelled():
                # Taken note of: a fault that nobody reads any more is none for the log.
                job.answer.exception()
            if job.task is not None:
                job.task.cancel()

    async def until_idle(self, seconds: float) -> None:
        """Wait until nothing waits or runs, at most so long."""
        if self._jobs:
            await asyncio.wait({job.answer for job in self._jobs}, timeout=seconds)

    def refuse(self) -> None:
        """Take no request any more."""
        self._closing.set()

    async def close(self, *, hurry: bool = False) -> None:
        """End the session, pending requests (`closed`) and a child process; bounded, and fine to repeat.

        `hurry` says that the server did not answer, so that waiting for it to leave by itself is of little use.
        """
        self._closing.set()
        if hurry:
            self._sessions.give_up()
        owner = self._owner
        if owner is None or owner.done():
            return
        self._inbox.put_nowait(Close())
        if self._opening:
            # An owner that still waits for a handshake does not look into its inbox.
            owner.cancel()
        done, _ = await asyncio.wait({owner}, timeout=CLOSE_SECONDS)
        if not done:
            self._sessions.kill()
            owner.cancel()
            await asyncio.wait({owner}, timeout=1.0)

    def _admit(self, job: Job) -> None:
        wanted = job.request.session
        if self._closing.is_set():
            raise self._end_of_all()
        if wanted is not None and wanted != self.session:
            raise session_gone(self._name)
        if job.request.total <= 0:
            raise self._late(job.request, idle=False)
        if len(self._jobs) >= MAX_WAITING:
            detail = f"{MAX_WAITING} requests are waiting already"
            raise Fault(UnreachableReason.PROTOCOL, detail, code="queue_full", place=self._name)
        if refusal := self._circuit.refusal(job):
            raise Fault(UnreachableReason.REFUSED, refusal, code=CIRCUIT_OPEN, place=self._name)
        self._jobs.add(job)
        if self._owner is None or self._owner.done():
            self._owner = asyncio.create_task(self._own(), name=f"remit-upstream-{self._name}")

    def _late(self, request: Request, *, idle: bool) -> Fault:
        doing = request.method or "connecting"
        if idle:
            detail = f"{doing}: no answer and no progress for {request.idle:g} s"
            return Fault(UnreachableReason.TIMEOUT, detail, code=TIMEOUT_IDLE, place=self._name)
        code = None if request.idle is None else TIMEOUT_ABSOLUTE
        detail = f"{doing} took longer than {request.total:.1f} s"
        return Fault(UnreachableReason.TIMEOUT, detail, code=code, place=self._name)

    # --- the owner task ---------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        waiting: Job | None = None
        try:
            while not self._closing.is_set():
                command = waiting or await self._inbox.get()
                waiting = None
                match command:
                    case Job() as job:
                        waiting = await self._one_session(job)
                    case SessionGone(job=job):
                        waiting = job
                    case Ended() | Retired():
                        pass
                    case Close():
                        return
        finally:
            end = self._end_of_all()
            for job in list(self._jobs):
                job.settle(end)

    async def _one_session(self, first: Job) -> Job | None:
        """Open a session, serve on it until it ends, and give the job that wants another session, if one does."""
        if first.request.session is not None:
            # A session that is opened now has another number.
            first.settle(session_gone(self._name))
        if first.answer.done() or not await self._pause():
            return None
        epoch = next(self._numbers)
        again: Job | None = None
        serving: _Serving | None = None
        self._opening = True
        try:
            async with self._sessions.open(
                self._start_seconds, lambda: self._end(epoch), first.request.ticket.trace_id
            ) as opened:
                self._opening = False
                self._negotiated = opened.negotiated
                serving = self._serving = _Serving(opened, epoch)
                async with self._attended(opened):
                    again = await self._serve(serving, first)
        except Exception as error:  # noqa: BLE001 (a dying transport raises groups of anything; the jobs get the fault)
            self._on_failure(fault_of(error, "connecting"), serving)
        finally:
            self._opening = False
        return again

    @asynccontextmanager
    async def _attended(self, opened: Opened) -> AsyncGenerator[None]:
        attending = None if self._beside is None else asyncio.create_task(_quietly(self._beside(opened)))
        try:
            yield
        finally:
            if attending is not None:
                attending.cancel()
                await asyncio.wait({attending}, timeout=_GRACE)

    async def _serve(self, serving: _Serving, first: Job) -> Job | None:
        command: Command = first
        try:
            while True:
                match command:
                    case Job() as job:
                        if serving.retired and not serving.running:
                            return job
                        self._start(job, serving)
                    case SessionGone(epoch=gone, job=job) if gone == serving.epoch:
                        # The others on the lost session are about to learn the same; they are repeated too.
                        await asyncio.wait(serving.running, timeout=_GRACE) if serving.running else None
                        return job
                    case SessionGone(job=Job() as job):
                        self._start(job, serving)
                    case Ended(epoch=ended) if ended == serving.epoch:
                        serving.counted = True
                        self._count_failure()
                        return None
                    case Retired(epoch=left) if left == serving.epoch:
                        serving.retired = True
                    case Close():
                        return None
                    case _:
                        pass
                command = await self._inbox.get()
        finally:
            serving.ended = True
            self._serving = None
            await self._finish(serving.running)

    def _start(self, job: Job, serving: _Serving) -> None:
        request = job.request
        if request.session not in (None, serving.epoch):
            job.settle(session_gone(self._name))
            return
        self._tell_link(request.ticket.trace_id, serving)
        if request.method is None:
            job.settle(Answer({}, serving.epoch, serving.opened.negotiated, renewed=False))
        elif not job.answer.done():
            job.task = asyncio.create_task(self._run(job, request.method, serving))
            serving.running.add(job.task)
            job.task.add_done_callback(serving.running.discard)

    def _tell_link(self, trace_id: str | None, serving: _Serving) -> None:
        if trace_id is None or trace_id in serving.linked:
            return
        if len(serving.linked) >= _LINKS_KEPT:
            serving.linked = {serving.opened.trace_id}
        serving.linked.add(trace_id)
        with suppress(Exception):
            self._link(trace_id, serving.opened.connection_id)

    async def _run(self, job: Job, method: str, serving: _Serving) -> None:
        request, opened = job.request, serving.opened
        try:
            await opened.ready()
            job.began = self._circuit.now()
            result = await opened.session.request(
                method, request.params, request.ticket, input_schema=request.input_schema
            )
        except Exception as error:  # noqa: BLE001 (every failure is the caller's answer)
            await self._failed(job, serving, fault_of(error, method))
        else:
            self._circuit.answered(call=method == _CALL)
            job.settle(Answer(result, serving.epoch, opened.negotiated, renewed=job.repeated))

    async def _failed(self, job: Job, serving: _Serving, fault: Fault) -> None:
        if job.request.method == _CALL and breaks_connection(fault):
            self._circuit.call_broke()
        if fault.code == SESSION_LOST and not job.repeated:
            serving.ended = True
            pinned = job.request.session is not None
            self._inbox.put_nowait(SessionGone(serving.epoch, None if pinned else job))
            if not pinned:
                job.repeated, job.request.ticket.handed = True, False
                return
        elif fault.code == RPC_ERROR:
            self._circuit.answered()
        elif fault.reason is UnreachableReason.AUTH:
            # Its credentials are read again when it is opened again; nobody relies on its listing from here on.
            serving.retired = True
            self._inbox.put_nowait(Retired(serving.epoch))
        elif fault.code == SERVER_GONE and not job.request.ticket.handed:
            # Nobody takes messages any more, whatever the reading side says.
            self._end(serving.epoch)
        elif not serving.ended and breaks_connection(fault):
            self._circuit.failed(job.began)
        job.settle(await serving.opened.explain(fault))

    async def _finish(self, running: set[asyncio.Task[None]]) -> None:
        # The end of the stream has failed these already; the rest is for a transport that says nothing.
        if running and not self._closing.is_set():
            await asyncio.wait(running, timeout=_GRACE)
        for task in list(running):
            task.cancel()
        end = self._end_of_all()
        for job in self._jobs:
            if job.task in running:
                job.settle(end)

    def _end_of_all(self) -> Fault:
        if self._closing.is_set():
            return Fault(UnreachableReason.PROTOCOL, "the connection is closed", code="closed", place=self._name)
        return Fault(UnreachableReason.PROTOCOL, "the server ended", code=SERVER_GONE, place=self._name)

    def _end(self, epoch: int) -> None:
        if self._serving is not None and self._serving.epoch == epoch:
            self._serving.ended = True
        self._inbox.put_nowait(Ended(epoch))

    def _on_failure(self, fault: Fault, serving: _Serving | None) -> None:
        """Count a failure; where no session came up, everybody who waits for one learns why."""
        if serving is None:
            self._fail_waiting(fault)
        if fault.reason is not UnreachableReason.SECRET_UNRESOLVED and (serving is None or not serving.counted):
            self._count_failure()

    def _count_failure(self) -> None:
        self._circuit.failed()
        if refusal := self._circuit.refusal(None):
            self._fail_waiting(Fault(UnreachableReason.REFUSED, refusal, code=CIRCUIT_OPEN, place=self._name))

    def _fail_waiting(self, fault: Fault) -> None:
        for job in self._jobs:
            if job.task is None or job.repeated:
                job.settle(fault)

    async def _pause(self) -> bool:
        """Wait until the next opening is due. False where the client is closed meanwhile."""
        seconds = self._circuit.due_in()
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()
        return not self._closing.is_set()


async def _quietly(work: Awaitable[None]) -> None:
    with suppress(Exception):
        await work
