"""Field cases about names, schemas, planning and CI: C-12 to C-17, C-23 to C-26, C-29."""

import json
import re

import pytest

from tests.cases.configs import config, stdio
from tests.cli.workspace import Ended, Workspace, tool
from tests.servers.http_server import HttpServer

LONG = "synchronize-all-customer-data-across-multiple-systems-and-regions"


def attached(ended: Ended) -> dict[str, str]:
    """Alias to `server/remote name` of the attaches of a plan."""
    return {
        each["provider_name"]: f"{each['server']}/{each['remote_name']}"
        for each in ended.document["operations"]
        if each["op"] == "attach"
    }


def operations(ended: Ended) -> list[tuple[str, str]]:
    return [(each["op"], each["address"]) for each in ended.document["operations"]]


def test_case_c12_a_name_that_is_too_long_is_cut_readably_and_always_the_same(here: Workspace):
    here.serve("edm", tool(LONG), tool("a"))
    here.write(config(stdio("edm", namespace="enterprise_database"), ops={"edm": [LONG]}))
    first = attached(here.plan())
    here.serve("edm", tool("b"), tool("a"), tool(LONG), tool(LONG + "-2"))
    second = attached(here.plan())
    (alias,) = first
    assert (first, first[alias]) == (second, f"edm/{LONG}")
    assert re.fullmatch(r"enterprise_database__synchronize-all-customer[a-z-]*_[a-z2-7]{8}", alias)
    assert len(alias) <= 64


def test_case_c13_one_name_on_two_servers_gives_two_aliases_that_last(here: Workspace):
    here.serve("a", tool("execute_sql"))
    here.serve("b", tool("execute_sql"))
    both = config(stdio("a"), stdio("b"), ops={"a": ["execute_sql"], "b": ["execute_sql"]})
    here.write(both)
    assert attached(here.plan()) == {"a__execute_sql": "a/execute_sql", "b__execute_sql": "b/execute_sql"}
    here.apply()
    here.write(config(stdio("b"), ops={"b": ["execute_sql"]}))
    assert operations(here.plan()) == [("detach", "assistant.ops/a__execute_sql"), ("unregister_server", "server.a")]


def test_case_c13_two_tools_of_one_server_under_one_name_are_both_out(here: Workspace):
    here.serve("a", tool("execute_sql"), tool("execute_sql", "Another."), tool("fine"))
    here.write(config(stdio("a"), ops={"a": ["execute_sql", "fine"]}))
    plan = here.plan()
    assert (plan.code, [each["code"] for each in plan.document["problems"]]) == (4, ["tool-quarantined"])
    assert list(attached(plan)) == ["a__fine"]


def test_case_c14_adding_or_deleting_a_server_shows_its_own_lines_and_nothing_else(here: Workspace):
    for name in ("a", "b", "c"):
        here.serve(name, *(tool(f"t{number}") for number in range(4)))
    two = {"a": ["t0", "t1"], "b": ["t0", "t1", "t2"]}
    here.write(config(stdio("a"), stdio("b"), ops=two))
    here.apply()
    here.write(config(stdio("a"), stdio("b"), stdio("c"), ops={**two, "c": ["t0"]}))
    assert operations(here.plan()) == [("register_server", "server.c"), ("attach", "assistant.ops/c__t0")]
    here.apply()
    here.write(config(stdio("b"), stdio("c"), ops={"b": two["b"], "c": ["t0"]}))
    assert operations(here.plan()) == [
        ("detach", "assistant.ops/a__t0"),
        ("detach", "assistant.ops/a__t1"),
        ("unregister_server", "server.a"),
    ]
    here.apply()
    assert here.plan().done == {"unchanged": 4}


def test_case_c15_one_endpoint_may_be_registered_twice_on_purpose_and_never_by_accident(here: Workspace):
    with HttpServer(tools=[tool("a")]) as server:
        prod = {"name": "prod", "url": server.url}
        staging = {"name": "staging", "url": server.url}
        here.write(config(prod, staging))
        refused = here.run("validate", "--format", "json").document["diagnostics"]
        assert [each["code"] for each in refused] == ["duplicate-endpoint"]
        here.write(config(prod, {**staging, "instance": "staging"}, ops={"prod": ["a"], "staging": ["a"]}))
        assert list(attached(here.plan())) == ["prod__a", "staging__a"]


