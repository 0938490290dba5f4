"""A server that advertises nonsense among servers that do not, over the command line: it costs itself, and nobody else."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cases.configs import config, stdio
from tests.cli.workspace import Workspace, tool
from tests.servers.http_server import HttpServer

OBJECT: dict[str, Any] = {"type": "object"}


def taking(schema: Any) -> dict[str, Any]:
    return {**OBJECT, "properties": {"a": schema}}


def malformed(elsewhere: str) -> list[tuple[Any, str, str]]:
    """What is advertised instead of a tool, the name it goes by, and the reason that it must get."""
    schemas: list[tuple[str, Any, str]] = [
        ("null_schema", None, "root_not_object"),
        ("true_schema", True, "root_not_object"),
        ("text_schema", "object", "root_not_object"),
        ("array_root", {"type": "array"}, "root_not_object"),
        ("no_type", {}, "root_not_object"),
        ("properties_as_list", {**OBJECT, "properties": []}, "invalid_schema"),
        ("required_as_text", {**OBJECT, "required": "a"}, "invalid_schema"),
        ("no_such_type", taking({"type": "str"}), "invalid_schema"),
        ("bad_pattern", taking({"pattern": "["}), "invalid_schema"),
        ("dangling_ref", taking({"$ref": "#/$defs/none"}), "invalid_schema"),
        ("remote_ref", taking({"$ref": elsewhere}), "remote_ref"),
        ("file_ref", taking({"$ref": "file:///etc/passwd"}), "remote_ref"),
        ("self_ref", {"$ref": "#"}, "empty_ref"),
        ("too_large", taking({"description": "x" * 300_000}), "schema_too_large"),
    ]
    odd: list[tuple[Any, str, str]] = [
        ({"name": "no_schema"}, "no_schema", "root_not_object"),
        ({**tool("title_7"), "title": 7}, "title_7", "malformed"),
        ({**tool("task"), "execution": {"taskSupport": "required"}}, "task", "task_required"),
        (tool("with space"), "with space", "invalid_name"),
        (tool("a/b"), "a/b", "invalid_name"),
        (tool(""), "", "invalid_name"),
        (tool("twice"), "twice", "duplicate_name"),
        (tool("twice", "The other one."), "twice", "duplicate_name"),
        ({"inputSchema": OBJECT}, "", "malformed"),
        ({**tool("x"), "name": 7}, "", "malformed"),
        (None, "", "malformed"),
        ([], "", "malformed"),
        ("echo", "", "malformed"),
    ]
    return [({"name": name, "inputSchema": schema}, name, reason) for name, schema, reason in schemas] + odd


@pytest.fixture
def elsewhere() -> Iterator[HttpServer]:
    with HttpServer() as server:
        yield server


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_server_of_malformed_tools_costs_its_neighbours_nothing(here: Workspace, elsewhere: HttpServer, era: str):
    bad = malformed(elsewhere.url)
    named = [(name, reason) for _, name, reason in bad]
    here.serve("before", tool("a"), tool("b"), page_size=1)
    here.serve("broken", *[each for each, _, _ in bad[:9]], tool("fine"), *[each for each, _, _ in bad[9:]], era=era)
    here.serve("after", tool("c"), era="modern")
    with HttpServer(tools=[tool("d"), tool("e")]) as web:
        neighbours = (stdio("before"), stdio("after"), {"name": "web", "url": web.url})
        wanted = {"before": ["*"], "after": ["c"], "web": ["d", "e"]}
        here.write(config(*neighbours, ops=wanted))
        alone = here.plan().document
        here.write(config(*neighbours, stdio("broken"), ops={**wanted, "broken": ["*", "fine"]}))

        plan = here.plan()
        lines = {line["server"]: line for line in plan.document["discovery"]}
        assert (plan.code, plan.document["complete"], plan.document["problems"]) == (0, True, [])
        found = [(each["remote_name"], each["reason"]) for each in lines["broken"]["quarantined"]]
        assert sorted(found) == sorted(named)
        assert all(each["detail"] for each in lines["broken"]["quarantined"])
        assert (lines["broken"]["status"], lines["broken"]["tools"]) == ("listed", 1)
        assert [what_of(plan.document, name) for name in wanted] == [what_of(alone, name) for name in wanted]
        assert [each["remote_name"] for each in what_of(plan.document, "broken")] == ["fine"]

        accept = [f"--accept={each['address']}@{each['after']['definition_digest']}" for each in plan.document["held"]]
        applied = here.apply(*accept)
        assert (applied.code, applied.document["complete"], applied.document["held"]) == (0, True, 0)
        attached = {each["address"] for each in applied.document["done"] if each["op"] == "attach"}
        names = ("before__a", "before__b", "after__c", "web__d", "web__e", "broken__fine")
        assert attached == {f"assistant.ops/{name}" for name in names}

        second = here.plan("--detailed-exitcode")
        assert (second.code, second.done) == (0, {"unchanged": 6})
    assert elsewhere.seen == []


def what_of(document: dict[str, Any], server: str) -> list[dict[str, Any]]:
    """What a plan does and holds about one server's tools, wherever they stand in the file."""
    return [
        {key: value for key, value in each.items() if key != "source"}
        for each in (*document["operations"], *document["held"])
        if each.get("server") == server
    ]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_every_malformed_tool_is_named_with_its_reason_to_a_reader(here: Workspace, form: str):
    bad = [each for each in malformed("http://127.0.0.1:9/x.json") if each[2] != "malformed"]
    here.serve("well", tool("a"))
    here.write(config(stdio("well"), stdio("broken"), ops={"well": ["a"]}))
    for half in (bad[:12], bad[12:]):
        here.serve("broken", *[each for each, _, _ in half])
        shown = here.run("plan", "--format", form).out
        unsaid = [(name, reason) for _, name, reason in half if not says(shown, name or "(no name)", reason)]
        assert (unsaid, "well__a" in shown) == ([], True)


def says(shown: str, name: str, reason: str) -> bool:
    return any(f"quarantined  {name} " in line and f" {reason}: " in line for line in shown.splitlines())


def test_a_name_that_a_file_selects_and_a_server_malforms_is_a_problem_at_its_line(here: Workspace):
    here.serve("well", tool("a"))
    here.serve("broken", tool("fine"), {"name": "bad", "inputSchema": []})
    here.write(config(stdio("well"), stdio("broken"), ops={"well": ["a"], "broken": ["bad", "fine"]}))
    plan = here.plan()
    assert [(each["code"], each["address"]) for each in plan.document["problems"]] == [
        ("tool-quarantined", "tool.broken/bad")
    ]
    assert (plan.code, here.apply().code) == (4, 4)
    assert here.plan().done == {"problems": 1, "unchanged": 2}
