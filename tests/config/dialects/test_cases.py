"""The cases of configurations that people write, each by its number: what must come out, and what must not."""

from pathlib import Path

import pytest

from remit.core.identity import HttpEndpoint, Transport
from tests.config.dialects.support import CASES, case, desired_of, entries, findings, imported, server, variables


def test_case_01_comments_and_trailing_commas_are_legal_and_inputs_become_variables() -> None:
    found = case("01-vscode-trailing-commas.json")
    assert entries(found) == (
        "    - name: hr-api\n"
        "      namespace: hr_api\n"
        "      command: [node, dist/server.js]\n"
        '      env: {HR_TOKEN: "${env:HR_TOKEN}", HR_COMPANY_ID: "${env:hr_company}"}\n'
        "    - name: notes\n"
        '      url: "http://127.0.0.1:3000/mcp//v1"\n'
    )
    assert variables(found) == ["HR_TOKEN*", "hr_company"]
    assert findings(found) == [("note plain-http", 13, "notes")]


def test_case_03_declared_names_stay_beside_their_slugs_and_sources_without_a_version_are_told() -> None:
    found = case("03-vscode-gallery-names.json")
    assert [(each.declared, each.name) for each in found.servers] == [
        ("io.example.tools/devtools-mcp", "io_example_tools_devtools-mcp"),
        ("example-org/serena", "example-org_serena"),
        ("Dev Box MCP", "Dev Box MCP"),
    ]
    assert server(found, "io_example_tools_devtools-mcp").notes == (
        "gallery: https://gallery.example.com",
        "version: 0.18.1",
    )
    assert findings(found) == [
        ("note namespace-derived", 3, "io.example.tools/devtools-mcp"),
        ("note namespace-derived", 10, "example-org/serena"),
        ("warning unpinned", 12, "example-org/serena"),
        ("error unresolvable-variable", 13, "example-org/serena"),
        ("warning unpinned", 15, "Dev Box MCP"),
    ]
    shown = [each.message for each in found.diagnostics if each.code == "unpinned"]
    assert [message.split()[0] for message in shown] == [
        "git+https://git.example.com/example-org/serena",
        "https://links.example.com/devbox/preview",
    ]
    assert "${workspaceFolder}" not in entries(found)


def test_case_05_references_in_another_clients_words_are_never_sent_as_text() -> None:
    found = case("05-claude-foreign-input-ref.json")
    assert [each.headers for each in found.servers] == [
        {"Authorization": "Basic ${env:JENKINS_BASIC_AUTH}"},
        {"Authorization": "Bearer ${env:BACKSTAGE_TOKEN}"},
    ]
    assert {each.transport for each in found.servers} == {Transport.STREAMABLE_HTTP}
    assert ("warning undeclared-input", 6, "jenkins") in findings(found)
    assert [each for each in findings(found) if "transport" in each[0]] == [("note transport-inferred", 8, "backstage")]
    assert variables(found) == ["BACKSTAGE_TOKEN*", "JENKINS_BASIC_AUTH*"]


def test_case_07_a_file_of_variables_is_named_and_not_read(tmp_path: Path) -> None:
    found = case("07-cursor-envfile.json")
    assert server(found, "netbox").env_files == ("${env:WORKSPACE_FOLDER}/dev/.env.local",)
    assert (server(found, "wiki").command, server(found, "wiki").env) == (("/home/alice/scripts/mcp/wiki.sh",), {})
    assert findings(found) == [
        ("error unresolvable-variable", 3, "netbox"),
        ("warning env-file", 3, "netbox"),
        ("error unresolvable-variable", 3, "netbox"),
        ("warning machine-path", 4, "wiki"),
    ]
    (tmp_path / "secrets.env").write_text("TOKEN=dummy-secret-value\n", "utf-8")
    there = imported(tmp_path, "m.json", '{"mcpServers": {"a": {"command": "x", "envFile": "secrets.env"}}}')
    assert (there.servers[0].env_files, there.servers[0].env) == (("secrets.env",), {})


