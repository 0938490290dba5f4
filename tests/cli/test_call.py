"""`remit call`: one governed call from a shell, with a real server."""

import json
from typing import Any, cast

import pytest

from tests.cli.governed import CONFIG
from tests.cli.test_terminal import converse
from tests.cli.workspace import Ended, Workspace, tool


@pytest.fixture
def attached(here: Workspace) -> Workspace:
    here.serve("issues", tool("create"), tool("search"))
    here.write(CONFIG)
    assert here.apply().code == 0
    return here


def called(here: Workspace, *words: str, **environ: str) -> Ended:
    return here.run("call", "ops", *words, **environ)


def messages(here: Workspace, ended: Ended) -> list[dict[str, Any]]:
    """What went over the wire in the trace that a call named."""
    trace = next(line.split()[1] for line in ended.err.splitlines() if line.startswith("trace "))
    events = here.run("trace", "show", trace, "--format", "json").document["events"]
    return [cast("dict[str, Any]", each["body"]) for each in events]


def methods(here: Workspace, ended: Ended) -> list[str]:
    return [body["method"] for body in messages(here, ended) if "method" in body]


def test_a_call_that_nobody_needs_to_approve_works_and_can_be_followed(attached: Workspace):
    ended = called(attached, "issues__search", "--args", '{"q": "x"}')
    assert (ended.code, ended.out.splitlines()[0]) == (0, "ok  assistant.ops/issues__search")
    assert '"arguments": {"q": "x"}' in ended.out
    assert "tools/call" in methods(attached, ended)
    run = next(line.split()[1] for line in ended.err.splitlines() if line.startswith("run "))
    shown = attached.run("runs", "show", run, "--format", "json").document["run"]
    assert (shown["state"], [each["state"] for each in shown["actions"]]) == ("completed", ["completed"])


def test_the_document_is_alone_on_stdout_and_holds_the_result(attached: Workspace):
    ended = called(attached, "issues__search", "--args", '{"q": "x"}', "--format", "json")
    document = ended.document
    assert set(document) == {"format_version", "assistant", "tool", "run_id", "trace_id", "code", "result"}
    assert (document["format_version"], document["assistant"], document["tool"]) == ("1.0", "ops", "issues__search")
    assert (document["code"], document["result"]["is_error"]) == (None, False)
    assert f"trace {document['trace_id']} " in ended.err


def test_a_human_approves_in_another_shell_and_the_call_works_once(attached: Workspace):
    words = ("issues__create", "--args", '{"q": "x"}')
    first = called(attached, *words)
    assert (first.code, "approval_required" in first.out) == (3, True)
    approve = next(line for line in first.err.splitlines() if line.startswith("Approve it:"))
    shown = attached.run("approvals", "show", approve.split()[-1]).out
    with_hash = next(line for line in shown.splitlines() if line.startswith("Approve:")).split()[2:]
    assert with_hash[:3] == approve.split()[3:]
    assert attached.run(*with_hash).code == 0
    assert called(attached, *words).code == 0
    third = called(attached, *words)
    assert (third.code, "tools/call" in methods(attached, third)) == (3, False)


def test_other_arguments_are_another_request(attached: Workspace):
    first = called(attached, "issues__create", "--args", '{"q": "x"}')
    approval = next(line for line in first.err.splitlines() if line.startswith("Approve it:")).split()[-1]
    shown = attached.run("approvals", "show", approval, "--format", "json").document["approval"]
    assert attached.run("approvals", "approve", approval, "--hash", shown["binding_hash"]).code == 0
    assert called(attached, "issues__create", "--args", '{"q": "y"}').code == 3
    assert called(attached, "issues__create", "--args", '{ "q" : "x" }').code == 0


@pytest.mark.parametrize("arguments", ['{"z": 1}', '{"q": 7}', "[]", "no json", '{"q": "a", "q": "b"}'])
def test_wrong_arguments_are_refused_and_never_reach_the_server(attached: Workspace, arguments: str):
    ended = called(attached, "issues__search", "--args", arguments)
    assert (ended.code, ended.out.splitlines()[0]) == (1, "failed  assistant.ops/issues__search  invalid_arguments")
    trace = next(line.split()[1] for line in ended.err.splitlines() if line.startswith("trace "))
    shown = attached.run("trace", "show", trace)
    assert (shown.code, "tools/call" in shown.out) == (0, False)


