"""What is taken from each client, gateway and operator that the cases do not cover."""

import json
from pathlib import Path

import pytest

from tests.config.dialects.support import entries, findings, imported, server, variables

ZED = """{
  // editor
  "theme": "one",
  "context_servers": {
    "new": {"source": "custom", "command": "npx", "args": ["-y", "a@1.0.0"], "env": {}, "enabled": false},
    "old": {"command": {"path": "/usr/bin/x", "args": ["--stdio"], "env": {"A": "b"}}, "settings": {"k": 1}},
    "far": {"url": "https://z.example.com/mcp", "headers": {"X-Team": "a"}},
    "extension": {"source": "extension", "settings": {"token": "dummy-secret-value"}},
  },
}"""


def test_zed_has_its_commands_in_two_shapes_and_extensions_without_any(tmp_path: Path) -> None:
    found = imported(tmp_path, "zed/settings.json", ZED)
    assert entries(found) == (
        "    - name: new\n"
        '      command: [npx, "-y", a@1.0.0]\n'
        "      enabled: false\n"
        "    - name: old\n"
        '      command: [/usr/bin/x, "--stdio"]\n'
        "      env: {A: b}\n"
        "    - name: far\n"
        '      url: "https://z.example.com/mcp"\n'
        "      headers: {X-Team: a}\n"
    )
    assert findings(found) == [
        ("note not-carried-over", 6, "old"),
        ("note transport-inferred", 7, "far"),
        ("error missing-key", 8, "extension"),
        ("note not-carried-over", 8, "extension"),
        ("warning inline-secret", 8, "extension"),
    ]


GEMINI = """{
  "mcp": {"excluded": ["b"]},
  "mcpServers": {
    "a": {"httpUrl": "https://a.example.com/sse", "headers": {"Authorization": "Bearer $A_TOKEN"}, "timeout": 30000,
          "includeTools": ["x", "y", "z*"], "excludeTools": ["y"], "trust": true},
    "b": {"url": "https://b.example.com/mcp", "timeout": 30},
    "c": {"command": "x", "args": ["$C_PATH", "${D:-e}"], "env": {"P": "$P"}, "cwd": "./d"}
  }
}"""


def test_gemini_tells_the_transport_by_the_key_counts_milliseconds_and_has_bare_variables(tmp_path: Path) -> None:
    found = imported(tmp_path, ".gemini/settings.json", GEMINI)
    assert entries(found, assistant="ops") == (
        "    - name: a\n"
        '      url: "https://a.example.com/sse"\n'
        '      headers: {Authorization: "Bearer ${env:A_TOKEN}"}\n'
        "      timeout_seconds: 30\n"
        "    - name: b\n"
        "      transport: sse\n"
        '      url: "https://b.example.com/mcp"\n'
        "      enabled: false\n"
        "    - name: c\n"
        '      command: [x, "${env:C_PATH}", "${env:D:-e}"]\n'
        '      env: {P: "${env:P}"}\n'
        "      cwd: ./d\n"
        "\nassistants:\n"
        "  - name: ops\n"
        "    tools:\n"
        "      - server: a\n"
        "        include: [x]\n"
        '        exclude: ["y"]\n'
    )
    assert findings(found) == [
        ("warning glob-in-list", 5, "a"),
        ("warning approve-all", 5, "a"),
        ("warning out-of-range", 6, "b"),
    ]
    assert variables(found) == ["A_TOKEN*", "C_PATH*", "P*"]


def test_windsurf_has_its_own_key_for_the_url_and_excludes_tools(tmp_path: Path) -> None:
    text = '{"mcpServers": {"w": {"serverUrl": "https://w.example.com/sse", "disabledTools": ["rm", "rm"]}}}'
    found = imported(tmp_path, "any.json", text)
    assert list(found.dialects.values()) == ["windsurf"]
    assert entries(found) == (
        '    # excluded there: rm\n    - name: w\n      transport: sse\n      url: "https://w.example.com/sse"\n'
    )
    assert findings(found) == [
        ("note transport-inferred", 1, "w"),
        ("note deny-without-allow", 1, "w"),
        ("warning dropped-item", 1, "w"),
    ]


def test_opencode_has_commands_as_lists_and_references_in_braces(tmp_path: Path) -> None:
    text = """{"$schema": "x", "mcp": {
      "l": {"type": "local", "command": ["bun", "x", "p@2.0.1"], "environment": {"K": "{env:KEY}"}, "timeout": 5000},
      "r": {"type": "remote", "url": "https://r.example.com/mcp", "enabled": false,
            "headers": {"Authorization": "Bearer {file:./token}"}}}}"""
    found = imported(tmp_path, "opencode.json", text)
    assert entries(found) == (
        "    - name: l\n"
        "      command: [bun, x, p@2.0.1]\n"
        '      env: {K: "${env:KEY}"}\n'
        "      timeout_seconds: 5\n"
        "    - name: r\n"
        '      url: "https://r.example.com/mcp"\n'
        '      headers: {Authorization: "Bearer ${file:./token}"}\n'
        "      enabled: false\n"
    )
    assert findings(found) == [("note transport-inferred", 3, "r")]