def test_case_09_what_a_client_approves_by_itself_loosens_nothing_here() -> None:
    found = case("09-roo-approval-shapes.json")
    assert {each.include for each in found.servers} == {None}
    assert server(found, "rust").exclude == ("workspace-info",)
    assert "envelope" not in entries(found, assistant="ops").replace("an `envelope`", "")
    assert not any(key in entries(found, assistant="ops") for key in ("assistants", "envelope", "surface"))
    assert findings(found) == [
        ("warning unpinned", 3, "win-cli"),
        ("warning approve-all", 3, "win-cli"),
        ("warning approve-all", 3, "win-cli"),
        ("warning unpinned", 4, "commander"),
        ("note approval-hint", 4, "commander"),
        ("warning dropped-item", 4, "commander"),
        ("warning dropped-item", 4, "commander"),
        ("warning unpinned", 5, "supa"),
        ("warning secret-in-argument", 5, "supa"),
        ("note approval-hint", 5, "supa"),
        ("note approval-hint", 6, "jupyter"),
        ("warning unknown-key", 6, "jupyter"),
        ("warning inline-secret", 6, "jupyter"),
        ("note deny-without-allow", 7, "rust"),
    ]
    hints = {each.address: each.message for each in found.diagnostics if each.code == "approval-hint"}
    assert "read_file, write_file;" in hints["server.commander"]
    assert "list_tables, listTables, execute_sql;" in hints["server.supa"]
    [secret] = [each.message for each in found.diagnostics if each.code == "inline-secret"]
    assert secret == "config.jupyterServer.token: this looks like a credential; it was not copied"


def test_case_11_names_that_are_urls_have_slugs_and_timeouts_are_seconds() -> None:
    found = case("11-cline-url-names.json")
    assert [each.name for each in found.servers] == [
        "github_com_example_context7-mcp",
        "github_com_example_servers_tree_main_src_thinking",
        "neon",
        "tavily",
    ]
    thinking = server(found, "github_com_example_servers_tree_main_src_thinking")
    assert (thinking.enabled, thinking.cwd, thinking.timeout_seconds) == (False, "/home/alice/mcp", 60)
    assert server(found, "neon").timeout_seconds == 3600
    assert server(found, "tavily").program == ("npx", "-y", "tavily-mcp@0.1.3")
    assert [each for each in findings(found) if each[2] in ("neon", "tavily")] == [
        ("warning unpinned", 5, "neon"),
        ("warning secret-in-argument", 5, "neon"),
        ("warning shell-wrapper", 6, "tavily"),
        ("warning placeholder-secret", 6, "tavily"),
    ]
    assert server(found, "tavily").env == {"TAVILY_API_KEY": "${env:TAVILY_API_KEY}"}


def test_case_11_a_timeout_above_the_cap_is_told_and_not_clamped(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        "cline_mcp_settings.json",
        '{"mcpServers": {"a": {"command": "x", "timeout": 86401, "disabled": false}}}',
    )
    assert (found.dialects, found.servers[0].timeout_seconds) == (
        {str(tmp_path / "cline_mcp_settings.json"): "cline"},
        None,
    )
    assert findings(found) == [("warning out-of-range", 1, "a")]


def test_case_13_a_bridge_becomes_the_remote_server_itself_and_stays_as_a_comment() -> None:
    found = case("13-desktop-mcp-remote.json")
    assert [(each.name, each.transport.value, each.url, dict(each.headers)) for each in found.servers] == [
        ("tickets", "sse", "https://tickets.example.com/sse", {"Authorization": "Bearer ${env:TICKETS_TOKEN}"}),
        (
            "tickets-nospace",
            "streamable_http",
            "https://tickets.example.com/mcp",
            {"Authorization": "${env:AUTH_HEADER}"},
        ),
        ("local", "streamable_http", "http://localhost:8010/mcp", {}),
        ("multi", "streamable_http", "https://m.example.com/mcp", {"X-Org": "acme", "X-Key": "${env:K}"}),
    ]
    assert server(found, "multi").notes == (
        "was started as: npx -y mcp-remote https://m.example.com/mcp 8080 --header X-Org: acme --header X-Key: ${env:K}",
    )
    assert [each for each in findings(found) if each[0] != "note bridge-unwrapped"] == [
        ("note transport-inferred", 3, "tickets"),
        ("warning unpinned", 3, "tickets"),
        ("warning inline-secret", 4, "tickets-nospace"),
        ("note plain-http", 5, "local"),
        ("note transport-inferred", 5, "local"),
        ("warning unpinned", 5, "local"),
        ("note transport-inferred", 6, "multi"),
        ("warning unpinned", 6, "multi"),
    ]