def test_arguments_come_from_a_file_or_from_nowhere(attached: Workspace):
    (attached.folder / "args.json").write_text('{"q": "from a file"}', "utf-8")
    assert "from a file" in called(attached, "issues__search", "--args", "@args.json").out
    missing = called(attached, "issues__search", "--args", "@none.json")
    assert (missing.code, "none.json: the file cannot be read" in missing.err) == (64, True)
    (attached.folder / "latin.json").write_bytes(b'{"q": "\xe9"}')
    assert "it is not UTF-8" in called(attached, "issues__search", "--args", "@latin.json").err
    assert called(attached, "issues__search", "--args", "-").code == 1


def test_a_name_of_nobody_is_refused_with_the_one_that_was_meant(attached: Workspace):
    tool_missed, assistant_missed = called(attached, "issues__serch"), attached.run("call", "opps", "issues__search")
    assert (tool_missed.code, "did you mean 'issues__search'?" in tool_missed.err) == (64, True)
    assert (assistant_missed.code, "did you mean 'ops'?" in assistant_missed.err) == (64, True)
    assert attached.run("runs", "list", "--format", "json").document["runs"] == []


def test_a_suspended_tool_is_refused_whatever_state_the_file_is_in(attached: Workspace):
    attached.write("version: [")
    assert attached.run("suspend", "server.issues").code == 0
    ended = called(attached, "issues__search", "--args", '{"q": "x"}')
    assert (ended.code, ended.out.splitlines()[0]) == (3, "failed  assistant.ops/issues__search  suspended")
    assert attached.run("resume", "server.issues").code == 0
    assert called(attached, "issues__search", "--args", '{"q": "x"}').code == 0


def test_a_key_gives_the_stored_outcome_and_conflicts_with_other_arguments(attached: Workspace):
    words = ("issues__search", "--key", "k-1", "--format", "json", "--args")
    first, again = called(attached, *words, '{"q": "x"}'), called(attached, *words, '{"q": "x"}')
    assert (
        json.loads(again.document["result"]["content"])["pid"] == json.loads(first.document["result"]["content"])["pid"]
    )
    conflict = called(attached, *words, '{"q": "y"}')
    assert (conflict.code, conflict.document["code"]) == (1, "idempotency_conflict")


def test_a_server_that_dies_is_told_at_once_and_is_not_a_plain_failure(attached: Workspace):
    attached.serve("issues", tool("create"), tool("search"), die_on={"tools/call": 1})
    ended = called(attached, "issues__search", "--args", '{"q": "x"}')
    assert (ended.code, ended.out.splitlines()[0]) == (4, "failed  assistant.ops/issues__search  server_gone")


def test_a_server_that_cannot_be_started_is_not_reached(attached: Workspace):
    attached.serve("issues", tool("create"), tool("search"), die_on={"initialize": 1, "server/discover": 1})
    assert called(attached, "issues__search", "--args", '{"q": "x"}').code == 4


def test_a_timeout_of_the_command_line_ends_the_call(attached: Workspace):
    attached.serve("issues", tool("create"), tool("search"), call_seconds=20)
    ended = called(attached, "issues__search", "--args", '{"q": "x"}', "--timeout", "1.5")
    assert (ended.code, "timeout_" in ended.out.splitlines()[0]) == (4, True)
    assert [called(attached, "issues__search", "--timeout", bad).code for bad in ("0", "-1", "nan", "x")] == [64] * 4


def test_a_hostile_answer_forges_nothing_on_the_terminal(attached: Workspace):
    ended = called(attached, "issues__search", "--args", json.dumps({"q": "\u202e\x1b[2J"}))
    assert ended.code == 0
    assert all(each.isprintable() or each == "\n" for each in ended.out)


def test_progress_is_shown_where_a_person_looks(attached: Workspace):
    attached.serve("issues", tool("create"), tool("search"), progress=4, progress_every=0.3)
    code, screen = converse(attached, ["call", "ops", "issues__search", "--args", '{"q": "x"}'], [])
    assert code == 0
    assert "calling issues__search: 1 of 4: working" in screen


def test_without_a_database_nothing_can_be_called(here: Workspace):
    ended = called(here, "issues__search")
    assert (ended.code, "error no-database: " in ended.err) == (1, True)
