"""What everything written in one transaction of the runtime shares: session, chain, time, and readings that hold throughout.

Decides that an error which concerns one item only is told from one that ends the transaction. What is written is decided by
`call_writing.py` and `run_writing.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, select, update

from remit.core.audit import AuditFact, Head
from remit.core.call_ports import CallFacts, IdempotencyUse, Stamp
from remit.core.calls import ActionState, RunState
from remit.errors import StoreError
from remit.store.chains import Chain
from remit.store.runtime_tables import actions, runs, suspension_serials
from remit.store.session import Session, Statement, inserting, word
from remit.store.tables import assistants, workspaces

__all__ = ["END_ACTION", "INSERT_ACTION", "STAMP", "Batch", "OpenCall", "Overtaken", "Readings", "stamp_of"]

_RUN_STATE = Statement(select(runs.c.state).where(runs.c.run_id == bindparam("which")))

STAMP = select(
    assistants.c.revision,
    select(func.coalesce(func.sum(workspaces.c.serial), 0)).scalar_subquery(),
    select(func.coalesce(func.sum(suspension_serials.c.serial), 0))
    .where(suspension_serials.c.owner == bindparam("whose"))
    .scalar_subquery(),
).where(assistants.c.owner == bindparam("whose"), assistants.c.name == bindparam("named"))
"""Revision, applies and suspensions of the assistant `named` of the owner `whose`; no row where there is none."""

_STAMP = Statement(STAMP)

INSERT_ACTION = inserting(actions)
END_ACTION = Statement(
    update(actions)
    .where(
        actions.c.action_id == bindparam("which"),
        actions.c.state == word(ActionState.IN_PROGRESS),
        actions.c.instance == bindparam("mine"),
    )
    .values(
        state=bindparam("to_state"),
        code=bindparam("with_code"),
        ended_at=bindparam("now"),
        output=bindparam("with_output"),
    )
)
"""Ends a call under way of the journal `mine`; touches no row where it is not that journal's to end any more."""


def stamp_of(session: Session, owner: str, assistant: str) -> Stamp | None:
    """The stamp that grants read now would carry; None where there is no such assistant."""
    row = session.row(_STAMP, {"whose": owner, "named": assistant})
    return None if row is None else Stamp(revision=row[0], applies=int(row[1]), suspensions=int(row[2]))


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that was started and has not ended, as the journal that may end it remembers it."""

    facts: CallFacts
    key: IdempotencyUse | None
    approval_id: str | None

    @property
    def is_plain(self) -> bool:
        """Whether its end changes no row beside its own."""
        return self.key is None and self.approval_id is None


@dataclass(slots=True)
class Readings:
    """What was read and still holds: within a transaction, and until the next one where nobody else wrote in between.

    `alive` is whether this journal's instance was found, `head` the newest event of its chain.
    """

    run_states: dict[str, RunState] = field(default_factory=dict[str, RunState])
    stamps: dict[tuple[str, str], Stamp | None] = field(default_factory=dict[tuple[str, str], Stamp | None])
    alive: bool = False
    head: Head | None = None


class Overtaken(Exception):
    """Rows that a hasty batch counted on are not as it assumed; it is written again with care."""


@dataclass(slots=True, kw_only=True)
class Batch:
    """One transaction. `instance` is the journal that writes, empty at a desk.

    `open_calls` are the journal's from before; `started` and `ended` are what this transaction changes about them, once it
    is committed. A `hasty` batch takes for granted what nearly always holds (a call's id is new, a call under way is still
    this journal's), writes such calls together in `settle`, and fails as a whole where it was wrong.
    """

    session: Session
    chain: Chain
    now: datetime
    instance: str = ""
    open_calls: dict[str, OpenCall] = field(default_factory=dict[str, OpenCall])
    started: dict[str, OpenCall] = field(default_factory=dict[str, OpenCall])
    ended: set[str] = field(default_factory=set[str])
    readings: Readings = field(default_factory=Readings)
    hasty: bool = False
    _to_insert: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    _to_end: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def note(self, fact: AuditFact) -> None:
        """Chain a fact."""
        self.chain.add(fact)

    def stamp(self, owner: str, assistant: str) -> Stamp | None:
        """The stamp of an assistant's grants, read once: nobody else writes while this transaction lasts."""
        key, stamps = (owner, assistant), self.readings.stamps
        if key not in stamps:
            stamps[key] = stamp_of(self.session, owner, assistant)
        return stamps[key]

    def run_state(self, run_id: str) -> RunState:
        """The state of a run. Raises StoreError `run-unknown`."""
        if (known := self.readings.run_states.get(run_id)) is None:
            row = self.session.row(_RUN_STATE, {"which": run_id})
            if row is None:
                raise StoreError(
                    "there is no such run",
                    code="run-unknown",
                    place=f"run {run_id}",
                    hint="start the run before its first call; `remit runs list` shows those that there are",
                )
            known = self.readings.run_states[run_id] = RunState(row[0])
        return known

    def insert_later(self, row: Mapping[str, Any]) -> None:
        """Add an action in progress with the next `settle`."""
        self._to_insert.append(row)

    def end_later(self, values: Mapping[str, Any]) -> None:
        """End an action of this journal's with the next `settle`."""
        self._to_end.append(values)

    def settle(self) -> None:
        """Write what was put off. Whoever reads or changes actions in another way calls this first. Raises Overtaken."""
        if self._to_insert:
            self.session.insert(INSERT_ACTION, self._to_insert)
            self._to_insert.clear()
        if self._to_end:
            if self.session.run_each(END_ACTION, self._to_end) != len(self._to_end):
                raise Overtaken
            self._to_end.clear()

    def forget_readings(self) -> None:
        """Read anew from here on: a run was moved, or something was rolled back."""
        self.readings.run_states.clear()
