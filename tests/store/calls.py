"""A database with one assistant and its tool, and governed calls in it: what the tests of the runtime's rows share."""

import itertools
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from remit.core.approvals import ApprovalBinding
from remit.core.call_ports import (
    CallEnd,
    CallFacts,
    CallIntent,
    CallRefusal,
    IdempotencyUse,
    NewRun,
    Stamp,
)
from remit.core.calls import ActionState, CallOutcome, FailureCode, ToolOutcome, TransportOutcome
from remit.store.database import Location, open_store
from remit.store.governance import Governance
from remit.store.journal import Journal, open_journal
from tests.store.samples import NOW, assistant, attach, created_store, register, server_id, tool

__all__ = ["BINDING", "SECONDS", "Clock", "Site", "a_call", "ended", "intent", "refusal", "site"]

SECONDS = 20.0
"""How long a test waits for a future at most."""

BINDING = ApprovalBinding(
    principal="assistant:triage",
    owner="local",
    assistant="triage",
    server_id="mcp_github",
    identity_key="dummy-key",
    remote_name="search",
    server="github",
    provider_name="github__search",
    reversible=False,
    definition_digest="d1:x",
    envelope_digest="e1:x",
    arguments='{"q":"bugs"}',
)


@dataclass
class Clock:
    """A clock that a test sets."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> None:
        self.now += by


@dataclass(frozen=True)
class Site:
    """One database of a test, with a clock for everything in it."""

    path: Path
    clock: Clock = field(default_factory=Clock)

    @property
    def governance(self) -> Governance:
        """The desks, on the test's clock."""
        return open_store(Location(self.path), new_id=new_id, clock=self.clock).governance()

    @property
    def stamp(self) -> Stamp:
        """The stamp of the assistant's grants as they are."""
        grants = self.governance.grants("local", "triage")
        assert grants is not None
        return grants.stamp

    @contextmanager
    def journal(
        self, *runs: str, writer: str = "here", busy_seconds: float = 5.0, heartbeat_seconds: float = 5.0
    ) -> Generator[Journal]:
        """An open journal, with these runs started; closed at the end."""
        journal = self.opened(writer=writer, busy_seconds=busy_seconds, heartbeat_seconds=heartbeat_seconds)
        try:
            for run_id in runs:
                journal.ledger.start_run(self.run(run_id))
            yield journal
        finally:
            journal.close()

    def opened(
        self,
        *,
        writer: str = "here",
        busy_seconds: float = 5.0,
        trace_bytes: int = 1 << 20,
        heartbeat_seconds: float = 5.0,
    ) -> Journal:
        """An open journal that the test closes."""
        return open_journal(
            Location(self.path),
            writer=writer,
            new_id=new_id,
            clock=self.clock,
            busy_seconds=busy_seconds,
            trace_bytes=trace_bytes,
            heartbeat_seconds=heartbeat_seconds,
        )

    def run(self, run_id: str) -> NewRun:
        return NewRun(
            run_id=run_id,
            owner="local",
            assistant="triage",
            principal="assistant:triage",
            thread_id=None,
            trace_id=f"trace-{run_id}",
            at=self.clock.now,
        )

    def action(self, action_id: str) -> tuple[str, str | None]:
        """State and code of an action, in whichever run it is."""
        rows = [
            (each.state.value, each.code)
            for run in self.governance.runs.runs("local", limit=100)
            for each in (self.governance.runs.run("local", run.run_id) or run).actions
            if each.action_id == action_id
        ]
        (found,) = rows
        return found

    def kinds(self, writer: str = "here") -> list[str]:
        """The kinds of a chain's events in order, checkpoints aside."""
        events = [event for event in self.governance.audit.audit_events() if event.writer == writer]
        return [event.kind for event in events if event.kind != "checkpoint"]


def site(folder: Path) -> Site:
    """A new database in which assistant `triage` has the tool `github__search`."""
    store = created_store(folder)
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        transaction.execute(
            [register("github"), assistant("triage", "issues:read"), attach(tool("triage", "github", "search"))]
        )
    return Site(folder / "remit.db")


_numbers = itertools.count(1)


def new_id() -> str:
    """An id that no process of a test gives twice."""
    return f"id-{os.getpid()}-{next(_numbers)}"


def a_call(site: Site, run_id: str = "r1", *, stamp: Stamp | None = None, **other: Any) -> CallFacts:
    """A call of the tool, with ids of its own; `stamp` spares reading the grants for each of many."""
    number = f"{os.getpid()}-{next(_numbers)}"
    facts = CallFacts(
        action_id=f"action-{number}",
        run_id=run_id,
        thread_id=None,
        tool_call_id=f"call-{number}",
        trace_id=f"trace-{run_id}",
        owner="local",
        assistant="triage",
        principal="assistant:triage",
        provider_name="github__search",
        server_id=server_id("github"),
        server="github",
        remote_name="search",
        definition_digest="d1:x",
        envelope_digest="e1:x",
        arguments_digest="a1:x",
        arguments_text=None,
        record_output=True,
        stamp=stamp or site.stamp,
        at=site.clock.now,
    )
    return replace(facts, **other)


def intent(
    facts: CallFacts, *, key: str | None = None, fingerprint: str = "same", approval: ApprovalBinding | None = None
) -> CallIntent:
    """The intent of a call."""
    return CallIntent(
        facts=facts,
        side_effecting=True,
        reversible=False,
        idempotency=None if key is None else IdempotencyUse(key=key, fingerprint=fingerprint),
        approval=approval,
        approval_id=f"approval-of-{facts.action_id}" if approval is not None else "",
    )


def ended(facts: CallFacts, state: ActionState = ActionState.COMPLETED, **other: Any) -> CallEnd:
    """The end of a call, a good one unless told otherwise."""
    end = CallEnd(
        action_id=facts.action_id,
        run_id=facts.run_id,
        at=facts.at,
        state=state,
        outcome=CallOutcome.OK,
        code=None,
        transport=TransportOutcome.ANSWERED,
        rpc_code=None,
        tool=ToolOutcome.OK,
        duration_ms=12.5,
        attempts=1,
        renewed=False,
        protocol_version="2026-07-28",
        result={"content": "two issues"},
        output="two issues",
        result_digest="r1:x",
    )
    return replace(end, **other)


def refusal(facts: CallFacts, code: FailureCode = FailureCode.SUSPENDED) -> CallRefusal:
    """A refusal of a call."""
    return CallRefusal(facts=facts, code=code, message="server.github is suspended by an operator")
