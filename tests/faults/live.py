"""An applied workspace with one server behind it, and what is left in its database after calls: for faults of whole calls.

The server `work` has three tools: `read` (locked, without side effects), `write` (locked, with side effects) and `pay` (a
human approves each call). It counts the calls that arrive in files, which outlive every process.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import remit
from remit.app import Host, difference, host_of
from remit.core.audit import AuditEvent, AuditKind, verify
from remit.core.call_ports import GrantSource
from remit.core.governance import RunRow
from remit.core.remote_ports import Connections
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.runtime.run import Run
from remit.runtime.runtime import GovernedRuntime, RuntimePorts
from remit.store.database import open_store
from remit.store.governance import Governance
from remit.store.journal import Journal, open_journal
from remit.store.location import Location
from remit.upstream.calling import McpConnections
from remit.upstream.schema_check import compile_schema
from tests.cli.workspace import Workspace, tool

__all__ = ["OWNER", "Site", "called", "patient", "runtime_over", "site"]

OWNER = "acme"

CONFIG = """\
version: 1
workspace: demo
owner: {owner}
mcp:
  servers:
    - name: work
      command: {{server:work}}
      timeout_seconds: {idle}
      call_timeout_seconds: {total}
      tools:
        read: {{surface: locked, side_effecting: false}}
        write: {{surface: locked}}
assistants:
  - name: ops
    tools:
      - server: work
        include: [pay, read, write]
"""

_STARTS = {AuditKind.CALL_INTENT.value}
_ENDS = {AuditKind.CALL_OUTCOME.value, AuditKind.CALL_RECOVERED.value}


def site(folder: Path, *, idle: float = 20, total: float = 30, **options: Any) -> "Site":
    """The workspace, applied; `options` are the server's (tests/servers/raw_stdio.py), from its next start on."""
    here = Site.at_folder(folder)
    here.serve()
    here.at.write(CONFIG.format(owner=OWNER, idle=idle, total=total))
    ended = here.at.apply()
    assert ended.code == 0, ended.err
    for log in ("called", "methods", "pids"):
        (folder / log).unlink(missing_ok=True)
    here.serve(**options)
    return here


async def called(run: Run, name: str, number: int = 0, **more: Any) -> ToolResultEnvelope:
    """The result of a call of one of the server's tools; `number` tells the calls apart on the server."""
    result = await run.call(f"work__{name}", json.dumps({"q": str(number)}), **more)
    assert not isinstance(result, HandOff)
    return result


@asynccontextmanager
async def patient(
    here: "Site", *pauses: float, host: Host | None = None, keeps: timedelta | None = None
) -> AsyncGenerator[GovernedRuntime]:
    """The governed runtime with other pauses after failures than those of `remit.Runtime`; `keeps` as of `runtime_over`."""
    host, location = host or host_of(), Location(here.database)
    journal = open_journal(location, writer="runtime", new_id=host.new_id, clock=host.clock)
    connections = McpConnections(host.surroundings(here.folder, journal), link=journal.link, pauses=pauses)
    runtime = runtime_over(location, journal, connections, host=host, owner=OWNER, keeps=keeps)
    try:
        yield runtime
    finally:
        await runtime.close()


def runtime_over(
    location: Location,
    journal: Journal,
    connections: Connections,
    *,
    host: Host,
    owner: str,
    poll: float = 1.0,
    keeps: timedelta | None = None,
    grants: GrantSource | None = None,
) -> GovernedRuntime:
    """The governed runtime as app.py composes it, over these connections. For one event loop.

    With `keeps` it drops what is older, twenty times a second.
    """
    governance = open_store(location, new_id=host.new_id, clock=host.clock).governance()

    def sweep() -> bool:
        return keeps is not None and not governance.retention.sweep(owner, keeps, lock_timeout=1).is_done

    return GovernedRuntime(
        RuntimePorts(
            owner=owner,
            grants=grants or governance,
            ledger=journal.ledger,
            journal=journal,
            connections=connections,
            compile=compile_schema,
            diff=difference,
            clock=host.clock,
            new_id=host.new_id,
            poll_seconds=poll,
            sweep=None if keeps is None else sweep,
            upkeep_seconds=0.05,
        )
    )


