"""What the tests of a watch share: a workspace with servers that change while they run, and a view that can be waited for."""

import asyncio
import functools
import json
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec

from remit.app import Database, Host, NoSink, host_of
from remit.cli.lock_run import Asked, write_lock
from remit.cli.session import PlanFlags
from remit.cli.terminal import Terminal
from remit.cli.watch_desk import Desk
from remit.config.file_set import FileSet
from remit.config.loader import Loaded, Rejected, load
from remit.config.watched_files import WatchedFiles
from remit.core.addresses import address_of
from remit.core.live import Listed
from remit.errors import RemitError
from remit.reconcile.applying import Applied
from remit.reconcile.watch import Cause, watch
from remit.reconcile.watch_files import FileEvents, FileWatch, file_events
from remit.reconcile.watch_pace import WatchPace
from remit.reconcile.watch_servers import ServerState
from remit.render.shapes import PlanDocument

__all__ = ["CONFIG", "PACE", "Lab", "Told", "in_a_loop", "summary", "tool", "until"]

SERVER = Path(__file__).parents[1] / "servers" / "changing_stdio.py"
SECONDS = 20.0
PACE = WatchPace(
    poll=0.5,
    still=0.05,
    apply_still=0.1,
    tick=0.05,
    gap=0.05,
    first_answers=10.0,
    backoff=0.05,
    database_tick=0.1,
)
"""Everything a bit faster than in life."""

P = ParamSpec("P")

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: a
      command: {a}
assistants:
  - name: ops
    tools:
      - server: a
        include: [one, two]
"""


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test as a coroutine."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def tool(name: str, description: str = "Does one thing.") -> dict[str, Any]:
    """A tool in wire form."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


@dataclass(repr=False)
class Told:
    """A view that keeps what it is told, in order, and wakes whoever waits."""

    events: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    errors: list[RemitError] = field(default_factory=list[RemitError])
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    task: "asyncio.Task[None] | None" = None

    def files(self, loaded: Loaded) -> None:
        self._keep("files", loaded)

    def rejected(self, rejected: Rejected) -> None:
        self._keep("rejected", sorted({each.code for each in rejected.diagnostics}))

    def server(self, state: ServerState) -> None:
        seen = state.observation
        said = [each.remote_name for each in seen.tools] if isinstance(seen, Listed) else seen.reason.value
        self._keep("server", (state.server, said))

    def plan(self, document: PlanDocument, cause: Cause, *, is_news: bool) -> None:
        self._keep("plan", document)

    def applied(self, applied: Applied, document: PlanDocument) -> None:
        self._keep("applied", [f"{each.op} {address_of(each)}" for each in applied.done])

    def trouble(self, error: RemitError) -> None:
        self.errors.append(error)
        self._keep("trouble", error.code)

    def mended(self) -> None:
        self._keep("mended", None)

    def _keep(self, event: str, what: Any) -> None:
        self.events.append((event, what))
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, self.wake())

    async def wake(self) -> None:
        """Have whoever waits look again."""
        async with self.news:
            self.news.notify_all()

    async def ended(self) -> None:
        """Wait until the watch ended; raises what ended it."""
        assert self.task is not None
        await asyncio.shield(self.task)

    def of(self, event: str) -> list[Any]:
        """Everything that was told of one kind."""
        return [what for name, what in self.events if name == event]

    async def until(self, event: str, holds: Callable[[Any], bool] = lambda _: True, *, after: int = 0) -> int:
        """Wait until something of a kind was told that holds; gives the number of events up to it, for `after`."""
        try:
            return await self._until(event, holds, after)
        except TimeoutError:
            raise AssertionError(f"no such {event} after {after} of {self.short()}") from None

    def short(self) -> list[tuple[str, Any]]:
        """What was told, of plans the counts."""
        return [(name, summary(what) if name == "plan" else name == "files" or what) for name, what in self.events]

    async def _until(self, event: str, holds: Callable[[Any], bool], after: int) -> int:
        async with asyncio.timeout(SECONDS), self.news:
            while True:
                for number, (name, what) in enumerate(self.events[after:], after + 1):
                    if name == event and holds(what):
                        return number
                ended = self.task
                assert ended is None or not ended.done(), ended
                await self.news.wait()


