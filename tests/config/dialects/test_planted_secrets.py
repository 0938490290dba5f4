"""Short secrets without any shape, planted in every place of every dialect where a name tells that one stands there."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.config.dialects.importing import import_files
from remit.config.dialects.merging import merged_text
from remit.config.dialects.model import Imports
from remit.config.dialects.reporting import import_document
from remit.config.dialects.writing import mcp_text
from remit.render.diagnostics import diagnostics_text
from tests.config.dialects.support import desired_of, imported

WORDS = ("correct-horse-battery", "hunter2secretpw")
THERE = "version: 1\nmcp:\n  servers:\n    - name: there\n      command: [x]\n"
URL = "https://a.example.com/mcp"


def claude(entry: Callable[[str], dict[str, Any]]) -> tuple[str, Callable[[str], str]]:
    return ".mcp.json", lambda word: json.dumps({"mcpServers": {"acme": entry(word)}})


def file(name: str, text: str) -> tuple[str, Callable[[str], str]]:
    return name, lambda word: text.replace("§", word)


def env(name: str, value: str) -> tuple[str, Callable[[str], str]]:
    return claude(lambda word: {"command": "x", "env": {name: value.replace("§", word)}})


def args(*words: str, command: str = "x") -> tuple[str, Callable[[str], str]]:
    return claude(lambda word: {"command": command, "args": [each.replace("§", word) for each in words]})


def header(name: str, value: str) -> tuple[str, Callable[[str], str]]:
    return claude(lambda word: {"url": URL, "headers": {name: value.replace("§", word)}})


def url(text: str) -> tuple[str, Callable[[str], str]]:
    return claude(lambda word: {"url": text.replace("§", word)})


PLACES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "a variable": env("GITHUB_TOKEN", "§"),
    "a variable with pass": env("DB_PASS", "§"),
    "a numbered variable": env("API_TOKEN_2", "§"),
    "a variable with a scheme": env("X", "Bearer §"),
    "a telling variable with a scheme": env("API_TOKEN", "Bearer §"),
    "a variable with base64 at its end": env("API_TOKEN", "§=="),
    "a default": env("FOO", "${GH_TOKEN:-§}"),
    "a default under a telling key": env("GITHUB_TOKEN", "${FOO:-§}"),
    "a default behind a scheme": env("FOO", "Bearer ${T:-§}"),
    "a default in json": env("FOO", '{"password": "${T:-§}"}'),
    "a default of a connection string": env("DB", "postgres://me:${P:-§}@db/x"),
    "a default with env": env("FOO", "${env:API_KEY:-§}"),
    "json": env("CONFIG", '{"password": "§"}'),
    "json with a scheme": env("OPENAPI_MCP_HEADERS", '{"Authorization": "Bearer §", "Notion-Version": "2022-06-28"}'),
    "json with a number before it": env("CONFIG", '{"port": 1, "nested": {"api_key": "§"}}'),
    "json in a list": env("CONFIG", '{"passwd": ["§"]}'),
    "json as a pair": env("CONFIG", '[{"name": "API_KEY", "value": "§"}]'),
    "json within json": env("CONFIG", json.dumps({"a": json.dumps({"token": "§"})})),
    "python": env("CONFIG", "{'password': '§'}"),
    "json as an argument": args("--config", '{"password": "§"}'),
    "json in a file of the client": args(
        "mcp-remote", URL, "--static-oauth-client-info", '{"client_id": "a", "client_secret": "§"}', command="npx"
    ),
    "headers of telemetry": env("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic §,x=y"),
    "a connection string": env("DB", "postgres://me:§@db/x"),
    "a connection string of another kind": env("DB", "Server=db;Password=§;Database=x"),
    "a connection string with spaces": env("DB", "host=db password=§ user=me"),
    "a file of npm": env("NPMRC", "//registry.example.com/:_authToken=§"),
    "flags in a variable": env("ARGS", "--verbose --token § --port 3"),
    "lines of headers": env("HEADERS", "X-A: b\nX-Api-Key: §\nX-C: d"),
    "a flag": args("--token", "§"),
    "a flag for a variable's name": args("--token-env", "§"),
    "a flag for a variable's name with =": args("--password-env=§"),
    "a flag in camel case": args("--oauth2Bearer", "§"),
    "a flag with =": args("--api-key=§"),
    "a flag with base64 at its end": args("--token", "§=="),
    "a flag with a colon": args("/password:§"),
    "a flag with a scheme": args("--authorization", "Bearer §"),
    "a default of a flag": args("--token", "${X:-§}"),
    "a default of a flag with =": args("--token=${X:-§}"),
    "a telling default as an argument": args("${API_KEY:-§}"),
    "a flag and json": args('--config={"password": "§"}'),
    "two connection strings": args("postgresql://u:§@h/db", "postgresql://u:§-2@h/db2", command="pg-mcp"),
    "two tokens": args("token=§", "token=§-2"),
    "a variable of a container": args("run", "-e", "GITHUB_TOKEN=§", "img:1.0.0", command="docker"),
    "a variable of a container with spaces": args("run", "-e", "PASSWORD=a §", "img:1.0.0", command="docker"),
    "a header as an argument": args("--header", "X-Api-Key: §"),
    "a header as an argument with =": args("--header=Authorization: Bearer §"),
    "a variable of a container with =": args("run", "--env=API_KEY=§", "img:1.0.0", command="docker"),
    "a setting as the value of a flag": args("--set=auth.password=§"),
    "a header and another as the value of a flag": args("--header=Authorization=Bearer §,X-Api-Key=§-2"),
    "a list of headers": env("HDRS", "Authorization=Bearer §,X-A=1"),
    "a header of a bridge": args("mcp-remote", URL, "--header", "Authorization:Bearer §", command="npx"),
    "a bearer argument": args("Bearer §"),
    "a url as an argument": args("https://a.example.com/?token=§"),
    "a url as the value of a flag": args("--url=https://a.example.com/?api_key=§"),
    "a user of a url as an argument": args("https://§@git.example.com/a"),
    "a line for a shell": args("-c", "GITHUB_TOKEN=§ exec npx -y srv@1.0.0 --port 3", command="sh"),
    "a flag in a line for a shell": args("-c", "node x.js --password §", command="sh"),
    "a header in a line for a shell": args("-c", 'curl -H "Authorization: Bearer §" https://a.example.com', command="sh"),
    "quotes in a line for a shell": args("-c", "TOKEN='§' npx x@1.0.0", command="sh"),
    "one line": claude(lambda word: {"command": f"npx -y foo@1.0.0 --token {word}"}),
    "one line with a path": claude(lambda word: {"command": f"/opt/My App/bin/x --token {word}"}),
    "one line in a list": file("opencode.json", '{"mcp": {"a": {"type": "local", "command": ["npx -y f@1.0.0 --token §"]}}}'),
    "a header": header("Authorization", "§"),
    "a header with a scheme": header("Authorization", "Bearer §"),
    "a header with another scheme": header("Authorization", "Token token=§"),
    "a header with a key": header("X-Api-Key", "§"),
    "a harmless header with a scheme": header("X-Foo", "Bearer §"),
    "a default of a header": header("Authorization", "Bearer ${TOKEN:-§}"),
    "a telling default of a header": header("X-Foo", "${MY_SECRET:-§}"),
    "a cookie": header("Cookie", "session=§; theme=dark"),
    "before the host": url("https://me:§@a.example.com/mcp"),
    "alone before the host": url("https://§@a.example.com/mcp"),
    "a query": url("https://a.example.com/mcp?region=eu&api_key=§"),
    "a query called key": url("https://a.example.com/mcp?key=§"),
    "a fragment": url("https://a.example.com/mcp#§"),
    "a named fragment": url("https://a.example.com/mcp#access_token=§"),
    "a telling path": url("https://a.example.com/token/§2/mcp"),
    "a default in a path": url("https://a.example.com/${MY_SECRET:-§}/mcp"),
    "a default in a query": url("https://a.example.com/mcp?api_key=${X:-§}"),
    "a default in a harmless query": url("https://a.example.com/mcp?a=${MY_SECRET:-§}"),
    "a key nobody knows": claude(lambda word: {"command": "x", "vendor": [{"deep": {"token": word}}]}),
    "a description of what is there": claude(lambda word: {"command": "x", "description": f"run it with --token {word}"}),
    "a second time": claude(lambda word: {"command": "x", "args": [word], "env": {"TOKEN": word}, "description": word}),
    "a second time as a package": claude(lambda word: {"command": "npx", "args": ["-y", word], "env": {"TOKEN": word}}),
    "a second time as a tool": claude(lambda word: {"command": "x", "env": {"TOKEN": word}, "includeTools": [word, "a"]}),
    "a second time behind a default": claude(lambda word: {"command": "x", "args": [word], "env": {"A": f"${{GH_TOKEN:-{word}}}"}}),
    "a variable's name for a bearer": file("config.toml", f'[mcp_servers.a]\nurl = "{URL}"\nbearer_token_env_var = "§"\n'),
    "a variable's name for a header": file("config.toml", f'[mcp_servers.a]\nurl = "{URL}"\nenv_http_headers = {{ X-Foo = "§" }}\n'),
    "a bearer token": file("config.toml", f'[mcp_servers.a]\nurl = "{URL}"\nbearer_token = "§"\n'),
    "a header of codex": file("config.toml", f'[mcp_servers.a]\nurl = "{URL}"\nhttp_headers = {{ X-Api-Key = "§" }}\n'),
    "a variable of codex": file("config.toml", '[mcp_servers.a]\ncommand = "x"\nenv = { API_TOKEN = "§" }\n'),
    "a key of continue": file("config.yaml", f"mcpServers:\n  - name: a\n    url: {URL}\n    apiKey: §\n"),
    "a header of continue": file(
        "config.yaml", f"mcpServers:\n  - name: a\n    url: {URL}\n    requestOptions: {{headers: {{Authorization: Bearer §}}}}\n"
    ),
    "a value of litellm": file("litellm.yaml", f"mcp_servers:\n  a: {{url: '{URL}', auth_type: api_key, auth_value: §}}\n"),
    "a reference of litellm": file("litellm.yaml", f"mcp_servers:\n  a: {{url: '{URL}', auth_type: api_key, auth_value: os.environ/§}}\n"),
    "a client of litellm": file(
        "litellm.yaml",
        f"mcp_servers:\n  a: {{url: '{URL}', auth_type: oauth2, client_id: c, client_secret: §, token_url: 'https://i.example.com/t'}}\n",
    ),
    "a variable of librechat": file("librechat.yaml", "mcpServers:\n  a: {command: x, env: {API_KEY: §}}\n"),
    "a variable of mcp-agent": file("mcp_agent.config.yaml", "mcp: {servers: {a: {command: x, env: {API_KEY: §}}}}\n"),
    "a variable of vscode": file(".vscode/mcp.json", '{"servers": {"a": {"command": "x", "env": {"API_KEY": "§"}}}}'),
    "a default of an input": file(
        ".vscode/mcp.json",
        '{"inputs": [{"id": "api_key", "type": "promptString", "default": "§"}],'
        ' "servers": {"a": {"command": "x", "env": {"A": "${input:api_key}"}}}}',
    ),
    "a variable of opencode": file("opencode.json", '{"mcp": {"a": {"type": "local", "command": ["x"], "environment": {"API_KEY": "§"}}}}'),
    "a variable of zed": file(".zed/settings.json", '{"context_servers": {"a": {"command": {"path": "x", "env": {"API_KEY": "§"}}}}}'),
    "settings of zed": file(".zed/settings.json", '{"context_servers": {"a": {"command": "x", "settings": {"token": "§"}}}}'),
    "a variable of gemini": file(".gemini/settings.json", '{"mcpServers": {"a": {"command": "x", "env": {"API_KEY": "§"}}}}'),
    "a variable of windsurf": file("mcp_config.json", '{"mcpServers": {"a": {"serverUrl": "https://a.example.com/sse", "headers": {"API_KEY": "§"}}}}'),
    "a header of kagent": file(
        "k.yaml",
        f"apiVersion: kagent.dev/v1alpha2\nkind: RemoteMCPServer\nmetadata: {{name: a}}\nspec:\n  url: {URL}\n"
        "  headersFrom: [{name: Authorization, value: §}]\n",
    ),
    "a variable of a pod": file(
        "k.yaml",
        "apiVersion: toolhive.stacklok.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: a}\nspec:\n  image: img\n"
        "  env: [{name: API_KEY, value: §}]\n",
    ),
}  # fmt: skip


def outputs_of(found: Imports) -> list[str]:
    """Everything that an import gives out, as text."""
    return [
        mcp_text(found.servers, workspace="w", assistant="ops"),
        mcp_text(found.servers, workspace="w", assistant=None),
        merged_text(THERE, found.servers, assistant="ops"),
        diagnostics_text(found.diagnostics, colour=False),
        json.dumps(import_document(found, file="mcp.yaml", written=[])),
        repr(found),
    ]


def spelled(text: str) -> str:
    """The letters and digits alone: a secret in the name of a variable is in capitals."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("place", PLACES)
