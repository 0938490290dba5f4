"""`remit doctor`: each thing that can be wrong is found, with what to do, and nothing is written."""

import contextlib
import sqlite3
from typing import Any

import pytest

from tests.cli.governed import Rows
from tests.cli.workspace import Ended, Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [create]
"""


def healthy(here: Workspace, config: str = CONFIG) -> None:
    here.serve("issues", tool("create"))
    here.write(config)
    ended = here.apply()
    assert ended.code == 0, ended.err


def found(ended: Ended) -> dict[str, dict[str, Any]]:
    """Findings by code."""
    return {each["code"]: each for check in ended.document["checks"] for each in check["findings"]}


def examined(here: Workspace, *flags: str, **environ: str) -> Ended:
    return here.run("doctor", "--format", "json", *flags, **environ)


def edit(here: Workspace, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as connection, connection:
        connection.execute(statement)


def test_a_healthy_workspace_has_nothing_wrong(here: Workspace):
    healthy(here)
    ended = examined(here)
    assert ended.code == 0
    assert {check["name"]: check["outcome"] for check in ended.document["checks"]} == dict.fromkeys(
        ("versions", "config", "database", "lock", "secrets", "servers", "tools", "calls"), "ok"
    )
    assert set(ended.document["versions"]) == {"remit", "python", "mcp", "sqlite"}
    [server] = ended.document["servers"]
    assert (server["status"], server["era"], server["tools"]) == ("listed", "legacy", 1)
    assert 0 < server["seconds"] < 30
    text = here.run("doctor").out
    assert text.endswith("\nnothing is wrong\n")
    assert "ok       servers   1 of 1 server listed\n  issues  1 tool  legacy era, protocol 2025-11-25" in text


def test_a_broken_file_is_found_and_the_database_is_still_looked_at(here: Workspace):
    healthy(here)
    here.write("version: 1\nworkspce: demo\n")
    ended = examined(here)
    checks = {check["name"]: check for check in ended.document["checks"]}
    assert (ended.code, ended.document["workspace"]) == (1, None)
    assert checks["config"]["findings"][0]["code"] == "unknown-key"
    assert checks["database"]["outcome"] == "ok"


def test_no_database_is_a_warning_and_none_is_made(here: Workspace):
    here.serve("issues", tool("create"))
    here.write(CONFIG)
    ended = examined(here)
    assert (ended.code, found(ended)["no-database"]["severity"]) == (0, "warning")
    assert ended.document["waiting_approvals"] is None
    assert not (here.folder / ".remit").exists()


def test_a_file_that_is_no_database_is_broken(here: Workspace):
    healthy(here)
    (here.folder / ".remit" / "remit.db").write_text("x" * 200, "utf-8")
    ended = examined(here)
    assert (ended.code, list(found(ended))) == (1, ["database-not-sqlite"])


def test_a_dangling_row_is_found_by_the_database_itself(here: Workspace):
    healthy(here)
    edit(
        here,
        "INSERT INTO actions (action_id, run_id, tool_call_id, kind, provider_name, principal, trace_id, state, "
        "started_at) VALUES ('a', 'none', 't', 'mcp', 'x', 'p', 't', 'completed', '2026-01-01T00:00:00.000000Z')",
    )
    ended = examined(here)
    assert ended.code == 1
    assert "refers to a row of runs that is not there" in found(ended)["database-damaged"]["message"]


def test_an_audit_trail_that_nothing_guards_any_more_is_named(here: Workspace):
    healthy(here)
    edit(here, "DROP TRIGGER audit_events_no_delete")
    ended = examined(here)
    assert ended.code == 1
    assert found(ended)["database-damaged"]["message"].startswith("the trigger audit_events_no_delete is gone")
    edit(here, "CREATE TRIGGER audit_events_no_delete BEFORE DELETE ON audit_events BEGIN SELECT 1; END")
    assert "audit_events_no_delete does something else" in found(examined(here))["database-damaged"]["message"]


def test_input_84_an_edited_function_is_named_with_what_apply_would_repair(here: Workspace):
    healthy(here)
    edit(here, "UPDATE assistant_functions SET document = replace(document, 'Does one thing.', 'Does another.')")
    ended = examined(here, "--offline")
    drift = found(ended)["database_drift"]
    assert (ended.code, drift["address"]) == (1, "assistant.ops/issues__create")
    assert drift["hint"].startswith("`remit apply` writes again what was approved")
    assert here.apply().code == 0
    assert examined(here, "--offline").code == 0


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM assistant_functions", "its function is gone, which is not what the last apply wrote"),
        ("UPDATE assistant_mcp_tools SET definition = replace(definition, 'one', 'two')", "its approved definition is"),
        ("UPDATE assistant_mcp_tools SET provider_name = 'issues__other'", "its alias is not what"),
    ],
)
def test_input_84_every_way_in_which_rows_part_is_told(here: Workspace, statement: str, told: str):
    healthy(here)
    edit(here, statement)
    ended = examined(here, "--offline")
    assert (ended.code, told in found(ended)["database_drift"]["message"]) == (1, True)


def test_a_workspace_of_the_default_name_has_no_business_in_a_shared_database(here: Workspace):
    here.serve("issues", tool("create"))
    here.write(CONFIG.replace("workspace: demo\n", ""))
    ended = examined(here, "--offline", REMIT_DATABASE_URL="sqlite:///shared.db")
    assert (ended.code, list(found(ended))) == (1, ["workspace-default"])


def test_a_lock_that_cannot_be_read_is_broken_and_one_that_is_not_wanted_is_not(here: Workspace):
    healthy(here)
    (here.folder / "mcp.lock").write_text("{", "utf-8")
    assert examined(here, "--offline").code == 1
    here.write(CONFIG + "lock: none\n")
    ended = examined(here, "--offline")
    locked = next(check for check in ended.document["checks"] if check["name"] == "lock")
    assert (ended.code, locked["summary"]) == (0, "not wanted: the file says `lock: none`")


def test_tools_that_cannot_be_used_are_counted(here: Workspace):
    here.serve("issues", tool("create"), {"name": "bad", "inputSchema": {"type": "array"}})
    here.write(CONFIG)
    ended = examined(here)
    assert found(ended)["tool-quarantined"]["message"] == "1 tool cannot be used"
    assert "1 tool, 1 quarantined" in here.run("doctor").out


def test_an_alias_that_the_file_declares_is_not_called_historic(here: Workspace):
    healthy(here, CONFIG.rstrip("\n") + "\n        aliases: {create: open_issue}\n")
    assert found(examined(here, "--offline")) == {}


def test_a_server_that_is_not_reached_is_exit_4_with_its_reason(here: Workspace):
    healthy(here)
    here.serve("issues", tool("create"), die_on={"initialize": 3})
    ended = examined(here)
    assert ended.code == 4
    [server] = ended.document["servers"]
    assert (server["status"], server["seconds"] is not None) == ("unreachable", True)
    assert ended.document["summary"]["unreachable"] == 1
    text = here.run("doctor").out
    assert "1 server not reached" in text
    assert "what is attached stays" in text


def test_with_offline_no_server_is_started(here: Workspace):
    healthy(here)
    here.serve("issues", tool("create"), pids=str(here.folder / "pids"))
    assert examined(here, "--offline").document["servers"][0]["status"] == "skipped"
    assert not (here.folder / "pids").exists()


def test_a_secret_without_a_value_is_told_by_its_name(here: Workspace):
    healthy(here)
    here.write(CONFIG.replace("{server:issues}", "{server:issues}\n      env: {TOKEN: '${env:ISSUES_TOKEN}'}"))
    ended = examined(here, "--offline")
    unset = found(ended)["secret-unset"]
    assert (ended.code, unset["address"]) == (1, "server.issues")
    assert "ISSUES_TOKEN" in unset["message"]
    set_ = examined(here, "--offline", ISSUES_TOKEN="dummy-secret-value")
    assert (set_.code, "dummy-secret-value" in set_.out) == (0, False)


def test_a_secret_file_that_is_not_there_is_told_by_its_path(here: Workspace):
    healthy(here)
    secret = "{server:issues}\n      env: {TOKEN: '${file:token.txt}', OTHER: '${env:OTHER:-x}'}"
    here.write(CONFIG.replace("{server:issues}", secret))
    ended = examined(here, "--offline")
    assert (ended.code, found(ended)["secret-unset"]["message"]) == (1, "the file token.txt cannot be read")
    (here.folder / "token.txt").write_text("dummy-secret-value", "utf-8")
    assert examined(here, "--offline").code == 0


def test_every_credential_of_a_server_is_looked_at(here: Workspace):
    here.write(
        "version: 1\nmcp:\n  servers:\n    - name: tickets\n      enabled: false\n"
        "      url: https://tickets.example.com/${env:A}\n      headers: {X-Key: '${env:B}'}\n"
        "      auth: {type: bearer, token: '${env:C}'}\n"
    )
    ended = examined(here)
    unset = [each for check in ended.document["checks"] if check["name"] == "secrets" for each in check["findings"]]
    assert [(each["message"], each["severity"]) for each in unset] == [
        (f"the environment variable {name} is not set", "warning") for name in "ABC"
    ]
    assert ended.document["servers"][0]["reason"] == "disabled"
    assert "not asked" in here.run("doctor").out


def test_a_lost_lock_and_one_that_does_not_fit_are_found(here: Workspace):
    here.serve("issues", tool("create"), tool("search"))
    here.write(CONFIG)
    assert here.run("db", "upgrade").code == 0
    assert here.run("lock", "--yes").code == 0
    assert here.apply().code == 0
    here.write(CONFIG.replace("[create]", "[create, search]"))
    assert "lock-incomplete" in found(examined(here, "--offline"))
    (here.folder / "mcp.lock").unlink()
    ended = examined(here, "--offline")
    assert (ended.code, "lock-missing" in found(ended)) == (1, True)


def test_oddities_of_aliases_and_policies_are_warnings(here: Workspace):
    healthy(here)
    loose = "      envelope: {surface: locked, side_effecting: true, reversible: false}\n"
    here.write(
        CONFIG.replace("assistants:", loose + "assistants:").replace("mcp:", "reserved_names: [issues__create]\nmcp:")
    )
    assert here.apply().code == 0
    odd = found(examined(here, "--offline"))
    assert {code: each["severity"] for code, each in odd.items()} == {
        "alias-reserved": "warning",
        "irreversible-unattended": "warning",
    }
    here.write(CONFIG.replace("command:", "namespace: tracker\n      command:"))
    assert here.apply().code == 0
    odd = found(examined(here, "--offline"))
    assert (list(odd), odd["alias-historic"]["severity"]) == (["alias-historic"], "note")
    assert "tracker__create" in odd["alias-historic"]["message"]


def test_calls_that_wait_for_a_human_are_counted(here: Workspace, rows: Rows):
    rows.ask({"q": "x"})
    ended = examined(here, "--offline")
    assert (ended.document["waiting_approvals"], ended.code) == (1, 0)
    assert "1 call waiting for a human" in found(ended)["approval_required"]["message"]


def test_a_call_of_a_process_that_is_gone_is_told(here: Workspace):
    healthy(here)
    edit(
        here,
        "INSERT INTO runs (run_id, owner, assistant, principal, trace_id, state, started_at, instance) VALUES "
        "('r', 'local', 'ops', 'p', 't', 'in_progress', '2026-01-01T00:00:00.000000Z', 'gone')",
    )
    edit(
        here,
        "INSERT INTO actions (action_id, run_id, tool_call_id, kind, provider_name, principal, trace_id, state, "
        "started_at, instance) VALUES ('a', 'r', 't', 'mcp', 'issues__create', 'p', 't', 'in_progress', "
        "'2026-01-01T00:00:00.000000Z', 'gone')",
    )
    ended = examined(here, "--offline")
    assert ended.code == 0
    assert "issues__create" in found(ended)["calls-abandoned"]["message"]
