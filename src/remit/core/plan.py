"""A plan as a value: what would be done, what waits, what is wrong, what moved, what could not be looked at.

Sorted once, at construction, so that printing, saving and applying agree. Decides nothing; core/planner.py does. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum

from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.core.operations import Operation, Refresh

__all__ = [
    "LOCK_MISSING",
    "SAFEGUARD_CODES",
    "STANDING_VETOES",
    "Deferred",
    "DeferredReason",
    "Drift",
    "DriftKind",
    "Held",
    "HoldReason",
    "MovedWorkspace",
    "Plan",
    "Unmanaged",
]

LOCK_MISSING = "lock-missing"
"""The safeguard that no flag lifts: a workspace that was planned by a lock is planned without one."""

SAFEGUARD_CODES = frozenset(
    {
        "too-many-detaches",
        "assistant-emptied",
        "desired-emptied",
        "files-vanished",
        "protected",
        "moved-ambiguous",
        "moved-elsewhere",
        "bound-elsewhere",
        "older-commit",
        "environment-other",
        LOCK_MISSING,
    }
)
"""Problems that veto the whole apply (exit code 3)."""


STANDING_VETOES = frozenset(
    {LOCK_MISSING, "moved-ambiguous", "moved-elsewhere", "bound-elsewhere", "older-commit", "environment-other"}
)
"""Those that are there whatever of a plan was approved, as they are about where it comes from."""


class HoldReason(StrEnum):
    """Why an operation waits for acceptance."""

    LIVE_NOT_ACCEPTED = "live_not_accepted"
    FINDING = "finding"
    LOOSENED_WHILE_DRIFTED = "loosened_while_drifted"
    LOOSENED_WHILE_UNCHECKED = "loosened_while_unchecked"
    ENDPOINT_GROUP = "endpoint_group"
    ENDPOINT_UNLISTED = "endpoint_unlisted"
    NOT_REPLACED = "not_replaced"
    NOT_IN_LOCK = "not_in_lock"
    UNLIKE_LOCK = "unlike_lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An operation that waits, and why."""

    operation: Operation
    because: tuple[HoldReason, ...]


class DriftKind(StrEnum):
    """What moved without a commit and needs no operation."""

    VANISHED = "vanished"
    QUARANTINED = "quarantined"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Drift:
    """An attachment whose server no longer offers it as approved; kept and reported. `detail` may quote the server.

    `offered` says of a changed one what the server offers instead, as the refresh that nobody approved.
    """

    address: str
    kind: DriftKind
    assistant: str
    server: str
    remote_name: str
    detail: str
    offered: Refresh | None = None


class DeferredReason(StrEnum):
    """Why something could not be checked."""

    UNREACHABLE = "unreachable"
    DISABLED = "disabled"
    NOT_ASKED = "not_asked"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Deferred:
    """A selection or attachment whose server gave no listing. `attached` ones are kept as they are, stale.

    `remote_name` is the exact name, or the glob, as the file has it.
    """

    address: str
    assistant: str
    server: str
    remote_name: str
    attached: bool
    reason: DeferredReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmanaged:
    """Rows that this workspace never touches, counted."""

    servers: int = 0
    assistants: int = 0
    attachments: int = 0
    functions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedWorkspace:
    """A workspace that the file takes over under another name, and how much comes along. `name` is the recorded one."""

    name: str
    servers: int
    assistants: int
    attachments: int
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The outcome of comparing desired, recorded and live.

    `complete` is false where an enabled declared server has no listing or a selection stayed unresolved. `moved_workspace`
    is what the workspace is recorded as, where the file moves it to another name.
    """

    workspace: str
    owner: str
    operations: tuple[Operation, ...]
    held: tuple[Held, ...]
    problems: tuple[Diagnostic, ...]
    drift: tuple[Drift, ...]
    deferred: tuple[Deferred, ...]
    unmanaged: Unmanaged
    unchanged: int
    complete: bool
    moved_workspace: MovedWorkspace | None = None

    @property
    def has_changes(self) -> bool:
        """Whether an apply has anything to do."""
        return bool(self.operations) or self.moved_workspace is not None

    @property
    def vetoes(self) -> tuple[Diagnostic, ...]:
        """The safeguards that refuse this plan."""
        return tuple(problem for problem in self.problems if problem.code in SAFEGUARD_CODES)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Problems that leave something undone, safeguards aside."""
        return tuple(
            problem
            for problem in self.problems
            if problem.severity is Severity.ERROR and problem.code not in SAFEGUARD_CODES
        )
