"""What the governed runtime needs of the database: grants, the journal of calls, and runs.

Decides the shapes that go through these ports and what each answer obliges the caller to do. store implements them, app.py
binds them (DESIGN.md sections 8 and 10).

Every decision is made durable with the `Stamp` of the grants that it was made on. The journal compares it inside its own
transaction, so a grant that was taken away a moment ago stops the call, and nobody reads the database twice a call.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from remit.core.approvals import ApprovalBinding, ApprovalState
from remit.core.audit import AuditFact
from remit.core.calls import ActionState, CallOutcome, FailureCode, RunState, ToolOutcome, TransportOutcome
from remit.core.canonical import JsonObject
from remit.core.events import ProtocolEvent
from remit.core.recorded import RecordedAttachment, RecordedServer

__all__ = [
    "ApprovalRefused",
    "ApprovalWaiting",
    "Begun",
    "CallEnd",
    "CallFacts",
    "CallIdUsed",
    "CallIntent",
    "CallJournal",
    "CallOver",
    "CallRefusal",
    "GrantSource",
    "GrantedTool",
    "Grants",
    "GrantsMoved",
    "IdempotencyUse",
    "KeyConflict",
    "NewRun",
    "Replayed",
    "RunClosed",
    "RunLedger",
    "Stamp",
    "Started",
    "StillRunning",
    "StoredOutcome",
]

# --- grants ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stamp:
    """The point in the database's life that grants were read at; it differs after any apply, suspend or resume."""

    revision: int
    applies: int
    suspensions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedTool:
    """One attachment with its registration, and the address of the suspension that covers it, if one does."""

    attachment: RecordedAttachment
    server: RecordedServer
    suspended_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """What one assistant may use, read at one moment. `tools` are ordered by provider_name."""

    stamp: Stamp
    owner: str
    assistant: str
    assistant_id: str
    permissions: frozenset[str]
    tools: tuple[GrantedTool, ...]


class GrantSource(Protocol):
    """Where grants are read."""

    def grants(self, owner: str, assistant: str) -> Grants | None:
        """The grants of an assistant; None where there is no such assistant. Raises StoreError."""
        ...

    def stamp(self, owner: str, assistant: str) -> Stamp | None:
        """The stamp that grants read now would carry; None where there is no such assistant. Raises StoreError."""
        ...


# --- the journal -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """Who calls what: the part that intents and refusals share.

    `principal` is the caller (`assistant:NAME` for a local one). `arguments_text` is set only where the tool's policy has
    the audit keep values; `record_output` is false where the tool is set to `record: digest`.
    """

    action_id: str
    run_id: str
    thread_id: str | None
    tool_call_id: str
    trace_id: str
    owner: str
    assistant: str
    principal: str
    provider_name: str
    server_id: str
    server: str
    remote_name: str
    definition_digest: str
    envelope_digest: str
    arguments_digest: str
    arguments_text: str | None
    record_output: bool
    stamp: Stamp
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyUse:
    """A caller's key. Its scope is principal, owner and assistant; `fingerprint` covers tool and exact arguments."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallIntent:
    """A call that the gate let pass. `approval` is what a human must have approved (None: nobody is asked)."""

    facts: CallFacts
    side_effecting: bool
    reversible: bool
    idempotency: IdempotencyUse | None = None
    approval: ApprovalBinding | None = None
    approval_id: str = ""
    """The id of the approval to make where none is waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOutcome:
    """How an earlier call with the same key ended. `result` is its ToolResultEnvelope as JSON, None for `unknown`."""

    action_id: str
    state: ActionState
    result: JsonObject | None


@dataclass(frozen=True, slots=True)
class Started:
    """The intent is durable, the approval (its id, if there was one) is consumed: the call goes out now, once."""

    approval_id: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """The key was used with the same arguments: this is the answer, nothing goes out."""

    outcome: StoredOutcome


@dataclass(frozen=True, slots=True)
class KeyConflict:
    """The key was used for another call."""


@dataclass(frozen=True, slots=True)
class StillRunning:
    """A call with this key is under way."""

    action_id: str


@dataclass(frozen=True, slots=True)
class CallIdUsed:
    """The run has sent a call under this tool_call_id before; `state` is where that one is. Nothing was written."""

    state: ActionState


@dataclass(frozen=True, slots=True)
class ApprovalWaiting:
    """A human must approve first; the request is in the queue until `expires_at`."""

    approval_id: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ApprovalRefused:
    """A human said no, or the principal has too many requests waiting (`approval_id` is empty then)."""

    approval_id: str
    state: ApprovalState
    reason: str | None


@dataclass(frozen=True, slots=True)
class GrantsMoved:
    """The grants changed since they were read; nothing was written. Read them again and decide anew."""


@dataclass(frozen=True, slots=True)
class RunClosed:
    """The run has ended or was cancelled; nothing was written."""

    state: RunState


Begun: TypeAlias = (
    Started
    | Replayed
    | KeyConflict
    | StillRunning
    | CallIdUsed
    | ApprovalWaiting
    | ApprovalRefused
    | GrantsMoved
    | RunClosed
)


@dataclass(frozen=True, slots=True)
class CallOver:
    """The call under way is nobody's to send any more: `why` says what ended it, or its approval. Nothing was written."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefusal:
    """A call that did not go out, and why. Its action ends `failed`, or waits (`requires_action`) for an approval."""

    facts: CallFacts
    code: FailureCode
    message: str
    state: ActionState = ActionState.FAILED
    approval_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd:
    """How a started call ended, the three outcomes apart: transport, JSON-RPC (None: no error), tool.

    `result` is the ToolResultEnvelope as JSON, kept where the call had a key; `output` its text, kept with the action.
    """

    action_id: str
    run_id: str
    at: datetime
    state: ActionState
    outcome: CallOutcome
    code: FailureCode | None
    transport: TransportOutcome
    rpc_code: int | None
    tool: ToolOutcome
    duration_ms: float
    attempts: int
    renewed: bool
    protocol_version: str | None
    result: JsonObject | None
    output: str | None
    result_digest: str | None


