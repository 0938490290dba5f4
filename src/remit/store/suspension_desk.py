"""Suspending and resuming: the SuspensionDesk of core/governance.py.

Decides that a suspension, its audit event (chain `desk`) and the serial that every stamp holds change in one transaction, so
that no call which was decided before it goes out after it.
"""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, update

from remit.core.audit import AuditFact, AuditKind
from remit.core.governance import Suspension, SuspensionTarget
from remit.store.access import Access
from remit.store.audit_bodies import suspension_body
from remit.store.desk import at_the_desk
from remit.store.grants import read_suspensions, target_text
from remit.store.runtime_tables import suspension_serials, suspensions
from remit.store.texts import ascii_json, require_storable, time_text

__all__ = ["Suspensions"]


class Suspensions:
    """Made by `DatabaseStore.governance`. Every method raises StoreError where the database cannot be used."""

    def __init__(self, access: Access):
        self._access = access

    def suspensions(self, owner: str) -> tuple[Suspension, ...]:
        """The suspensions in force, by address."""
        return self._access.read(lambda connection: read_suspensions(connection, owner))

    def suspend(self, owner: str, suspension: Suspension) -> bool:
        """Suspend; False where that is suspended already. Raises ValueError for a target that names nothing."""
        require_storable(owner, suspension.address, suspension.actor, place="suspension")
        row = {
            "owner": owner,
            "target": target_text(suspension.target),
            "address": suspension.address,
            "actor": suspension.actor,
            "at": time_text(suspension.at),
            "reason": None if suspension.reason is None else ascii_json(suspension.reason),
        }

        def suspended(connection: Connection) -> bool:
            if any(each.target == suspension.target for each in read_suspensions(connection, owner)):
                return False
            connection.execute(insert(suspensions).values(row))
            _record(connection, AuditKind.SUSPENDED, owner, suspension)
            return True

        return self._access.write(suspended)

    def resume(self, owner: str, target: SuspensionTarget, *, actor: str, at: datetime) -> bool:
        """End a suspension; False where there is none."""
        require_storable(actor, place="suspension")
        key = target_text(target)

        def resumed(connection: Connection) -> bool:
            found = next((each for each in read_suspensions(connection, owner) if each.target == target), None)
            if found is None:
                return False
            connection.execute(delete(suspensions).where(suspensions.c.owner == owner, suspensions.c.target == key))
            ended = Suspension(target=target, address=found.address, actor=actor, at=at, reason=found.reason)
            _record(connection, AuditKind.RESUMED, owner, ended)
            return True

        return self._access.write(resumed)


def _record(connection: Connection, kind: AuditKind, owner: str, suspension: Suspension) -> None:
    serials = suspension_serials
    mine = update(serials).where(serials.c.owner == owner).values(serial=serials.c.serial + 1)
    if not connection.execute(mine).rowcount:
        connection.execute(insert(serials).values(owner=owner, serial=1))
    body = suspension_body(owner, suspension)
    fact = AuditFact(kind=kind, at=suspension.at, actor=suspension.actor, trace_id=None, body=body)
    with at_the_desk(connection, suspension.at) as batch:
        batch.note(fact)
