"""OAuth settings of clients: client credentials become `auth`, a login in a browser is named, no secret is copied."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.config.dialects.reporting import import_document
from remit.core.desired import ClientCredentialsAuth
from tests.config.dialects.support import desired_of, entries, findings, imported, server, variables

TOKEN_URL = "https://login.example.com/oauth/token"
SECRET = "dummy-secret-value-1234"

LITELLM = """\
mcp_servers:
  a:
    url: "https://a.example.com/mcp"
    transport: http
    auth_type: oauth2
    {flow}
    client_id: a-client
    client_secret: {secret}
    token_url: "{token_url}"
    scopes: [read, write]
"""


def litellm(folder: Path, *, flow: str = "oauth2_flow: client_credentials", secret: str = SECRET, **more: str) -> Any:
    text = LITELLM.format(flow=flow, secret=secret, token_url=more.pop("token_url", TOKEN_URL), **more)
    return imported(folder, "litellm_config.yaml", text)


@pytest.mark.parametrize("flow", ["oauth2_flow: client_credentials", "description: as it was before"])
def test_client_credentials_become_auth_with_a_reference_for_the_secret(tmp_path: Path, flow: str) -> None:
    found = litellm(tmp_path, flow=flow)
    assert (
        'auth: {type: oauth_client_credentials, token_url: "https://login.example.com/oauth/token", client_id: a-client, '
        'client_secret: "${env:A_CLIENT_SECRET}", scopes: [read, write]}'
    ) in entries(found)
    assert findings(found) == [("warning inline-secret", 8, "a")]
    assert variables(found) == ["A_CLIENT_SECRET*"]
    assert SECRET not in entries(found) + json.dumps(import_document(found, file=None, written=[]))


def test_what_was_written_is_what_mcp_yaml_reads(tmp_path: Path) -> None:
    found = litellm(tmp_path, secret="os.environ/A_SECRET")
    text = "version: 1\nworkspace: w\nmcp:\n  servers:\n" + entries(found)
    assert desired_of(text).servers[0].connection.auth == ClientCredentialsAuth(
        token_url=TOKEN_URL, client_id="a-client", client_secret="${env:A_SECRET}", scopes=("read", "write")
    )
    assert findings(found) == []


def test_programs_read_the_same_auth(tmp_path: Path) -> None:
    document = import_document(litellm(tmp_path), file=None, written=[])
    assert document["servers"][0]["auth"] == {
        "type": "oauth_client_credentials",
        "token_url": TOKEN_URL,
        "client_id": "a-client",
        "client_secret": "${env:A_CLIENT_SECRET}",
        "scopes": ["read", "write"],
    }


@pytest.mark.parametrize(
    ("flow", "token_url", "code"),
    [
        ("oauth2_flow: authorization_code", TOKEN_URL, "oauth-login"),
        ('authorization_url: "https://login.example.com/authorize"', TOKEN_URL, "oauth-login"),
        ("oauth2_flow: client_credentials", "https://${HOST}/token", "oauth-incomplete"),
        ("oauth2_flow: client_credentials", "", "oauth-incomplete"),
        (
            "oauth2_flow: client_credentials\n    static_headers: {Authorization: os.environ/T}",
            TOKEN_URL,
            "oauth-incomplete",
        ),
    ],
    ids=["login", "login-endpoint", "host-by-reference", "no-token-endpoint", "header-beside"],
)
def test_what_auth_cannot_say_is_named_and_leaves_no_auth_and_no_secret(
    tmp_path: Path, flow: str, token_url: str, code: str
) -> None:
    found = litellm(tmp_path, flow=flow, token_url=token_url)
    assert server(found, "a").auth is None
    assert f"warning {code}" in [each for each, _, _ in findings(found)]
    assert "warning inline-secret" in [each for each, _, _ in findings(found)]
    assert "# OAuth there: client_id a-client" in entries(found)
    assert SECRET not in entries(found)
    assert "A_CLIENT_SECRET*" not in variables(found)


CLIENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": (".mcp.json", {"oauth": {"clientId": "c", "callbackPort": 1, "scopes": "read write"}}),
    "vscode": (".vscode/mcp.json", {"oauth": {"clientId": "c"}}),
    "cursor": (".cursor/mcp.json", {"auth": {"CLIENT_ID": "c", "CLIENT_SECRET": SECRET, "scopes": ["read", "write"]}}),
    "gemini": (
        ".gemini/settings.json",
        {
            "oauth": {
                "enabled": True,
                "clientId": "c",
                "clientSecret": SECRET,
                "authorizationUrl": "https://login.example.com/authorize",
                "tokenUrl": TOKEN_URL,
                "scopes": ["read", "write"],
            }
        },
    ),
    "opencode": (
        "opencode.json",
        {"type": "remote", "oauth": {"clientId": "c", "clientSecret": SECRET, "scope": "read"}},
    ),
}
TABLES = {"vscode": "servers", "opencode": "mcp"}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_login_in_a_browser_is_named_with_what_is_known_of_the_client(tmp_path: Path, name: str) -> None:
    path, more = CLIENTS[name]
    entry = {"a": {"url": "https://a.example.com/mcp", **more}}
    found = imported(tmp_path, path, json.dumps({TABLES.get(name, "mcpServers"): entry}))
    assert found.dialects == {str(tmp_path / path): name}
    told = [each for each, _, _ in findings(found)]
    assert "warning oauth-login" in told
    assert ("warning inline-secret" in told) == (SECRET in json.dumps(more))
    assert "# OAuth there: client_id c" in entries(found)
    assert server(found, "a").auth is None
    assert SECRET not in entries(found)
    assert variables(found) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("librechat.yaml", "mcpServers:\n  a: {{url: 'https://a.example.com', oauth: {{{0}}}}}\n"),
        ("librechat.yaml", "mcpServers:\n  a: {{url: 'https://a.example.com', requiresOAuth: true, oauth: {{{0}}}}}\n"),
        (
            "mcp_agent.config.yaml",
            "mcp:\n  servers:\n    a: {{url: 'https://a.example.com', auth: {{oauth: {{{0}}}}}}}\n",
        ),
    ],
)
def test_any_dialect_may_say_that_it_means_client_credentials(tmp_path: Path, path: str, text: str) -> None:
    oauth = f"client_id: c, client_secret: '${{A_SECRET}}', token_url: '{TOKEN_URL}', scope: read"
    assert server(imported(tmp_path, path, text.format(oauth)), "a").auth is None
    auth = server(imported(tmp_path, path, text.format(oauth + ", grant_type: client_credentials")), "a").auth
    assert auth is not None
    assert (auth.client_id, auth.client_secret, auth.scopes) == ("c", "${env:A_SECRET}", ("read",))


@pytest.mark.parametrize("oauth", [False, None, {"enabled": False, "clientId": "c"}])
def test_oauth_that_is_switched_off_is_nothing(tmp_path: Path, oauth: object) -> None:
    entry = {"a": {"httpUrl": "https://a.example.com/mcp", "oauth": oauth}}
    found = imported(tmp_path, ".gemini/settings.json", json.dumps({"mcpServers": entry}))
    assert [each for each, _, _ in findings(found) if "oauth" in each] == []


def test_a_switch_alone_asks_for_a_login_too(tmp_path: Path) -> None:
    found = imported(
        tmp_path, "librechat.yaml", "mcpServers:\n  a: {url: 'https://a.example.com', requiresOAuth: true}\n"
    )
    assert ("warning oauth-login", 2, "a") in findings(found)
    assert "#" not in entries(found)


def test_a_client_id_that_looks_like_a_credential_becomes_a_variable_that_holds_no_secret(tmp_path: Path) -> None:
    text = LITELLM.format(flow="oauth2_flow: client_credentials", secret="os.environ/S", token_url=TOKEN_URL)
    found = imported(tmp_path, "litellm_config.yaml", text.replace("a-client", "8f14e45fceea167a5a36dedd4bea2543"))
    auth = server(found, "a").auth
    assert auth is not None
    assert auth.client_id == "${env:A_CLIENT_ID}"
    assert variables(found) == ["A_CLIENT_ID", "S*"]


def test_two_clients_at_one_endpoint_are_two_instances(tmp_path: Path) -> None:
    first = LITELLM.format(flow="oauth2_flow: client_credentials", secret="os.environ/S", token_url=TOKEN_URL)
    second = first.partition("mcp_servers:\n")[2].replace("  a:", "  b:").replace("a-client", "b-client")
    found = imported(tmp_path, "litellm_config.yaml", first + second)
    assert [(each.name, each.instance) for each in found.servers] == [("a", None), ("b", "b")]


def test_a_command_with_oauth_has_none(tmp_path: Path) -> None:
    entry = {"a": {"command": "x", "oauth": {"clientId": "c", "clientSecret": SECRET}}}
    found = imported(tmp_path, ".mcp.json", json.dumps({"mcpServers": entry}))
    assert [each for each, _, _ in findings(found)] == ["note not-carried-over", "warning inline-secret"]
    assert SECRET not in entries(found)


def test_a_kind_of_authorisation_that_nothing_here_can_say_is_named(tmp_path: Path) -> None:
    text = "mcp_servers:\n  a: {url: 'https://a.example.com/mcp', transport: http, auth_type: oauth_delegate}\n"
    assert findings(imported(tmp_path, "litellm_config.yaml", text)) == [("note not-carried-over", 2, "a")]
