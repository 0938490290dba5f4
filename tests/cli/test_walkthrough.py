"""What a new user does, in order, with the whole `remit` command and stdio servers that really run."""

import json
import sqlite3

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
    tools:
      - server: issues
        include: [search.issues, get_issue, list_users]
"""
ATTACHED = {"attach": 3, "register_server": 1, "create_assistant": 1}


@pytest.fixture
def applied(here: Workspace) -> Workspace:
    here.serve("issues", tool("search.issues"), tool("get_issue"), tool("list_users"))
    here.write(CONFIG)
    assert here.apply().code == 0
    return here


def test_init_gives_a_valid_file_a_schema_and_a_database_and_overwrites_nothing(here: Workspace):
    first, again, valid = here.run("init"), here.run("init"), here.run("validate")
    assert (first.code, again.code, valid.code) == (0, 64, 0)
    assert "file-exists" in again.err
    assert (here.folder / ".remit" / "remit.db").stat().st_mode & 0o777 == 0o600
    assert json.loads((here.folder / "schemas" / "mcp.schema.json").read_text("utf-8"))["type"] == "object"


def test_five_different_mistakes_are_reported_at_once_with_their_places(here: Workspace):
    (here.folder / "mcp.yaml").write_text(
        """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      comand: [true]
      command: ["true"]
      envelope: {surface: lockd}
      timeout_seconds: -1
      env: {API_KEY: "dummy-literal-value-1234"}
assistants:
  - name: ops
    tools:
      - server: isues
        include: ["*"]