def test_a_short_secret_is_in_no_output_wherever_its_name_tells_it(tmp_path: Path, place: str, word: str) -> None:
    name, text = PLACES[place]
    found = imported(tmp_path, name, text(word))
    outputs = outputs_of(found)
    assert [each for each in outputs if spelled(word) in spelled(each)] == []
    assert {each.code for each in found.diagnostics} & {"inline-secret", "invalid-command", "not-carried-over"}
    desired_of(outputs[0])


SHAPED = "ghp_A1b2C3d4E5f6G7h8I9j0"
NAMES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "a key of env": claude(lambda word: {"command": "x", "env": {word: "1"}}),
    "a key of headers": claude(lambda word: {"url": URL, "headers": {word: "1"}}),
    "the name of a server": (".mcp.json", lambda word: json.dumps({"mcpServers": {word: {"command": "x"}}})),
    "a key that nobody knows": claude(lambda word: {"command": "x", word: "1"}),
    "a key with a secret that nobody knows": claude(lambda word: {"command": "x", word: {"token": f"{word}9"}}),
    "two arguments": args("§", "§9"),
    "a tool that is allowed": claude(lambda word: {"command": "x", "includeTools": [word, "a"]}),
    "a tool that is excluded": claude(lambda word: {"command": "x", "excludeTools": [word, "a"]}),
    "a tool that is approved": claude(lambda word: {"command": "x", "autoApprove": [word, "a"]}),
    "a tool with a switch": claude(
        lambda word: {"command": "x", "tools": {word: {"enabled": True, "description": "d"}, "a": {"enabled": False}}}
    ),
    "a file of variables": claude(lambda word: {"command": "x", "envFile": word}),
    "a folder": claude(lambda word: {"command": "x", "cwd": word}),
    "a reference": env("A", "${§}"),
    "a reference with env": env("A", "${env:§}"),
    "a reference in braces": env("A", "{env:§}"),
    "a reference of litellm": env("A", "os.environ/§"),
    "a file": env("A", "{file:§}"),
    "an input": env("A", "${input:§}"),
    "a store": env("A", "{{vault:§}}"),
    "a variable of codex": file("config.toml", '[mcp_servers.a]\ncommand = "x"\nenv_vars = ["§", "A"]\n'),
    "a bearer variable": file("config.toml", f'[mcp_servers.a]\nurl = "{URL}"\nbearer_token_env_var = "§"\n'),
    "a header variable": file("config.toml", f'[mcp_servers.a]\nurl = "{URL}"\nenv_http_headers = {{ X-Foo = "§" }}\n'),
    "an alias of litellm": file("litellm.yaml", f"mcp_servers:\n  a: {{url: '{URL}', alias: §}}\n"),
    "a key of a secret of kagent": file(
        "k.yaml",
        f"apiVersion: kagent.dev/v1alpha2\nkind: RemoteMCPServer\nmetadata: {{name: a}}\nspec:\n  url: {URL}\n"
        "  headersFrom: [{name: Authorization, valueFrom: {type: Secret, name: s, key: §}}]\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", NAMES)
