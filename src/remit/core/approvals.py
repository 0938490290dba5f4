"""Human approval of one call: its states, and what exactly an approval is bound to.

Decides which state may follow which, the windows of time, and the hash over principal, assistant, registration identity,
remote name, definition, envelope and exact arguments: any change of one of them is another request (reference: security.md
section 7). Who may approve is decided here too; the queue itself is the store's. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from remit.core.canonical import sha256_hex

__all__ = [
    "APPROVAL_MOVES",
    "APPROVED_FOR",
    "PENDING_CAP",
    "PENDING_FOR",
    "Approval",
    "ApprovalBinding",
    "ApprovalState",
    "is_in_force",
    "is_intact",
    "may_decide",
]

PENDING_FOR = timedelta(minutes=15)
"""How long a request waits for a human; silence is a denial."""

APPROVED_FOR = timedelta(minutes=5)
"""How long an approval may be used, once."""

PENDING_CAP = 100
"""Requests that one principal may have waiting; the next call is denied, so that nobody is worn down by questions."""


class ApprovalState(StrEnum):
    """Where an approval is."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


APPROVAL_MOVES: Mapping[ApprovalState, frozenset[ApprovalState]] = {
    ApprovalState.PENDING: frozenset(
        {
            ApprovalState.APPROVED,
            ApprovalState.DENIED,
            ApprovalState.EXPIRED,
            ApprovalState.CANCELLED,
            ApprovalState.SUPERSEDED,
        }
    ),
    ApprovalState.APPROVED: frozenset(
        {ApprovalState.EXECUTING, ApprovalState.EXPIRED, ApprovalState.REVOKED, ApprovalState.SUPERSEDED}
    ),
    ApprovalState.EXECUTING: frozenset({ApprovalState.SUCCEEDED, ApprovalState.FAILED, ApprovalState.UNKNOWN}),
    ApprovalState.DENIED: frozenset(),
    ApprovalState.EXPIRED: frozenset(),
    ApprovalState.CANCELLED: frozenset(),
    ApprovalState.SUPERSEDED: frozenset(),
    ApprovalState.REVOKED: frozenset(),
    ApprovalState.SUCCEEDED: frozenset(),
    ApprovalState.FAILED: frozenset(),
    ApprovalState.UNKNOWN: frozenset(),
}
"""The states that may follow each state; `executing` is entered once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalBinding:
    """What an approval is for. `arguments` is the canonical JSON text of the exact arguments."""

    principal: str
    owner: str
    assistant: str
    server_id: str
    identity_key: str
    remote_name: str
    definition_digest: str
    envelope_digest: str
    arguments: str

    @property
    def hash(self) -> str:
        """Hex sha256 over all of it; two calls with one hash are one request."""
        return sha256_hex(
            "approval-v1",
            self.principal,
            self.owner,
            self.assistant,
            self.server_id,
            self.identity_key,
            self.remote_name,
            self.definition_digest,
            self.envelope_digest,
            self.arguments,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One row of the queue. `expires_at` ends the pending or the approved window, whichever it is in."""

    approval_id: str
    binding_hash: str
    binding: ApprovalBinding
    provider_name: str
    server: str
    reversible: bool
    state: ApprovalState
    requested_at: datetime
    expires_at: datetime
    approver: str | None = None
    decided_at: datetime | None = None
    reason: str | None = None
    action_id: str | None = None


def is_in_force(approval: Approval, now: datetime) -> bool:
    """Whether its window is open; a clock set back to before the window opened does not open it again."""
    opened = approval.decided_at or approval.requested_at
    return opened <= now < approval.expires_at


def is_intact(approval: Approval) -> bool:
    """Whether a request is still the one that its hash was taken of: else nobody knows what approving it would allow."""
    try:
        return approval.binding.hash == approval.binding_hash
    except ValueError:  # a lone surrogate, which no request of ours holds
        return False


def may_decide(requester: str, approver: str) -> bool:
    """Whether a principal may approve what another requested: never its own request, and only a human (`user:NAME`)."""
    kind, _, name = approver.partition(":")
    return approver != requester and kind == "user" and bool(name)
