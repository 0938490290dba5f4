"""Runs as people see them, and cancelling one: the RunDesk of core/governance.py.

Decides that a cancellation and its audit event (chain `desk`) are one transaction; what is cancelled is `run_writing.py`'s.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, RowMapping, select

from remit.core.calls import ActionKind, ActionState, RunState
from remit.core.governance import ActionRow, RunRow
from remit.store.access import Access
from remit.store.desk import at_the_desk
from remit.store.reading import readable
from remit.store.run_writing import RunWriter
from remit.store.runtime_tables import actions, runs
from remit.store.texts import json_text, require_storable, time_from

__all__ = ["Runs"]


class Runs:
    """Made by `DatabaseStore.governance`. Every method raises StoreError where the database cannot be used."""

    def __init__(self, access: Access):
        self._access = access

    def runs(self, owner: str, *, limit: int) -> tuple[RunRow, ...]:
        """The newest runs of an owner, newest first, without their actions."""
        columns = runs.c
        query = (
            select(runs)
            .where(columns.owner == owner)
            .order_by(columns.started_at.desc(), columns.run_id)
            .limit(max(limit, 0))
        )

        def found(connection: Connection) -> tuple[RunRow, ...]:
            with readable("runs"):
                return tuple(_run(row, ()) for row in connection.execute(query).mappings())

        return self._access.read(found)

    def run(self, owner: str, run_id: str) -> RunRow | None:
        """One run with its actions; another owner's is None."""
        return self._access.read(lambda connection: _read(connection, owner, run_id))

    def cancel_run(self, owner: str, run_id: str, *, actor: str, at: datetime) -> RunRow | None:
        """Cancel a run unless it has ended; the run as it is then, None where the owner has no such run."""
        require_storable(actor, place="run")

        def cancelled(connection: Connection) -> RunRow | None:
            if _read(connection, owner, run_id) is None:
                return None
            with at_the_desk(connection, at) as batch:
                RunWriter(batch).cancel(run_id, actor=actor, at=at)
            return _read(connection, owner, run_id)

        return self._access.write(cancelled)


def _read(connection: Connection, owner: str, run_id: str) -> RunRow | None:
    query = select(runs).where(runs.c.owner == owner, runs.c.run_id == run_id)
    made = select(actions).where(actions.c.run_id == run_id).order_by(actions.c.started_at, actions.c.action_id)
    with readable("runs"):
        row = connection.execute(query).mappings().first()
        if row is None:
            return None
        return _run(row, tuple(_action(each) for each in connection.execute(made).mappings()))


def _run(row: RowMapping, made: Sequence[ActionRow]) -> RunRow:
    return RunRow(
        run_id=row["run_id"],
        owner=row["owner"],
        assistant=row["assistant"],
        principal=row["principal"],
        thread_id=row["thread_id"],
        trace_id=row["trace_id"],
        state=RunState(row["state"]),
        started_at=time_from(row["started_at"]),
        ended_at=None if row["ended_at"] is None else time_from(row["ended_at"]),
        actions=tuple(made),
    )


def _action(row: RowMapping) -> ActionRow:
    return ActionRow(
        action_id=row["action_id"],
        tool_call_id=row["tool_call_id"],
        kind=ActionKind(row["kind"]),
        provider_name=row["provider_name"],
        state=ActionState(row["state"]),
        code=row["code"],
        started_at=time_from(row["started_at"]),
        ended_at=None if row["ended_at"] is None else time_from(row["ended_at"]),
        approval_id=row["approval_id"],
        output=json_text(row["output"]),
    )
