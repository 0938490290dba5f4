"""Watch: plan whenever the files, a server or the database changed, and apply what the file asks for where that is wanted.

Decides when there is a plan, which one may be applied, and what ends a watch. A plan is applied only where the files on the disk
are the ones that it was made from and have lasted, every server answered or failed since it was declared, those that it
believes were listed after what caused it, no safeguard refuses, and this watch still holds its lease (the store looks at that
inside the transaction). What servers said stays held, as
with `--auto-approve`. An invalid file, a server's outage or the database's is told, and looked at again; the last valid
files stand meanwhile and nothing is applied.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from remit.config.loader import Loaded, Rejected
from remit.core.canonical import sha256_hex
from remit.core.leases import Lease
from remit.core.live import Era, Listed, Unreachable
from remit.core.operations import Attach, Refresh, UpdateServer
from remit.core.ports import ListingTarget
from remit.core.watch_ports import WatcherFactory
from remit.errors import PlanStale, RemitError, StoreError, UsageError, WorkspaceBusy
from remit.reconcile.applying import Applied, Planned
from remit.reconcile.watch_files import FileWatch
from remit.reconcile.watch_pace import WatchPace
from remit.reconcile.watch_servers import NOT_YET, ServerState, ServersWatch
from remit.render.shapes import PlanDocument

__all__ = ["Cause", "KnownAnswers", "WatchDesk", "WatchView", "watch"]

_OURS_NO_MORE = frozenset({"watcher-running", "watcher-replaced"})

_ATTEMPTS = 5
"""Attempts at a database that is in the way for which one listing is good."""


class Cause(StrEnum):
    """What a plan was made for; where several things happened at once, the first of these."""

    START = "start"
    FILES = "files"
    INTERVAL = "interval"
    SERVER = "server"
    DATABASE = "database"


_READINGS = (Cause.START, Cause.FILES)


class WatchView(Protocol):
    """What is told of a watch, in order, from the event loop."""

    def files(self, loaded: Loaded) -> None:
        """The files hold."""
        ...

    def rejected(self, rejected: Rejected) -> None:
        """The files do not hold; the last ones that did stand."""
        ...

    def server(self, state: ServerState) -> None:
        """A server answered otherwise than before, or failed."""
        ...

    def plan(self, document: PlanDocument, cause: Cause, *, is_news: bool) -> None:
        """A plan was made; `is_news` is whether it says anything that the one before did not."""
        ...

    def applied(self, applied: Applied, document: PlanDocument) -> None:
        """The plan was applied, or a safeguard refused it under the lock."""
        ...

    def trouble(self, error: RemitError) -> None:
        """Something is in the way, and will be tried again."""
        ...

    def mended(self) -> None:
        """What was in the way is no more."""
        ...


class WatchDesk(Protocol):
    """The database and the planning of one watch. Synchronous; the watch calls it off the event loop. Raises RemitError."""

    def take(self, loaded: Loaded) -> Lease | None:
        """The lease of the workspace; None where there is no database to keep one in. Raises WorkspaceBusy."""
        ...

    def renew(self, lease: Lease) -> bool:
        """Prolong it; False where it is another's."""
        ...

    def release(self, lease: Lease) -> None:
        """Give it back."""
        ...

    def serial(self, loaded: Loaded) -> int:
        """The number of the workspace's newest apply; 0 before the first, -1 without a database."""
        ...

    def eras(self, loaded: Loaded) -> Mapping[str, Era]:
        """The era that each declared server spoke the last time, as recorded."""
        ...

    def plan(self, loaded: Loaded, answers: "KnownAnswers") -> Planned:
        """The plan that comes out of the files, the database as it is now, and what the servers said."""
        ...

    def apply(self, planned: Planned, loaded: Loaded, lease: Lease | None) -> Applied:
        """Carry a plan of these files out as `--auto-approve` does. Raises PlanStale, WorkspaceBusy or another StoreError."""
        ...


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """A lister that asks nobody: what each server under watch said last."""

    states: Mapping[str, ServerState]

    async def list_server(self, target: ListingTarget) -> Listed | Unreachable:
        """The newest answer of a server; that there is none yet where it was begun a moment ago."""
        state = self.states.get(target.server.name)
        return NOT_YET if state is None else state.observation


async def watch(
    desk: WatchDesk,
    files: FileWatch,
    servers: Callable[[Loaded], WatcherFactory],
    view: WatchView,
    pace: WatchPace,
    *,
    applies: bool,
) -> None:
    """Watch until cancelled. Ends connections, child processes and the lease on leaving.

    Raises WorkspaceBusy where another watch has the workspace, UsageError for files that cannot be meant.
    """
    one = _Watch(desk, files, servers, view, pace, applies=applies)
    try:
        await one.run()
    finally:
        await one.close()


