"""The journal of calls: one thread that writes, everything that waits in one transaction, one flush of the disk for all.

Decides what is written together and when a caller is told: after the commit, or with the error that kept its rows off the
disk. Implements `CallJournal` of core/call_ports.py. What a turn of the thread does is `journal_writer.py`'s.
"""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeVar, cast

from remit.core.audit import AuditFact
from remit.core.call_ports import (
    Begun,
    CallEnd,
    CallFacts,
    CallIntent,
    CallOver,
    CallRefusal,
    GrantsMoved,
    RunClosed,
    Started,
)
from remit.core.events import ProtocolEvent
from remit.errors import StoreError
from remit.store.access import Access
from remit.store.faults import as_store_error
from remit.store.instances import HEARTBEAT_SECONDS
from remit.store.journal_writer import Failed, JournalWriter, Work
from remit.store.ledger import Ledger
from remit.store.location import Location
from remit.store.sqlite import SqliteFile, check_file
from remit.store.texts import require_storable
from remit.store.trace_queue import MAX_BYTES, Rows, TraceQueue, event_row

__all__ = ["Journal", "open_journal"]

Result = TypeVar("Result")

_BATCH = 256
_BUSY_SECONDS = 5.0
_PAUSE_SECONDS = 0.005
_IDLE_SECONDS = 0.2
_CLOSE_SECONDS = 2.0
_MOST_OWED = 10_000

_TEXTS = cast(
    "Callable[[CallFacts], tuple[str | None, ...]]",
    attrgetter(
        "action_id", "run_id", "thread_id", "tool_call_id", "trace_id", "owner", "assistant", "principal",
        "provider_name", "server_id", "server", "remote_name", "arguments_text",
    ),
)  # fmt: skip


