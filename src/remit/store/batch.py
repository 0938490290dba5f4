"""What everything written in one transaction of the runtime shares: session, chain, time, and readings that hold throughout.

Decides that an error which concerns one item only is told from one that ends the transaction. What is written is decided by
`call_writing.py` and `run_writing.py`.
"""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import bindparam, func, select

from remit.core.audit import AuditFact
from remit.core.call_ports import CallFacts, IdempotencyUse, Stamp
from remit.core.calls import RunState
from remit.errors import StoreError
from remit.store.chains import Chain
from remit.store.runtime_tables import runs, suspension_serials
from remit.store.session import Session, Statement
from remit.store.tables import assistants, workspaces

__all__ = ["STAMP", "Batch", "OpenCall", "stamp_of"]

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


@dataclass(slots=True, kw_only=True)
class Batch:
    """One transaction. `instance` is the journal that writes, empty at a desk.

    `open_calls` are the journal's from before; `started` and `ended` are what this transaction changes about them, once it
    is committed.
    """

    session: Session
    chain: Chain
    now: datetime
    instance: str = ""
    open_calls: dict[str, OpenCall] = field(default_factory=dict[str, OpenCall])
    started: dict[str, OpenCall] = field(default_factory=dict[str, OpenCall])
    ended: set[str] = field(default_factory=set[str])
    _run_states: dict[str, RunState] = field(default_factory=dict[str, RunState])
    _stamps: dict[tuple[str, str], Stamp | None] = field(default_factory=dict[tuple[str, str], Stamp | None])

    def note(self, fact: AuditFact) -> None:
        """Chain a fact."""
        self.chain.add(fact)

    def stamp(self, owner: str, assistant: str) -> Stamp | None:
        """The stamp of an assistant's grants, read once: nobody else writes while this transaction lasts."""
        key = (owner, assistant)
        if key not in self._stamps:
            self._stamps[key] = stamp_of(self.session, owner, assistant)
        return self._stamps[key]

    def run_state(self, run_id: str) -> RunState:
        """The state of a run. Raises StoreError `run-unknown`."""
        if (known := self._run_states.get(run_id)) is None:
            row = self.session.row(_RUN_STATE, {"which": run_id})
            if row is None:
                raise StoreError(
                    "there is no such run",
                    code="run-unknown",
                    place=f"run {run_id}",
                    hint="start the run before its first call; `remit runs list` shows those that there are",
                )
            known = self._run_states[run_id] = RunState(row[0])
        return known

    def forget_readings(self) -> None:
        """Read anew from here on: a run was moved, or something was rolled back."""
        self._run_states.clear()