class _Watch:
    def __init__(
        self,
        desk: WatchDesk,
        files: FileWatch,
        servers: Callable[[Loaded], WatcherFactory],
        view: WatchView,
        pace: WatchPace,
        *,
        applies: bool,
    ):
        self._desk = desk
        self._files = files
        self._factory_of = servers
        self._view = view
        self._pace = pace
        self._applies = applies
        self._servers = ServersWatch(pace, self._on_server)
        self._loaded: Loaded | None = None
        self._holds = False
        self._lease: Lease | None = None
        self._leasing: Loaded | None = None
        self._lease_in_doubt = False
        self._lease_turn = asyncio.Lock()
        self._serial: int | None = None
        self._wanted = asyncio.Event()
        self._causes: dict[Cause, float] = {}
        self._since: float | None = None
        self._shown: str | None = None
        self._given_up: str | None = None
        self._trouble: tuple[str, str] | None = None

    async def run(self) -> None:
        loops = [self._read_files(), self._make_plans(), self._look_at_database()]
        if self._pace.interval is not None:
            loops.append(self._list_again(self._pace.interval))
        tasks = [asyncio.create_task(each) for each in loops]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.wait(tasks)

    async def close(self) -> None:
        await self._servers.close()
        if self._lease is not None:
            # It ends by itself where the database is out of reach.
            with suppress(RemitError):
                await asyncio.to_thread(self._desk.release, self._lease)

    # --- what happens -------------------------------------------------------------------------------------------------

    async def _read_files(self) -> None:
        async with aclosing(self._files.readings()) as readings:
            async for result in readings:
                if isinstance(result, Rejected):
                    self._holds = False
                    self._view.rejected(result)
                else:
                    await self._follow(result)

    async def _follow(self, loaded: Loaded) -> None:
        self._leasing, read_at = loaded, _now()
        await self._hold_lease(renew=False)
        eras = await self._eras(loaded)
        # From here on without a pause: no plan is made of these files and the servers of those before.
        self._loaded, self._holds = loaded, True
        self._servers.follow(loaded.desired, eras, self._factory_of(loaded))
        self._view.files(loaded)
        self._want(Cause.FILES if self._shown else Cause.START, read_at)

    async def _eras(self, loaded: Loaded) -> Mapping[str, Era]:
        try:
            return await asyncio.to_thread(self._desk.eras, loaded)
        except RemitError:
            # Only a hint where to begin; the plan tells what is the matter.
            return {}

    def _on_server(self, state: ServerState, is_news: bool) -> None:
        if is_news:
            self._view.server(state)
            self._want(Cause.SERVER, state.asked_at)
        elif self._since is not None:
            # It said the same again, which a plan may have waited for.
            self._wanted.set()

    async def _list_again(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            self._files.look()
            self._servers.list_all()
            self._want(Cause.INTERVAL, _now())

    async def _look_at_database(self) -> None:
        """Renew the lease, and see whether somebody else applied or the database is back."""
        renewed = 0.0
        while True:
            await asyncio.sleep(min(self._pace.database_tick, self._pace.lease / 3))
            if self._loaded is None:
                continue
            try:
                serial = await asyncio.to_thread(self._desk.serial, self._loaded)
                if self._lease_in_doubt or _now() - renewed >= self._pace.lease / 3:
                    await self._hold_lease(renew=True)
                    renewed = _now()
            except RemitError as error:
                self._in_the_way(error)
                continue
            if serial != self._serial:
                self._want(Cause.DATABASE, _now())
            elif self._trouble is not None and not self._lease_in_doubt:
                # Another attempt at the same: the servers need not be asked at each.
                self._want(Cause.DATABASE, _now() - _ATTEMPTS * self._pace.database_tick)

    async def _hold_lease(self, *, renew: bool) -> None:
        """Have the lease of the workspace that the files name, and of no other. What is in the way is told."""
        async with self._lease_turn:
            try:
                await self._lease_held(renew=renew)
            except RemitError as error:
                self._in_the_way(error)

    async def _lease_held(self, *, renew: bool) -> None:
        loaded, lease = self._leasing, self._lease
        if loaded is None or (lease is not None and lease.workspace == loaded.desired.workspace and not renew):
            return
        self._lease_in_doubt = True
        if lease is not None and lease.workspace != loaded.desired.workspace:
            self._lease = None
            await asyncio.to_thread(self._desk.release, lease)
        elif lease is not None and not await asyncio.to_thread(self._desk.renew, lease):
            # Taken over while this process slept: whoever holds it is named now. Or free again: nobody acted meanwhile.
            self._lease = None
        self._lease = self._lease or await asyncio.to_thread(self._desk.take, loaded)
        self._lease_in_doubt = False

    def _in_the_way(self, error: RemitError) -> None:
        """Tell an error that will be tried again, once. Raises it where this watch must end, or cannot even begin."""
        if error.code in _OURS_NO_MORE or (isinstance(error, UsageError) and self._shown is None):
            raise error
        told = (error.code, error.message)
        if told != self._trouble:
            self._trouble = told
            self._view.trouble(_as_tried_again(error))

    # --- plans --------------------------------------------------------------------------------------------------------

    def _want(self, cause: Cause, arose: float) -> None:
        known = self._causes.get(cause, arose)
        self._causes[cause] = max(known, arose) if cause in _READINGS else min(known, arose)
        self._wanted.set()

    async def _make_plans(self) -> None:
        while True:
            await self._wanted.wait()
            await self._answers()
            # A person who saved a file waits for an answer, whatever else happened at the same moment.
            cause = next((each for each in Cause if each in self._causes), None)
            arose = _now() if cause is None else self._causes[cause]
            self._causes.clear()
            self._wanted.clear()
            if self._loaded is not None:
                await self._plan(self._loaded, cause, arose)

    async def _answers(self) -> None:
        """Give servers that nothing is known of a moment, so that one change is one plan."""
        until = _now() + (self._pace.answers if self._shown else self._pace.first_answers)
        while self._unknown(self._loaded, self._servers.states()) and _now() < until:
            self._wanted.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._wanted.wait()

    def _unknown(self, loaded: Loaded | None, states: Mapping[str, ServerState]) -> bool:
        """Whether some server has neither answered nor failed since it was declared as it is."""
        declared = () if loaded is None else loaded.desired.servers
        return any(each.enabled and not (each.name in states and states[each.name].is_known) for each in declared)

    async def _plan(self, loaded: Loaded, cause: Cause | None, arose: float) -> None:
        """Make a plan, tell it, and apply it where that is due. Without a cause a server that was asked said the same again."""
        states = self._servers.states()
        try:
            self._serial = await asyncio.to_thread(self._desk.serial, loaded)
            planned = await asyncio.to_thread(self._desk.plan, loaded, KnownAnswers(states))
        except RemitError as error:
            self._since = None
            self._in_the_way(error)
            return
        shown = _fingerprint(planned.document)
        is_news, self._shown = shown != self._shown, shown
        if cause is not None or is_news:
            self._view.plan(planned.document, cause or Cause.SERVER, is_news=is_news)
        is_due = self._is_due(planned, states, cause, arose) and not self._unknown(loaded, states)
        if is_due and not await self._apply(loaded, planned, states):
            return
        if self._trouble is not None and not self._lease_in_doubt:
            self._trouble = None
            self._view.mended()

    def _is_due(self, planned: Planned, states: Mapping[str, ServerState], cause: Cause | None, arose: float) -> bool:
        """Whether a plan is to be applied now. Has the servers that it believes listed, if they were not since its cause arose."""
        if not self._applies or not self._may_apply(planned):
            self._since = None
            return False
        if self._since is None or cause in _READINGS:
            # What happens while it waits for a server does not make it wait anew, or a restless server would stop it for ever.
            self._since = arose
        old = [name for name in _believed(planned) & states.keys() if states[name].asked_at < self._since]
        self._servers.list_again(old, self._since)
        return not old

    def _may_apply(self, planned: Planned) -> bool:
        plan = planned.report.plan
        if not plan.has_changes or plan.vetoes or planned.document["digest"] == self._given_up:
            return False
        lease = self._lease
        ours = lease is not None and lease.workspace == plan.workspace
        return ours and self._holds

    async def _apply(self, loaded: Loaded, planned: Planned, states: Mapping[str, ServerState]) -> bool:
        """Apply a plan. False where something was in the way, and was told."""
        self._since = None
        # Where the files changed, they are about to be read, and there will be another plan.
        if not await self._files.lasted() or not self._holds or self._loaded is not loaded:
            return True
        # The same where a server that it believes said something else meanwhile.
        newest = self._servers.states()
        if not all(newest[name].says_the_same(states[name]) for name in _believed(planned) & states.keys()):
            return True
        try:
            applied = await asyncio.to_thread(self._desk.apply, planned, loaded, self._lease)
        except PlanStale:
            self._want(Cause.DATABASE, _now())
            return True
        except StoreError as error:
            self._in_the_way(error)
            return False
        if applied.failures or applied.vetoes:
            # The same would fail the same way; what changes makes another digest.
            self._given_up = planned.document["digest"]
        self._view.applied(applied, planned.document)
        self._want(Cause.DATABASE, _now())
        return True


def _as_tried_again(error: RemitError) -> RemitError:
    """An error with a way out that a watch has; that of a busy database is a flag of `remit apply`."""
    if error.code != WorkspaceBusy.default_code:
        return error
    way = "it is tried again; the lock ends with the process that holds it"
    return WorkspaceBusy(error.message, place=error.place, hint=way)


def _believed(planned: Planned) -> frozenset[str]:
    """The servers whose listings an apply of a plan rests on; what it takes away or sets needs no server."""
    found: set[str] = set()
    for operation in planned.report.plan.operations:
        match operation:
            case Attach(tool=tool) | Refresh(tool=tool):
                found.add(tool.server)
            case UpdateServer(after=after):
                found.add(after.name)
            case _:
                pass
    return frozenset(found)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _fingerprint(document: PlanDocument) -> str:
    """What a reader would notice of a plan: all but times, wordings and where things stand in the file."""
    return sha256_hex(
        document["digest"],
        str(document["complete"]),
        *(f"{each['code']} {each['address']}" for each in document["problems"]),
        *(f"{each['kind']} {each['address']} {each['detail']}" for each in document["drift"]),
        *(f"{each['reason']} {each['address']}" for each in document["deferred"]),
        *(f"{each['status']} {each['server']}" for each in document["discovery"]),
    )
