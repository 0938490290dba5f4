"""What people look at and decide beside the calls: runs, approvals, suspensions, the audit trail and protocol traces.

Decides the shapes of these readings and the ports that give them; the commands of the CLI and, later, the HTTP API read and
decide through them. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from remit.core.approvals import Approval, ApprovalState
from remit.core.audit import AuditEvent, Head
from remit.core.audit_review import Witness
from remit.core.calls import ActionKind, ActionState, RunState
from remit.core.events import ProtocolEvent

__all__ = [
    "ActionRow",
    "ApprovalDesk",
    "AuditTrail",
    "Decided",
    "Retention",
    "RunDesk",
    "RunRow",
    "Suspension",
    "SuspensionDesk",
    "SuspensionTarget",
    "Swept",
    "TraceArchive",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRow:
    """One tool call of a run. `output` is its text, None while there is none or where it is not kept."""

    action_id: str
    tool_call_id: str
    kind: ActionKind
    provider_name: str
    state: ActionState
    code: str | None
    started_at: datetime
    ended_at: datetime | None
    approval_id: str | None
    output: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run; `actions` in the order they were started, empty where only runs were asked for."""

    run_id: str
    owner: str
    assistant: str
    principal: str
    thread_id: str | None
    trace_id: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    actions: tuple[ActionRow, ...] = ()


class RunDesk(Protocol):
    """Runs as people see them. Raises StoreError."""

    def runs(self, owner: str, *, limit: int) -> tuple[RunRow, ...]:
        """The newest runs of an owner, newest first, without their actions."""
        ...

    def run(self, owner: str, run_id: str) -> RunRow | None:
        """One run with its actions; another owner's is None."""
        ...

    def cancel_run(self, owner: str, run_id: str, *, actor: str, at: datetime) -> RunRow | None:
        """Cancel a run: its state is `cancelled` unless it had ended. The process that works on it notices within a second."""
        ...


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of a decision: the approval as it is now, and whether this decision made it so."""

    approval: Approval
    changed: bool


class ApprovalDesk(Protocol):
    """The queue of approvals as people see it. What has run out of time comes back as `expired`. Raises StoreError."""

    def approvals(self, owner: str, *, states: Sequence[ApprovalState] = ()) -> tuple[Approval, ...]:
        """The approvals of an owner, newest first; all states where none is named, at most 1,000."""
        ...

    def approval(self, owner: str, approval_id: str) -> Approval | None:
        """One approval; another owner's is None."""
        ...

    def decide_approval(
        self, owner: str, approval_id: str, state: ApprovalState, *, approver: str, reason: str | None, at: datetime
    ) -> Decided | None:
        """Approve, deny or revoke by one conditional update; None for an unknown id.

        Nothing is approved that `require_approvable` refuses; whoever may see a request may deny or revoke it.
        """
        ...

    def require_approvable(self, approval: Approval, approver: str) -> None:
        """What an approval asks of approver and request, before a person is asked.

        Raises ApproverRefused for one who asked for it or is no person, StoreError `approval-altered`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspensionTarget:
    """What a suspension covers, by stable identity: a server, an assistant, or one attachment (both and the name)."""

    server_id: str | None = None
    assistant: str | None = None
    remote_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """One suspension in force. `address` is how it was asked for."""

    target: SuspensionTarget
    address: str
    actor: str
    at: datetime
    reason: str | None


class SuspensionDesk(Protocol):
    """Suspensions (DESIGN.md section 6): denied at the next call, untouched by apply. Raises StoreError."""

    def suspensions(self, owner: str) -> tuple[Suspension, ...]:
        """The suspensions in force, by address."""
        ...

    def suspend(self, owner: str, suspension: Suspension) -> bool:
        """Suspend, with an audit event. False where it is suspended already."""
        ...

    def resume(self, owner: str, target: SuspensionTarget, *, actor: str, at: datetime) -> bool:
        """End a suspension, with an audit event. False where there is none."""
        ...


class AuditTrail(Protocol):
    """The audit trail as people see it. Raises StoreError."""

    def audit_events(self, *, limit: int | None = None, trace_id: str | None = None) -> Iterator[AuditEvent]:
        """Events ordered by writer and number; with `limit` only the newest so many, oldest of them first by time."""
        ...

    def audit_heads(self) -> tuple[Head, ...]:
        """The newest event of every chain, by writer."""
        ...

    def witness(self) -> Witness:
        """What the rest of the database says of the trail; read before the events are, as they only ever become more."""
        ...


class TraceArchive(Protocol):
    """The kept protocol events. Raises StoreError."""

    def trace(self, trace_id: str) -> tuple[ProtocolEvent, ...]:
        """Every event of a trace and of the connections that it is linked to, in order of time, connection and number."""
        ...

    def traces(self, *, limit: int) -> tuple[tuple[str, datetime, int], ...]:
        """The newest traces: id, time of the first event, number of events."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep dropped, by kind: protocol events, outputs of actions, results under keys, approvals that were over.

    `is_done` is false where as much was dropped as one sweep may.
    """

    protocol_events: int = 0
    outputs: int = 0
    results: int = 0
    approvals: int = 0
    is_done: bool = True

    def __add__(self, later: "Swept") -> "Swept":
        """Both together, and whether the later one was the last."""
        return Swept(
            protocol_events=self.protocol_events + later.protocol_events,
            outputs=self.outputs + later.outputs,
            results=self.results + later.results,
            approvals=self.approvals + later.approvals,
            is_done=later.is_done,
        )


class Retention(Protocol):
    """What is kept of calls, and for how long."""

    def sweep(self, owner: str, kept: timedelta, *, lock_timeout: float) -> Swept:
        """Drop what is older than `kept`, in one transaction of bounded size. Raises WorkspaceBusy, StoreError."""
        ...