class Site:
    """One workspace."""

    def __init__(self, at: Workspace):
        self.at = at
        self.folder = at.folder
        self.config = at.folder / "mcp.yaml"
        self.database = at.folder / ".remit" / "remit.db"

    @classmethod
    def at_folder(cls, folder: Path) -> "Site":
        """What lies in a folder, applied or not."""
        return cls(Workspace(folder))

    def serve(self, **options: Any) -> None:
        """How the server behaves from its next start on."""
        files = {name: str(self.folder / name) for name in ("called", "methods", "pids")}
        self.at.serve("work", tool("pay"), tool("read"), tool("write"), **files, **options)

    # --- what the server saw -------------------------------------------------------------------------------------------

    def arrived(self) -> list[str]:
        """The calls that reached the server, in order, as `TOOL NUMBER`."""
        lines = (line.split(" ", 1) for line in self._lines("called"))
        return [f"{name} {json.loads(arguments)['q']}" for name, arguments in lines]

    def methods(self) -> list[str]:
        """The methods of all messages that reached the server."""
        return self._lines("methods")

    def pids(self) -> list[int]:
        """The processes of the server, oldest first."""
        return [int(line) for line in self._lines("pids")]

    # --- what is recorded ----------------------------------------------------------------------------------------------

    def open(self, host: Host | None = None) -> AbstractAsyncContextManager[GovernedRuntime]:
        """The governed runtime, as a library user opens it."""
        return remit.Runtime.open(self.config, host=host)

    def desks(self) -> Governance:
        """Runs, approvals, suspensions, audit and traces."""
        return host_of({}).database(self.folder).governance()

    def run(self, run_id: str) -> RunRow:
        """One run with its actions."""
        found = self.desks().runs.run(OWNER, run_id)
        assert found is not None
        return found

    def actions(self) -> Mapping[str, tuple[str, str | None]]:
        """State and code of every action by the id of its tool call."""
        desk = self.desks().runs
        rows = [desk.run(OWNER, each.run_id) for each in desk.runs(OWNER, limit=1_000)]
        return {each.tool_call_id: (each.state.value, each.code) for row in rows if row for each in row.actions}

    def sound_audit(self) -> list[tuple[str, str]]:
        """The events of calls as (kind, tool call id), in their order, once the trail is found to be sound.

        Sound is: no chain is damaged, and each intent is followed by exactly one end.
        """
        events = list(self.desks().audit.audit_events())
        assert verify(events) == ()
        of_calls = [each for each in events if each.kind.startswith("call_") and _call_of(each)]
        started = Counter(_call_of(each) for each in of_calls if each.kind in _STARTS)
        ended = Counter(_call_of(each) for each in of_calls if each.kind in _ENDS)
        assert (ended, set(started.values()) <= {1}) == (started, True)
        begun = set[str]()
        for each in (each for each in of_calls if each.kind in _STARTS | _ENDS):
            begun |= {_call_of(each)} if each.kind in _STARTS else set()
            assert _call_of(each) in begun
        return [(each.kind, _call_of(each)) for each in of_calls]

    def sql(self, statement: str) -> list[Any]:
        """Do something to the database beside remit."""
        with closing(sqlite3.connect(self.database, timeout=20)) as connection, connection:
            return connection.execute(statement).fetchall()

    def _lines(self, log: str) -> list[str]:
        path = self.folder / log
        return path.read_text("utf-8").splitlines() if path.exists() else []


def _call_of(event: AuditEvent) -> str:
    return cast("str", json.loads(event.body).get("gen_ai.tool.call.id", ""))
