"""What guards the audit trail in the database, and what of the other tables the trail must tell.

Decides what a guard is (a trigger, word for word) and which rows nothing writes without an event. Whoever owns the file can
take all of it away; that shows here, however well the chains fit together afterwards. Reads only.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Select, func, select

from remit.core.audit import AuditKind
from remit.core.audit_review import Witness
from remit.core.calls import ActionKind, ActionState
from remit.store.runtime_tables import actions, approvals, runs, suspensions
from remit.store.tables import applies

__all__ = ["GUARDS", "read_witness", "unguarded"]

_WHEN = {
    "update": "BEFORE UPDATE ON audit_events",
    "delete": "BEFORE DELETE ON audit_events",
    "replace": "BEFORE INSERT ON audit_events "
    "WHEN EXISTS (SELECT 1 FROM audit_events WHERE writer = NEW.writer AND seq = NEW.seq) "
    "OR NEW.rowid > 0 AND EXISTS (SELECT 1 FROM audit_events WHERE rowid = NEW.rowid)",
}
_ABORT = "BEGIN SELECT RAISE(ABORT, 'audit_events is append-only'); END"
GUARDS: Mapping[str, str] = {
    f"audit_events_no_{what}": f"CREATE TRIGGER audit_events_no_{what} {when} {_ABORT}" for what, when in _WHEN.items()
}
"""By name the triggers that the migrations make."""

_ACTION = actions.c
_WENT_OUT = (ActionState.IN_PROGRESS, ActionState.COMPLETED, ActionState.UNKNOWN)
"""States that no call of an MCP tool gets to without an intent."""

_TOLD: Mapping[AuditKind, Select[Any]] = {
    AuditKind.APPLIED: select(func.count()).select_from(applies),
    AuditKind.RUN_STARTED: select(func.count()).select_from(runs),
    AuditKind.CALL_INTENT: select(func.count())
    .select_from(actions)
    .where(_ACTION.kind == ActionKind.MCP.value, _ACTION.state.in_([state.value for state in _WENT_OUT])),
    AuditKind.APPROVAL_REQUESTED: select(func.count()).select_from(approvals),
    AuditKind.SUSPENDED: select(func.count()).select_from(suspensions),
}
"""Rows that are written together with an event of their kind, and that nothing drops but a sweep, which drops no event."""


def unguarded(connection: Connection) -> tuple[str, ...]:
    """What kept the audit trail append-only and is gone or another, and triggers that are none of remit's."""
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    found: dict[object, object] = {row[0]: row[1] for row in connection.exec_driver_sql(query)}
    gone = [f"the trigger {name} is gone: the audit trail can be edited" for name in GUARDS if name not in found]
    other = [
        f"the trigger {name} does something else than remit's: the audit trail can be edited"
        for name, sql in GUARDS.items()
        if found.get(name, sql) != sql
    ]
    strange = [f"the trigger {name} is none of remit's" for name in found if name not in GUARDS]
    return (*gone, *other, *strange)


def read_witness(connection: Connection) -> Witness:
    """What the rest of the database says of the trail, at one moment before the trail is read."""
    rows: dict[AuditKind, int] = {kind: connection.execute(query).scalar_one() for kind, query in _TOLD.items()}
    return Witness(faults=unguarded(connection), rows=rows)