def test_a_secret_in_the_place_of_a_name_is_in_no_output(tmp_path: Path, place: str) -> None:
    name, text = NAMES[place]
    found = imported(tmp_path, name, text(SHAPED))
    assert [each for each in outputs_of(found) if spelled(SHAPED) in spelled(each)] == []
    assert {each.code for each in found.diagnostics} & {"inline-secret", "invalid-name"}


TOLD = sorted(
    PLACES.keys() - {"a variable's name for a bearer", "a variable's name for a header", "a reference of litellm"}
)
"""Where a name tells a secret: in the place of a variable's name only its looks do, and some secrets look like a name."""

LETTERS = st.text("abcdefghkmnprstuvwxyz23456789-_.", min_size=8, max_size=20)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(TOLD), word=LETTERS)
def test_whatever_the_secret_is_no_output_has_it(tmp_path: Path, place: str, word: str) -> None:
    # `zq` is in no text of ours, so that nothing but the secret can be found.
    word = f"zq7{word}zq"
    name, text = PLACES[place]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(word), "utf-8")
    assert [each for each in outputs_of(import_files([path])) if spelled(word) in spelled(each)] == []


UNTOLD: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "an argument": args("§"),
    "a short flag": args("-p", "§"),
    "a variable": env("MODE", "§"),
    "a name ending in key, without a digit": env("SORT_KEY", "created_at"),
    "a part of a path": url("https://a.example.com/§/mcp"),
    "a tool": claude(lambda word: {"command": "x", "includeTools": [word]}),
    "a query": url("https://a.example.com/mcp?region=§"),
    "a default": args("${REGION:-§}"),
    "json": env("CONFIG", '{"mode": "§"}'),
}


@pytest.mark.parametrize("place", UNTOLD)
def test_a_word_under_a_name_that_says_nothing_is_copied_as_docs_import_md_says(tmp_path: Path, place: str) -> None:
    name, text = UNTOLD[place]
    found = imported(tmp_path, name, text("eu-central-1"))
    assert ("eu-central-1" in outputs_of(found)[0]) is (place != "a name ending in key, without a digit")
    assert "inline-secret" not in {each.code for each in found.diagnostics}
