"""The servers under watch: for each, a task that lists it again and again, and what it said last.

Decides when a server is listed: at once when something says that its listing is old, but no more often than a gap allows
that grows while its pushes change nothing (a storm, or a server that answers each listing with a push); after a pause that
grows where it failed; by the clock where it cannot say that it changed. Only the server concerned is listed. An outage is kept as
what it is: unknown, never empty (DESIGN.md section 5).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from remit.core.desired import Connection, Desired, DesiredServer
from remit.core.identity import Endpoint
from remit.core.live import Era, Listed, Unreachable, UnreachableReason
from remit.core.ports import ListingTarget
from remit.core.watch_ports import Attention, WatchedServer, WatcherFactory
from remit.reconcile.observe import CONCURRENT_LISTINGS
from remit.reconcile.watch_pace import WatchPace

__all__ = ["NOT_YET", "ServerState", "ServersWatch"]

NOT_YET = Unreachable(reason=UnreachableReason.TIMEOUT, detail="has not answered yet")
"""What is known of a server that was asked a moment ago."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PUSHES = (Attention.PUSH, Attention.SUBSCRIPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """What a server said last, how its changes are noticed, and when it is listed next by the clock (seconds; None: never).

    `failures` are listings in a row that came to nothing. `asked_at` is when the observation was asked for, by the loop's clock.
    """

    server: str
    observation: Listed | Unreachable
    attention: Attention
    next_in: float | None = None
    failures: int = 0
    asked_at: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether it answered, or failed to, since it was declared as it is."""
        return self.observation is not NOT_YET

    def says_the_same(self, other: "ServerState") -> bool:
        """Whether a reader would notice no difference; the time of a listing is none."""
        mine, others = _timeless(self.observation), _timeless(other.observation)
        return (mine, self.attention) == (others, other.attention)


_Told = Callable[[ServerState, bool], None]
_Declared = tuple[Endpoint, str | None, Connection]


@dataclass(slots=True)
class _Round:
    """One server's task, and the event that asks for a listing now. `began` is when the newest listing did, ended or not."""

    declared: _Declared
    watched: WatchedServer
    state: ServerState
    began: float = 0.0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class ServersWatch:
    """All servers of one configuration. `on_answer` is told of each answer, and whether it differs from the one before."""

    def __init__(self, pace: WatchPace, on_answer: _Told):
        self._pace = pace
        self._on_answer = on_answer
        self._rounds: dict[str, _Round] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Semaphore(CONCURRENT_LISTINGS)

    def follow(self, desired: Desired, eras: Mapping[str, Era], factory: WatcherFactory) -> None:
        """Watch the enabled servers of a desired state: new ones from now on, those that are gone no more.

        One whose connection is declared otherwise than before is begun anew; nothing that the old one said counts for it.
        """
        wanted = {each.name: each for each in desired.servers if each.enabled}
        for name in [name for name in self._rounds if name not in wanted]:
            self._leave(name)
        for name, server in wanted.items():
            known = self._rounds.get(name)
            if known is not None and known.declared == _declared(server):
                continue
            if known is not None:
                self._leave(name)
            self._begin(server, eras.get(name), factory)

    def states(self) -> Mapping[str, ServerState]:
        """What is known of each server."""
        return {name: each.state for name, each in self._rounds.items()}

    def list_all(self) -> None:
        """List every server as soon as its gap allows."""
        for each in self._rounds.values():
            each.asked.set()

    def list_again(self, names: Iterable[str], since: float) -> None:
        """List these servers as soon as the gap allows, those that no listing was begun of since then."""
        for name in names:
            if name in self._rounds and self._rounds[name].began < since:
                self._rounds[name].asked.set()

    async def close(self) -> None:
        """End every connection and child process; bounded."""
        for name in list(self._rounds):
            self._leave(name)
        if self._leaving:
            await asyncio.wait(self._leaving)

    def _begin(self, server: DesiredServer, era: Era | None, factory: WatcherFactory) -> None:
        watched = factory.watch(ListingTarget(server=server, remembered_era=era))
        state = ServerState(server=server.name, observation=NOT_YET, attention=Attention.POLLING)
        one = self._rounds[server.name] = _Round(_declared(server), watched, state)
        one.task = asyncio.create_task(self._run(one), name=f"remit-watch-{server.name}")

    def _leave(self, name: str) -> None:
        one = self._rounds.pop(name)
        task = asyncio.create_task(self._ended(one))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _ended(self, one: _Round) -> None:
        if one.task is not None:
            one.task.cancel()
            await asyncio.wait({one.task})
        await one.watched.close()

    async def _run(self, one: _Round) -> None:
        clock = asyncio.get_running_loop().time
        pushed, idle = False, 0
        while True:
            async with self._gate:
                one.asked.clear()
                one.began = clock()
                observation = await one.watched.list_now()
            is_news = self._note(one, observation)
            idle = idle + 1 if pushed and not is_news else 0
            pushed = await self._due(one)
            await asyncio.sleep(max(0.0, one.began + self._pace.gap - clock()))
            # A server that cried wolf waits longer; whoever asks for it does not.
            with suppress(TimeoutError):
                async with asyncio.timeout_at(one.began + self._pace.gap_after(idle)):
                    await one.asked.wait()

    def _note(self, one: _Round, observation: Listed | Unreachable) -> bool:
        before = one.state
        failures = 0 if isinstance(observation, Listed) else before.failures + 1
        attention = one.watched.attention
        one.state = replace(
            before,
            observation=observation,
            attention=attention,
            failures=failures,
            asked_at=one.began,
            next_in=self._next_in(attention, failures),
        )
        is_news = not one.state.says_the_same(before)
        self._on_answer(one.state, is_news)
        return is_news

    def _next_in(self, attention: Attention, failures: int) -> float:
        if failures:
            return self._pace.retry(failures)
        return self._pace.trusted_for() if attention in _PUSHES else self._pace.poll

    async def _due(self, one: _Round) -> bool:
        """Wait until the server is to be listed again; whether it said so itself."""
        asked = asyncio.create_task(_waited(one.asked.wait()))
        # What a connection says that just failed is that it failed.
        saying = asyncio.Event().wait() if one.state.failures else one.watched.changed()
        pushed = asyncio.create_task(_waited(saying))
        try:
            await asyncio.wait({asked, pushed}, timeout=one.state.next_in, return_when=asyncio.FIRST_COMPLETED)
            return pushed.done()
        finally:
            asked.cancel()
            pushed.cancel()


async def _waited(waiting: Awaitable[object]) -> None:
    await waiting


def _declared(server: DesiredServer) -> _Declared:
    return (server.endpoint, server.instance, server.connection)


def _timeless(observation: Listed | Unreachable) -> Listed | Unreachable:
    if isinstance(observation, Listed):
        return replace(observation, observed_at=_EPOCH, notes=())
    # Details hold seconds and process numbers, other ones at each attempt.
    return observation if observation is NOT_YET else replace(observation, detail="")