def test_case_c15_one_machine_under_two_names_is_accepted_with_a_warning(here: Workspace):
    here.write(config({"name": "a", "url": "http://localhost:9/mcp"}, {"name": "b", "url": "http://127.0.0.1:9/mcp"}))
    ended = here.run("validate", "--format", "json")
    assert (ended.code, [each["code"] for each in ended.document["diagnostics"]]) == (0, ["same-machine"])


def test_case_c15_a_name_given_twice_is_a_clear_error(here: Workspace):
    here.write(config({"name": "aaa", "url": "http://127.0.0.1:9/a"}, {"name": "aaa", "url": "http://127.0.0.1:9/b"}))
    ended = here.run("validate", "--format", "json")
    assert [each["code"] for each in ended.document["diagnostics"]] == ["duplicate-name"]


BAD_SCHEMAS = [
    {"type": "string"},
    {"type": "object", "properties": {"c": {"type": "strng"}}},
    None,
    {"type": "object", "properties": ["a"]},
]


@pytest.mark.parametrize("schema", BAD_SCHEMAS, ids=json.dumps)
def test_case_c16_an_attached_tool_that_turns_bad_is_out_of_service_and_keeps_its_alias(
    here: Workspace, schema: object
):
    here.serve("s", tool("ok"), tool("bad"))
    here.write(config(stdio("s"), ops={"s": ["ok", "bad"]}))
    here.apply()
    here.serve("s", tool("ok"), {"name": "bad", "inputSchema": schema}, tool("other"))
    other = config(stdio("s"), ops={"s": ["ok", "bad", "other"]}).replace(
        "- other\n", "- other\n    aliases: {other: s__bad}\n"
    )
    here.write(other)
    plan = here.plan()
    assert [(each["kind"], each["remote_name"]) for each in plan.document["drift"]] == [("quarantined", "bad")]
    assert [each["code"] for each in plan.document["problems"]] == ["alias-clash"]
    assert plan.document["discovery"][0]["tools"] == 2


def test_case_c17_definitions_come_along_unchanged_and_a_remote_one_is_never_fetched(here: Workspace):
    schema = {
        "type": "object",
        "properties": {"q": {"$ref": "#/$defs/Q"}},
        "required": ["q"],
        "$defs": {"Q": {"type": "object", "properties": {"n": {"type": "integer"}, "more": {"$ref": "#/$defs/Q"}}}},
        "additionalProperties": False,
    }
    with HttpServer() as elsewhere:
        remote = {"type": "object", "properties": {"q": {"$ref": elsewhere.url}}}
        here.serve("s", {"name": "local", "inputSchema": schema}, {"name": "remote", "inputSchema": remote})
        here.write(config(stdio("s"), ops={"s": ["local", "remote"]}))
        plan = here.plan()
        assert elsewhere.seen == []
    (attach,) = (each for each in plan.document["operations"] if each["op"] == "attach")
    assert attach["after"]["definition"]["inputSchema"] == schema
    assert [each["reason"] for each in plan.document["discovery"][0]["quarantined"]] == ["remote_ref"]


def test_case_c23_too_many_detaches_are_refused_with_numbers_and_the_way_through(here: Workspace):
    names = [f"t{number}" for number in range(10)]
    more = [f"u{number}" for number in range(50)]
    here.serve("s", *map(tool, names))
    here.serve("new", *map(tool, more))
    here.write(config(stdio("s"), ops={"s": names}))
    here.apply()
    here.write(config(stdio("s"), ops={"s": names[4:]}))
    refused = here.run("plan")
    assert (refused.code, "4 of 10" in refused.out, "--allow-detach 4" in refused.out) == (3, True, True)
    here.write(config(stdio("s"), stdio("new"), ops={"s": names, "new": more}))
    assert (here.plan().code, here.plan().done["attach"]) == (0, 50)


def test_case_c23_the_only_tool_of_an_assistant_is_not_a_small_number(here: Workspace):
    here.serve("s", tool("a"))
    here.write(config(stdio("s"), ops={"s": ["a"]}))
    here.apply()
    here.write(config(stdio("s")))
    plan = here.plan()
    assert (plan.code, [each["code"] for each in plan.document["problems"]]) == (3, ["assistant-emptied"])


