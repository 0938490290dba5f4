"""`RemoteMcpClient`: the narrow boundary to one MCP server. No policy, no persistence, no aliases.

One task, the owner, opens and closes the session and decides when (Active Object). Callers put commands into its inbox and
await a future; each request runs in a task of its own, outside the SDK's scopes, because inside them a dying server looks
like cancellation (python-sdk#3560) and a scope must be left by the task that entered it (#922). So a client may be
opened in one task and closed in another, in any order; every waiter ends by its own deadline.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

import httpx2
from mcp.shared.dispatcher import ProgressFnT

from remit.core.canonical import JsonObject
from remit.core.desired import ProtocolPin
from remit.core.live import Era, UnreachableReason
from remit.upstream.connector import Connector, Opened
from remit.upstream.faults import SERVER_GONE, Fault, fault_of
from remit.upstream.http_transport import SESSION_LOST
from remit.upstream.recorder import Recorder
from remit.upstream.references import ResolvedConnection
from remit.upstream.sdk_session import Negotiated

__all__ = ["CLOSE_SECONDS", "MAX_WAITING", "PAUSES", "BeforeRequest", "RemoteMcpClient"]

PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between a failure and the next opening, by the number of failures in a row; the last one holds from then on."""

MAX_WAITING = 1_000
"""Requests that may wait or run at the same time; the next one is refused at once (`queue_full`)."""

CLOSE_SECONDS = 8.0
"""Seconds after which a close stops being polite."""

_RENEWAL_GRACE = 1.0
_EXPLAIN_SECONDS = 2.0

BeforeRequest: TypeAlias = Callable[[], Awaitable[None]]
"""What is awaited before each request; it raises Fault where the request must not go out."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Job:
    """A request and the future that its caller awaits. Without a method it only wants the session to be open."""

    method: str | None = None
    params: JsonObject = field(default_factory=dict[str, None])
    input_schema: JsonObject | None = None
    on_progress: ProgressFnT | None = None
    answer: "asyncio.Future[JsonObject]"
    task: "asyncio.Task[None] | None" = None
    repeated: bool = False

    def settle(self, outcome: JsonObject | Fault) -> None:
        """Give the caller its one outcome; later ones are dropped."""
        if self.answer.done():
            return
        if isinstance(outcome, Fault):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


@dataclass(frozen=True, slots=True)
class _Ended:
    """The server's side of session number `epoch` ended."""

    epoch: int


@dataclass(frozen=True, slots=True)
class _Renew:
    """The server forgot session number `epoch`; `job` is to be repeated on another one."""

    epoch: int
    job: _Job


@dataclass(frozen=True, slots=True)
class _Close:
    """Nobody needs the connection any more."""