""",
        "utf-8",
    )
    ended = here.run("validate", "--format", "json")
    found = [(each["code"], each["source"]["line"], each["source"]["column"]) for each in ended.document["diagnostics"]]
    assert ended.code == 1
    assert found == [
        ("unknown-key", 6, 7),
        ("wrong-value", 8, 27),
        ("out-of-range", 9, 24),
        ("inline-secret", 10, 22),
        ("unknown-server", 14, 17),
    ]
    assert "dummy-literal-value-1234" not in ended.out + here.run("validate").out


def test_plan_then_apply_then_an_empty_plan(here: Workspace):
    here.serve("issues", tool("search.issues"), tool("get_issue"), tool("list_users"))
    here.write(CONFIG)
    first, apply, second = here.plan(), here.apply(), here.plan("--detailed-exitcode")
    assert (first.code, apply.code, second.code) == (0, 0, 0)
    assert first.done == ATTACHED
    assert [each["op"] for each in apply.document["done"]] == [each["op"] for each in first.document["operations"]]
    assert second.done == {"unchanged": 3}
    assert here.apply().document["serial"] is None


def test_a_plan_creates_no_database_and_an_apply_needs_leave_to(here: Workspace):
    here.serve("issues", tool("search.issues"), tool("get_issue"), tool("list_users"))
    here.write(CONFIG)
    plan, apply = here.plan(), here.run("apply", "--auto-approve")
    assert plan.document["database"] == {"exists": False, "dialect": "sqlite", "lineage": None, "serial": 0}
    assert (apply.code, "no-database" in apply.err) == (1, True)
    assert not (here.folder / ".remit").exists()


def test_a_policy_change_is_shown_by_direction_and_applied(applied: Workspace):
    applied.write(CONFIG.replace("side_effecting: false", "side_effecting: false, required_permission: read"))
    tightened = applied.plan()
    assert [each["direction"] for each in tightened.document["operations"]] == ["tightened"] * 3
    assert applied.apply().code == 0
    applied.write(CONFIG.replace("locked", "open"))
    loosened = applied.plan()
    assert [each["direction"] for each in loosened.document["operations"]] == ["loosened"] * 3
    assert (applied.apply().code, applied.plan().done) == (0, {"unchanged": 3})


def test_a_tool_removed_from_the_file_is_detached_with_its_function(applied: Workspace):
    applied.write(CONFIG.replace("get_issue, ", ""))
    plan = applied.plan()
    assert plan.done == {"detach": 1, "unchanged": 2}
    assert applied.apply().code == 0
    with sqlite3.connect(applied.folder / ".remit" / "remit.db") as database:
        names = [row[0] for row in database.execute("select name from assistant_functions order by name")]
        kept = [row[0] for row in database.execute("select provider_name from assistant_mcp_tools order by 1")]
    assert names == kept == ["issues__list_users", "issues__search_issues"]


@pytest.mark.parametrize(
    "outage",
    [
        {"die_on": {"initialize": 3}},
        {"die_on": {"tools/list": 3}},
        {"error_on": {"tools/list": [-32603, "broken"]}},
        {"page_size": 1, "error_on_page": 2},
        {"cursor": "same", "page_size": 1},
        {"tools": []},
    ],
    ids=["dies at start", "dies in listing", "refuses", "fails on page 2", "loops", "lists nothing"],
)
def test_an_outage_keeps_everything_and_says_so(applied: Workspace, outage: dict[str, object]):
    tools = [] if "tools" in outage else [tool("search.issues"), tool("get_issue"), tool("list_users")]
    applied.serve("issues", *tools, **{key: value for key, value in outage.items() if key != "tools"})
    plan, apply = applied.plan(), applied.apply()
    assert (plan.code, apply.code) == (4, 4)
    assert plan.done == {"deferred": 3}
    assert [each["attached"] for each in plan.document["deferred"]] == [True] * 3
    applied.serve("issues", tool("search.issues"), tool("get_issue"), tool("list_users"))
    assert applied.plan("--detailed-exitcode").done == {"unchanged": 3}


def test_what_a_server_changes_is_held_by_path_until_its_digest_is_accepted(applied: Workspace):
    changed = tool("get_issue", "Reads one issue.")
    changed["inputSchema"] = {
        "type": "object",
        "properties": {"q": {"type": "string", "maxLength": 5}, "full": {"type": "boolean"}},
    }
    applied.serve("issues", tool("search.issues"), changed, tool("list_users"))
    plan = applied.plan("--detailed-exitcode")
    (held,) = plan.document["held"]
    assert (plan.code, plan.done) == (2, {"held": 1, "unchanged": 2})
    assert (held["op"], held["provider_name"], held["held_because"]) == (
        "refresh",
        "issues__get_issue",
        ["live_not_accepted"],
    )
    assert {(".".join(map(str, each["path"])), each["class"]) for each in held["changes"]} == {
        ("description", "text"),
        ("inputSchema.properties.full", "compatible"),
        ("inputSchema.properties.q.maxLength", "breaking"),
        ("inputSchema.required", "compatible"),
    }
    assert applied.apply().document["done"] == []
    wrong = applied.apply("--accept", f"{held['address']}@{'0' * 12}")
    assert (wrong.code, wrong.document["done"]) == (0, [])
    right = applied.apply("--accept", f"{held['address']}@{held['after']['definition_digest'][3:15]}")
    assert right.document["done"] == [{"op": "refresh", "address": "assistant.ops/issues__get_issue"}]
    assert applied.plan().done == {"unchanged": 3}


def test_a_new_tool_under_a_glob_is_held_and_one_by_name_is_not(applied: Workspace):
    applied.write(CONFIG.replace("get_issue, ", '"get_*", new_by_name, '))
    applied.serve(
        "issues", tool("search.issues"), tool("get_issue"), tool("list_users"), tool("get_all"), tool("new_by_name")
    )
    plan = applied.plan()
    assert [each["address"] for each in plan.document["operations"]] == ["assistant.ops/issues__new_by_name"]
    assert [each["address"] for each in plan.document["held"]] == ["assistant.ops/issues__get_all"]
    assert (plan.code, applied.apply().code) == (0, 0)
    accepted = applied.apply(
        "--accept", f"tool.issues/get_all@{plan.document['held'][0]['after']['definition_digest']}"
    )
    assert [each["op"] for each in accepted.document["done"]] == ["attach"]


def test_changed_arguments_update_the_server_and_keep_every_alias(applied: Workspace):
    before = aliases(applied)
    (applied.folder / "issues2.json").write_bytes((applied.folder / "issues.json").read_bytes())
    applied.write(CONFIG.replace("{server:issues}", "{server:issues2}"))
    plan = applied.plan()
    assert plan.done == {"update_server": 1, "unchanged": 3}
    assert [each["code"] for each in plan.document["operations"][0]["risks"]] == ["endpoint-change"]
    assert (applied.apply().code, aliases(applied), applied.plan().done) == (0, before, {"unchanged": 3})


def test_a_changed_endpoint_that_serves_something_else_is_held_as_a_whole(applied: Workspace):
    applied.serve("other", tool("search.issues", "Something else."), tool("get_issue"), tool("list_users"))
    applied.write(CONFIG.replace("{server:issues}", "{server:other}"))
    plan = applied.plan()
    assert (plan.code, plan.done) == (3, {"held": 2, "unchanged": 2})
    assert [(each["op"], each["held_because"]) for each in plan.document["held"]] == [
        ("update_server", ["endpoint_group"]),
        ("refresh", ["live_not_accepted", "endpoint_group"]),
    ]
    assert (applied.apply().code, applied.apply().document["done"]) == (3, [])


def test_discover_shows_every_name_of_a_tool_and_what_cannot_be_used(applied: Workspace):
    applied.serve("issues", tool("search.issues"), {"name": "bad", "inputSchema": {"type": "string"}})
    ended = applied.run("discover", "issues", "--format", "json")
    (server,) = ended.document["servers"]
    (found,) = server["tools"]
    assert ended.code == 0
    assert (found["remote_name"], found["provider_name"]) == ("search.issues", "issues__search_issues")
    assert found["server_id"].startswith("mcp_")
    assert found["canonical_id"].startswith("tool_")
    assert [(each["remote_name"], each["reason"]) for each in server["quarantined"]] == [("bad", "root_not_object")]


def test_status_asks_no_server(applied: Workspace):
    applied.serve("issues", die_on={"initialize": 1})
    ended = applied.run("status", "--format", "json")
    assert ended.code == 0
    assert [each["name"] for each in ended.document["servers"]] == ["issues"]
    assert [each["outcome"] for each in ended.document["applies"]] == ["applied"]


def aliases(workspace: Workspace) -> list[str]:
    with sqlite3.connect(workspace.folder / ".remit" / "remit.db") as database:
        return [row[0] for row in database.execute("select provider_name from assistant_mcp_tools order by 1")]


def test_a_server_that_does_not_answer_gets_no_loosening_and_any_tightening(applied: Workspace):
    applied.serve("issues", die_on={"tools/list": 1})
    applied.write(CONFIG.replace("locked", "open"))
    loosened = applied.plan()
    assert (loosened.code, loosened.done) == (3, {"held": 3, "deferred": 3})
    assert {tuple(each["held_because"]) for each in loosened.document["held"]} == {("loosened_while_unchecked",)}
    applied.write(CONFIG.replace("locked", "human_controlled"))
    tightened = applied.plan()
    assert (tightened.code, tightened.done) == (4, {"set_envelope": 3, "deferred": 3})


def test_a_server_that_takes_another_s_name_waits_until_it_was_listed(applied: Workspace):
    before = aliases(applied)
    applied.serve("other", die_on={"tools/list": 1})
    applied.write(CONFIG.replace("{server:issues}", "{server:other}"))
    written = (applied.folder / "mcp.yaml").read_text("utf-8")
    (applied.folder / "mcp.yaml").write_text(written.replace("command: [", 'command: ["/usr/bin/env", '), "utf-8")
    down, kept = applied.plan(), applied.apply()
    assert (down.code, down.done) == (3, {"held": 5, "deferred": 3})
    assert {(each["op"], *each["held_because"]) for each in down.document["held"]} == {
        (op, "endpoint_unlisted") for op in ("register_server", "detach", "unregister_server")
    }
    assert (kept.code, kept.document["done"], aliases(applied)) == (3, [], before)
    applied.serve("other", tool("search.issues", "Another one."), tool("get_issue"), tool("list_users"))
    up = applied.apply("--allow-detach", "3")
    assert [each["op"] for each in up.document["done"]] == [
        "register_server", *["detach"] * 3, *["attach"] * 3, "unregister_server"
    ]  # fmt: skip
    assert (up.code, aliases(applied), applied.plan().done) == (0, before, {"unchanged": 3})