def test_case_c24_a_reviewed_plan_holds_against_what_concerns_it_and_nothing_else(here: Workspace):
    here.serve("s", tool("a"))
    here.serve("other", tool("b"))
    here.write(config(stdio("s"), stdio("other"), ops={"s": ["a"]}))
    here.run("plan", "--out", "p.json")
    here.serve("s", tool("a", "Something nobody reviewed."))
    refused = here.run("apply", "p.json", "--create-db")
    assert (refused.code, "attach assistant.ops/s__a" in refused.err) == (5, True)
    here.serve("s", tool("a"))
    here.serve("other", tool("b", "Changed."), tool("c"))
    assert here.run("apply", "p.json", "--create-db").code == 0


def test_case_c25_what_can_be_done_is_done_and_the_next_apply_does_the_rest(here: Workspace):
    for name in ("one", "two", "three"):
        here.serve(name, tool("a"), tool("b"))
    here.write(
        config(stdio("one"), stdio("two"), stdio("three"), ops={"one": ["a", "b"], "two": ["a"], "three": ["a", "b"]})
    )
    here.serve("two", die_on={"tools/list": 1})
    first = here.apply()
    here.serve("two", tool("a"), tool("b"))
    second = here.apply()
    assert (first.code, second.code) == (4, 0)
    assert sum(each["op"] == "attach" for each in first.document["done"]) == 4
    assert second.document["done"] == [{"op": "attach", "address": "assistant.ops/two__a"}]


def test_case_c25_an_alias_passes_from_one_tool_to_another_in_one_apply(here: Workspace):
    here.serve("s", tool("old"), tool("new"), tool("stays"))
    one = config(stdio("s"), ops={"s": ["old", "stays"]})
    here.write(one.replace("- stays\n", "- stays\n    aliases: {old: do_it}\n"))
    here.apply()
    two = config(stdio("s"), ops={"s": ["new", "stays"]})
    here.write(two.replace("- stays\n", "- stays\n    aliases: {new: do_it}\n"))
    ended = here.apply()
    assert [each["op"] for each in ended.document["done"]] == ["detach", "attach"]
    assert here.plan().done == {"unchanged": 2}


def test_case_c26_all_except_one_is_written_out_by_name_and_a_later_tool_is_not_attached_unseen(here: Workspace):
    here.serve("time", tool("get_time"), tool("convert_time"))
    text = config(stdio("time"), ops={"time": ["*"]}).replace("'*'\n", "'*'\n    exclude: [convert_time]\n")
    here.write(text)
    (held,) = here.plan().document["held"]
    assert held["address"] == "assistant.ops/time__get_time"
    here.apply("--accept", f"{held['address']}@{held['after']['definition_digest']}")
    here.serve("time", tool("get_time"), tool("convert_time"), tool("set_time"))
    assert here.apply().document["done"] == []
    assert [each["address"] for each in here.plan().document["held"]] == ["assistant.ops/time__set_time"]


def test_case_c28_what_a_server_claims_is_shown_as_its_claim_and_changes_no_policy(here: Workspace):
    here.serve("s", tool("wipe", annotations={"readOnlyHint": True, "destructiveHint": False}))
    here.write(config(stdio("s"), ops={"s": ["wipe"]}))
    (attach,) = (each for each in here.plan().document["operations"] if each["op"] == "attach")
    assert attach["after"]["envelope"] == {
        "surface": "human_controlled",
        "side_effecting": True,
        "reversible": False,
        "required_permission": None,
        "unknown_arguments": "reject",
        "record": "full",
        "audit_arguments": "digest",
    }
    assert "(the server claims read-only, not destructive)" in here.run("plan").out


def test_case_c29_each_ending_has_its_code_and_json_stands_alone(here: Workspace):
    here.serve("s", tool("a"))
    here.write(config(stdio("s"), ops={"s": ["a"]}))
    changes = here.plan("--detailed-exitcode")
    here.apply()
    healthy = here.plan("--detailed-exitcode")
    here.serve("s", die_on={"tools/list": 1})
    down = here.plan("--detailed-exitcode")
    here.write(config(stdio("s", env={"KEY": "${env:NOWHERE}"}), ops={"s": ["a"]}))
    secret = here.plan("--detailed-exitcode")
    (here.folder / "mcp.yaml").write_text("version: 1\nfoo: 1\n", "utf-8")
    invalid = here.plan("--detailed-exitcode")
    assert [each.code for each in (changes, healthy, down, secret, invalid)] == [2, 0, 4, 4, 1]
    assert [each.document["complete"] for each in (changes, healthy, down, secret)] == [True, True, False, False]
    assert (invalid.out, "unknown-key" in invalid.err) == ("", True)
