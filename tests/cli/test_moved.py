"""Names change, rows stay: moved, removed and protect from mcp.yaml through plan and apply, and back out of the database."""

import json
import sqlite3
from typing import Any

import pytest

from tests.cli.workspace import Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
      envelope: {surface: locked, side_effecting: false}
assistants:
  - name: ops
    permissions: [read]
    tools:
      - server: issues
        include: [find, close]
"""


@pytest.fixture
def applied(here: Workspace) -> Workspace:
    """Two tools of one server, attached to one assistant."""
    here.serve("issues", tool("find", "Finds."), tool("close", "Closes."))
    here.write(CONFIG)
    assert here.apply().code == 0
    return here


def rows(here: Workspace, query: str) -> list[tuple[Any, ...]]:
    """What the database holds."""
    database = sqlite3.connect(here.folder / ".remit" / "remit.db")
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def attachments(here: Workspace) -> list[tuple[Any, ...]]:
    return rows(
        here,
        "SELECT assistants.name, registration_id, remote_name, canonical_id, provider_name FROM assistant_mcp_tools "
        "JOIN assistants ON assistants.id = assistant_id ORDER BY provider_name",
    )


def notes(here: Workspace, *arguments: str) -> list[tuple[str, str]]:
    return [(each["code"], each["address"]) for each in here.plan(*arguments).document["problems"]]


def is_settled(here: Workspace) -> bool:
    """Whether a plan has nothing to do any more."""
    planned = here.plan()
    return planned.code == 0 and not planned.document["operations"] and planned.document["moved_workspace"] is None


def test_a_moved_server_keeps_its_id_its_attachments_and_their_aliases(applied: Workspace):
    before = attachments(applied)
    applied.write(
        CONFIG.replace("name: issues", "name: tickets\n      namespace: tickets").replace(
            "server: issues", "server: tickets"
        )
        + "moved: [{from: server.issues, to: server.tickets}]\n"
    )
    assert applied.plan().done == {"rename_server": 1, "unchanged": 2}
    assert applied.apply().code == 0
    assert attachments(applied) == before
    assert notes(applied) == [
        ("alias-historic", "assistant.ops/issues__close"),
        ("alias-historic", "assistant.ops/issues__find"),
        ("moved-done", "server.tickets"),
    ]
    assert is_settled(applied)


def test_a_server_whose_program_and_name_both_changed_moves_from_its_command(applied: Workspace):
    command = rows(applied, "SELECT command FROM mcp_server_registrations")[0][0]
    words = " ".join(json.loads(command))
    before = attachments(applied)
    applied.serve("elsewhere", tool("find", "Finds."), tool("close", "Closes."))
    applied.write(
        CONFIG.replace("name: issues", "name: tickets\n      namespace: tickets")
        .replace("server: issues", "server: tickets")
        .replace("{server:issues}", "{server:elsewhere}")
        + f'moved: [{{from: "{words}", to: server.tickets}}]\n'
    )
    planned = applied.plan()
    assert planned.done == {"rename_server": 1, "unchanged": 2}
    assert [each["code"] for each in planned.document["operations"][0]["risks"]] == ["endpoint-change"]
    assert applied.apply().code == 0
    assert attachments(applied) == before
    assert is_settled(applied)


def test_a_moved_tool_goes_on_under_its_new_name_with_its_alias_and_needs_no_acceptance(applied: Workspace):
    (_, server, _, canonical, alias) = attachments(applied)[1]
    applied.serve("issues", tool("issues.find", "Finds."), tool("close", "Closes."))
    applied.write(
        CONFIG.replace("[find, close]", "[issues.find, close]")
        + "moved: [{from: tool.issues/find, to: tool.issues/issues.find}]\n"
    )
    planned = applied.plan()
    (refresh,) = planned.document["operations"]
    assert (planned.done, refresh["reason"], refresh["origin"]) == ({"refresh": 1, "unchanged": 1}, "moved", "file")
    assert refresh["changes"] == [
        {"path": ["remote_name"], "kind": "changed", "before": "find", "after": "issues.find", "class": None}
    ]
    assert "moves to issues.find" in applied.run("plan").out
    assert applied.apply().code == 0
    assert attachments(applied)[1] == ("ops", server, "issues.find", canonical, alias)
    assert is_settled(applied)


def test_a_moved_tool_that_reads_otherwise_is_held_and_stays_where_it_is(applied: Workspace):
    before = attachments(applied)
    applied.serve("issues", tool("issues.find", "Finds more."), tool("close", "Closes."))
    applied.write(
        CONFIG.replace("[find, close]", "[issues.find, close]")
        + "moved: [{from: tool.issues/find, to: tool.issues/issues.find}]\n"
    )
    (held,) = applied.plan().document["held"]
    assert (held["op"], held["held_because"]) == ("refresh", ["live_not_accepted"])
    assert applied.apply().code == 0
    assert attachments(applied) == before
    digest = held["after"]["definition_digest"]
    assert applied.apply("--accept", f"{held['address']}@{digest}").code == 0
    assert attachments(applied)[1][2] == "issues.find"


def test_a_tool_that_came_with_the_contract_of_one_that_vanished_is_suggested(applied: Workspace):
    applied.serve("issues", tool("issues.find", "Finds."), tool("close", "Closes."))
    planned = applied.plan().document
    (note,) = (each for each in planned["problems"] if each["code"] == "rename-suggested")
    assert [each["kind"] for each in planned["drift"]] == ["vanished"]
    assert "`moved: [{from: tool.issues/find, to: tool.issues/issues.find}]`" in note["hint"]


def test_a_moved_assistant_keeps_its_tools_its_revision_and_its_suspensions(applied: Workspace):
    before = attachments(applied)
    (revision,) = rows(applied, "SELECT revision FROM assistants")
    assert applied.run("suspend", "assistant.ops").code == 0
    assert applied.run("suspend", "assistant.ops/issues__find").code == 0
    applied.write(
        CONFIG.replace("name: ops", "name: operations") + "moved: [{from: assistant.ops, to: assistant.operations}]\n"
    )
    assert applied.plan().done == {"update_assistant": 1, "unchanged": 2}
    assert "becomes assistant.operations" in applied.run("plan").out
    assert applied.apply().code == 0
    assert attachments(applied) == [("operations", *each[1:]) for each in before]
    assert rows(applied, "SELECT revision FROM assistants") == [(revision[0] + 1,)]
    assert rows(applied, "SELECT address FROM suspensions ORDER BY address") == [
        ("assistant.operations",),
        ("assistant.operations/issues__find",),
    ]
    assert is_settled(applied)


def test_a_moved_workspace_keeps_its_rows_its_lineage_and_its_history(applied: Workspace):
    before = rows(applied, "SELECT lineage, serial FROM workspaces")
    applied.write(
        CONFIG.replace("workspace: demo", "workspace: acme") + "moved: [{from: workspace.demo, to: workspace.acme}]\n"
    )
    planned = applied.plan("--detailed-exitcode")
    assert (planned.code, planned.done) == (2, {"unchanged": 2})
    detail = "takes over workspace demo, with 1 registration, 1 assistant, 2 attachments"
    assert planned.document["moved_workspace"] == {
        "name": "demo",
        "servers": 1,
        "assistants": 1,
        "attachments": 2,
        "risks": [{"code": "workspace-moved", "detail": detail}],
        "source": {"file": "mcp.yaml", "line": 14, "column": 9},
    }
    text, markdown, github = (applied.run("plan", "--format", each).out for each in ("text", "markdown", "github"))
    assert "recorded as demo" in text
    assert f"look first\n  ! workspace-moved  mcp.yaml:14  workspace.acme  {detail}" in text
    assert "recorded as `demo`" in markdown
    assert f"- **workspace-moved** `workspace.acme`: `{detail}`" in markdown
    assert f"::warning file=mcp.yaml,line=14,col=9,title=moved workspace.acme::workspace-moved: {detail}" in github
    assert "workspace-moved" not in applied.run("drift").out
    assert applied.run("drift", "--format", "json").code == 0
    ended = applied.apply()
    assert (ended.code, ended.document["changed"], ended.document["serial"]) == (0, True, 2)
    assert rows(applied, "SELECT name, lineage, serial FROM workspaces") == [("acme", before[0][0], 2)]
    assert rows(applied, "SELECT DISTINCT workspace FROM applies") == [("acme",)]
    latest = applied.run("history", "--format", "json").document["applies"][0]
    assert latest["summary"]["moved_from"] == "demo"
    for shown in (("history",), ("history", "2"), ("status",)):
        told = applied.run(*shown).out
        assert ("  applied  moved from demo" in told, "no operations" in told) == (True, False), shown
    assert is_settled(applied)


def test_a_saved_plan_of_a_moved_workspace_is_applied_once(applied: Workspace):
    applied.write(
        CONFIG.replace("workspace: demo", "workspace: acme") + "moved: [{from: workspace.demo, to: workspace.acme}]\n"
    )
    assert applied.plan("--out", "plan.json").code == 0
    assert applied.run("apply", "plan.json").code == 0
    assert applied.run("apply", "plan.json").code == 0
    assert rows(applied, "SELECT name, serial FROM workspaces") == [("acme", 2)]


def test_a_saved_plan_takes_no_more_over_than_was_reviewed(applied: Workspace):
    moving = (
        CONFIG.replace("workspace: demo", "workspace: acme") + "moved: [{from: workspace.demo, to: workspace.acme}]\n"
    )
    applied.write(moving)
    assert applied.plan("--out", "plan.json").code == 0
    applied.write(CONFIG + "  - {name: other, tools: []}\n")
    assert applied.apply().code == 0
    applied.write(moving)
    stale = applied.run("apply", "plan.json")
    assert (stale.code, "nobody reviewed" in stale.err) == (5, True)
    assert rows(applied, "SELECT name FROM workspaces") == [("demo",)]


WITHOUT_SERVER = CONFIG.split("mcp:")[0] + "mcp: {servers: []}\nassistants: [{name: ops, permissions: [read]}]\n"


def test_removed_lets_go_exactly_what_it_names(applied: Workspace):
    applied.write(WITHOUT_SERVER)
    assert applied.apply().code == 3
    applied.write(WITHOUT_SERVER + "removed: [server.issues]\n")
    assert applied.plan().done == {"detach": 2, "unregister_server": 1}
    assert applied.apply().code == 0
    assert attachments(applied) == []
    assert notes(applied) == [("removed-done", "server.issues")]


def test_what_is_kept_stays_in_service_unowned_and_the_next_file_adopts_it(applied: Workspace):
    before = attachments(applied)
    applied.write(WITHOUT_SERVER + "removed: [{address: server.issues, keep: true}]\n")
    assert applied.plan().done == {"refresh": 2, "update_server": 1}
    assert applied.apply().code == 0
    assert attachments(applied) == before
    assert rows(applied, "SELECT DISTINCT workspace FROM assistant_mcp_tools") == [("~local",)]
    assert is_settled(applied)
    applied.write(CONFIG)
    assert applied.plan().done == {"refresh": 2, "update_server": 1}
    assert applied.apply().code == 0
    assert rows(applied, "SELECT DISTINCT workspace FROM assistant_mcp_tools") == [("demo",)]
    assert rows(applied, "SELECT DISTINCT workspace FROM mcp_server_registrations") == [("demo",)]
    assert attachments(applied) == before
    assert is_settled(applied)


def test_a_protected_server_goes_only_after_an_apply_that_lifted_it(applied: Workspace):
    applied.write(CONFIG.replace("      command:", "      protect: true\n      command:"))
    assert applied.plan().done == {"update_server": 1, "unchanged": 2}
    assert applied.apply().code == 0
    applied.write(WITHOUT_SERVER + "removed: [server.issues]\n")
    refused = applied.apply("--allow-detach", "2")
    assert (refused.code, [each["code"] for each in refused.document["refused"]]) == (3, ["protected"])
    applied.write(CONFIG)
    assert applied.apply().code == 0
    applied.write(WITHOUT_SERVER + "removed: [server.issues]\n")
    assert applied.apply().code == 0


def test_a_protected_assistant_is_neither_emptied_nor_deleted(applied: Workspace):
    applied.write(CONFIG.replace("    permissions:", "    protect: true\n    permissions:"))
    assert applied.apply().code == 0
    applied.write(CONFIG.replace("    permissions:", "    protect: true\n    permissions:").split("    tools:")[0])
    assert [each["code"] for each in applied.apply("--allow-detach", "2").document["refused"]] == ["protected"]
    applied.write(CONFIG.split("assistants:")[0] + "removed: [assistant.ops]\n")
    assert [each["code"] for each in applied.apply("--allow-detach", "2").document["refused"]] == ["protected"]
    assert len(attachments(applied)) == 2


ANOTHER = CONFIG.replace("assistants:", "    - name: tracker\n      command: {server:tracker}\nassistants:").replace(
    "include: [find, close]\n", "include: [close]\n      - server: tracker\n        include: [find]\n"
)


def test_a_tool_of_another_server_is_another_tool_and_the_diagnostic_says_how_it_keeps_its_name(applied: Workspace):
    applied.serve("tracker", tool("find", "Finds."))
    applied.write(ANOTHER + "moved: [{from: tool.issues/find, to: tool.tracker/find}]\n")
    refused = applied.run("validate", "--format", "json")
    (problem,) = refused.document["diagnostics"]
    assert (refused.code, problem["code"]) == (1, "moved-server")
    assert "policy and credentials" in problem["message"]
    assert "`include` of tracker" in problem["hint"]
    assert "aliases: {find: " in problem["hint"]


def test_a_tool_that_is_taken_from_another_server_keeps_its_name_by_an_alias_in_one_apply(applied: Workspace):
    applied.serve("tracker", tool("find", "Finds."))
    applied.write(ANOTHER + "        aliases: {find: issues__find}\n")
    assert applied.plan().done == {"attach": 1, "detach": 1, "register_server": 1, "unchanged": 1}
    assert applied.apply().code == 0
    assert [name for *_, name in attachments(applied)] == ["issues__close", "issues__find"]
    assert is_settled(applied)