def test_case_15_foreign_secret_stores_are_neither_copied_nor_taken_for_secrets() -> None:
    found = case("15-desktop-op-run.json")
    calendar = server(found, "calendar")
    assert calendar.program == ("npx", "mcp-calendar")
    assert calendar.env_files == ("/home/alice/.config/mcp/calendar.env",)
    assert server(found, "mail").env == {"MAIL_USER": "${env:MAIL_USER}", "MAIL_PASSWORD": "${env:MAIL_PASSWORD}"}
    assert server(found, "vaulted").headers == {"Authorization": "Bearer ${env:V_TOKEN}"}
    assert findings(found) == [
        ("warning unpinned", 3, "calendar"),
        ("warning env-file", 3, "calendar"),
        ("warning machine-path", 3, "calendar"),
        ("error unsupported-secret-scheme", 4, "mail"),
        ("error unsupported-secret-scheme", 4, "mail"),
        ("error unsupported-secret-scheme", 5, "vaulted"),
    ]
    schemes = [each.message for each in found.diagnostics if each.code == "unsupported-secret-scheme"]
    assert [message.split(": ")[0] for message in schemes] == [
        "env.MAIL_USER",
        "env.MAIL_PASSWORD",
        "headers.Authorization",
    ]
    assert ["(op)" in message for message in schemes] == [True, True, False]
    assert "(vault)" in schemes[2]


def test_case_17_codex_names_variables_instead_of_secrets_and_denies_after_it_allows() -> None:
    found = case("17-codex.toml")
    github, force, db = found.servers
    assert github.headers == {
        "Authorization": "Bearer ${env:GH_TOKEN}",
        "X-Region": "eu",
        "X-Org-Key": "${env:ORG_KEY}",
    }
    assert (github.transport, github.include, github.exclude) == (
        Transport.STREAMABLE_HTTP,
        ("list_issues",),
        ("get_issue",),
    )
    assert (force.name, force.namespace, force.enabled) == ("Sales Force", "sales_force", False)
    assert (force.start_timeout_seconds, force.timeout_seconds) == (30, 12.5)
    assert (force.env, db.env) == ({"SF_TOKEN": "${env:SF_TOKEN}"}, {"DB_URL": "postgres://127.0.0.1/app"})
    assert findings(found) == [("warning unpinned", 13, "Sales Force")]
    assert variables(found) == ["GH_TOKEN*", "ORG_KEY*", "SF_TOKEN*"]
    desired = desired_of("version: 1\nmcp:\n  servers:\n" + entries(found, assistant="ops"))
    [selection] = desired.assistants[0].selections
    assert (selection.server, [each.text for each in selection.include], [each.text for each in selection.exclude]) == (
        "github",
        ["list_issues"],
        ["get_issue"],
    )


def test_case_19_switches_of_tools_select_and_exclude_and_keys_of_the_hub_are_copied_nowhere() -> None:
    found = case("19-mcphub-settings.json")
    amap, ws, chat = found.servers
    assert (amap.include, amap.exclude) == (("amap-maps_regeocode",), ("amap-maps_text_search",))
    assert amap.notes == ("amap-maps_regeocode: description there: own text",)
    assert amap.env == {"AMAP_KEY": "${env:AMAP_KEY}"}
    assert (ws.command[-3:], ws.include) == (("--tools", "drive", "docs"), None)
    assert (chat.enabled, chat.command) == (False, ("uvx", "chat-mcp@0.6.2"))
    assert findings(found) == [
        ("warning unpinned", 4, "amap"),
        ("warning inline-secret", 5, "amap"),
        ("note not-carried-over", 6, "amap"),
        ("warning unpinned", 8, "ws"),
    ]
    assert not any(word in entries(found) + repr(found) for word in ("EXAMPLE", "2b", "HUB_KEY", "admin"))


def test_case_21_switches_and_limits_that_cannot_be_decided_are_errors_and_texts_stay_texts() -> None:
    found = case("21-string-booleans.json")
    gh, cloud, docs = found.servers
    assert (gh.enabled, gh.timeout_seconds, cloud.enabled, docs.enabled) == (False, None, False, True)
    assert cloud.env == {"DEBUG": "true", "PORT": "8080", "CLOUD_SECRET": "${env:CLOUD_SECRET}"}
    assert findings(found) == [
        ("error not-a-boolean", 5, "gh"),
        ("error not-a-number", 5, "gh"),
        ("warning unknown-key", 5, "gh"),
        ("warning string-boolean", 7, "cloud"),
        ("error null-value", 7, "cloud"),
    ]
    [unit] = [each.message for each in found.diagnostics if each.code == "not-a-number"]
    assert "milliseconds" in unit
    desired = desired_of("version: 1\nmcp:\n  servers:\n" + entries(found))
    assert desired.servers[2].endpoint == HttpEndpoint("https://docs.example.com/mcp/")


