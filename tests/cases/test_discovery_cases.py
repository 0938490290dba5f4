"""Field cases about files, secrets and discovery: C-01 to C-11."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.configs import config, stdio
from tests.cli.workspace import Workspace, tool
from tests.servers.http_server import HttpServer, Raw


def discovery(here: Workspace, **environ: str) -> dict[str, dict[str, Any]]:
    return {line["server"]: line for line in here.plan(**environ).document["discovery"]}


def test_case_c01_a_reference_reaches_the_server_as_its_value_in_every_kind_of_field(here: Workspace):
    seen = here.folder / "seen"
    script = f"import os,sys,pathlib; pathlib.Path({str(seen)!r}).write_text(sys.argv[1] + ' ' + os.environ['KEY'])"
    with HttpServer(bearer="abc-dummy") as server:
        here.write(
            config(
                {
                    "name": "web",
                    "url": f"{server.url}?q=${{env:T}}",
                    "headers": {"Authorization": "Bearer ${env:T}", "X-Tok": "${env:T}"},
                },
                {
                    "name": "child",
                    "command": ["{python}", "-c", script, "--key=${env:T}"],
                    "env": {"KEY": "${env:T}"},
                },
            )
        )
        lines = discovery(here, T="abc-dummy")
        assert lines["web"]["status"] == "listed"
        assert {each.headers["x-tok"] for each in server.seen} == {"abc-dummy"}
        assert {each.path for each in server.seen} == {"/mcp?q=abc-dummy"}
    assert seen.read_text("utf-8") == "--key=abc-dummy abc-dummy"


def test_case_c01_an_unset_variable_sends_nothing_and_touches_no_other_server(here: Workspace):
    here.serve("well", tool("a"))
    with HttpServer() as server:
        web = {"name": "web", "url": server.url, "headers": {"X-Tok": "${env:T}"}}
        here.write(config(web, stdio("well"), ops={"well": ["a"]}))
        ended = here.plan()
        assert server.seen == []
    lines = {line["server"]: line for line in ended.document["discovery"]}
    assert (lines["web"]["reason"], lines["well"]["status"]) == ("secret_unresolved", "listed")
    assert all(word in lines["web"]["detail"] for word in ("X-Tok", "T"))
    assert "${T}" not in ended.out


@pytest.mark.parametrize("text", ["Bearer ${T}", "Bearer $T", "Bearer {T}x$"])
def test_case_c01_another_spelling_of_a_reference_is_an_error_that_names_the_right_one(here: Workspace, text: str):
    here.write(config({"name": "web", "url": "http://127.0.0.1:9/mcp", "headers": {"X-Tok": text}}))
    ended = here.run("validate", "--format", "json")
    assert (ended.code, [each["code"] for each in ended.document["diagnostics"]]) == (1, ["invalid-reference"])
    assert "${env:" in ended.document["diagnostics"][0]["message"]


def test_case_c02_half_of_an_entry_is_never_taken(here: Workspace):
    nested = {
        "name": "df",
        "transport": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"x-tok": "${env:X}"}},
    }
    here.write(config(nested))
    assert here.run("validate").code == 1


def test_case_c03_a_free_name_asks_for_a_namespace_and_its_aliases_fit_every_provider(here: Workspace):
    here.serve("one", tool("get.x/y"[:5]))
    here.write(config({**stdio("one"), "name": "My server"}))
    asked = here.run("validate", "--format", "json").document["diagnostics"]
    assert [(each["code"], "my_server" in each["hint"]) for each in asked] == [("namespace-needed", True)]
    here.write(config({**stdio("one"), "name": "My server", "namespace": "my_server"}, ops={"My server": ["get.x"]}))
    assert [each.get("provider_name") for each in here.plan().document["operations"]][-1] == "my_server__get_x"


@pytest.mark.parametrize("name", ["com.vendor/thing", "ünï", ""])
def test_case_c03_a_name_that_cannot_be_an_address_is_refused(here: Workspace, name: str):
    here.serve("one")
    here.write(config({**stdio("one"), "name": name, "namespace": "x"}))
    assert here.run("validate").code == 1


def test_case_c04_a_misspelt_and_a_repeated_key_are_errors_with_their_lines(here: Workspace):
    (here.folder / "mcp.yaml").write_text(
        "version: 1\nworkspace: cases\nmcp:\n  servers:\n    - name: a\n      command: [a]\n      envelop: {}\n"
        "    - name: a\n      command: [b]\n      envelope:\n        side_effecting: true\n        side_effecting: false\n",
        "utf-8",
    )
    found = here.run("validate", "--format", "json").document["diagnostics"]
    assert [(each["code"], each["source"]["line"]) for each in found] == [
        ("unknown-key", 7),
        ("duplicate-name", 8),
        ("duplicate-key", 12),
    ]
    assert "envelope" in found[0]["hint"]


def test_case_c05_no_command_shows_a_value_and_references_show_as_references(here: Workspace):
    here.serve("well", tool("a"))
    here.write(config(stdio("well", env={"KEY": "${env:T}"}), ops={"well": ["a"]}))
    here.apply(T="abc-dummy-value")
    commands = [("plan",), ("plan", "--format", "json"), ("status",), ("status", "--format", "json"), ("discover",)]
    shown = [here.run(*each, T="abc-dummy-value") for each in commands]
    assert all("abc-dummy-value" not in each.out + each.err for each in shown)
    here.write(config(stdio("well", env={"KEY": "${env:T}"}, timeout_seconds=5), ops={"well": ["a"]}))
    update = here.plan(T="abc-dummy-value").document["operations"][0]
    assert update["after"]["env"] == {"KEY": "${env:T}"}


def test_case_c06_a_secret_that_does_not_resolve_starts_nothing_and_keeps_what_is_attached(here: Workspace):
    here.serve("child", tool("a"), pids=str(here.folder / "pids"))
    here.write(config(stdio("child", env={"API_KEY": "${file:key}"}), ops={"child": ["a"]}))
    (here.folder / "key").write_text("dummy-secret-value\n", "utf-8")
    assert here.apply().code == 0
    started = (here.folder / "pids").read_text("utf-8")
    (here.folder / "key").unlink()
    ended = here.plan()
    assert (ended.code, ended.done, (here.folder / "pids").read_text("utf-8")) == (4, {"deferred": 1}, started)
    assert ended.document["discovery"][0]["reason"] == "secret_unresolved"


def test_case_c07_every_page_is_read_and_the_last_tool_can_be_selected(here: Workspace):
    tools = [tool(f"t{number}") for number in range(1, 102)]
    here.serve("many", *tools, page_size=50)
    here.write(config(stdio("many"), ops={"many": ["t101"]}))
    plan = here.plan()
    assert (plan.document["discovery"][0]["tools"], plan.done["attach"]) == (101, 1)
    here.serve("many", *tools, page_size=50, error_on_page=2)
    assert (here.plan().code, here.plan().document["discovery"][0]["status"]) == (4, "unreachable")


def test_case_c08_a_failed_listing_is_unknown_and_removes_nothing(here: Workspace):
    with HttpServer(tools=[tool("a"), tool("b"), tool("c")]) as server:
        here.write(config({"name": "web", "url": server.url, "timeout_seconds": 1}, ops={"web": ["a", "b", "c"]}))
        assert here.apply().code == 0
        faults = (
            Raw(claimed=10_000, body=b'{"json'),
            Raw(body=b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'),
            Raw(status=503, body=b"busy"),
        )
        for fault in faults:
            server.answer_on = {"tools/list": fault}
            ended = here.apply()
            assert (ended.code, ended.document["done"]) == (4, [])
            assert "3 tools" in here.run("plan").out
        server.answer_on = {}
        assert here.plan().done == {"unchanged": 3}


def test_case_c09_a_changed_list_gives_a_candidate_a_vanished_tool_and_a_held_refresh(here: Workspace):
    here.serve("s", tool("a"), tool("c"))
    here.write(config(stdio("s"), ops={"s": ["a", "c"]}))
    here.apply()
    here.serve("s", tool("b"), tool("c", "In place."))
    plan = here.plan()
    assert plan.done == {"held": 1, "drift": 1}
    assert [each["kind"] for each in plan.document["drift"]] == ["vanished"]


def test_case_c10_lines_that_are_no_messages_are_skipped_counted_and_shown(here: Workspace):
    say = {"initialize": "Server version 1.2\n\n", "tools/list": "-- warning\n"}
    here.serve("loud", tool("a"), say=say)
    here.serve("glued", tool("a"), say={"tools/list": "listing now "})
    here.write(config(stdio("loud"), stdio("glued"), ops={"loud": ["a"]}))
    lines = discovery(here)
    assert lines["loud"]["status"] == "listed"
    assert any("Server version 1.2" in note for note in lines["loud"]["notes"])
    assert (lines["glued"]["status"], "listing now" in json.dumps(lines["glued"])) == ("unreachable", True)


def test_case_c11_a_healthy_server_is_applied_beside_one_that_is_missing_and_one_that_hangs(here: Workspace):
    here.serve("well", tool("a"))
    here.serve("hangs", silent_on=["initialize", "server/discover"])
    here.write(
        config(
            stdio("well"),
            {"name": "missing", "command": ["/nowhere/no-such-binary"]},
            stdio("hangs", start_timeout_seconds=1, protocol="legacy"),
            ops={"well": ["a"], "missing": ["b"], "hangs": ["c"]},
        )
    )
    ended = here.apply()
    assert (ended.code, [each["address"] for each in ended.document["done"] if each["op"] == "attach"]) == (
        4,
        ["assistant.ops/well__a"],
    )
    reasons = {name: line.get("reason") for name, line in discovery(here).items()}
    assert reasons == {"well": None, "missing": "start_failed", "hangs": "timeout"}
    assert not list(Path("/proc").glob("*/cwd/no-such-file"))