def test_opencode_has_its_later_files_one_level_deeper(tmp_path: Path) -> None:
    text = '{"mcp": {"servers": {"l": {"type": "local", "command": ["x"], "disabled": true}}}}'
    found = imported(tmp_path, "opencode.jsonc", text)
    assert (list(found.dialects.values()), [(each.name, each.enabled) for each in found.servers]) == (
        ["opencode"],
        [("l", False)],
    )


CONTINUE = """\
name: mine
mcpServers:
  - name: Docs Search
    type: streamable-http
    url: https://d.example.com/mcp
    requestOptions:
      timeout: 5
      headers: {Authorization: "Bearer ${{ secrets.DOCS_TOKEN }}"}
  - name: db
    command: uvx
    args: [db-mcp==1.4.2]
    connectionTimeout: 20000
  - command: nameless
"""


def test_continue_lists_its_servers_and_keeps_headers_among_options(tmp_path: Path) -> None:
    found = imported(tmp_path, ".continue/config.yaml", CONTINUE)
    assert entries(found) == (
        '    - name: "Docs Search"\n'
        "      namespace: docs_search\n"
        '      url: "https://d.example.com/mcp"\n'
        '      headers: {Authorization: "Bearer ${env:DOCS_TOKEN}"}\n'
        "    - name: db\n"
        '      command: [uvx, "db-mcp==1.4.2"]\n'
        "      start_timeout_seconds: 20\n"
    )
    assert findings(found) == [("note not-carried-over", 7, "Docs Search"), ("error missing-key", 13, "?")]


LIBRECHAT = """\
version: 1.2.1
mcpServers:
  gh:
    type: sse
    url: https://gh.example.com/sse
    timeout: 60000
    initTimeout: 15000
    headers: {X-Token: "{{GH_PAT}}", X-Org: "${ORG}"}
    customUserVars: {GH_PAT: {title: t}}
  socket:
    type: websocket
    url: wss://s.example.com
"""


def test_librechat_has_values_by_user_and_a_transport_that_nobody_else_has(tmp_path: Path) -> None:
    found = imported(tmp_path, "librechat.yaml", LIBRECHAT)
    assert entries(found) == (
        "    - name: gh\n"
        "      transport: sse\n"
        '      url: "https://gh.example.com/sse"\n'
        '      headers: {X-Token: "${env:GH_PAT}", X-Org: "${env:ORG}"}\n'
        "      timeout_seconds: 60\n"
        "      start_timeout_seconds: 15\n"
    )
    assert findings(found) == [
        ("warning per-user-variable", 8, "gh"),
        ("note not-carried-over", 9, "gh"),
        ("error unsupported-transport", 11, "socket"),
    ]


KAGENT = """\
apiVersion: kagent.dev/v1alpha2
kind: RemoteMCPServer
metadata: {name: github-remote, namespace: kagent}
spec:
  description: GitHub
  protocol: SSE
  url: https://gh.example.com/sse
  timeout: 1m30s
  headersFrom:
    - {name: Authorization, valueFrom: {type: Secret, name: gh-creds, key: authorization}}
    - {name: X-Org, value: acme}
---
apiVersion: kagent.dev/v1alpha1
kind: ToolServer
metadata: {name: files}
spec:
  config:
    stdio: {command: uvx, args: [files-mcp@1.2.3], env: {ROOT: /data}}
---
apiVersion: kagent.dev/v1alpha1
kind: MCPServer
metadata: {name: vault, namespace: tools}
spec:
  transportType: stdio
  deployment: {image: "registry.example.com/vault:latest", port: 3001, env: {VAULT_TOKEN: dummy-secret-value}}
---
apiVersion: kagent.dev/v1alpha2
kind: Agent
metadata: {name: triage}
spec:
  declarative:
    tools:
      - {type: McpServer, mcpServer: {name: github-remote, kind: RemoteMCPServer, toolNames: [list_issues, get_issue]}}
---
apiVersion: v1
kind: Secret
metadata: {name: gh-creds}
stringData: {authorization: dummy-secret-value}
"""


def test_kagent_objects_are_reached_where_they_say_or_where_the_operator_serves_them(tmp_path: Path) -> None:
    found = imported(tmp_path, "objects.yaml", KAGENT)
    assert entries(found, assistant="triage") == (
        "    # description: GitHub\n"
        "    - name: github-remote\n"
        "      namespace: github_remote\n"
        "      transport: sse\n"
        '      url: "https://gh.example.com/sse"\n'
        '      headers: {Authorization: "${env:GH_CREDS_AUTHORIZATION}", X-Org: acme}\n'
        "      timeout_seconds: 90\n"
        "    - name: files\n"
        "      command: [uvx, files-mcp@1.2.3]\n"
        "      env: {ROOT: /data}\n"
        "    - name: vault\n"
        '      url: "http://vault.tools.svc.cluster.local:3001/mcp"\n'
        "\nassistants:\n"
        "  - name: triage\n"
        "    tools:\n"
        "      - server: github-remote\n"
        "        include: [list_issues, get_issue]\n"
    )
    assert findings(found) == [
        ("warning derived-endpoint", 22, "vault"),
        ("warning plain-http", 22, "vault"),
        ("warning inline-secret", 25, "vault"),
    ]


