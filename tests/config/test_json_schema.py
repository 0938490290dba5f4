"""The JSON schema that editors use says what `validate` says, as far as a schema can."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import jsonschema_rs
import yaml

from remit.config.json_schema import mcp_schema, overlay_schema
from remit.config.starter import starter_text
from remit.core.canonical import Json
from tests.config.reading import EXAMPLE

SCHEMA = Path(__file__).parents[2] / "schemas" / "mcp.schema.json"

WHOLE = (
    EXAMPLE
    + """\
      - {server: tickets, include: ["*"]}
reserved_names: [mine]
"""
)
AUTHS: list[dict[str, Json]] = [
    {"type": "bearer", "token": "${env:T}"},
    {"type": "oauth_client_credentials", "token_url": "https://i/t", "client_id": "a", "client_secret": "${env:S}"},
    {"type": "private_key_jwt", "token_url": "https://i/t", "client_id": "a", "private_key": "${file:k}"},
]


def accepts(document: object) -> bool:
    return jsonschema_rs.Draft7Validator(mcp_schema()).is_valid(document)


def document() -> dict[str, object]:
    return yaml.safe_load(WHOLE)


def mappings(node: object, path: str = "") -> Iterator[tuple[str, dict[str, object]]]:
    """Every mapping of a document with where it is, in the order of the document."""
    if isinstance(node, dict):
        found = cast("dict[str, object]", node)
        yield path, found
        for key, value in list(found.items()):
            yield from mappings(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(cast("list[object]", node)):
            yield from mappings(value, f"{path}/{index}")


def test_the_schema_in_the_repository_is_the_one_that_the_code_gives() -> None:
    assert SCHEMA.read_text("utf-8") == json.dumps(mcp_schema(), indent=2, ensure_ascii=False) + "\n"


def test_the_schema_is_a_valid_draft_7_schema_without_words_of_later_drafts() -> None:
    assert jsonschema_rs.meta.is_valid(mcp_schema())
    text = json.dumps(mcp_schema())
    assert [word for word in ("$defs", "prefixItems", "unevaluated", "dependentRequired") if word in text] == []


def test_the_example_of_the_design_and_the_starter_are_accepted() -> None:
    assert [accepts(yaml.safe_load(text)) for text in (EXAMPLE, WHOLE, starter_text("acme"))] == [True, True, True]


def test_an_unknown_key_is_refused_at_every_level() -> None:
    free = {"/mcp/servers/0/env", "/mcp/servers/0/tools", "/mcp/servers/1/headers", "/assistants/0/tools/0/aliases"}
    paths = [path for path, _ in mappings(document())]
    accepted: list[str] = []
    for path in paths:
        damaged = document()
        dict(mappings(damaged))[path]["zz_unknown"] = "a"
        accepted += [path] if accepts(damaged) else []
    # Where the keys are the user's own, any fitting name is one; under tools the value is no policy.
    assert set(accepted) == free - {"/mcp/servers/0/tools"}
    assert len(paths) >= 12


def test_each_kind_of_auth_is_accepted_and_its_unknown_keys_are_not() -> None:
    def with_auth(auth: Mapping[str, Json]) -> object:
        return {"version": 1, "mcp": {"servers": [{"name": "s", "url": "https://x/", "auth": auth}]}}

    assert [accepts(with_auth(auth)) for auth in AUTHS] == [True, True, True]
    assert [accepts(with_auth({**auth, "zz": "a"})) for auth in AUTHS] == [False, False, False]


def test_a_wrong_kind_or_a_missing_key_is_refused() -> None:
    entry: dict[str, Json] = {"name": "s", "command": ["x"]}
    bad: list[Json] = [
        {"mcp": {"servers": [entry]}},
        {"version": "1"},
        {"version": 2},
        {"version": 1, "mcp": {"servers": [{"name": "s"}]}},
        {"version": 1, "mcp": {"servers": [{**entry, "url": "https://x/"}]}},
        {"version": 1, "mcp": {"servers": [{**entry, "enabled": "false"}]}},
        {"version": 1, "mcp": {"servers": [{**entry, "timeout_seconds": 0}]}},
        {"version": 1, "mcp": {"servers": [{**entry, "call_timeout_seconds": 86_401}]}},
        {"version": 1, "mcp": {"servers": [{**entry, "envelope": {"unknown_arguments": "drop"}}]}},
        {"version": 1, "mcp": {"servers": [{**entry, "tools": {"x": {"record": "none"}}}]}},
        {"version": 1, "mcp": {"default_envelope": {"audit_arguments": True}}},
        {"version": 1, "trace_days": -1},
        {"version": 1, "trace_days": 3651},
        {"version": 1, "trace_days": 0.5},
        {"version": 1, "mcp": {"servers": [{**entry, "name": "a/b"}]}},
        {"version": 1, "mcp": {"servers": [{**entry, "namespace": "a__b"}]}},
        {"version": 1, "assistants": [{"name": "a", "tools": [{"server": "s", "include": []}]}]},
    ]
    assert [accepts(each) for each in bad] == [False] * len(bad)


def test_what_a_call_is_held_to_is_accepted_in_each_layer() -> None:
    policy: dict[str, Json] = {"unknown_arguments": "pass", "record": "digest", "audit_arguments": "values"}
    entry: dict[str, Json] = {"name": "s", "command": ["x"], "call_timeout_seconds": 86_400, "envelope": policy}
    mcp: dict[str, Json] = {"default_envelope": policy, "servers": [{**entry, "tools": {"x": policy}}]}
    assert [accepts({"version": 1, "trace_days": days, "mcp": mcp}) for days in (0, 7, 3650)] == [True, True, True]


def test_every_key_explains_itself() -> None:
    silent = [
        f"{path}/{key}"
        for path, node in mappings(mcp_schema())
        if path.endswith("/properties")
        for key, value in node.items()
        if not (isinstance(value, dict) and cast("dict[str, object]", value).get("description"))
    ]
    assert silent == []


def test_the_schema_of_overlays_in_the_repository_is_the_one_that_the_code_gives() -> None:
    written = SCHEMA.with_name("overlay.schema.json").read_text("utf-8")
    assert written == json.dumps(overlay_schema(), indent=2, ensure_ascii=False) + "\n"
    assert jsonschema_rs.meta.is_valid(overlay_schema())


OVERLAYS = {
    "version: 1": True,
    "version: 1\nworkspace: demo-prod": True,
    "version: 1\nmcp: {servers: [{name: a, url: https://x.example/mcp}]}": True,
    "version: 1\nmcp: {servers: [{name: a, $delete: [command, env], headers: {$delete: [X], Y: z}}]}": True,
    "version: 1\nmcp: {servers: [{name: a, $delete: true}, {name: b, $new: true, command: [x]}]}": True,
    "version: 1\nassistants: [{name: a, tools: [{server: s, $delete: true}, {server: t, include: [x]}]}]": True,
    "workspace: demo-prod": False,
    "version: 1\ninclude: [a.yaml]": False,
    "version: 1\nmcp: {servers: [{url: https://x.example/mcp}]}": False,
    "version: 1\nmcp: {servers: [{name: a, $new: false}]}": False,
    "version: 1\nmcp: {servers: [{name: a, $delete: env}]}": False,
    "version: 1\nmcp: {servers: [{name: a, auth: {type: bearer, token: '${env:T}', $delete: [token]}}]}": False,
    "version: 1\nmcp: {servers: [{name: a, unknown: 1}]}": False,
}


def test_the_schema_of_overlays_takes_parts_deletions_and_new_entries() -> None:
    validator = jsonschema_rs.Draft7Validator(overlay_schema())
    assert {text: validator.is_valid(yaml.safe_load(text)) for text in OVERLAYS} == OVERLAYS
