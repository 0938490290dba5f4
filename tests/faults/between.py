"""One run over one tool of a server that is the test's: what happens at any moment of a call, in one process.

at = between(tmp_path, then=suspended)
result = at.called()
assert len(at.sent) == 1
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from remit.app import Host
from remit.core.approvals import ApprovalState
from remit.core.audit_review import body_of
from remit.core.call_ports import GrantSource
from remit.core.calls import FailureCode
from remit.core.canonical import Json, JsonObject
from remit.core.definition import Definition
from remit.core.desired import Connection
from remit.core.envelope import EnvelopePatch, Surface
from remit.core.identity import Endpoint
from remit.core.live import Listed, Unreachable, UnreachableReason
from remit.core.remote_ports import Delivery, RemoteAnswer, RemoteCall, RemoteFault, RemoteResult
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.runtime.run import Run
from remit.runtime.runtime import GovernedRuntime
from remit.store.database import open_store
from remit.store.governance import Governance
from remit.store.journal import open_journal
from remit.store.location import Location
from tests.fakes import FakeConnections
from tests.faults.live import runtime_over
from tests.faults.world import Here, new_id
from tests.states import NOW, OWNER, assistant, definition, desired, listed, select, server

__all__ = ["LOST", "OK", "READ", "Between", "between"]

SECONDS = 20
READ = EnvelopePatch(surface=Surface.LOCKED, side_effecting=False)
APPROVED = definition(n={"type": "integer"})
OK = RemoteResult(result={"content": [{"type": "text", "text": "ok"}]}, era="legacy", protocol_version="2025-11-25")
LOST = RemoteFault(code=FailureCode.SERVER_GONE, message="it died", delivery=Delivery.LOST)


@dataclass
class Between:
    """One workspace of one tool, and a server whose first answer is `lost`, with `then` done right before.

    `looked` is done whenever a run looks at the server's listing.
    """

    here: Here
    envelope: EnvelopePatch = READ
    lost: RemoteAnswer = LOST
    now: datetime = NOW
    live: Definition | None = APPROVED
    down: bool = False
    sent: list[RemoteCall] = field(default_factory=list[RemoteCall])
    then: "Callable[[Between], None] | None" = None
    looked: "Callable[[Between], None]" = lambda _: None
    waits_for: asyncio.Event | None = None
    limit: float = 30
    grants: GrantSource | None = None
    runtime: GovernedRuntime | None = None
    run: Run | None = None

    def apply(
        self,
        envelope: EnvelopePatch | None = None,
        *,
        endpoint: Endpoint | None = None,
        enabled: bool = True,
        seconds: float | None = None,
        permissions: tuple[str, ...] = ("paying",),
        tools: tuple[str, ...] = ("pay",),
    ) -> None:
        """Apply the file with these changes; what the server lists by now is accepted."""
        seconds = self.limit if seconds is None else seconds
        limits = Connection(timeout_seconds=seconds, call_timeout_seconds=seconds)
        at = server("bank", endpoint, enabled=enabled, connection=limits, envelope=envelope or self.envelope)
        people = assistant("ops", select("bank", *tools), permissions=permissions)
        self.here.apply(self.here.plan_accepting_all(desired(at, people, assistant("dev")), {"bank": self.listing("")}))

    def listing(self, _: str) -> Listed | Unreachable:
        if self.run is not None:
            self.looked(self)
        if self.down:
            return Unreachable(reason=UnreachableReason.REFUSED, detail="nobody listens")
        return listed(quarantined=(), other=APPROVED, **({"pay": self.live} if self.live else {}))

    async def carry(self, _: str, call: RemoteCall) -> RemoteAnswer:
        self.sent.append(call)
        if len(self.sent) > 1:
            return OK
        if self.then is not None:
            await asyncio.to_thread(self.then, self)
        if self.waits_for is not None:
            await self.waits_for.wait()
        return self.lost

    @asynccontextmanager
    async def opened(self, connections: FakeConnections | None = None) -> AsyncGenerator[Run]:
        location = Location(self.here.path)
        host = Host(environ={}, python="", clock=lambda: self.now, new_id=new_id)
        journal = open_journal(location, writer="runtime", new_id=new_id, clock=host.clock)
        connections = connections or FakeConnections(self.listing, self.carry)
        self.runtime = runtime_over(location, journal, connections, host=host, owner=OWNER, poll=60, grants=self.grants)
        try:
            async with asyncio.timeout(SECONDS), self.runtime.run("ops") as run:
                self.run = run
                yield run
        finally:
            await self.runtime.close()

    def called(self) -> ToolResultEnvelope:
        """What one call comes to, approved by a person where its policy says so."""

        async def work() -> ToolResultEnvelope:
            async with self.opened() as run:
                asked = await run.call("bank__pay", '{"n": 1}', tool_call_id="c")
                assert not isinstance(asked, HandOff)
                if asked.code == "approval_required":
                    self.approve(str(asked.metadata["approval_id"]))
                    asked = await run.call("bank__pay", '{"n": 1}', tool_call_id="c")
                    assert not isinstance(asked, HandOff)
                return asked

        return asyncio.run(work())

    def approve(self, approval_id: str) -> None:
        decided = self.desks.approvals.decide_approval(
            OWNER, approval_id, ApprovalState.APPROVED, approver="user:ana", reason=None, at=self.now
        )
        assert decided is not None
        assert decided.changed

    @property
    def desks(self) -> Governance:
        return open_store(Location(self.here.path), new_id=new_id, clock=lambda: self.now).governance()

    def ends(self) -> list[tuple[Json, Json, Json]]:
        """Outcome, code and attempts of every call that ended."""
        events = self.events("call_outcome")
        return [(each["remit.outcome"], each.get("error.type"), each["remit.attempts"]) for each in events]

    def events(self, kind: str) -> list[JsonObject]:
        """What the audit trail holds of one kind."""
        return [body_of(each) for each in self.desks.audit.audit_events() if each.kind == kind]

    def sql(self, statement: str) -> None:
        with closing(sqlite3.connect(self.here.path, timeout=10)) as connection, connection:
            connection.execute(statement)


def between(folder: Path, **more: object) -> Between:
    """The workspace, applied; `more` are fields of Between."""
    made = Between(Here(folder).create())
    for name, value in more.items():
        setattr(made, name, value)
    made.apply()
    return made