TOOLHIVE = """\
apiVersion: v1
kind: List
items:
  - apiVersion: toolhive.stacklok.dev/v1alpha1
    kind: MCPServer
    metadata: {name: fetch, namespace: toolhive-system}
    spec: {image: docker.io/mcp/fetch, transport: stdio, proxyMode: sse, proxyPort: 8081, toolConfigRef: {name: few}}
  - apiVersion: toolhive.stacklok.dev/v1alpha1
    kind: MCPToolConfig
    metadata: {name: few}
    spec: {toolsFilter: [fetch]}
  - apiVersion: toolhive.stacklok.dev/v1alpha1
    kind: MCPServer
    metadata: {name: github}
    spec: {image: "ghcr.io/x/github:v1", transport: streamable-http, port: 9000, tools: [list_issues],
           secrets: [{name: github-token-1, key: token}],
           env: [{name: API_TOKEN, value: dummy-secret-value}, {name: T, valueFrom: {secretKeyRef: {name: a, key: b-token-12}}}]}
    status: {url: "http://mcp-github-proxy.default.svc.cluster.local:9000/mcp"}
"""


def test_toolhive_servers_are_reached_through_their_proxy(tmp_path: Path) -> None:
    found = imported(tmp_path, "list.yaml", TOOLHIVE)
    fetch, github = found.servers
    assert (fetch.transport, fetch.url) == ("sse", "http://mcp-fetch-proxy.toolhive-system.svc.cluster.local:8081/sse")
    assert github.url == "http://mcp-github-proxy.default.svc.cluster.local:9000/mcp"
    assert [each.include for each in found.servers] == [("fetch",), ("list_issues",)]
    assert findings(found) == [
        ("warning derived-endpoint", 6, "fetch"),
        ("warning plain-http", 6, "fetch"),
        ("warning inline-secret", 17, "github"),
        ("warning plain-http", 18, "github"),
    ]


def test_two_agents_that_select_from_one_server_get_no_common_list(tmp_path: Path) -> None:
    second = KAGENT.replace("name: triage", "name: second").partition("kind: Agent")[2].partition("---")[0]
    text = f"{KAGENT}---\napiVersion: kagent.dev/v1alpha2\nkind: Agent{second}"
    found = imported(tmp_path, "objects.yaml", text)
    assert server(found, "github-remote").include is None
    assert ("note several-agents", 3, "github-remote") in findings(found)


def test_settings_of_vs_code_hold_servers_and_inputs_below_a_key(tmp_path: Path) -> None:
    text = """{"editor.tabSize": 2, "mcp": {"inputs": [{"id": "region", "type": "pickString", "default": "eu"}],
      "servers": {"s": {"command": "x", "args": ["--region", "${input:region}", "${userHome}/y"]}}}}"""
    found = imported(tmp_path, ".vscode/settings.json", text)
    assert server(found, "s").command == ("x", "--region", "${env:region:-eu}", "${env:HOME}/y")
    assert findings(found) == []


@pytest.mark.parametrize(
    ("name", "text", "dialect"),
    [
        ("claude_desktop_config.json", '{"mcpServers": {}}', "claude-desktop"),
        (".cursor/mcp.json", '{"mcpServers": {}}', "cursor"),
        (".roo/mcp.json", '{"mcpServers": {}}', "roo"),
        ("cline_mcp_settings.json", '{"mcpServers": {}}', "cline"),
        (".mcp.json", '{"mcpServers": {}}', "claude-code"),
        ("x.json", '{"mcpServers": null}', "claude-code"),
        ("x", '{"servers": {}}', "vscode"),
        ("x.toml", "[mcp_servers]\n", "codex"),
        ("config.yaml", "mcp_servers: {}\n", "litellm"),
        ("config.yaml", "mcpServers: []\n", "continue"),
    ],
)
def test_a_file_is_told_by_its_name_or_by_its_table(tmp_path: Path, name: str, text: str, dialect: str) -> None:
    assert list(imported(tmp_path, name, text).dialects.values()) == [dialect]


def test_a_file_of_nobody_is_an_error_that_lists_the_dialects(tmp_path: Path) -> None:
    found = imported(tmp_path, "x.json", json.dumps({"compilerOptions": {}}))
    assert [(each.code, (each.hint or "").endswith("windsurf, zed")) for each in found.diagnostics] == [
        ("unknown-dialect", True)
    ]