class CallJournal(Protocol):
    """The durable record of calls and of protocol events, behind one writer that commits in groups.

    Each future ends when its rows are on disk, or with StoreError where they could not be written: then no call goes out.
    """

    def begin(self, intent: CallIntent) -> "Future[Begun]":
        """One transaction: stamp and run checked, key looked up, approval consumed or asked for, intent written."""
        ...

    def again(self, facts: CallFacts) -> "Future[Started | GrantsMoved | RunClosed | CallOver]":
        """Let a call that began go out once more. One transaction: run, stamp, the call's own row, and its approval.

        `facts` are those that it began with, under the stamp of the grants that it was decided on anew.
        """
        ...

    def refuse(self, refusal: CallRefusal) -> "Future[bool]":
        """Keep a refusal. False where the grants moved since its stamp: nothing was written, decide anew."""
        ...

    def end(self, end: CallEnd) -> "Future[bool]":
        """Keep an outcome. False where another process declared the call unknown meanwhile; that stands."""
        ...

    def note(self, fact: AuditFact) -> "Future[None]":
        """Keep a fact in the audit trail."""
        ...

    def record(self, event: ProtocolEvent) -> None:
        """Keep a protocol event with the next commit (core/events.py, EventSink). Never raises, never waits for the disk."""
        ...

    def link(self, trace_id: str, connection_id: str) -> None:
        """Say that a turn uses a connection whose opening belongs to another trace."""
        ...

    def close(self) -> None:
        """Write what is waiting and end the writer; bounded."""
        ...


# --- runs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run that starts now, in `in_progress`."""

    run_id: str
    owner: str
    assistant: str
    principal: str
    thread_id: str | None
    trace_id: str
    at: datetime


class RunLedger(Protocol):
    """Runs and actions beside single calls. Synchronous; the runtime calls it off the event loop. Raises StoreError."""

    def start_run(self, run: NewRun) -> None:
        """Keep a new run, with its audit event."""
        ...

    def run_states(self, run_ids: Sequence[str]) -> Mapping[str, RunState]:
        """The recorded states of runs; an unknown one is absent."""
        ...

    def move_run(self, run_id: str, state: RunState, *, actor: str, at: datetime) -> RunState:
        """Move a run where RUN_MOVES allows it, and give the state that it has then; a final state stays as it is.

        Cancelling one cancels what waits in it: actions, and requests for approval that nobody else waits for.
        """
        ...

    def hand_off(self, facts: CallFacts, arguments: str) -> bool:
        """Keep an action for the consumer (kind `consumer`, `requires_action`) and move the run; False: the run is over.

        The same call again, while it waits, is the same action. Raises StoreError `action-exists` where the tool_call_id
        was used for another call that went out.
        """
        ...

    def take_output(self, run_id: str, tool_call_id: str, output: str, *, is_error: bool, at: datetime) -> bool:
        """Keep the consumer's output; the run is `in_progress` again once no action waits.

        False: nothing waited, or the run is over.
        """
        ...
