"""The composition root: real clocks, ids, files and connections, put behind the ports.

The only module that knows which implementation stands behind which port, and the only one that reads a clock or makes an
id. Decides nothing else; imports what it composes only when it is asked for it, so that a command pays for what it uses.
"""

import getpass
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from remit.config.file_set import MAIN_FILE, FileSet
from remit.core.definition import Definition
from remit.core.leases import LeaseDesk, Watcher
from remit.core.operations import Change
from remit.core.ports import ServerLister, Store
from remit.core.recorded import Recorded
from remit.errors import ConfigError, NoDatabase, UsageError

if TYPE_CHECKING:
    from remit.config.loader import Loaded
    from remit.core.checkup import Soundness
    from remit.core.events import EventSink, ProtocolEvent
    from remit.core.governance import Retention
    from remit.core.watch_ports import WatcherFactory
    from remit.runtime.runtime import GovernedRuntime
    from remit.store.governance import Governance
    from remit.store.location import Location
    from remit.upstream.opening import Surroundings

__all__ = ["Database", "Host", "NoCaches", "NoSink", "Owner", "Runtime", "difference", "host_of", "owner_of"]

DATABASE_VARIABLE = "REMIT_DATABASE_URL"
EMBEDDED = Path(".remit") / "remit.db"
"""Where the embedded database lies, beside mcp.yaml."""

GIT_SECONDS = 5.0

SWEEP_LOCK_SECONDS = 1.0
"""How long a sweep of a runtime waits for the database; calls have its lock most of the time where there are many."""

