"""What a tool is held to comes from mcp.yaml through plan and apply into the database, and back out of it."""

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
    tools:
      - server: issues
        include: [a, b]
"""
BUILT_IN = "envelope: {surface: locked, side_effecting: false}"
LOOSER = "envelope: {surface: locked, side_effecting: false, unknown_arguments: pass, record: digest, audit_arguments: values}"
STRICT = {"unknown_arguments": "reject", "record": "full", "audit_arguments": "digest"}
FREE = {"unknown_arguments": "pass", "record": "digest", "audit_arguments": "values"}


@pytest.fixture
def applied(here: Workspace) -> Workspace:
    """Two tools attached under the built-in policy for arguments and records."""
    here.serve("issues", tool("a"), tool("b"))
    here.write(CONFIG)
    assert here.apply().code == 0
    return here


def policies(here: Workspace) -> dict[str, dict[str, Any]]:
    """The three fields of each attached tool, as `remit status` tells them."""
    (assistant,) = here.run("status", "--format", "json").document["assistants"]
    return {each["remote_name"]: {key: each["envelope"][key] for key in STRICT} for each in assistant["tools"]}


def test_what_no_file_speaks_about_gets_the_strictest(applied: Workspace):
    assert policies(applied) == {"a": STRICT, "b": STRICT}


def test_a_default_a_server_and_a_tool_each_give_what_the_others_leave_open(applied: Workspace):
    applied.write(
        CONFIG.replace("mcp:\n", "mcp:\n  default_envelope: {unknown_arguments: pass, record: digest}\n")
        .replace("side_effecting: false", "side_effecting: false, audit_arguments: values")
        .replace("assistants:", "      tools: {b: {unknown_arguments: reject}}\nassistants:")
    )
    assert applied.apply().code == 0
    assert policies(applied) == {"a": FREE, "b": {**FREE, "unknown_arguments": "reject"}}


def test_looser_fields_are_a_loosening_that_the_plan_names_and_apply_puts_into_force(applied: Workspace):
    applied.write(CONFIG.replace(BUILT_IN, LOOSER))
    planned = applied.plan()
    first = planned.document["operations"][0]
    assert (planned.code, planned.done) == (0, {"set_envelope": 2})
    assert (first["direction"], [each["path"] for each in first["changes"]], first["risks"]) == (
        "loosened",
        [["unknown_arguments"], ["record"], ["audit_arguments"]],
        [
            {
                "code": "loosened",
                "detail": "unknown arguments reject -> pass, record full -> digest, audit arguments digest -> values",
            }
        ],
    )
    shown = applied.run("plan").out
    assert "unknown_arguments reject -> pass, record full -> digest, audit_arguments digest -> values" in shown

    assert (applied.apply().code, policies(applied)) == (0, {"a": FREE, "b": FREE})
    assert "locked, no side effects, unknown arguments pass, messages recorded by digest, argument values audited" in (
        applied.run("status").out
    )
    assert applied.plan().done == {"unchanged": 2}


def test_back_to_the_strictest_is_a_tightening(applied: Workspace):
    applied.write(CONFIG.replace(BUILT_IN, LOOSER))
    applied.apply()
    applied.write(CONFIG)
    assert [each["direction"] for each in applied.plan().document["operations"]] == ["tightened", "tightened"]
    assert (applied.apply().code, policies(applied)) == (0, {"a": STRICT, "b": STRICT})


def test_a_policy_edited_in_the_database_is_put_back(applied: Workspace):
    with sqlite3.connect(applied.folder / ".remit" / "remit.db") as raw:
        raw.execute("UPDATE assistant_mcp_tools SET audit_arguments = 'values' WHERE remote_name = 'a'")
    raw.close()
    assert policies(applied) == {"a": {**STRICT, "audit_arguments": "values"}, "b": STRICT}
    assert [each["direction"] for each in applied.plan().document["operations"]] == ["tightened"]
    assert (applied.apply().code, policies(applied)) == (0, {"a": STRICT, "b": STRICT})


def test_a_saved_plan_does_what_it_showed_of_arguments_and_records(applied: Workspace):
    applied.write(CONFIG.replace(BUILT_IN, LOOSER))
    assert applied.run("plan", "--out", "p.json").code == 0
    ended = applied.run("apply", "p.json", "--format", "json")
    assert (ended.code, len(ended.document["done"]), policies(applied)) == (0, 2, {"a": FREE, "b": FREE})


@pytest.mark.parametrize("value", ["none", None])
def test_a_saved_plan_with_a_policy_that_is_none_is_refused(applied: Workspace, value: str | None):
    applied.write(CONFIG.replace(BUILT_IN, LOOSER))
    applied.run("plan", "--out", "p.json")
    saved = applied.folder / "p.json"
    document = json.loads(saved.read_text("utf-8"))
    for operation in document["operations"]:
        operation["after"]["record"] = value
        if value is None:
            del operation["after"]["record"]
    saved.write_text(json.dumps(document), "utf-8")
    ended = applied.run("apply", "p.json")
    assert (ended.code, policies(applied)) == (1, {"a": STRICT, "b": STRICT})


def test_a_new_limit_of_a_call_updates_the_server_and_nothing_else(applied: Workspace):
    applied.write(CONFIG.replace(BUILT_IN, BUILT_IN + "\n      call_timeout_seconds: 45"))
    (operation,) = applied.plan().document["operations"]
    assert (operation["op"], operation["changes"]) == (
        "update_server",
        [{"path": ["call_timeout_seconds"], "kind": "changed", "before": 300, "after": 45, "class": None}],
    )
    assert applied.apply().code == 0
    assert applied.plan().done == {"unchanged": 2}


def test_how_long_events_are_kept_changes_no_row(applied: Workspace):
    applied.write("trace_days: 0\n" + CONFIG)
    assert (applied.run("validate").code, applied.plan().done) == (0, {"unchanged": 2})
