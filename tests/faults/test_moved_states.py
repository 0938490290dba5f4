"""Faults F3, F5, F8 and F13: two applies at once, states that move after the plan, lost replies, a clock that jumps."""

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import permutations
from pathlib import Path

import pytest

from remit.core.desired import Desired
from remit.core.live import Listed
from remit.errors import PlanStale, WorkspaceBusy
from remit.reconcile.applying import ApprovedPlan
from remit.store.store import DatabaseStore
from tests.cli.workspace import Workspace, tool
from tests.faults.processes import start_remit, waited
from tests.faults.world import AFTER, BEFORE, LISTED_AFTER, LISTED_BEFORE, Here, held, incoherences
from tests.states import NOW, assistant, desired, listed, select, server

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a, b]
"""


def dump(path: Path) -> str:
    """The hash of the whole content of a database."""
    connection = sqlite3.connect(path)
    content = sha256("".join(connection.iterdump()).encode()).hexdigest()
    connection.close()
    return content


# --- F3: two applies at once -----------------------------------------------------------------------------------------------


def demo(here: Workspace) -> Path:
    here.serve("issues", tool("a"), tool("b"))
    here.write(CONFIG)
    return here.folder / ".remit" / "remit.db"


@pytest.mark.slow
def test_fault_f3_two_applies_at_once_do_it_once_and_the_loser_says_what_happened(here: Workspace) -> None:
    demo(here)
    assert here.run("db", "upgrade").code == 0
    arguments = ("apply", "--auto-approve", "--format", "json", "--lock-timeout", "30")
    both = [waited(each) for each in [start_remit(here, *arguments) for _ in range(2)]]
    codes = sorted(code for code, _, _ in both)
    assert codes in ([0, 0], [0, 5]), both
    applied = [json.loads(out) for code, out, _ in both if code == 0]
    assert max(len(each["done"]) for each in applied) == 4
    assert sum(each["changed"] for each in applied) == 1
    assert all("plan-stale" in err for code, _, err in both if code == 5)
    assert (here.plan().done, here.run("status", "--format", "json").document["database"]["serial"]) == (
        {"unchanged": 2}, 1,
    )  # fmt: skip


def test_fault_f3_whoever_finds_the_workspace_taken_gets_code_6_and_is_told_by_what_and_changes_nothing(
    here: Workspace,
) -> None:
    path = demo(here)
    assert here.apply().code == 0
    here.serve("issues", tool("a"), tool("b", "Does another thing."), tool("c"))
    here.write(CONFIG.replace("[a, b]", "[a, c]"))
    before = dump(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    refused = here.run("apply", "--auto-approve", "--lock-timeout", "0.1")
    holder.execute("ROLLBACK")
    holder.close()
    assert (refused.code, dump(path)) == (6, before)
    assert "workspace-busy" in refused.err
    assert "workspace.demo: another process is writing to this database" in refused.err
    assert here.run("apply", "--auto-approve", "--lock-timeout", "0.1").code == 0


SERVERS = (server("issues"), server("wiki"))
WISHES: Mapping[str, Desired] = {
    "adds": desired(*SERVERS, assistant("ops", select("issues", "search", "create"), select("wiki", "read"))),
    "renames": desired(
        *SERVERS, assistant("ops", select("issues", "search", aliases={"search": "find"}), select("wiki", "read"))
    ),
    "hires": desired(
        *SERVERS,
        assistant("ops", select("issues", "search"), select("wiki", "read")),
        assistant("dev", select("wiki", "read")),
    ),
}
FIRST = desired(*SERVERS, assistant("ops", select("issues", "search"), select("wiki", "read")))
ANSWERS = {"issues": listed("search", "create"), "wiki": listed("read", "write")}


@pytest.mark.parametrize(("first", "second"), tuple(permutations(WISHES, 2)))
def test_fault_f3_two_plans_of_one_state_end_as_if_one_had_come_after_the_other_or_not_at_all(
    tmp_path: Path, first: str, second: str
) -> None:
    here = Here(tmp_path).create()
    here.apply(here.plan(FIRST, ANSWERS))
    plans = {name: here.plan(WISHES[name], ANSWERS) for name in (first, second)}
    here.apply(plans[first])
    after_the_first = here.recorded()
    try:
        here.apply(plans[second])
    except PlanStale:
        assert (here.recorded(), incoherences(here)) == (after_the_first, [])
        here.apply(here.plan(WISHES[second], ANSWERS))
    else:
        # What the first one did is nothing that the second file asks to undo: an alias that was given is kept.
        assert first == "renames"
    serial = here.recorded()
    other = Here(tmp_path / "serial")
    other.folder.mkdir()
    other.create().apply(other.plan(FIRST, ANSWERS))
    for name in (first, second):
        other.apply(other.plan(WISHES[name], ANSWERS))
    expected = other.recorded()
    assert (serial.servers, serial.assistants, serial.attachments) == (
        expected.servers, expected.assistants, expected.attachments,
    )  # fmt: skip


def test_fault_f3_a_transaction_that_is_open_keeps_every_other_writer_out_and_no_reader(tmp_path: Path) -> None:
    here = Here(tmp_path).create()
    planned = here.plan(FIRST, ANSWERS)
    with here.store().workspace(FIRST.workspace, owner=FIRST.owner, lock_timeout=0) as transaction:
        transaction.execute(planned.report.plan.operations)
        with pytest.raises(WorkspaceBusy):
            here.apply(planned)
        assert here.recorded().assistants == ()
    assert [each.name for each in here.recorded().assistants] == ["ops"]


# --- F5: states that move after the plan -----------------------------------------------------------------------------------


def edit_row(here: Workspace, name: str) -> None:
    connection = sqlite3.connect(here.folder / ".remit" / "remit.db")
    connection.execute("UPDATE assistant_mcp_tools SET surface = 'open' WHERE remote_name = ?", [name])
    connection.commit()
    connection.close()


MOVES: Mapping[str, Callable[[Workspace], object]] = {
    "the-file-asks-for-less": lambda here: here.write(CONFIG),
    "the-file-is-gone": lambda here: (here.folder / "mcp.yaml").unlink(),
    "the-file-is-half-written": lambda here: here.write(CONFIG[:-20]),
    "a-tool-changed": lambda here: here.serve("issues", tool("a"), tool("b"), tool("c", "Deletes everything.")),
    "a-tool-is-gone": lambda here: here.serve("issues", tool("a"), tool("b")),
    "a-tool-is-malformed-now": lambda here: here.serve("issues", tool("a"), tool("b"), {"name": "c"}),
    "the-server-is-gone": lambda here: here.serve("issues", die_on={"": 1, "server/discover": 1, "initialize": 1}),
    "the-server-lists-nothing": lambda here: here.serve("issues"),
    "a-row-was-edited": lambda here: edit_row(here, "b"),
    "the-policy-moved": lambda here: here.write(
        CONFIG.replace("[a, b]", "[a, c]").replace("assistants:", "      envelope: {surface: locked}\nassistants:")
    ),
}


@pytest.mark.parametrize("move", [pytest.param(move, id=name) for name, move in MOVES.items()])
def test_fault_f5_what_moves_after_the_plan_stops_the_whole_apply_before_any_write(
    here: Workspace, move: Callable[[Workspace], object]
) -> None:
    """The reviewed plan detaches b and attaches c; nothing of it may happen once any of it no longer comes out."""
    path = demo(here)
    here.serve("issues", tool("a"), tool("b"), tool("c"))
    assert here.apply().code == 0
    here.write(CONFIG.replace("[a, b]", "[a, c]"))
    assert here.run("plan", "--out", "p.json").code == 0
    move(here)
    before = dump(path)
    refused = here.run("apply", "p.json")
    assert (refused.code in (1, 5), dump(path)) == (True, before), refused
    assert ("plan-stale" in refused.err) is (refused.code == 5)


def test_fault_f5_what_moved_and_is_no_part_of_the_reviewed_plan_is_reported_and_not_done(here: Workspace) -> None:
    demo(here)
    here.serve("issues", tool("a"), tool("b"), tool("c"))
    assert here.apply().code == 0
    here.write(CONFIG.replace("[a, b]", "[a, c]"))
    assert here.run("plan", "--out", "p.json").code == 0
    edit_row(here, "a")
    applied = here.run("apply", "p.json", "--format", "json")
    assert (applied.code, applied.document["not_reviewed"]) == (0, ["set_envelope assistant.ops/issues__a"])
    assert here.plan().done == {"set_envelope": 1, "unchanged": 1}


# --- F8: the reply is lost --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["full", "gone"])
def test_fault_f8_an_outcome_that_cannot_be_told_is_no_error_and_the_plan_counts_as_done_afterwards(
    here: Workspace, reader: str
) -> None:
    demo(here)
    assert here.run("plan", "--out", "p.json").code == 0
    assert here.run("db", "upgrade").code == 0
    gone, stdout = os.pipe()
    os.close(gone)
    if reader == "full":
        os.close(stdout)
        stdout = os.open("/dev/full", os.O_WRONLY)
    remit = start_remit(here, "apply", "p.json", stdout=stdout)
    os.close(stdout)
    code, _, err = waited(remit)
    assert (code, "what was done stands" in err, "Traceback" in err) == (0, reader == "full", False)
    again = here.run("apply", "p.json", "--format", "json")
    assert (again.code, again.document["done"], len(again.document["already_done"])) == (0, [], 4)


# --- F13: the clock jumps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("days", [-1, 1, -400, 400])
def test_fault_f13_a_clock_that_jumps_between_plan_and_apply_changes_nothing_but_times(
    tmp_path: Path, days: int
) -> None:
    here = Here(tmp_path).create()
    here.apply(here.plan(BEFORE, LISTED_BEFORE))
    saved = here.plan(AFTER, LISTED_AFTER, accept=held(here.plan(AFTER, LISTED_AFTER)))
    here.clock = NOW + timedelta(days=days)
    later = here.plan(AFTER, at(here.clock), accept=held(here.plan(AFTER, LISTED_AFTER)))
    assert later.document["digest"] == saved.document["digest"]
    done = here.apply(later, ApprovedPlan(saved.document))
    here.clock = NOW
    assert len(done.done) == len(saved.document["operations"])
    assert (here.plan(AFTER, LISTED_AFTER).report.plan.operations, incoherences(here)) == ((), [])


def at(time: datetime) -> dict[str, Listed]:
    return {name: replace(each, observed_at=time) for name, each in LISTED_AFTER.items() if isinstance(each, Listed)}


def test_fault_f13_history_is_in_the_order_in_which_things_happened_whatever_the_clock_said(tmp_path: Path) -> None:
    here = Here(tmp_path).create()
    here.apply(here.plan(FIRST, ANSWERS))
    for number, name in enumerate(("adds", "hires"), start=1):
        here.clock = NOW - timedelta(days=number)
        here.apply(here.plan(WISHES[name], ANSWERS))
    store = here.store()
    assert isinstance(store, DatabaseStore)
    assert [(each.serial, each.at) for each in store.history(FIRST.workspace, limit=9)] == [
        (3, NOW - timedelta(days=2)),
        (2, NOW - timedelta(days=1)),
        (1, NOW),
    ]