def open_journal(
    location: Location,
    *,
    writer: str,
    new_id: Callable[[], str],
    clock: Callable[[], datetime],
    busy_seconds: float = _BUSY_SECONDS,
    trace_bytes: int = MAX_BYTES,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> "Journal":
    """Open a journal whose audit events go to the chain `writer`, which other processes may share.

    Gives the calls of journals that died their end first. `busy_seconds` is how long a row waits for a database that
    somebody else keeps locked, `trace_bytes` how much of the protocol trace may wait. Raises StoreError where the database
    cannot be used.
    """
    file = SqliteFile(location.path)
    made = JournalWriter(file, writer=writer, new_id=new_id, clock=clock, heartbeat_seconds=heartbeat_seconds)
    require_storable(writer, place="audit writer")
    check_file(location.path)
    journal = Journal(made, Access(file), busy_seconds=busy_seconds, traces=TraceQueue(trace_bytes))
    journal.start()
    return journal


@dataclass(frozen=True, slots=True)
class _Item:
    """Something to write. `end` is set where it is the end of a call, which is owed until it is written."""

    work: Work
    future: "Future[Any]"
    deadline: float
    end: CallEnd | None = None


class Journal:
    """Made by `open_journal`. May be used from several threads; `close` ends it."""

    def __init__(self, writer: JournalWriter, access: Access, *, busy_seconds: float, traces: TraceQueue):
        self._writer = writer
        self._busy_seconds = busy_seconds
        self._ready = threading.Condition()
        self._items: deque[_Item] = deque()
        self._owed: dict[str, CallEnd] = {}
        self._traces = traces
        self._traces_due = float("inf")
        self._not_before = 0.0
        self._idle = False
        self._is_fresh = False
        self._wakes_at = float("inf")
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="remit-journal", daemon=True)
        self.ledger = Ledger(access, self.submit)
        """Runs and the consumer's actions (RunLedger of core/call_ports.py), written by this journal."""

    # --- what callers do -------------------------------------------------------------------------------------------------

    def begin(self, intent: CallIntent) -> "Future[Begun]":
        """CallJournal.begin: one transaction from the run's state to the intent."""
        use, facts = intent.idempotency, intent.facts
        more = () if use is None else (use.key, use.fingerprint)
        return self._checked(facts, more, lambda writers: writers.calls.begin(intent))

    def again(self, facts: CallFacts) -> "Future[Started | GrantsMoved | RunClosed | CallOver]":
        """CallJournal.again: one transaction from the run's state to the call's own row."""
        return self.submit(lambda writers: writers.calls.again(facts))

    def refuse(self, refusal: CallRefusal) -> "Future[bool]":
        """CallJournal.refuse: a call that does not go out."""
        return self._checked(refusal.facts, (), lambda writers: writers.calls.refuse(refusal))

    def end(self, end: CallEnd) -> "Future[bool]":
        """CallJournal.end: how a started call ended.

        Where it cannot be written, its future says so at once; it is written all the same when that is possible again.
        """
        with self._ready:
            self._owed.pop(end.action_id, None)
        return self.submit(lambda writers: writers.calls.end(end), end)

    def note(self, fact: AuditFact) -> "Future[None]":
        """CallJournal.note: a fact for the audit trail."""
        return self.submit(lambda writers: writers.batch.note(fact))

    def record(self, event: ProtocolEvent) -> None:
        """CallJournal.record: a protocol event, kept with the next commit."""
        row = event_row(event)
        with self._ready:
            self._traces.add(row)
            self._traces_wait()

    def link(self, trace_id: str, connection_id: str) -> None:
        """CallJournal.link: a trace uses a connection that was opened under another one."""
        with self._ready:
            self._traces.link(trace_id, connection_id)
            self._traces_wait()

    def close(self) -> None:
        """Write what waits and end the thread. Calls that have not ended are declared unknown."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join(2 * self._busy_seconds + 2 * _CLOSE_SECONDS)

    def submit(self, work: Work, end: CallEnd | None = None) -> "Future[Any]":
        """Write something with the next transaction; its result once that is on the disk."""
        future: Future[Any] = Future()
        with self._ready:
            if self._closing:
                future.set_exception(_closed(self._writer.place))
                return future
            self._items.append(_Item(work, future, time.monotonic() + self._busy_seconds, end))
            if self._idle:
                self._ready.notify()
        return future

    def start(self) -> None:
        """Open the database and start the thread. Raises StoreError."""
        deadline = time.monotonic() + self._busy_seconds
        try:
            while not self._writer.try_to_begin():
                if time.monotonic() >= deadline:
                    raise _locked(self._writer.place, self._busy_seconds)
                time.sleep(_PAUSE_SECONDS)
            self._writer.open()
        except BaseException as error:
            self._writer.disconnect()
            if isinstance(error, sqlite3.Error):
                raise as_store_error(error, self._writer.place) from error
            raise
        self._thread.start()

    def _checked(self, facts: CallFacts, more: tuple[str, ...], work: Work) -> "Future[Any]":
        try:
            require_storable(*_TEXTS(facts), *more, place=f"run {facts.run_id!r}")
        except StoreError as error:
            refused: Future[Any] = Future()
            refused.set_exception(error)
            return refused
        return self.submit(work)

    def _traces_wait(self) -> None:
        if self._traces_due == float("inf"):
            self._traces_due = time.monotonic() + _IDLE_SECONDS
            if self._idle and self._wakes_at > self._traces_due:
                self._ready.notify()

    # --- the thread ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._has_work():
            self._turn()
        if self._owed:
            self._turn()
        self._finish()

    def _has_work(self) -> bool:
        """Wait for something to write or renew; False once the journal is closing and nothing waits."""
        with self._ready:
            while not self._items and not self._closing:
                waits_since = 0.0 if self._owed else self._traces_due
                due = max(min(waits_since, self._writer.heartbeat_due), self._not_before)
                if (left := due - time.monotonic()) <= 0:
                    return True
                # Soon after a turn the next one is likely: events that come until then need not wake this thread.
                left = min(left, _IDLE_SECONDS) if self._is_fresh else left
                self._wakes_at = time.monotonic() + left
                self._idle = True
                self._is_fresh = self._ready.wait(left)
                self._idle = False
            return bool(self._items)

    def _turn(self) -> None:
        if not self._begun():
            return
        items, events, links = self._taken()
        self._is_fresh = True
        try:
            results = self._writer.write([item.work for item in items], events, links)
        except Exception as error:  # noqa: BLE001 (whoever waits is told, and the thread lives on)
            self._fail(items, as_store_error(error, self._writer.place))
            self._postpone(events, links)
            return
        for item, result in zip(items, results, strict=True):
            if isinstance(result, Failed):
                item.future.set_exception(result.error)
            else:
                item.future.set_result(result)

    def _begun(self) -> bool:
        """Whether the turn has its transaction; False once nobody waits for it any more."""
        while True:
            try:
                if self._writer.try_to_begin():
                    return True
            except Exception as error:  # noqa: BLE001 (as above: a database that is gone fails whoever waits)
                self._writer.disconnect()
                self._fail(self._expired(float("inf")), as_store_error(error, self._writer.place))
                self._postpone((), ())
                return False
            self._fail(self._expired(time.monotonic()), _locked(self._writer.place, self._busy_seconds))
            with self._ready:
                if not self._items:
                    self._not_before = time.monotonic() + _IDLE_SECONDS
                    return False
            time.sleep(_PAUSE_SECONDS)

    def _taken(self) -> tuple[Sequence[_Item], Rows, Rows]:
        with self._ready:
            items = [_owed(end) for end in self._owed.values()]
            self._owed.clear()
            while self._items and len(items) < _BATCH:
                items += _still_wanted(self._items.popleft())
            events, links = self._traces.take()
            self._traces_due = time.monotonic() if self._traces else float("inf")
        return items, events, links

    def _expired(self, now: float) -> Sequence[_Item]:
        with self._ready:
            expired: list[_Item] = []
            while self._items and self._items[0].deadline <= now:
                expired += _still_wanted(self._items.popleft())
            return expired

    def _postpone(self, events: Rows, links: Rows) -> None:
        with self._ready:
            self._traces.give_back(events, links)
            self._not_before = time.monotonic() + _IDLE_SECONDS
            self._traces_due = self._not_before if self._traces else float("inf")

    def _fail(self, items: Sequence[_Item], error: StoreError) -> None:
        with self._ready:
            for item in items:
                # A call that went out has its end whether or not anybody still waits for it to be written.
                if item.end is not None and len(self._owed) < _MOST_OWED:
                    self._owed.setdefault(item.end.action_id, item.end)
        for item in items:
            item.future.set_exception(error)

    def _finish(self) -> None:
        deadline = time.monotonic() + _CLOSE_SECONDS
        try:
            while not self._writer.try_to_begin():
                if time.monotonic() >= deadline:
                    return
                time.sleep(_PAUSE_SECONDS)
            with self._ready:
                events, links = self._traces.take()
            self._writer.close(events, links)
        except Exception:  # noqa: BLE001 (whoever opens a journal next finds this process gone and does the same)
            return
        finally:
            self._writer.disconnect()


def _still_wanted(item: _Item) -> Sequence[_Item]:
    """The item, which cannot be cancelled from here on. What was cancelled before is not written, unless it is an end."""
    if item.future.set_running_or_notify_cancel():
        return (item,)
    return () if item.end is None else (_owed(item.end),)


def _owed(end: CallEnd) -> _Item:
    """An end that nobody waits for."""
    nobody: Future[Any] = Future()
    return _Item(lambda writers: writers.calls.end(end), nobody, float("inf"), end)


def _locked(place: str, seconds: float) -> StoreError:
    return StoreError(
        f"another process keeps the database locked; waited {seconds:g} s",
        code="database-locked",
        place=place,
        hint="try again when that process is done; no lock outlives its process",
    )


def _closed(place: str) -> StoreError:
    return StoreError("the journal is closed", code="journal-closed", place=place, hint="open another one")
