"""What one governed call costs, counted: rows, messages, and calls of functions of ours, none of which a machine's load changes."""

import asyncio
import sqlite3
import sys
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import remit
from remit.runtime.run import Run
from tests.runtime.live import Live, applied, ran, result_of

CALLS = 20
FUNCTIONS = 290
"""Functions of ours that one call runs in the event loop's thread, a tenth more than there are."""

TABLES = ("actions", "idempotency_records", "approvals", "audit_events", "protocol_events", "trace_links")


def rows(live: Live) -> Mapping[str, int]:
    """The rows of the tables that calls write."""
    with closing(sqlite3.connect(live.database)) as database:
        return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


class Functions:
    """Counts the functions below a folder that this thread enters, coroutines each time they go on."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.entered: Counter[str] = Counter()

    @contextmanager
    def counting(self) -> Generator[None]:
        before = sys.getprofile()
        sys.setprofile(self._seen)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(self._folder):
            self.entered[frame.f_code.co_qualname] += 1


async def called(run: Run, times: int) -> None:
    for number in range(times):
        result = result_of(await run.call("stdio__echo", f'{{"q": "{number}"}}', tool_call_id=f"call-{number}-{times}"))
        assert not result.is_error


def test_a_call_is_one_action_two_audit_events_and_two_protocol_events_and_one_message(tmp_path: Path) -> None:
    with applied(tmp_path) as live:

        async def work(times: int) -> None:
            async with live.runtime() as runtime, runtime.run("ops") as run:
                await called(run, times)

        ran(work(1))
        before, heard = rows(live), len(live.messages("stdio"))
        ran(work(1))
        one, once = rows(live), len(live.messages("stdio"))
        ran(work(1 + CALLS))
        many = rows(live)
        added = {table: many[table] - one[table] - (one[table] - before[table]) for table in TABLES}
        none = dict.fromkeys(TABLES, 0)
        assert added == none | {"actions": CALLS, "audit_events": 2 * CALLS, "protocol_events": 2 * CALLS}
        assert len(live.messages("stdio")) - once - (once - heard) == CALLS


def test_a_call_enters_no_more_functions_than_it_did(tmp_path: Path) -> None:
    functions = Functions(str(Path(remit.__file__).parent))
    with applied(tmp_path) as live:

        async def work() -> None:
            async with live.runtime() as runtime, runtime.run("ops") as run:
                await called(run, 1)
                with functions.counting():
                    await called(run, CALLS)

        ran(work())
    each = {name: count / CALLS for name, count in functions.entered.most_common(10)}
    assert sum(functions.entered.values()) / CALLS <= FUNCTIONS, each


def test_callers_at_once_wake_the_loop_once_a_commit(tmp_path: Path) -> None:
    functions = Functions(str(Path(remit.__file__).parent / "runtime" / "durable.py"))
    with applied(tmp_path) as live:

        async def work() -> None:
            async with live.runtime() as runtime, runtime.run("ops") as run:
                await called(run, 1)
                with functions.counting():
                    calls = (run.call("stdio__echo", "{}", tool_call_id=f"at-once-{n}") for n in range(200))
                    await asyncio.gather(*calls)

        ran(work())
    # All 200 intents wait for one commit; the outcomes follow in as many as the answers come in.
    assert functions.entered["_Deliveries._deliver"] < 200
    assert functions.entered["durable"] >= 400
