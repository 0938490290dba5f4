"""Human approval of one call: its states, and what exactly an approval is bound to.

Decides which state may follow which, the windows of time, and the hash over principal, assistant, registration identity,
the names of tool and server, definition, envelope and exact arguments: any change of one of them is another request
(reference: security.md section 7). Everything that a person is shown of a call is in that hash, so what was approved is what
was read, whoever wrote the row. Who may approve is decided here too; the queue itself is the store's. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
    "new_request",
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
    """What an approval is for. `arguments` is the canonical JSON text of the exact arguments.

    `server`, `provider_name` and `reversible` say nothing that the rest does not decide, but a person reads them: a name that
    is shown and not hashed could be any other.
    """

    principal: str
    owner: str
    assistant: str
    server_id: str
    identity_key: str
    remote_name: str
    server: str
    provider_name: str
    reversible: bool
    definition_digest: str
    envelope_digest: str
    arguments: str

    @property
    def hash(self) -> str:
        """Hex sha256 over all of it; two calls with one hash are one request."""
        return sha256_hex(
            "approval-v2",
            self.principal,
            self.owner,
            self.assistant,
            self.server_id,
            self.identity_key,
            self.remote_name,
            self.server,
            self.provider_name,
            "reversible" if self.reversible else "irreversible",
            self.definition_digest,
            self.envelope_digest,
            self.arguments,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One row of the queue. `expires_at` ends the pending or the approved window, whichever it is in.

    `request_digest` is over what makes it this request and no other of the same call: its id and the time it was made.
    """

    approval_id: str
    binding_hash: str
    request_digest: str
    binding: ApprovalBinding
    state: ApprovalState
    requested_at: datetime
    expires_at: datetime
    approver: str | None = None
    decided_at: datetime | None = None
    reason: str | None = None
    action_id: str | None = None


def new_request(approval_id: str, binding: ApprovalBinding, at: datetime) -> Approval:
    """What waits for a human from `at` on."""
    return Approval(
        approval_id=approval_id,
        binding_hash=binding.hash,
        request_digest=_request_digest(approval_id, binding.hash, at),
        binding=binding,
        state=ApprovalState.PENDING,
        requested_at=at,
        expires_at=at + PENDING_FOR,
    )


def _request_digest(approval_id: str, binding_hash: str, at: datetime) -> str:
    return sha256_hex("approval-request-v1", approval_id, binding_hash, at.astimezone(UTC).isoformat())


def is_in_force(approval: Approval, now: datetime) -> bool:
    """Whether its window is open; a clock set back to before the window opened does not open it again."""
    opened = approval.decided_at or approval.requested_at
    return opened <= now < approval.expires_at


def is_intact(approval: Approval) -> bool:
    """Whether a request is still the one that was made, decided as its state says and open for as long as that lasts.

    Else nobody knows what approving it, or using its approval, would allow.
    """
    try:
        hashed = approval.binding.hash
        made = _request_digest(approval.approval_id, hashed, approval.requested_at)
    except (ValueError, OverflowError):  # a lone surrogate, a time before all times: no request of ours holds one
        return False
    return (hashed, made) == (approval.binding_hash, approval.request_digest) and _is_told_by_its_state(approval)


_TOLD: Mapping[ApprovalState, tuple[bool | None, bool]] = {
    ApprovalState.PENDING: (False, False),
    ApprovalState.APPROVED: (True, False),
    ApprovalState.DENIED: (True, False),
    ApprovalState.EXPIRED: (None, False),
    ApprovalState.CANCELLED: (False, False),
    ApprovalState.SUPERSEDED: (None, False),
    ApprovalState.REVOKED: (True, False),
    ApprovalState.EXECUTING: (True, True),
    ApprovalState.SUCCEEDED: (True, True),
    ApprovalState.FAILED: (True, True),
    ApprovalState.UNKNOWN: (True, True),
}
"""By state: whether somebody decided (None: either is possible), and whether a call used it."""


def _is_told_by_its_state(approval: Approval) -> bool:
    """Whether decision, use and window are such as its state has them."""
    decided, used = _TOLD[approval.state]
    is_decided = approval.decided_at is not None
    return (
        decided in (None, is_decided)
        and (approval.approver is not None) is is_decided
        and (approval.reason is None or is_decided)
        and (approval.action_id is not None) is used
        and approval.expires_at in _ends(approval)
    )


def _ends(approval: Approval) -> tuple[datetime, ...]:
    """When its window may end: a denial leaves the window of the request, and so does a revocation that of the approval."""
    if approval.decided_at is None or approval.state is ApprovalState.DENIED:
        return (approval.requested_at + PENDING_FOR,)
    if approval.state is ApprovalState.REVOKED:
        # When it was approved is not in the row any more. Nothing is let through by it, whatever stands there.
        return (approval.expires_at,)
    return (approval.decided_at + APPROVED_FOR,)


def may_decide(requester: str, approver: str) -> bool:
    """Whether a principal may approve what another requested: never its own request, and only a human (`user:NAME`)."""
    kind, _, name = approver.partition(":")
    return approver != requester and kind == "user" and bool(name)