_WRITER = "runtime"
"""The audit chain of governed calls; every process that makes some adds to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine a run happens on: its variables, interpreter, clock and source of ids."""

    environ: Mapping[str, str]
    python: str
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    def actor(self) -> str:
        """Who acts, as a principal: `user:NAME`."""
        try:
            return f"user:{getpass.getuser()}"
        except (OSError, KeyError):
            return "user:unknown"

    def commit(self, folder: Path) -> str | None:
        """The git commit checked out around a folder; None outside a repository or without git."""
        if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
            return None
        try:
            answer = subprocess.run(  # noqa: S603 (fixed words and a folder, no shell)
                ["git", "-C", str(folder), "rev-parse", "HEAD"],  # noqa: S607 (the user's git is the one that is meant)
                capture_output=True,
                text=True,
                timeout=GIT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        # Before the first commit git prints the word HEAD all the same, and fails.
        return answer.stdout.strip() or None if answer.returncode == 0 else None

    def database(self, base_dir: Path, workspace: str | None = None) -> "Database":
        """The database for the configuration in a folder: REMIT_DATABASE_URL, else the embedded one beside the file.

        Raises StoreError for a URL that this version cannot use, UsageError where `workspace` is `default` and the
        database is not the embedded one, as rows of two repositories would meet under one name there.
        """
        from remit.store.location import Location

        url = self.environ.get(DATABASE_VARIABLE) or None
        if url is not None and workspace == "default":
            raise UsageError(
                "workspace 'default' is only for the embedded database",
                code="workspace-default",
                place=DATABASE_VARIABLE,
                hint="give the configuration a `workspace:` of its own before it shares a database",
            )
        return Database(self, Location.parse(url, default=base_dir / EMBEDDED))

    def lister(self, base_dir: Path, sink: "EventSink") -> ServerLister:
        """A lister of MCP servers for the configuration in a folder; protocol events go to `sink` under a new trace."""
        from remit.upstream.discovery import McpServerLister

        return McpServerLister(self.surroundings(base_dir, sink), trace_id=self.new_id())

    def watchers(self, base_dir: Path, sink: "EventSink") -> "WatcherFactory":
        """Makes servers under watch for the configuration in a folder; parameters as those of `lister`."""
        from remit.upstream.watching import McpWatchers

        return McpWatchers(self.surroundings(base_dir, sink), trace_id=self.new_id())

    def surroundings(self, base_dir: Path, sink: "EventSink") -> "Surroundings":
        """What connections to the servers of a configuration in a folder need of this host; protocol events go to `sink`."""
        from remit.upstream.opening import Surroundings

        return Surroundings.of(
            environ=self.environ,
            base_dir=base_dir,
            python=self.python,
            clock=self.clock,
            new_id=self.new_id,
            sink=sink,
        )

    def watcher(self) -> Watcher:
        """This process, as the holder of a lease."""
        return Watcher(token=self.new_id(), host=socket.gethostname(), pid=os.getpid(), since=self.clock())


class Ids:
    """Random ids of 32 hex characters, from random bytes that are asked for in advance: a system call for many ids."""

    _CHARACTERS = 32
    _AT_ONCE = 256

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._process = 0

    def next(self) -> str:
        """An id that no other process and no other thread has."""
        # A child that was forked must not hand out what its parent hands out too.
        if self._process != os.getpid():
            self._ids, self._process = self._made(), os.getpid()
        try:
            return self._ids.pop()
        except IndexError:
            self._ids = self._made()
            return self.next()

    def _made(self) -> list[str]:
        text = os.urandom(self._CHARACTERS // 2 * self._AT_ONCE).hex()
        return [text[at : at + self._CHARACTERS] for at in range(0, len(text), self._CHARACTERS)]


def host_of(environ: Mapping[str, str] | None = None) -> Host:
    """The host this process runs on."""
    return Host(
        environ=dict(os.environ if environ is None else environ),
        python=sys.executable,
        clock=lambda: datetime.now(UTC),
        new_id=Ids().next,
    )


@dataclass(frozen=True, slots=True)
class Database:
    """One database by its location, which may not exist yet."""

    host: Host
    location: "Location"

    def __str__(self) -> str:
        return str(self.location)

    def exists(self) -> bool:
        """Whether there is a database to open."""
        from remit.store.location import exists

        return exists(self.location)

    def open(self) -> Store:
        """Open it. Raises NoDatabase, DatabaseVersion or DatabaseUnusable."""
        from remit.store.database import open_store

        return open_store(self.location, new_id=self.host.new_id, clock=self.host.clock)

    def recorded(self) -> tuple[Store | None, Recorded]:
        """The store and what it holds; no store and nothing where there is no database yet."""
        try:
            store = self.open()
        except NoDatabase:
            return None, Recorded()
        return store, store.recorded()

    def governance(self) -> "Governance":
        """What people look at and decide beside the calls. Raises NoDatabase, DatabaseVersion or DatabaseUnusable."""
        from remit.store.database import open_store

        return open_store(self.location, new_id=self.host.new_id, clock=self.host.clock).governance()

    def soundness(self) -> "Soundness":
        """What it says of itself. Raises NoDatabase, DatabaseVersion or DatabaseUnusable."""
        from remit.store.database import open_store

        return open_store(self.location, new_id=self.host.new_id, clock=self.host.clock).soundness()

    def leases(self, *, patience: float) -> LeaseDesk:
        """Who watches which workspace; a busy database is waited for `patience` seconds.

        Raises NoDatabase, DatabaseVersion or DatabaseUnusable.
        """
        from remit.store.database import open_store

        return open_store(self.location, new_id=self.host.new_id, clock=self.host.clock).leases(patience=patience)

    def create_or_upgrade(self) -> str:
        """Create it, or bring its schema to this version; says which, in a word."""
        from remit.store.database import create_or_upgrade

        return create_or_upgrade(self.location)


@dataclass(frozen=True, slots=True)
class Owner:
    """On whose behalf governed calls and the commands around them act. `loaded` is None where the file is not valid."""

    name: str
    loaded: "Loaded | None"

    @property
    def trace_days(self) -> int | None:
        """How long contents of calls are kept; None where nobody can say, and then all of it is."""
        return None if self.loaded is None else self.loaded.desired.trace_days


def owner_of(config: FileSet, database: Database) -> Owner:
    """The owner: the file's where it is valid, else the one owner that the database records.

    So a half-edited mcp.yaml stops neither a call nor an emergency suspension; what is called is what was applied, and
    that stands in the database. Raises ConfigError where nobody can say who the owner is, UsageError for an environment
    that has no overlay, StoreError.
    """
    from remit.config.loader import Loaded, load

    result = load(config)
    if isinstance(result, Loaded):
        return Owner(result.desired.owner, result)
    _, recorded = database.recorded()
    owners = sorted({each.owner for each in recorded.workspaces.values()})
    if len(owners) == 1:
        return Owner(owners[0], None)
    told = "nobody yet" if not owners else f"{len(owners)} owners"
    raise ConfigError(
        f"the file is not valid, and the database records {told}: nobody can say who the owner is",
        code="owner-unknown",
        place=str(config),
        hint=f"mend the file (`remit validate -f {config}`), or name a valid one: its `owner` counts",
    )


class Runtime:
    """The library's way in: `async with remit.Runtime.open("mcp.yaml") as runtime`."""

    @staticmethod
    @asynccontextmanager
    async def open(
        config: FileSet | Path | str = MAIN_FILE, *, host: Host | None = None
    ) -> "AsyncGenerator[GovernedRuntime]":
        """The governed runtime over what was applied from a file, or from several with an environment's overlay.

        Ends connections and child processes on leaving. Raises NoDatabase, StoreError, ConfigError, UsageError.
        Everything in it belongs to the running event loop.
        """
        # The folder is settled before anything is awaited: a program may change its own later.
        files = config if isinstance(config, FileSet) else FileSet(main=Path(config))
        runtime = await _opened(files, files.folder, host or host_of())
        try:
            yield runtime
        finally:
            await runtime.close()


async def _opened(config: FileSet, base_dir: Path, host: Host) -> "GovernedRuntime":
    import asyncio

    from remit.runtime.runtime import GovernedRuntime, RuntimePorts
    from remit.runtime.telemetry import spans_of_host
    from remit.store.journal import open_journal
    from remit.upstream.calling import McpConnections
    from remit.upstream.schema_check import compile_schema

    database = host.database(base_dir)
    governance = await asyncio.to_thread(database.governance)
    owner = await asyncio.to_thread(owner_of, config, database)
    # Last of what can fail: whoever opens a journal has to close it.
    journal = await asyncio.to_thread(
        open_journal, database.location, writer=_WRITER, new_id=host.new_id, clock=host.clock
    )
    connections = McpConnections(host.surroundings(base_dir, journal), link=journal.link)
    return GovernedRuntime(
        RuntimePorts(
            owner=owner.name,
            grants=governance,
            ledger=journal.ledger,
            journal=journal,
            connections=connections,
            compile=compile_schema,
            diff=difference,
            clock=host.clock,
            new_id=host.new_id,
            spans=spans_of_host(),
            sweep=None if owner.trace_days is None else _sweep(governance.retention, owner.name, owner.trace_days),
        )
    )


def _sweep(retention: "Retention", owner: str, days: int) -> Callable[[], bool]:
    kept = timedelta(days=days)
    return lambda: not retention.sweep(owner, kept, lock_timeout=SWEEP_LOCK_SECONDS).is_done


def difference(before: Definition, after: Definition) -> tuple[Change, ...]:
    """The changed paths between two definitions; its library is loaded at the first difference."""
    from remit.reconcile.diff import definition_diff

    return definition_diff(before, after)


class NoSink:
    """An event sink for runs that keep no protocol trace."""

    def record(self, event: "ProtocolEvent") -> None:
        """Drop the event."""


class NoCaches:
    """Cache invalidation where nothing in this process caches: other processes compare the assistant's revision."""

    def assistants_changed(self, owner: str, assistants: Sequence[str]) -> None:
        """Nothing to forget."""
