"""What becomes of a listed tool where a lock is in force, as data: in the lock or not, recorded like it, live like it.

`LOCK_TABLE` is total over the triples that can occur; core/table.py decides first whether there is a listed tool to judge at
all. The lock is the approval (DESIGN.md section 7): what it holds runs, whoever named it; what it lacks waits. Pure.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum

from remit.core.definition import Definition
from remit.core.lock import LockedTool
from remit.core.recorded import RecordedAttachment
from remit.core.table import Stored

__all__ = ["LOCK_TABLE", "Approved", "LockRow", "Offered", "lock_row"]


class Approved(Enum):
    """What the lock says of a tool."""

    NOTHING = "not in the lock"
    RECORDED = "in the lock, as recorded"
    OTHER = "in the lock, unlike what is recorded"


class Offered(Enum):
    """Which definition the server lists."""

    RECORDED = "as recorded"
    LOCKED = "as in the lock, unlike what is recorded"
    OTHER = "like neither"


class LockRow(StrEnum):
    """Every row of the table, by what it does."""

    ATTACH = "attach"
    REFRESH = "refresh"
    KEEP = "nothing"
    DRIFT = "drift changed"
    NOT_LOCKED = "kept, warning not-in-lock"
    HOLD_NOT_LOCKED = "held, not_in_lock"
    HOLD_NOT_OFFERED = "held, unlike_lock"


LOCK_TABLE: Mapping[tuple[Stored, Approved, Offered], LockRow] = {
    (Stored.ABSENT, Approved.NOTHING, Offered.OTHER): LockRow.HOLD_NOT_LOCKED,
    (Stored.ABSENT, Approved.OTHER, Offered.LOCKED): LockRow.ATTACH,
    (Stored.ABSENT, Approved.OTHER, Offered.OTHER): LockRow.HOLD_NOT_OFFERED,
    (Stored.ATTACHED, Approved.NOTHING, Offered.RECORDED): LockRow.NOT_LOCKED,
    (Stored.ATTACHED, Approved.NOTHING, Offered.OTHER): LockRow.HOLD_NOT_LOCKED,
    (Stored.ATTACHED, Approved.RECORDED, Offered.RECORDED): LockRow.KEEP,
    (Stored.ATTACHED, Approved.RECORDED, Offered.OTHER): LockRow.DRIFT,
    (Stored.ATTACHED, Approved.OTHER, Offered.RECORDED): LockRow.HOLD_NOT_OFFERED,
    (Stored.ATTACHED, Approved.OTHER, Offered.LOCKED): LockRow.REFRESH,
    (Stored.ATTACHED, Approved.OTHER, Offered.OTHER): LockRow.HOLD_NOT_OFFERED,
}
"""Nothing is recorded of an absent tool, so all that the lock or the server says of it is unlike that."""


def lock_row(attachment: RecordedAttachment | None, locked: LockedTool | None, live: Definition) -> LockRow:
    """The row of a tool that its server lists as `live`."""
    recorded = None if attachment is None else attachment.definition.definition_digest
    approved = None if locked is None else locked.definition.definition_digest
    stored = Stored.ABSENT if attachment is None else Stored.ATTACHED
    return LOCK_TABLE[stored, _approved(recorded, approved), _offered(recorded, approved, live.definition_digest)]


def _approved(recorded: str | None, approved: str | None) -> Approved:
    if approved is None:
        return Approved.NOTHING
    return Approved.RECORDED if approved == recorded else Approved.OTHER


def _offered(recorded: str | None, approved: str | None, live: str) -> Offered:
    if live == recorded:
        return Offered.RECORDED
    return Offered.LOCKED if live == approved else Offered.OTHER