class RemoteMcpClient:
    """One connection to one MCP server; it opens at the first request or `connect`, and again after a death.

    `http` belongs to the caller, who keeps it open for as long as this client lives and closes it afterwards.
    `start_seconds` bounds each opening, `pauses` are the seconds before the next one after failures in a row,
    `before_request` is awaited before each request, outside the request's own path (token renewal). All methods raise Fault.
    """

    def __init__(
        self,
        connection: ResolvedConnection,
        *,
        recorder: Recorder,
        environ: Mapping[str, str],
        http: httpx2.AsyncClient | None = None,
        pin: ProtocolPin = ProtocolPin.AUTO,
        remembered_era: Era | None = None,
        start_seconds: float = 60.0,
        pauses: Sequence[float] = PAUSES,
        before_request: BeforeRequest | None = None,
    ):
        self._connector = Connector(
            connection, recorder=recorder, environ=environ, http=http, pin=pin, remembered=remembered_era
        )
        self._name = connection.name
        self._start_seconds = start_seconds
        self._pauses = tuple(pauses) or (0.0,)
        self._before_request = before_request
        self._inbox: asyncio.Queue[_Job | _Ended | _Renew | _Close] = asyncio.Queue()
        self._jobs: set[_Job] = set()
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._opening = False
        self._epoch = 0
        self._failures = 0
        self._not_before = 0.0
        self._negotiated: Negotiated | None = None

    @property
    def negotiated(self) -> Negotiated | None:
        """What the newest handshake settled; None before the first."""
        return self._negotiated

    @property
    def received(self) -> int:
        """Bytes received so far."""
        return self._connector.received

    def notes(self) -> tuple[str, ...]:
        """What a person should know about the connection."""
        return self._connector.notes()

    async def connect(self, *, timeout: float | None = None) -> Negotiated:
        """Open the session if it is not open, and give what was negotiated."""
        # The opening has its own deadline and says more about it, so the waiter's comes a little later.
        seconds = self._start_seconds + _EXPLAIN_SECONDS if timeout is None else timeout
        await self._ask(_Job(answer=_future()), seconds, "connecting")
        if self._negotiated is None:
            raise Fault(UnreachableReason.PROTOCOL, "the handshake settled nothing", place=self._name)
        return self._negotiated

    async def list_page(self, cursor: str | None = None, *, timeout: float) -> JsonObject:
        """One page of tools/list, the raw result; within `timeout` seconds, an opening included."""
        params: JsonObject = {} if cursor is None else {"cursor": cursor}
        return await self._ask(_Job(method="tools/list", params=params, answer=_future()), timeout, "tools/list")

    async def call_tool(
        self,
        name: str,
        arguments: JsonObject,
        *,
        timeout: float,
        on_progress: ProgressFnT | None = None,
        input_schema: JsonObject | None = None,
    ) -> JsonObject:
        """Call a tool by its remote name and give the raw result, secrets masked; within `timeout` seconds, all included.

        The arguments are sent exactly as given. `on_progress` gets (progress, total, message) and never extends the
        time. `input_schema` is the approved one; it says which arguments are mirrored into headers (x-mcp-header).
        """
        params: JsonObject = {"name": name, "arguments": arguments}
        job = _Job(
            method="tools/call", params=params, input_schema=input_schema, on_progress=on_progress, answer=_future()
        )
        return await self._ask(job, timeout, "tools/call")

    async def close(self, *, hurry: bool = False) -> None:
        """End the session, pending requests (`closed`) and a child process; bounded, and fine to repeat.

        `hurry` says that the server did not answer, so that waiting for it to leave by itself is of little use.
        """
        self._closing.set()
        if hurry:
            self._connector.give_up()
        owner = self._owner
        if owner is None or owner.done():
            return
        self._inbox.put_nowait(_Close())
        if self._opening:
            # An owner that still waits for a handshake does not look into its inbox.
            owner.cancel()
        done, _ = await asyncio.wait({owner}, timeout=CLOSE_SECONDS)
        if not done:
            self._connector.kill()
            owner.cancel()
            await asyncio.wait({owner}, timeout=1.0)

    async def _ask(self, job: _Job, timeout: float, doing: str) -> JsonObject:
        self._admit(job)
        try:
            async with asyncio.timeout(timeout):
                if self._before_request is not None:
                    await self._before_request()
                self._inbox.put_nowait(job)
                return await job.answer
        except TimeoutError as error:
            raise Fault(
                UnreachableReason.TIMEOUT, f"{doing} took longer than {timeout:.1f} s", place=self._name
            ) from error
        finally:
            self._jobs.discard(job)
            job.answer.cancel()
            if job.task is not None:
                job.task.cancel()

    def _admit(self, job: _Job) -> None:
        if self._closing.is_set():
            raise self._end_of_all()
        if len(self._jobs) >= MAX_WAITING:
            detail = f"{MAX_WAITING} requests are waiting already"
            raise Fault(UnreachableReason.PROTOCOL, detail, code="queue_full", place=self._name)
        self._jobs.add(job)
        if self._owner is None or self._owner.done():
            self._owner = asyncio.create_task(self._own(), name=f"remit-upstream-{self._name}")

    # --- the owner task ---------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        waiting: _Job | None = None
        try:
            while not self._closing.is_set():
                command = waiting or await self._inbox.get()
                waiting = None
                match command:
                    case _Job() as job:
                        waiting = await self._one_session(job)
                    case _Renew(job=job):
                        waiting = job
                    case _Ended():
                        pass
                    case _Close():
                        return
        finally:
            end = self._end_of_all()
            for job in list(self._jobs):
                job.settle(end)

    async def _one_session(self, first: _Job) -> _Job | None:
        """Open a session, serve on it until it ends, and give the job that wants another session, if one does."""
        if first.answer.done() or not await self._pause():
            return None
        self._epoch += 1
        epoch, served = self._epoch, False
        again: _Job | None = None
        self._opening = True
        try:
            async with self._connector.open(self._start_seconds, lambda: self._end(epoch)) as opened:
                self._opening = False
                self._negotiated = opened.negotiated
                served = True
                again = await self._serve(opened, epoch, first)
        except Exception as error:  # noqa: BLE001 (a dying transport raises groups of anything; the jobs get the fault)
            self._on_failure(fault_of(error, "connecting"), served=served)
        finally:
            self._opening = False
        return again

    async def _serve(self, opened: Opened, epoch: int, first: _Job) -> _Job | None:
        running: set[asyncio.Task[None]] = set()
        command: _Job | _Ended | _Renew | _Close = first
        try:
            while True:
                match command:
                    case _Job() as job:
                        self._start(job, opened, epoch, running)
                    case _Renew(epoch=lost, job=job) if lost == epoch:
                        # The others on the lost session are about to learn the same; they are repeated too.
                        await asyncio.wait(running, timeout=_RENEWAL_GRACE) if running else None
                        return job
                    case _Renew(job=job):
                        self._start(job, opened, epoch, running)
                    case _Ended(epoch=ended):
                        if ended == epoch:
                            self._count_failure()
                            return None
                    case _Close():
                        return None
                command = await self._inbox.get()
        finally:
            await self._finish(running)

    def _start(self, job: _Job, opened: Opened, epoch: int, running: set[asyncio.Task[None]]) -> None:
        if job.method is None:
            job.settle({})
        elif not job.answer.done():
            job.task = asyncio.create_task(self._run(job, opened, epoch))
            running.add(job.task)
            job.task.add_done_callback(running.discard)

    async def _run(self, job: _Job, opened: Opened, epoch: int) -> None:
        try:
            result = await opened.session.request(
                job.method or "", job.params, input_schema=job.input_schema, on_progress=job.on_progress
            )
        except Exception as error:  # noqa: BLE001 (every failure is the caller's answer)
            fault = fault_of(error, job.method or "")
            if fault.code == SESSION_LOST and not job.repeated:
                job.repeated = True
                self._inbox.put_nowait(_Renew(epoch, job))
                return
            job.settle(await self._connector.explain(fault))
        else:
            self._failures = 0
            job.settle(result)

    async def _finish(self, running: set[asyncio.Task[None]]) -> None:
        # The end of the stream has failed these already; the rest is for a transport that says nothing.
        if running and not self._closing.is_set():
            await asyncio.wait(running, timeout=_RENEWAL_GRACE)
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
        self._inbox.put_nowait(_Ended(epoch))

    def _on_failure(self, fault: Fault, *, served: bool) -> None:
        """Count a failure; where no session came up, everybody who waits for one learns why."""
        self._count_failure()
        if not served:
            for job in list(self._jobs):
                if job.task is None or job.repeated:
                    job.settle(fault)

    def _count_failure(self) -> None:
        pause = self._pauses[min(self._failures, len(self._pauses) - 1)]
        self._failures += 1
        self._not_before = time.monotonic() + pause

    async def _pause(self) -> bool:
        """Wait until the next opening is due. False where the client is closed meanwhile."""
        seconds = self._not_before - time.monotonic()
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()
        return not self._closing.is_set()


def _future() -> "asyncio.Future[JsonObject]":
    return asyncio.get_running_loop().create_future()
