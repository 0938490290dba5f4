"""`remit import` and `remit init --scan|--from`: from a client's file to attached tools."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.workspace import SERVER, Workspace, tool

CLIENT = """{
  "mcpServers": {
    "notes": {"url": "https://notes.example.com/mcp", "headers": {"Authorization": "Bearer dummy-secret-value"}},
  }
}
"""
TEXT = """\
# Imported by `remit import`. Every tool has the strictest policy: each call waits for a person, until an `envelope` in this
# file says otherwise.
version: 1
workspace: %s

mcp:
  servers:
    - name: notes
      url: "https://notes.example.com/mcp"
      headers: {Authorization: "Bearer ${env:NOTES_TOKEN}"}
"""


def put(here: Workspace, text: str = CLIENT, name: str = ".mcp.json") -> None:
    """Write the file of a client."""
    path = here.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_the_text_is_alone_on_stdout_and_everything_else_on_stderr(here: Workspace) -> None:
    put(here)
    ended = here.run("import", ".mcp.json", "-f", "folder/mcp.yaml")
    assert (ended.code, ended.out) == (0, TEXT % "folder")
    assert ended.err == (
        ".mcp.json:3:22: note transport-inferred: server.notes: no transport is given; streamable_http was taken\n"
        "  hint: give `transport` in mcp.yaml if it is another\n"
        ".mcp.json:3:84: warning inline-secret: server.notes: headers.Authorization: this looks like a credential; "
        "${env:NOTES_TOKEN} stands in its place\n"
        "  hint: set it outside of every file, and change it: it was written down\n"
        "1 warning, 1 note\n"
        "set before remit connects: NOTES_TOKEN\n"
    )
    assert [path.name for path in here.folder.iterdir()] == [".mcp.json"]


def test_findings_on_two_servers_in_one_line_name_their_servers(here: Workspace) -> None:
    servers = {name: {"command": name, "env": {"API_TOKEN": f"dummy-secret-{name}"}} for name in ("one", "two")}
    put(here, json.dumps({"mcpServers": servers}))
    lines = here.run("import", ".mcp.json").err.splitlines()
    assert [
        line.partition("inline-secret: ")[2].partition(": this")[0] for line in lines if "inline-secret" in line
    ] == [
        "server.one: env.API_TOKEN",
        "server.two: env.API_TOKEN",
    ]


def test_json_has_servers_findings_and_variables(here: Workspace) -> None:
    put(here)
    ended = here.run("import", ".mcp.json", "--format", "json")
    document = ended.document
    assert (ended.code, ended.err) == (0, "")
    assert document["variables"] == [{"name": "NOTES_TOKEN", "secret": True, "servers": ["notes"]}]
    assert (document["dialects"], document["file"], document["written"]) == ({".mcp.json": "claude-code"}, None, [])
    assert [each["code"] for each in document["diagnostics"]] == ["transport-inferred", "inline-secret"]
    [server] = document["servers"]
    assert {key: value for key, value in server.items() if value not in (None, [], {})} == {
        "name": "notes",
        "declared_name": "notes",
        "dialect": "claude-code",
        "source": {"file": ".mcp.json", "line": 3, "column": 5},
        "transport": "streamable_http",
        "url": "https://notes.example.com/mcp",
        "headers": {"Authorization": "Bearer ${env:NOTES_TOKEN}"},
        "enabled": True,
    }


def test_writing_begins_a_file_adds_to_it_and_changes_nothing_the_third_time(here: Workspace) -> None:
    put(here)
    put(here, '{"servers": {"b": {"command": "x"}}}', ".vscode/mcp.json")
    first = here.run("import", ".mcp.json", "--write")
    assert (first.code, first.out) == (0, "mcp.yaml: 1 server added\n")
    assert here.run("import", ".mcp.json", ".vscode/mcp.json", "--write").out == "mcp.yaml: 1 server added\n"
    written = (here.folder / "mcp.yaml").read_bytes()
    assert here.run("validate").code == 0
    third = here.run("import", ".mcp.json", ".vscode/mcp.json", "--write")
    assert (third.code, third.out) == (0, "mcp.yaml: nothing was added\n")
    assert "it stands in mcp.yaml:8:7 already, as `notes`; the file was left as it is there" in third.err
    assert (here.folder / "mcp.yaml").read_bytes() == written


def test_writing_into_a_file_with_a_byte_order_mark_keeps_the_mark(here: Workspace) -> None:
    there = b"\xef\xbb\xbfversion: 1\r\nmcp:\r\n  servers:\r\n    - {name: a, command: [y]}\r\n"
    (here.folder / "mcp.yaml").write_bytes(there)
    put(here, '{"mcpServers": {"b": {"command": "x"}}}')
    assert here.run("import", ".mcp.json", "--write").out == "mcp.yaml: 1 server added\n"
    assert (here.folder / "mcp.yaml").read_bytes() == there + b"    - name: b\r\n      command: [x]\r\n"


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ('"notes": {"url": "https://other.example.com"}', "another server of this name"),
        ('"other": {"url": "https://NOTES.example.com:443/mcp"}', "its endpoint"),
    ],
)
def test_a_name_or_an_endpoint_that_is_taken_is_refused_and_the_rest_is_added(
    here: Workspace, entry: str, what: str
) -> None:
    put(here)
    here.run("import", ".mcp.json", "--write")
    put(here, f'{{"mcpServers": {{{entry}, "more": {{"command": "x"}}}}}}', "second.json")
    ended = here.run("import", "second.json", "--write")
    assert (ended.code, ended.out) == (1, "mcp.yaml: 1 server added\n")
    assert f": {what} stands in mcp.yaml:8:7 already, as `notes`" in ended.err
    assert here.run("validate").out.endswith("2 servers, 0 assistants, 0 selections\n")


def test_a_new_secret_never_gets_a_variable_that_the_configuration_uses(here: Workspace) -> None:
    there = '{{version: 1, mcp: {{servers: [{{name: a{0}, url: "https://a{0}.example.com", headers: {{X-A: "${{env:GH_{1}}}"}}}}]}}}}'
    put(here, there.format(1, "TOKEN"), "mcp.yaml")
    put(here, '{mcp: {servers: [{name: a1, headers: {X-A: "${env:GH_SECRET}"}}]}}', "envs/prod.yaml")
    put(
        here,
        json.dumps(
            {"mcpServers": {"gh": {"command": "x", "env": {"GH_TOKEN": "dummy-secret-1", "GH_SECRET": "dummy-2"}}}}
        ),
    )
    ended = here.run("import", ".mcp.json", "--write")
    assert (ended.code, ended.out) == (0, "mcp.yaml: 1 server added\n")
    assert ended.err.splitlines()[-2] == "set before remit connects: GH_SECRET_2, GH_TOKEN_2"


def test_a_bridge_never_gives_its_secret_a_variable_of_the_configuration(here: Workspace) -> None:
    put(
        here,
        'version: 1\nmcp: {servers: [{name: a, url: "https://a.example.com", headers: {X-A: "${env:TOKEN}"}}]}\n',
        "mcp.yaml",
    )
    bridge = ["mcp-remote@0.1.29", "https://b.example.com/mcp", "--header", "X-Key:${TOKEN}"]
    put(
        here,
        json.dumps(
            {"mcpServers": {"b": {"command": "npx", "args": bridge, "env": {"TOKEN": "Bearer dummy-secret-1"}}}}
        ),
    )
    ended = here.run("import", ".mcp.json", "--write")
    assert ended.code == 0
    assert 'X-Key: "${env:TOKEN_2}"' in (here.folder / "mcp.yaml").read_text("utf-8").replace("'", '"')


def test_an_entry_in_error_costs_no_other_and_shows_in_the_exit_code(here: Workspace) -> None:
    put(here, '{"mcpServers": {"bad": {"command": 1}, "good": {"command": "x"}}}')
    ended = here.run("import", ".mcp.json")
    assert (ended.code, "name: good" in ended.out, "name: bad" in ended.out) == (1, True, False)


def test_a_file_behind_a_link_keeps_the_link_and_its_permissions(here: Workspace) -> None:
    put(here)
    real = here.folder / "real.yaml"
    real.write_text("version: 1\nworkspace: w\n", "utf-8")
    real.chmod(0o640)
    (here.folder / "mcp.yaml").symlink_to("real.yaml")
    assert here.run("import", ".mcp.json", "--write").code == 0
    assert (here.folder / "mcp.yaml").is_symlink()
    assert "name: notes" in real.read_text("utf-8")
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_file_with_errors_of_its_own_gets_nothing(here: Workspace) -> None:
    put(here)
    (here.folder / "mcp.yaml").write_text("version: 1\nmcpp: {}\n", "utf-8")
    ended = here.run("import", ".mcp.json", "--write")
    assert (ended.code, ended.out) == (1, "")
    assert "mcp.yaml:2:1: error unknown-key" in ended.err
    assert (here.folder / "mcp.yaml").read_text("utf-8") == "version: 1\nmcpp: {}\n"


def test_an_outcome_that_would_not_load_is_not_written(here: Workspace) -> None:
    put(here, '{"mcpServers": {"a": {"url": "https://a.example.com", "includeTools": ["x"]}}}')
    ended = here.run("import", ".mcp.json", "--write", "--assistant", "no/name")
    assert (ended.code, ended.out, (here.folder / "mcp.yaml").exists()) == (1, "", False)
    assert "error invalid-name" in ended.err
    assert ended.err.endswith("nothing was written\n")


def test_servers_of_an_included_file_count_as_there(here: Workspace) -> None:
    put(here)
    (here.folder / "more.yaml").write_text(
        "version: 1\nmcp:\n  servers:\n    - name: elsewhere\n      url: https://notes.example.com/mcp\n", "utf-8"
    )
    (here.folder / "mcp.yaml").write_text("version: 1\nworkspace: w\ninclude: [more.yaml]\n", "utf-8")
    ended = here.run("import", ".mcp.json", "--write")
    assert (ended.code, ended.out) == (1, "mcp.yaml: nothing was added\n")
    put(here, '{"mcpServers": {"a": {"command": "x"}}}')
    assert here.run("import", ".mcp.json", "--write").code == 0
    assert "valid. workspace w, 2 servers," in here.run("validate").out


def test_a_dialect_that_nobody_knows_is_a_usage_error_with_a_suggestion(here: Workspace) -> None:
    put(here)
    ended = here.run("import", ".mcp.json", "--dialect", "claude-cod")
    assert (ended.code, "did you mean claude-code?" in ended.err) == (64, True)


def test_a_dialect_that_is_named_overrules_the_file(here: Workspace) -> None:
    put(here, '{"mcpServers": {"a": {"url": "https://a.example.com/mcp"}}}')
    assert "transport: sse" in here.run("import", ".mcp.json", "--dialect", "gemini").out
    assert "transport: sse" not in here.run("import", ".mcp.json").out


def test_three_servers_of_a_client_are_imported_validated_planned_and_applied(here: Workspace) -> None:
    for name in ("alpha", "beta", "gamma"):
        here.serve(name, tool("search"), tool("delete"))
    servers = {
        name: {
            "command": sys.executable,
            "args": [str(SERVER), f"@{here.folder / name}.json"],
            "includeTools": ["search"],
        }
        for name in ("alpha", "beta", "gamma")
    }
    put(here, json.dumps({"mcpServers": servers}))
    ended = here.run("import", ".mcp.json", "--write", "--assistant", "ops")
    assert (ended.code, ended.out) == (0, "mcp.yaml: 3 servers added\n")
    assert here.run("validate").out.endswith("3 servers, 1 assistant, 3 selections\n")
    planned = here.plan()
    assert planned.done == {"register_server": 3, "create_assistant": 1, "attach": 3}
    attached = [each for each in planned.document["operations"] if each["op"] == "attach"]
    assert {each["after"]["envelope"]["surface"] for each in attached} == {"human_controlled"}
    assert here.apply().code == 0
    assert here.plan().done == {"unchanged": 3}


def test_init_lists_what_clients_have_and_writes_nothing(here: Workspace) -> None:
    put(here)
    put(here, '{"servers": {"b": {"command": "x"}}}', "home/my files/x.json")
    put(here, CLIENT, "home/.cursor/mcp.json")
    before = sorted(here.folder.rglob("*"))
    ended = here.run("init", "--scan", HOME=str(here.folder / "home"))
    home = here.folder / "home"
    assert (ended.code, ended.out) == (
        0,
        "claude-code  1 server        .mcp.json\n"
        f"cursor       1 server        {home}/.cursor/mcp.json\n"
        "\n"
        "remit import .mcp.json\n"
        f"remit import {home}/.cursor/mcp.json\n",
    )
    assert sorted(here.folder.rglob("*")) == before
    empty = here.run("init", "--scan", HOME=str(here.folder / "home/my files"))
    assert empty.out.startswith("claude-code")


def test_init_finds_nothing_and_says_so(here: Workspace) -> None:
    ended = here.run("init", "--scan", HOME=str(here.folder))
    assert (ended.code, ended.out) == (0, "no client of this machine has MCP servers in a place that remit knows\n")


def test_init_begins_a_file_with_the_servers_of_a_client(here: Workspace) -> None:
    put(here)
    ended = here.run("init", "--from", ".mcp.json")
    assert ended.code == 0
    text = (here.folder / "mcp.yaml").read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=schemas/mcp.schema.json\n")
    assert text.endswith(TEXT.partition("mcp:\n")[2])
    assert (here.folder / "schemas/mcp.schema.json").exists()
    assert here.run("validate").code == 0
    assert here.run("init", "--from", ".mcp.json").code == 64


def test_init_from_a_file_without_a_server_writes_nothing(here: Workspace) -> None:
    put(here, '{"mcpServers": {}}')
    ended = here.run("init", "--from", ".mcp.json")
    assert (ended.code, [path.name for path in here.folder.iterdir()]) == (1, [".mcp.json"])


def test_the_import_runs_without_the_network_the_database_and_the_rest(here: Workspace) -> None:
    from tests.cli.test_imports import loaded

    put(here)
    assert loaded(here, "import", ".mcp.json") == {"yaml"}
    assert Path(here.folder / "mcp.yaml").exists() is False


@pytest.mark.parametrize(
    ("content", "code"), [("{", 1), (None, 1), ('{"mcpServers": {"a": {}}}', 1), ('{"mcpServers": {}}', 0)]
)
def test_where_no_server_comes_out_stdout_stays_empty(here: Workspace, content: str | None, code: int):
    if content is not None:
        (here.folder / ".mcp.json").write_text(content, "utf-8")
    ended = here.run("import", ".mcp.json")
    assert (ended.code, ended.out, "no server came out: nothing is printed" in ended.err) == (code, "", True)


def test_programs_are_told_as_json_why_no_server_came_out(here: Workspace):
    (here.folder / ".mcp.json").write_text("{", "utf-8")
    ended = here.run("import", ".mcp.json", "--format", "json")
    assert (ended.code, ended.document["servers"], ended.document["summary"]["errors"]) == (1, [], 1)
