"""Only the credential is taken out of a value: what stands beside it stays, or the finding says that it went along."""

import json
from pathlib import Path
from time import process_time

import pytest

from remit.config.dialects.literals import written_values
from tests.config.dialects.support import imported, server

ARGUMENTS = {
    "--env=API_KEY=dummy-secret-4": "--env=API_KEY=${env:A_API_KEY}",
    "--header=Authorization: Bearer dummy-secret-5": "--header=Authorization: Bearer ${env:A_AUTHORIZATION}",
    "--header=X-Api-Key: dummy-secret-5": "--header=X-Api-Key: ${env:A_X_API_KEY}",
    "--set=auth.password=dummy-secret-6": "--set=auth.password=${env:A_AUTH_PASSWORD}",
    "--set=auth.password=dummy;secret\"6 x": "--set=auth.password=${env:A_AUTH_PASSWORD}",
    "--env=DB=postgres://me:dummy-secret-7@db/x": "--env=DB=postgres://me:${env:A_URL_PASSWORD}@db/x",
    "--token=dummy-secret-9": "--token=${env:A_TOKEN}",
    "--authorization=Bearer dummy-secret-9": "--authorization=Bearer ${env:A_AUTHORIZATION}",
}  # fmt: skip
VARIABLES = {
    "Authorization=Bearer dummy-secret-6,X-A=1": "Authorization=Bearer ${env:A_AUTHORIZATION},X-A=1",
    "Authorization=Bearer dummy-secret-6,X-Api-Key=dummy-secret-7": (
        "Authorization=Bearer ${env:A_AUTHORIZATION},X-Api-Key=${env:A_X_API_KEY}"
    ),
    "Authorization=Digest dummy=1,response=dummy": "Authorization=${env:A_AUTHORIZATION}",
    "PASSWORD=dummy,X-A=1": "PASSWORD=${env:A_PASSWORD}",
}
PLAIN = "this looks like a credential; ${env:%s} stands in its place"
WHOLE = f"{PLAIN}: set it to all that stood there, not to the credential alone"


def message_of(folder: Path, entry: dict[str, object]) -> tuple[str, ...]:
    found = imported(folder, ".mcp.json", json.dumps({"mcpServers": {"a": entry}}))
    return tuple(each.message for each in found.diagnostics if each.code == "inline-secret")


@pytest.mark.parametrize("text", ARGUMENTS)
def test_an_argument_keeps_its_flag_and_its_names(tmp_path: Path, text: str) -> None:
    source = json.dumps({"mcpServers": {"a": {"command": "x", "args": [text]}}})
    assert server(imported(tmp_path, ".mcp.json", source), "a").command == ("x", ARGUMENTS[text])


@pytest.mark.parametrize("text", VARIABLES)
def test_a_list_of_headers_keeps_its_scheme_and_its_other_headers(tmp_path: Path, text: str) -> None:
    source = json.dumps({"mcpServers": {"a": {"command": "x", "env": {"HDRS": text}}}})
    assert server(imported(tmp_path, ".mcp.json", source), "a").env == {"HDRS": VARIABLES[text]}


def test_a_variable_for_more_than_a_credential_is_told_as_one(tmp_path: Path) -> None:
    shaped = "ghp_A1b2C3d4E5f6G7h8I9j0"
    assert message_of(tmp_path, {"command": "x", "args": [f"use {shaped} here"]}) == (
        f"argument 1: {WHOLE % 'A_ARGUMENT'}",
    )
    assert message_of(tmp_path, {"command": "x", "args": [f"--note=use {shaped} here"]}) == (
        f"argument 1: {WHOLE % 'A_NOTE'}",
    )
    assert message_of(tmp_path, {"command": "x", "args": [shaped]}) == (f"argument 1: {PLAIN % 'A_ARGUMENT'}",)


@pytest.mark.parametrize(
    ("kind", "header", "value"),
    [
        ("api_key", "X-API-Key", "${env:A_AUTH_VALUE}"),
        ("bearer_token", "Authorization", "Bearer ${env:A_AUTH_VALUE}"),
    ],
)
def test_a_secret_that_became_a_header_is_told_once(tmp_path: Path, kind: str, header: str, value: str) -> None:
    entry = "url: 'https://a.example.com/mcp', auth_value: sk-dummy1dummydummydummy"
    found = imported(tmp_path, "litellm.yaml", f"mcp_servers: {{a: {{{entry}, auth_type: {kind}}}}}\n")
    assert server(found, "a").headers == {header: value}
    assert [each.message for each in found.diagnostics if each.code == "inline-secret"] == [
        f"headers.{header}: {PLAIN % 'A_AUTH_VALUE'}"
    ]


def test_a_secret_that_no_header_carries_is_told_all_the_same(tmp_path: Path) -> None:
    entry = "command: x, auth_type: api_key, auth_value: sk-dummy1dummydummydummy"
    found = imported(tmp_path, "litellm.yaml", f"mcp_servers: {{a: {{{entry}}}}}\n")
    assert [each.message for each in found.diagnostics if each.code == "inline-secret"] == [
        "auth_value: this looks like a credential; it was not copied"
    ]


def test_a_flag_that_names_a_variable_is_copied(tmp_path: Path) -> None:
    words = ["--token-env", "GITHUB_TOKEN", "--api-key-env=API_KEY", "--password-env-var", "DB_PASSWORD"]
    found = imported(tmp_path, ".mcp.json", json.dumps({"mcpServers": {"a": {"command": "x", "args": words}}}))
    assert (server(found, "a").command, found.diagnostics) == (("x", *words), ())


def test_a_chain_of_names_is_judged_once_for_each_and_not_once_for_each_way_into_it() -> None:
    began = process_time()
    assert written_values("a=" * 2_000 + "x") == ["a=" * 2_000 + "x"]
    # Where each value was searched for names again it took more than a minute.
    assert process_time() - began < 10
