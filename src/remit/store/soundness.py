"""What a database says of itself: SQLite's own checks, and the calls that a dead process left open.

Decides nothing about them; `remit doctor` shows them. Reads only: what a dead process left is ended by the next journal.
"""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection, select

from remit.core.calls import ActionState
from remit.core.checkup import Soundness
from remit.store.guards import unguarded
from remit.store.instances import Instances
from remit.store.runtime_tables import actions
from remit.store.session import session_of

__all__ = ["read_soundness"]

_MOST = 20

_ROW = actions.c


def read_soundness(connection: Connection, clock: Callable[[], datetime]) -> Soundness:
    """At most 20 faults, without values (SQLite's words, what guards the audit trail no more), and the aliases of abandoned calls."""
    return Soundness(faults=tuple(_faults(connection))[:_MOST], abandoned=_abandoned(connection, clock))


def _faults(connection: Connection) -> list[str]:
    found = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST})")]
    dangling = [
        f"row {row[1]} of {row[0]} refers to a row of {row[2]} that is not there"
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check")
    ]
    return [*unguarded(connection), *(each for each in found if each != "ok"), *dangling]


def _abandoned(connection: Connection, clock: Callable[[], datetime]) -> tuple[str, ...]:
    session = session_of(connection)
    try:
        living, _ = Instances(clock).judged(session, but="")
    finally:
        session.close()
    query = select(_ROW.provider_name, _ROW.instance).where(
        _ROW.state == ActionState.IN_PROGRESS.value, _ROW.instance.is_not(None)
    )
    return tuple(sorted(name for name, instance in connection.execute(query) if instance not in living))
