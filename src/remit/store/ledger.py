"""Runs and the consumer's actions as the runtime sees them: written by the journal, so that they share its commits.

Implements `RunLedger` of core/call_ports.py. Decides nothing; `run_writing.py` does.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from remit.core.call_ports import CallFacts, NewRun
from remit.core.calls import RunState
from remit.errors import StoreError
from remit.store.access import Access
from remit.store.journal_writer import Work
from remit.store.runtime_tables import runs
from remit.store.texts import require_storable

__all__ = ["Ledger"]

_SECONDS = 60.0
"""More than the journal lets anything wait; only a thread that died would need it."""


class Ledger:
    """Made by a journal. Every method blocks until its rows are on the disk, and raises StoreError."""

    def __init__(self, access: Access, submit: Callable[[Work], "Future[Any]"]):
        self._access = access
        self._submit = submit

    def start_run(self, run: NewRun) -> None:
        """Keep a new run, in progress, with its audit event."""
        texts = (run.run_id, run.owner, run.assistant, run.principal, run.thread_id, run.trace_id)
        require_storable(*texts, place="run")
        self._done(lambda writers: writers.runs.start(run))

    def run_states(self, run_ids: Sequence[str]) -> Mapping[str, RunState]:
        """The recorded states of runs; an unknown one is absent."""

        def states(connection: Connection) -> Mapping[str, RunState]:
            query = select(runs.c.run_id, runs.c.state).where(runs.c.run_id.in_(run_ids))
            return {run_id: RunState(state) for run_id, state in connection.execute(query)}

        return self._access.read(states)

    def move_run(self, run_id: str, state: RunState, *, actor: str, at: datetime) -> RunState:
        """Move a run where RUN_MOVES allows it, a cancelled one with all that waits in it; the state that it has then."""
        require_storable(run_id, actor, place="run")
        if state is RunState.CANCELLED:
            return self._done(lambda writers: writers.runs.cancel(run_id, actor=actor, at=at))
        return self._done(lambda writers: writers.runs.move(run_id, state, actor=actor, at=at))

    def hand_off(self, facts: CallFacts, arguments: str) -> bool:
        """Keep an action for the consumer and let the run wait for it; False where the run is over."""
        texts = (
            facts.action_id,
            facts.run_id,
            facts.tool_call_id,
            facts.provider_name,
            facts.principal,
            facts.trace_id,
        )
        require_storable(*texts, place="run")
        return self._done(lambda writers: writers.runs.hand_off(facts, arguments))

    def take_output(self, run_id: str, tool_call_id: str, output: str, *, is_error: bool, at: datetime) -> bool:
        """Keep the consumer's output; False where nothing waited for it."""
        require_storable(run_id, tool_call_id, place="run")
        return self._done(
            lambda writers: writers.runs.take_output(run_id, tool_call_id, output, is_error=is_error, at=at)
        )

    def _done(self, work: Work) -> Any:
        try:
            return self._submit(work).result(_SECONDS)
        except TimeoutError:
            raise StoreError(
                f"the disk did not answer within {_SECONDS:g} s",
                code="database-io",
                place=self._access.place,
                hint="check the disk, then run the same command again",
            ) from None
