"""`remit approvals`: what waits for a human, and the human's word on it."""

import sqlite3
from contextlib import closing

import pytest

from tests.cli.governed import OWNER, Rows
from tests.cli.test_terminal import converse
from tests.cli.workspace import Workspace


def edit(here: Workspace, statement: str) -> None:
    with closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as database, database:
        database.execute(statement)


def state_of(here: Workspace, approval_id: str) -> str:
    return here.run("approvals", "show", approval_id, "--format", "json").document["approval"]["state"]


def test_requests_are_listed_newest_first_and_decided_ones_only_on_request(here: Workspace, rows: Rows):
    first, second = rows.ask({"q": "one"}), rows.ask({"q": "two"})
    assert here.run("approvals", "deny", first).code == 0
    waiting = here.run("approvals", "list", "--format", "json").document
    everything = here.run("approvals", "list", "--all", "--format", "json").document
    assert (waiting["format_version"], waiting["owner"]) == ("1.0", OWNER)
    assert [(each["approval_id"], each["arguments"]) for each in waiting["approvals"]] == [(second, {"q": "two"})]
    assert [(each["approval_id"], each["state"]) for each in everything["approvals"]] == [
        (second, "pending"),
        (first, "denied"),
    ]
    line = here.run("approvals", "list").out.splitlines()[1]
    assert line.startswith(f"  {second}  pending  0s old  expires in 14m ")
    assert line.endswith('  assistant.ops/issues__create  by assistant:ops  {"q":"two"}')


def test_a_request_is_shown_with_the_command_that_approves_it(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "one"})
    shown = here.run("approvals", "show", asked)
    approve = next(line for line in shown.out.splitlines() if line.startswith("Approve: "))
    assert "cannot be undone" in shown.out
    ended = here.run(*approve.removeprefix("Approve:").split()[1:])
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(
        "assistant.ops/issues__create approved: repeating the very call carries it out once, until "
    )
    assert state_of(here, asked) == "approved"
    assert "Revoke:   remit approvals revoke" in here.run("approvals", "show", asked).out


def test_an_approval_says_who_gave_it_and_lets_one_call_begin(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "one"})
    ended = here.run("approvals", "approve", asked, "--hash", rows.hash_of(asked), "--format", "json", LOGNAME="eva")
    assert (ended.code, ended.document["changed"]) == (0, True)
    assert (ended.document["approval"]["state"], ended.document["approval"]["approver"]) == ("approved", "user:eva")
    assert rows.begins({"q": "one"})
    assert not rows.begins({"q": "one"})


def test_another_hash_approves_nothing(here: Workspace, rows: Rows):
    asked, other = rows.ask({"q": "one"}), rows.ask({"q": "two"})
    ended = here.run("approvals", "approve", asked, "--hash", rows.hash_of(other)[:12])
    assert (ended.code, "error approval-hash: " in ended.err, state_of(here, asked)) == (1, True, "pending")


@pytest.mark.parametrize("prefix", ["", "abcdef1", "ABCDEF12", "zzzzzzzz", "a" * 65])
def test_a_hash_that_is_none_is_a_usage_error(here: Workspace, prefix: str):
    assert here.run("approvals", "approve", "x", "--hash", prefix).code == 64


def test_without_a_hash_and_without_a_terminal_nothing_is_approved(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "one"})
    ended = here.run("approvals", "approve", asked)
    assert (ended.code, "error not-approved: " in ended.err, state_of(here, asked)) == (1, True, "pending")
    assert f"remit approvals show {asked}" in ended.err


@pytest.mark.parametrize(
    ("answer", "code", "state"), [("yes\n", 0, "approved"), ("y\n", 1, "pending"), ("\n", 1, "pending")]
)
def test_on_a_terminal_everything_is_shown_and_only_a_typed_yes_approves(
    here: Workspace, rows: Rows, answer: str, code: int, state: str
):
    asked = rows.ask({"q": "one"})
    ended, screen = converse(here, ["approvals", "approve", asked], [("Only 'yes' is accepted: ", answer)])
    assert (ended, state_of(here, asked)) == (code, state)
    assert '"q": "one"' in screen.partition("Only 'yes'")[0]


def test_there_is_no_way_to_approve_all(here: Workspace, rows: Rows):
    rows.ask({"q": "one"})
    assert [here.run("approvals", "approve", *words).code for words in ((), ("--all",), ("*",))] == [64, 64, 64]


def test_the_one_who_asked_may_not_approve(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "one"}, principal="user:eva")
    command = ("approvals", "approve", asked, "--hash", rows.hash_of(asked))
    own = here.run(*command, LOGNAME="eva")
    assert (own.code, state_of(here, asked)) == (3, "pending")
    assert "error approver-refused: " in own.err
    assert "user:eva may not approve what user:eva requests" in own.err
    assert here.run(*command, LOGNAME="bob").code == 0


def test_a_denial_is_final_and_keeps_its_reason(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "one"})
    denied = here.run("approvals", "deny", asked, "--reason", "not today", "--format", "json")
    assert (denied.code, denied.document["approval"]["reason"]) == (0, "not today")
    for again in (("deny", asked), ("approve", asked, "--hash", rows.hash_of(asked)), ("revoke", asked)):
        ended = here.run("approvals", *again)
        assert (ended.code, "it is denied by user:" in ended.err) == (1, True)
    assert not rows.begins({"q": "one"})


def test_an_approval_can_be_revoked_until_it_is_used(here: Workspace, rows: Rows):
    first, second = rows.ask({"q": "one"}), rows.ask({"q": "two"})
    pending = here.run("approvals", "revoke", first)
    assert (pending.code, f"remit approvals deny {first}" in pending.err) == (1, True)
    for each in (first, second):
        assert here.run("approvals", "approve", each, "--hash", rows.hash_of(each)).code == 0
    assert here.run("approvals", "revoke", first).code == 0
    assert not rows.begins({"q": "one"})
    assert rows.begins({"q": "two"})
    assert (here.run("approvals", "revoke", second).code, state_of(here, first)) == (1, "revoked")


def test_an_expired_request_cannot_be_approved(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "one"})
    binding = rows.hash_of(asked)
    edit(here, "update approvals set expires_at = requested_at")
    ended = here.run("approvals", "approve", asked, "--hash", binding)
    assert (ended.code, "it is expired" in ended.err, state_of(here, asked)) == (1, True, "expired")


def test_a_request_that_was_edited_in_the_database_is_never_approved_and_can_be_denied(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "drop everything"})
    binding = rows.hash_of(asked)
    edit(here, "update approvals set arguments = replace(arguments, 'drop everything', 'say hello')")
    shown = here.run("approvals", "show", asked).out
    assert ("ALTERED" in shown, "Approve:" in shown, "Deny:" in shown) == (True, False, True)
    ended = here.run("approvals", "approve", asked, "--hash", binding)
    assert (ended.code, "error approval-altered: " in ended.err) == (1, True)
    assert here.run("approvals", "deny", asked).code == 0


def test_an_unknown_id_is_refused_with_the_one_that_was_meant(here: Workspace, rows: Rows):
    asked = rows.ask({"q": "one"})
    for words in (("show",), ("approve",), ("deny",), ("revoke",)):
        ended = here.run("approvals", *words, asked[:8])
        assert (ended.code, f"did you mean {asked}?" in ended.err) == (64, True)
    assert "`remit approvals list --all` lists them" in here.run("approvals", "show", "zz").err


def test_without_a_database_nothing_waits_and_that_is_an_error(here: Workspace):
    ended = here.run("approvals", "list")
    assert (ended.code, "error no-database: " in ended.err) == (1, True)