@dataclass
class Lab:
    """A folder with mcp.yaml, servers that change while they run, and its database."""

    folder: Path
    pace: WatchPace = PACE
    options: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    @property
    def config(self) -> Path:
        return self.folder / "mcp.yaml"

    @property
    def host(self) -> Host:
        return host_of({"PATH": os.environ["PATH"], "HOME": str(self.folder)})

    @property
    def database(self) -> Database:
        return self.host.database(self.folder)

    def serve(self, name: str, **options: Any) -> None:
        """What a server lists from now on, also while it runs."""
        known = self.options.setdefault(
            name, {"pids": str(self.folder / f"{name}.pids"), "listed": str(self.folder / f"{name}.listed")}
        )
        known |= options
        self.replace(self.folder / f"{name}.json", json.dumps(known))

    def write(self, text: str = CONFIG) -> None:
        """Write mcp.yaml as an editor does that replaces it."""
        self.replace(self.config, self.filled(text))

    def filled(self, text: str) -> str:
        for name in self.options:
            command = [sys.executable, str(SERVER), f"@{self.folder / name}.json"]
            text = text.replace(f"{{{name}}}", json.dumps(command))
        return text

    def replace(self, path: Path, text: str) -> None:
        partial = path.with_name(f".{path.name}.swap")
        partial.write_text(text, "utf-8")
        partial.replace(path)

    def listings(self, name: str) -> int:
        return len((self.folder / f"{name}.listed").read_text("utf-8").split())

    def attached(self) -> dict[str, str]:
        """The recorded attachments: alias and the description that was approved."""
        _, recorded = self.database.recorded()
        return {each.provider_name: str(each.definition.content().description) for each in recorded.attachments}

    def accept(self, *acceptances: str) -> int:
        """Apply with acceptances, as a person does beside the watch; how many operations were done."""
        loaded = load(FileSet(main=self.config))
        assert isinstance(loaded, Loaded)
        desk = self.desk(applies=True, accept=acceptances)
        planned = desk.plan(loaded, self.host.lister(self.folder, NoSink()))
        return len(desk.apply(planned, loaded, None).done)

    def lock(self) -> int:
        """Write the lock from what the servers say now; the exit code."""
        return write_lock(FileSet(main=self.config), Asked(), yes=True, form="text", colour=False)

    def expire_lease(self) -> None:
        """Let the time of every lease be over."""
        with closing(sqlite3.connect(self.folder / ".remit" / "remit.db")) as raw, raw:
            raw.execute("UPDATE watch_leases SET expires_at = '2000-01-01T00:00:00.000000+00:00'")

    def lease_end(self) -> str:
        """When the lease ends."""
        with closing(sqlite3.connect(self.folder / ".remit" / "remit.db")) as raw:
            return str(raw.execute("SELECT expires_at FROM watch_leases").fetchone()[0])

    def desk(self, *, applies: bool, accept: tuple[str, ...] = ()) -> Desk:
        terminal = Terminal(colour=False, error_colour=False, interactive=False, width=100)
        flags = PlanFlags.of(refresh="live", servers=(), accept=accept, allow_detach=None, allow_empty=())
        return Desk(
            config=FileSet(main=self.config),
            host=self.host,
            terminal=terminal,
            flags=flags,
            pace=self.pace,
            watcher=self.host.watcher(),
            required=applies,
        )

    @asynccontextmanager
    async def watched(
        self, *, applies: bool = True, events: FileEvents = file_events, files: FileSet | None = None
    ) -> AsyncGenerator[Told]:
        """A watch for as long as the block lasts. What ends it is raised."""
        files = files or FileSet(main=self.config)
        if applies:
            self.database.create_or_upgrade()
        told = Told()
        readings = FileWatch(WatchedFiles(files), lambda: load(files), self.pace, events=events)
        factory = self.host.watchers(self.folder, NoSink())
        watching = watch(self.desk(applies=applies), readings, lambda _: factory, told, self.pace, applies=applies)
        told.task = asyncio.create_task(watching)
        told.task.add_done_callback(lambda _: asyncio.ensure_future(told.wake()))
        try:
            yield told
        finally:
            told.task.cancel()
            with suppress(asyncio.CancelledError):
                await told.task


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what nobody tells of, such as a process that is gone."""
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0.01)


def summary(document: PlanDocument) -> Mapping[str, int]:
    """The non-zero counts of a plan."""
    return {key: value for key, value in document["summary"].items() if isinstance(value, int) and value}
