"""`remit state`, `remit graph` and `remit blame`: what is recorded, who gets what, and whose doing it was."""

import contextlib
import sqlite3
import subprocess

from tests.cli.workspace import Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
      tools:
        search: {surface: locked, side_effecting: false}
    - name: spare
      command: {server:spare}
assistants:
  - name: ops
    permissions: [read]
    tools:
      - server: issues
        include: [create, search]
  - name: support
    tools:
      - server: issues
        include: [search]
"""


def applied(here: Workspace) -> None:
    here.serve("issues", tool("create"), tool("search"))
    here.serve("spare", tool("idle"))
    here.write(CONFIG)
    ended = here.apply()
    assert ended.code == 0, ended.err


def test_the_recorded_entries_are_listed_by_address(here: Workspace):
    applied(here)
    listed = here.run("state", "list", "--format", "json").document
    assert listed == {
        "format_version": "1.0",
        "workspace": "demo",
        "entries": [
            {"address": "server.issues", "kind": "server"},
            {"address": "server.spare", "kind": "server"},
            {"address": "assistant.ops", "kind": "assistant"},
            {"address": "assistant.ops/issues__create", "kind": "attachment"},
            {"address": "assistant.ops/issues__search", "kind": "attachment"},
            {"address": "assistant.support", "kind": "assistant"},
            {"address": "assistant.support/issues__search", "kind": "attachment"},
        ],
    }
    lines = here.run("state", "list").out.splitlines()
    assert lines[0] == "Recorded of workspace demo"
    assert [line.split()[0] for line in lines[1:]] == [each["address"] for each in listed["entries"]]
    assert "tool.issues/search" in lines[5]


def test_one_entry_of_each_kind_is_shown_whole(here: Workspace):
    applied(here)
    shown = {
        address: here.run("state", "show", address, "--format", "json").document["entry"]
        for address in ("server.issues", "assistant.ops", "assistant.ops/issues__search", "tool.issues/search")
    }
    users = ["assistant.ops/issues__search", "assistant.support/issues__search"]
    assert shown["server.issues"]["attachments"] == ["assistant.ops/issues__create", *users]
    assert shown["server.issues"]["state"]["transport"] == "stdio"
    assert (shown["assistant.ops"]["permissions"], shown["assistant.ops"]["protect"]) == (["read"], False)
    attachment = shown["assistant.ops/issues__search"]
    assert (attachment["kind"], attachment["coherent"], attachment["envelope"]["surface"]) == (
        "attachment",
        True,
        "locked",
    )
    assert attachment["definition"]["description"] == "Does one thing."
    assert attachment["source"]["file"] == "mcp.yaml"
    assert shown["tool.issues/search"]["attachments"] == users
    text = here.run("state", "show", "assistant.ops/issues__search").out
    assert text.startswith("assistant.ops/issues__search\n  kind               attachment\n")


def test_an_address_of_nothing_is_refused_with_the_near_one(here: Workspace):
    applied(here)
    for wrong, meant in (
        ("server.isues", "server.issues"),
        ("assistant.ops/issues__serach", "assistant.ops/issues__search"),
        ("issues", "server.issues"),
    ):
        ended = here.run("state", "show", wrong)
        assert (ended.code, f"did you mean {meant}?" in ended.err) == (64, True), ended.err


def test_nothing_of_it_makes_a_database(here: Workspace):
    here.serve("issues", tool("create"))
    here.serve("spare")
    here.write(CONFIG)
    for words in (("state", "list"), ("state", "show", "server.issues"), ("graph",), ("blame", "issues__create")):
        ended = here.run(*words)
        assert (ended.code, "no-database" in ended.err) == (1, True)
    assert not (here.folder / ".remit").exists()


def test_the_graph_leads_from_assistants_over_aliases_to_servers(here: Workspace):
    applied(here)
    document = here.run("graph", "--format", "json").document
    assert [
        (each["assistant"], each["provider_name"], each["server"], each["surface"]) for each in document["edges"]
    ] == [
        ("ops", "issues__create", "issues", "human_controlled"),
        ("ops", "issues__search", "issues", "locked"),
        ("support", "issues__search", "issues", "locked"),
    ]
    assert here.run("graph").out == (
        "assistant ops  2 tools\n"
        "  issues__create  human_controlled  <- issues/create\n"
        "  issues__search  locked            <- issues/search\n"
        "\n"
        "assistant support  1 tool\n"
        "  issues__search  locked  <- issues/search\n"
        "\n"
        "used by nobody: spare\n"
    )


def test_the_flowchart_holds_every_tool(here: Workspace):
    applied(here)
    assert here.run("graph", "--format", "mermaid").out == (
        "flowchart LR\n"
        '  a0(["assistant ops"])\n'
        '  a1(["assistant support"])\n'
        '  s0[("server issues")]\n'
        '  s1[("server spare")]\n'
        '  a0 --> t0["issues__create"]\n'
        '  t0 -->|"human_controlled"| s0\n'
        '  a0 --> t1["issues__search"]\n'
        '  t1 -->|"locked"| s0\n'
        '  a1 --> t2["issues__search"]\n'
        '  t2 -->|"locked"| s0\n'
    )


def test_blame_names_the_apply_that_attached_and_the_one_that_refreshed(here: Workspace):
    applied(here)
    here.serve("issues", tool("create"), tool("search", "Searches otherwise."))
    held = here.plan().document["held"]
    digest = held[0]["after"]["definition_digest"]
    accepted = here.apply("--accept", f"assistant.ops/issues__search@{digest}")
    assert accepted.code == 0, accepted.err
    [blamed] = here.run("blame", "ops/issues__search", "--format", "json").document["attachments"]
    assert (blamed["attached"]["serial"], blamed["attached"]["approval"]) == (1, "file")
    assert (blamed["refreshed"]["serial"], blamed["refreshed"]["approval"]) == (2, "accepted")
    assert (blamed["attached"]["source"]["file"], blamed["attached"]["source"]["line"]) == ("mcp.yaml", 16)
    assert blamed["changed"] == []
    everyone = here.run("blame", "issues__search", "--format", "json").document["attachments"]
    assert [each["address"] for each in everyone] == [
        "assistant.ops/issues__search",
        "assistant.support/issues__search",
    ]


def test_blame_names_the_commit_of_a_repository_and_policy_changes(here: Workspace):
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *words], cwd=here.folder, check=True, timeout=20)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=here.folder, check=True, capture_output=True, text=True, timeout=20
    )
    applied(here)
    here.write(CONFIG.replace("side_effecting: false", "side_effecting: true, reversible: true"))
    assert here.apply().code == 0
    out = here.run("blame", "assistant.support/issues__search").out.splitlines()
    assert out[0].startswith("assistant.support/issues__search  tool.issues/search  selected at mcp.yaml:")
    assert out[1].split()[:2] == ["set", "envelope"]
    assert "approved by the review of the file" in out[2]
    assert f"commit {head.stdout[:12]}" in out[2]


def test_blame_passes_over_a_plan_that_was_edited_since_and_says_so(here: Workspace):
    applied(here)
    with contextlib.closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as connection, connection:
        connection.execute("UPDATE applies SET plan = '{}'")
    ended = here.run("blame", "ops/issues__search")
    assert (ended.code, ended.out.splitlines()[1]) == (0, "  no apply in the history attached it")
    assert "note: apply 1: " in ended.err


def test_a_definition_that_was_edited_is_not_shown_as_approved(here: Workspace):
    applied(here)
    with contextlib.closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as connection, connection:
        connection.execute("UPDATE assistant_mcp_tools SET definition = replace(definition, 'one', 'two')")
    entry = here.run("state", "show", "assistant.ops/issues__create", "--format", "json").document["entry"]
    assert (entry["coherent"], entry["definition"]) == (False, None)


def test_a_disabled_server_is_said_to_be(here: Workspace):
    applied(here)
    here.write(CONFIG.replace("- name: issues\n", "- name: issues\n      enabled: false\n"))
    assert here.apply().code == 0
    assert here.run("state", "list").out.splitlines()[1].endswith("disabled")
    assert "locked, disabled" in here.run("graph").out


def test_an_unknown_alias_is_refused_with_the_near_one(here: Workspace):
    applied(here)
    ended = here.run("blame", "issues__serch")
    assert (ended.code, "did you mean issues__search?" in ended.err) == (64, True)
    ended = here.run("blame", "opps/issues__search")
    assert (ended.code, "did you mean ops/issues__search?" in ended.err) == (64, True)
