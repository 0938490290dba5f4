"""What the journal's thread does in one turn: one transaction with everything that it was given.

Decides that an item which fails by itself costs the others nothing, that a journal declared dead goes on under a new name, so
that its old calls stay what they were declared, and when chains are linked. Knows no queue, no thread and no future.
"""

import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from remit.errors import StoreError
from remit.store.batch import Batch, OpenCall, Readings
from remit.store.call_writing import CallWriter
from remit.store.chains import CHECKPOINT_EVERY, Chain
from remit.store.faults import as_store_error
from remit.store.instances import Instances
from remit.store.journal_connection import JournalConnection, concerns_one_item
from remit.store.recovery import owners_of_open_work, recover
from remit.store.run_writing import RunWriter
from remit.store.sqlite import SqliteFile
from remit.store.trace_queue import Rows, write_traces

__all__ = ["Failed", "JournalWriter", "Work", "Writers"]


JOURNAL = "system:journal"
"""The actor of what the journal notes by itself."""


@dataclass(frozen=True, slots=True)
class Writers:
    """What one item may write with."""

    batch: Batch
    calls: CallWriter
    runs: RunWriter


Work: TypeAlias = Callable[[Writers], Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """In place of the result of an item that failed alone."""

    error: StoreError


class JournalWriter:
    """Writes for one journal. Used by one thread at a time."""

    def __init__(
        self,
        file: SqliteFile,
        *,
        writer: str,
        new_id: Callable[[], str],
        clock: Callable[[], datetime],
        heartbeat_seconds: float,
    ):
        self.place = str(file.path)
        self._connection = JournalConnection(file)
        self._name = writer
        self._new_id = new_id
        self._clock = clock
        self._instances = Instances(clock)
        self._instance = new_id()
        self._open_calls: dict[str, OpenCall] = {}
        self._since_checkpoint = 0
        self._heartbeat_seconds = heartbeat_seconds
        self._renewed = float("-inf")
        self._readings = Readings()

    @property
    def heartbeat_due(self) -> float:
        """When the next turn should come at the latest, on the monotonic clock."""
        return self._renewed + self._heartbeat_seconds

    def try_to_begin(self) -> bool:
        """Begin a turn; False where another connection holds the lock. Raises StoreError or a driver error."""
        return self._connection.try_to_begin()

    def open(self) -> None:
        """The first turn, begun already: register, give the calls of dead journals their end, link the other chains."""
        with self._undone_on_failure():
            self._instances.register(self._connection.session, self._instance)
            chain = Chain(self._connection.session, self._name)
            self._recover_dead(chain)
            chain.checkpoint(self._clock(), JOURNAL)
            chain.flush()
            self._connection.commit()
        self._renewed = time.monotonic()

    def write(self, items: Sequence[Work], events: Rows, links: Rows) -> Sequence[Any]:
        """One turn, begun already: the result of each item or its `Failed`, committed.

        Raises StoreError or a driver error where nothing of it was kept.
        """
        with self._undone_on_failure():
            if not self._connection.is_unchanged:
                self._readings = Readings()
            session, instance = self._connection.session, self._keep_alive()
            session.plain("SAVEPOINT turn")
            try:
                batch, results = self._written(instance, items, _together, hasty=True)
                write_traces(session, events, links)
            except Exception as error:
                if not concerns_one_item(error):
                    raise
                session.plain("ROLLBACK TO turn")
                self._readings = Readings()
                batch, results = self._written(instance, items, self._each_alone)
                self._write_traces_alone(events, links)
            self._connection.commit()
        self._remember(batch)
        return results

    def close(self, events: Rows, links: Rows) -> None:
        """The last turn, begun already: what is still open has no known outcome; then forget this journal."""
        with self._undone_on_failure():
            session = self._connection.session
            chain = Chain(session, self._name)
            recover(session, chain, [self._instance], self._clock())
            chain.flush()
            write_traces(session, events, links)
            self._instances.remove(session, [self._instance])
            self._connection.commit()

    def disconnect(self) -> None:
        """Give the connection back."""
        self._connection.close()

    # --- one turn ------------------------------------------------------------------------------------------------------

    def _written(
        self, instance: str, items: Sequence[Work], how: "_How", *, hasty: bool = False
    ) -> tuple[Batch, Sequence[Any]]:
        chain = Chain(self._connection.session, self._name, self._readings.head)
        if self._since_checkpoint >= CHECKPOINT_EVERY:
            chain.checkpoint(self._clock(), JOURNAL)
        batch = Batch(
            session=self._connection.session,
            chain=chain,
            now=self._clock(),
            instance=instance,
            open_calls=self._open_calls,
            readings=self._readings,
            hasty=hasty,
        )
        results = how(Writers(batch, CallWriter(batch, self._recovered), RunWriter(batch)), items)
        batch.settle()
        chain.flush()
        return batch, results

    def _each_alone(self, writers: Writers, items: Sequence[Work]) -> Sequence[Any]:
        return [self._alone(writers, item) for item in items]

    def _alone(self, writers: Writers, item: Work) -> Any:
        batch, session = writers.batch, self._connection.session
        mark, started, ended = batch.chain.mark(), dict(batch.started), set(batch.ended)
        session.plain("SAVEPOINT item")
        try:
            return item(writers)
        except Exception as error:
            if not concerns_one_item(error):
                raise
            session.plain("ROLLBACK TO item")
            batch.chain.back_to(mark)
            batch.forget_readings()
            batch.started, batch.ended = started, ended
            return Failed(as_store_error(error, self.place))
        finally:
            # A full disk may have ended the transaction, and this savepoint with it.
            with suppress(sqlite3.Error):
                session.plain("RELEASE item")

    def _write_traces_alone(self, events: Rows, links: Rows) -> None:
        session = self._connection.session
        session.plain("SAVEPOINT traces")
        try:
            write_traces(session, events, links)
        except Exception as error:
            if not concerns_one_item(error):
                raise
            session.plain("ROLLBACK TO traces")

    def _remember(self, batch: Batch) -> None:
        self._instance = batch.instance
        self._readings.head, self._readings.alive = batch.chain.head, True
        self._open_calls.update(batch.started)
        for action_id in batch.ended:
            self._open_calls.pop(action_id, None)
        checkpoint = self._since_checkpoint >= CHECKPOINT_EVERY
        self._since_checkpoint = batch.chain.written + (0 if checkpoint else self._since_checkpoint)

    # --- living and dead -----------------------------------------------------------------------------------------------

    def _keep_alive(self) -> str:
        """The instance that this turn writes as; a new one where the old one was declared dead."""
        session, due = self._connection.session, time.monotonic() >= self.heartbeat_due
        if self._readings.alive and not due:
            return self._instance
        alive = self._instances.renew if due else self._instances.lives
        if due:
            self._renewed = time.monotonic()
        if alive(session, self._instance):
            return self._instance
        instance = self._new_id()
        self._instances.register(session, instance)
        return instance

    def _recovered(self, batch: Batch, instance: str) -> bool:
        """Whether an instance is dead, its calls having got their end by now."""
        living, dead = self._instances.judged(self._connection.session, but=batch.instance)
        if instance in living:
            return False
        self._bury(batch.chain, dead | {instance})
        return True

    def _recover_dead(self, chain: Chain) -> None:
        session = self._connection.session
        living, dead = self._instances.judged(session, but=self._instance)
        self._bury(chain, dead | (owners_of_open_work(session) - living))

    def _bury(self, chain: Chain, dead: frozenset[str]) -> None:
        session = self._connection.session
        recover(session, chain, dead, self._clock())
        self._instances.remove(session, dead)
        # Recovery ends runs too.
        self._readings.run_states.clear()

    @contextmanager
    def _undone_on_failure(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            # Closing rolls back; the next turn opens anew, whatever state this connection was left in.
            self._connection.close()
            raise


_How: TypeAlias = Callable[[Writers, Sequence[Work]], Sequence[Any]]


def _together(writers: Writers, items: Sequence[Work]) -> Sequence[Any]:
    return [item(writers) for item in items]
