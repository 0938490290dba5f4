"""The words of a governed call: states of runs and actions, how a call ended, and the code a failed one carries.

Decides which state may follow which, as tables; the store refuses every other move, so that a run or an action has one end.
What a call needs before it may go out is core/gatekeeper.py's. Pure.
"""

from collections.abc import Mapping
from enum import StrEnum

from remit.core.canonical import JsonObject, canonical_json, sha256_hex

__all__ = [
    "ACTION_MOVES",
    "RUN_MOVES",
    "ActionKind",
    "ActionState",
    "CallOutcome",
    "FailureCode",
    "RunState",
    "ToolOutcome",
    "TransportOutcome",
    "arguments_digest",
    "arguments_text_digest",
]


class RunState(StrEnum):
    """Where a run is (DESIGN.md section 10)."""

    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    REQUIRES_ACTION = "requires_action"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ActionState(StrEnum):
    """Where one tool call of a run is; `unknown` is a call whose answer was lost, which is never sent again."""

    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    REQUIRES_ACTION = "requires_action"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


_RUN_ENDS = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})

RUN_MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.IN_PROGRESS, RunState.FAILED, RunState.CANCELLED}),
    RunState.IN_PROGRESS: frozenset({RunState.REQUIRES_ACTION, *_RUN_ENDS}),
    RunState.REQUIRES_ACTION: frozenset({RunState.IN_PROGRESS, *_RUN_ENDS}),
    RunState.COMPLETED: frozenset(),
    RunState.FAILED: frozenset(),
    RunState.CANCELLED: frozenset(),
}
"""The states that may follow each state of a run; one that nothing follows is its end."""

_ACTION_ENDS = frozenset({ActionState.COMPLETED, ActionState.FAILED, ActionState.CANCELLED, ActionState.UNKNOWN})

ACTION_MOVES: Mapping[ActionState, frozenset[ActionState]] = {
    ActionState.QUEUED: frozenset({ActionState.IN_PROGRESS, ActionState.REQUIRES_ACTION, *_ACTION_ENDS}),
    ActionState.IN_PROGRESS: _ACTION_ENDS,
    ActionState.REQUIRES_ACTION: frozenset({ActionState.COMPLETED, ActionState.FAILED, ActionState.CANCELLED}),
    ActionState.COMPLETED: frozenset(),
    ActionState.FAILED: frozenset(),
    ActionState.CANCELLED: frozenset(),
    ActionState.UNKNOWN: frozenset(),
}
"""The states that may follow each state of an action."""


class ActionKind(StrEnum):
    """Who carries an action out: remit on an MCP server, or the consumer that runs its own tools."""

    MCP = "mcp"
    CONSUMER = "consumer"


class CallOutcome(StrEnum):
    """How a call ended as a whole: the one word of its audit event."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class TransportOutcome(StrEnum):
    """The first of the three outcomes kept apart: what became of the message itself."""

    NOT_SENT = "not_sent"
    ANSWERED = "answered"
    LOST = "lost"


class ToolOutcome(StrEnum):
    """The third outcome: what the tool said about its own work. The second, the JSON-RPC error code, is a number or none."""

    OK = "ok"
    ERROR = "error"
    NONE = "none"


class FailureCode(StrEnum):
    """Why a call failed; a model, an API client and an operator read the same word."""

    UNKNOWN_TOOL = "unknown_tool"
    SUSPENDED = "suspended"
    TOOL_DISABLED = "tool_disabled"
    TOOL_QUARANTINED = "tool_quarantined"
    TOOL_VANISHED = "tool_vanished"
    DATABASE_DRIFT = "database_drift"
    DEFINITION_DRIFTED = "definition_drifted"
    CONTRACT_UNKNOWN = "contract_unknown"
    PERMISSION_DENIED = "permission_denied"
    INVALID_ARGUMENTS = "invalid_arguments"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    CALL_IN_FLIGHT = "call_in_flight"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DENIED = "approval_denied"
    RUN_OVER = "run_over"
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_ABSOLUTE = "timeout_absolute"
    SERVER_GONE = "server_gone"
    UNREACHABLE = "unreachable"
    CIRCUIT_OPEN = "circuit_open"
    QUEUE_FULL = "queue_full"
    RPC_ERROR = "rpc_error"
    RESULT_INVALID = "result_invalid"
    RESULT_TOO_LARGE = "result_too_large"
    INPUT_REQUIRED = "input_required"
    OUTCOME_UNKNOWN = "outcome_unknown"
    CANCELLED = "cancelled"
    NOT_RECORDED = "not_recorded"
    INTERNAL_ERROR = "internal_error"


def arguments_digest(arguments: JsonObject) -> str:
    """`a1:` + hex sha256 of the arguments' canonical JSON. Raises ValueError where they have none."""
    return arguments_text_digest(canonical_json(arguments))


def arguments_text_digest(text: str) -> str:
    """The same of a canonical text that is at hand already, as making one costs more than hashing it."""
    return "a1:" + sha256_hex(text)
