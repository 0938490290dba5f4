"""`remit suspend` and `remit resume`: at once, whatever state the file is in."""

import pytest

from tests.cli.governed import CONFIG, OWNER, Rows
from tests.cli.workspace import Workspace


def addresses(here: Workspace) -> list[str]:
    return [each["address"] for each in here.run("suspend", "--list", "--format", "json").document["suspensions"]]


@pytest.mark.parametrize("address", ["server.issues", "assistant.ops", "assistant.ops/issues__create"])
def test_a_suspension_denies_the_next_call_until_it_is_ended(here: Workspace, rows: Rows, address: str):
    assert rows.suspended_by("issues__create") is None
    ended = here.run("suspend", address, "--reason", "it leaks")
    assert (ended.code, ended.out) == (0, f"{address} suspended: its calls are denied from now on\n")
    assert ended.err == f"End it with: remit resume {address}\n"
    assert (rows.suspended_by("issues__create"), addresses(here)) == (address, [address])
    assert here.run("resume", address).out == f"{address} resumed: this suspension denies nothing any more\n"
    assert (rows.suspended_by("issues__create"), addresses(here)) == (None, [])


def test_suspending_or_resuming_twice_says_so_and_changes_nothing(here: Workspace, rows: Rows):
    here.run("suspend", "assistant.ops", "--reason", "first")
    again = here.run("suspend", "assistant.ops", "--reason", "second", "--format", "json")
    assert (again.code, again.document["changed"], again.document["suspended"]) == (0, False, True)
    assert [each["reason"] for each in again.document["suspensions"]] == ["first"]
    assert "was suspended already" in here.run("suspend", "assistant.ops").out
    assert here.run("resume", "assistant.ops").code == 0
    ended = here.run("resume", "assistant.ops", "--format", "json")
    assert (ended.code, ended.document["changed"], ended.document["suspended"]) == (0, False, False)
    assert "was not suspended" in here.run("resume", "assistant.ops").out


def test_the_document_tells_what_is_in_force(here: Workspace, rows: Rows):
    document = here.run("suspend", "server.issues", "--format", "json", LOGNAME="eva").document
    (suspension,) = document.pop("suspensions")
    at, server_id = suspension.pop("at"), suspension.pop("server_id")
    assert (at[-1], server_id) == ("Z", rows.server_id)
    assert suspension == {
        "address": "server.issues",
        "assistant": None,
        "remote_name": None,
        "actor": "user:eva",
        "reason": None,
    }
    assert document == {
        "format_version": "1.0",
        "owner": OWNER,
        "address": "server.issues",
        "suspended": True,
        "changed": True,
    }


def test_an_address_of_nothing_suspends_nothing_and_suggests(here: Workspace, rows: Rows):
    for verb in ("suspend", "resume"):
        ended = here.run(verb, "server.isues")
        assert (ended.code, "did you mean server.issues?" in ended.err) == (64, True)
    assert here.run("suspend").code == 64
    assert here.run("suspend", "server.issues", "--list").code == 64
    assert addresses(here) == []


@pytest.mark.parametrize("broken", ["version: [", "", None], ids=["half-edited", "empty", "missing"])
def test_a_broken_file_does_not_stop_an_emergency(here: Workspace, rows: Rows, broken: str | None):
    if broken is None:
        (here.folder / "mcp.yaml").unlink()
    else:
        here.write(broken)
    ended = here.run("suspend", "server.issues")
    assert (ended.code, ended.out) == (0, "server.issues suspended: its calls are denied from now on\n")
    assert f"mcp.yaml is {'missing' if broken is None else 'not valid'} (" in ended.err
    assert rows.suspended_by("issues__create") == "server.issues"
    for words in (("suspend", "--list"), ("approvals", "list"), ("runs", "list"), ("resume", "server.issues")):
        assert here.run(*words).code == 0


def test_a_broken_file_and_two_owners_say_what_is_needed(here: Workspace, rows: Rows):
    second = CONFIG.replace(f"owner: {OWNER}", "owner: other").replace("workspace: demo", "workspace: second")
    here.write(second)
    assert here.apply().code == 0
    here.write("version: [")
    ended = here.run("suspend", "server.issues")
    assert (ended.code, "error owner-unknown: " in ended.err, "2 owners" in ended.err) == (1, True, True)
    here.write(second)
    assert here.run("suspend", "server.issues").code == 0
    assert rows.suspended_by("issues__create") is None


def test_apply_leaves_a_suspension_alone_and_a_rename_does_not_lift_it(here: Workspace, rows: Rows):
    here.run("suspend", "assistant.ops/issues__create")
    here.write(
        CONFIG.replace("include: [create, search]", "include: [create, search]\n        aliases: {create: make}")
    )
    assert here.apply().code == 0
    assert (rows.suspended_by("make"), addresses(here)) == (
        "assistant.ops/issues__create",
        ["assistant.ops/issues__create"],
    )
    assert here.run("resume", "assistant.ops/make").code == 0
    assert rows.suspended_by("make") is None


def test_a_status_shows_what_is_suspended(here: Workspace, rows: Rows):
    here.run("suspend", "server.issues", "--reason", "x\x1b[2J")
    assert "suspended: every call is denied\n  server.issues  x\\x1b[2J  by user:" in here.run("status").out
    document = here.run("status", "--format", "json").document
    assert [each["address"] for each in document["suspensions"]] == ["server.issues"]


def test_suspensions_stand_in_the_audit_trail(here: Workspace, rows: Rows):
    here.run("suspend", "server.issues")
    here.run("resume", "server.issues")
    events = here.run("audit", "tail", "--format", "json").document["events"]
    kinds = [each["kind"] for each in events if each["kind"] != "checkpoint"]
    assert kinds[-2:] == ["suspended", "resumed"]


def test_without_a_database_nothing_can_be_suspended(here: Workspace):
    here.write("version: [")
    ended = here.run("suspend", "server.issues")
    assert (ended.code, "error no-database: " in ended.err) == (1, True)