def test_case_23_every_document_is_read_and_what_yaml_takes_for_no_text_is_an_error_with_its_line() -> None:
    found = case("23-mcp-agent-null.yaml")
    brave, web = found.servers
    assert (brave.env, brave.command) == ({"BRAVE_API_KEY": "${env:BRAVE_API_KEY}"}, ("npx", "-y", "@example/brave"))
    assert (web.transport, web.notes) == (
        Transport.STREAMABLE_HTTP,
        ("description: Recherche d'actualités 検索",),
    )
    assert findings(found) == [
        ("warning unpinned", 15, "brave"),
        ("warning empty-secret", 17, "brave"),
        ("note plain-http", 18, "web"),
        ("error not-a-string", 19, "no"),
        ("error not-a-string", 19, "no"),
        ("error not-a-string", 19, "no"),
        ("error not-a-string", 19, "no"),
    ]
    assert {each.hint for each in found.diagnostics if each.code == "not-a-string"} == {
        "write it in quotes: parsers of YAML and JSON read it as a number, as true or false, or as nothing"
    }


def test_case_23_a_table_without_servers_comes_to_nothing_and_says_so(tmp_path: Path) -> None:
    found = imported(tmp_path, "mcp_agent.config.yaml", "mcp:\n  servers:\n    # none\n")
    assert (found.servers, findings(found), found.failed) == ((), [("note no-servers", 1, "")], False)


def test_case_25_a_gateways_permissions_are_told_and_its_second_name_is_a_namespace() -> None:
    found = case("25-litellm.yaml")
    github, hook, local = found.servers
    assert (github.namespace, github.include, github.exclude) == ("gh", ("list_issues",), ("merge_pr",))
    assert github.notes == ("spec_version: 2025-03-26", "description: GitHub")
    assert (hook.transport, hook.url) == (
        Transport.SSE,
        "https://actions.example.com/mcp/${env:HOOK_MCP_URL_SECRET}/sse",
    )
    assert local.env == {"K": "${env:K}"}
    assert findings(found) == [
        ("note second-name", 5, "github_mcp"),
        ("warning opened-to-all", 14, "github_mcp"),
        ("warning inline-secret", 18, "hook_mcp"),
        ("note transport-inferred", 18, "hook_mcp"),
        ("warning unpinned", 19, "local_stdio"),
    ]
    assert variables(found) == ["GH_TOKEN*", "HOOK_MCP_URL_SECRET*", "K*"]


@pytest.mark.parametrize("spelling", ["as it is", "with a byte order mark", "with carriage returns"])
def test_case_27_a_key_twice_names_both_lines_and_refuses_the_file(tmp_path: Path, spelling: str) -> None:
    text = (CASES / "27-duplicate-json-keys.json").read_text("utf-8")
    changed = {"with a byte order mark": f"\ufeff{text}", "with carriage returns": text.replace("\n", "\r\n")}
    found = imported(tmp_path, "m.json", changed.get(spelling, text))
    assert found.servers == ()
    assert [(each.code, each.message) for each in found.diagnostics] == [
        ("duplicate-key", "`K` is given twice, in line 3 and in line 3"),
        ("duplicate-key", "`a` is given twice, in line 3 and in line 4"),
        ("duplicate-key", "`mcpServers` is given twice, in line 2 and in line 6"),
    ]


def test_every_case_is_read_in_the_dialect_that_it_is_written_in() -> None:
    dialects = {path.name: next(iter(case(path.name).dialects.values()), None) for path in sorted(CASES.iterdir())}
    assert dialects == {
        "01-vscode-trailing-commas.json": "vscode",
        "03-vscode-gallery-names.json": "vscode",
        "05-claude-foreign-input-ref.json": "claude-code",
        "07-cursor-envfile.json": "cursor",
        "09-roo-approval-shapes.json": "roo",
        "11-cline-url-names.json": "cline",
        "13-desktop-mcp-remote.json": "claude-code",
        "15-desktop-op-run.json": "claude-code",
        "17-codex.toml": "codex",
        "19-mcphub-settings.json": "mcphub",
        "21-string-booleans.json": "vscode",
        "23-mcp-agent-null.yaml": "mcp-agent",
        "25-litellm.yaml": "litellm",
        "27-duplicate-json-keys.json": None,
    }
