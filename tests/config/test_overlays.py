"""An environment's overlay over the files: what merges, what is replaced, what is deleted, and what is refused."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.config.files import FileText
from remit.config.loader import Loaded, LoadResult, load_texts
from remit.config.showing import value_of
from remit.core.canonical import Json
from remit.core.desired import BearerAuth, ConfigFile, Desired
from remit.core.diagnostics import Source
from remit.core.identity import HttpEndpoint
from tests.config.reading import EXAMPLE, desired_of

BASE = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      url: https://dev.example.com/mcp
      headers: {X-Team: a, X-Stage: dev}
      envelope: {surface: locked, required_permission: read}
      auth: {type: bearer, token: "${env:DEV}"}
      tools:
        search: {surface: open, side_effecting: false}
    - name: scratch
      command: [uvx, scratch]
      env: {HOME: /tmp}
assistants:
  - name: ops
    permissions: [read]
    tools:
      - server: issues
        include: [search, close]
        aliases: {search: find}
      - server: scratch
        include: ["*"]
"""


def text_of(path: str, text: str) -> FileText:
    return FileText(file=ConfigFile(path=path, sha256=hashlib.sha256(text.encode()).hexdigest()), text=text)


def laid(overlay: str, base: str = BASE) -> LoadResult:
    return load_texts([text_of("mcp.yaml", base)], Path("/project"), overlay=text_of("envs/prod.yaml", overlay))


def laid_over(overlay: str, base: str = BASE) -> Loaded:
    result = laid("version: 1\n" + overlay, base)
    assert isinstance(result, Loaded), result
    return result


def found(overlay: str, base: str = BASE) -> list[str]:
    result = laid(overlay, base)
    diagnostics = result.warnings if isinstance(result, Loaded) else result.diagnostics
    return [f"{each.source} {each.code}" for each in diagnostics]


def value_at(loaded: Loaded, *path: str | int) -> Json:
    value: Any = value_of(loaded.tree)
    for step in path:
        value = value[step]
    return value


SERVERS = "mcp:\n  servers:\n"
ISSUES = SERVERS + "    - name: issues\n"
OPS = "assistants:\n  - name: ops\n"


@pytest.mark.parametrize(
    ("overlay", "path", "value"),
    [
        ("workspace: demo-prod\n", ("workspace",), "demo-prod"),
        (ISSUES + "      url: https://prod.example.com/mcp\n", ("mcp", "servers", 0, "url"), "https://prod.example.com/mcp"),
        (ISSUES + "      headers: {X-Stage: prod}\n", ("mcp", "servers", 0, "headers"), {"X-Team": "a", "X-Stage": "prod"}),
        (ISSUES + "      headers: {$delete: [X-Stage]}\n", ("mcp", "servers", 0, "headers"), {"X-Team": "a"}),
        (ISSUES + "      headers: {$delete: [X-Stage, X-Team], X-Team: b}\n", ("mcp", "servers", 0, "headers"), {"X-Team": "b"}),
        (ISSUES + "      $delete: [headers, tools, envelope]\n", ("mcp", "servers", 0),
         {"name": "issues", "url": "https://dev.example.com/mcp", "auth": {"type": "bearer", "token": "${env:DEV}"}}),
        (ISSUES + "      envelope: {required_permission: null}\n", ("mcp", "servers", 0, "envelope"),
         {"surface": "locked", "required_permission": None}),
        (ISSUES + "      tools: {search: {surface: locked}, close: {surface: locked}}\n", ("mcp", "servers", 0, "tools"),
         {"search": {"surface": "locked", "side_effecting": False}, "close": {"surface": "locked"}}),
        (ISSUES + "      auth: {type: bearer, token: '${env:PROD}'}\n", ("mcp", "servers", 0, "auth"),
         {"type": "bearer", "token": "${env:PROD}"}),
        (SERVERS + "    - name: scratch\n      command: [uv, run]\n", ("mcp", "servers", 1, "command"), ["uv", "run"]),
        (SERVERS + "    - {name: extra, $new: true, command: [x]}\n", ("mcp", "servers", 2), {"name": "extra", "command": ["x"]}),
        ("mcp:\n  default_envelope: {surface: locked}\n", ("mcp", "default_envelope"), {"surface": "locked"}),
        (OPS + "    permissions: [write]\n", ("assistants", 0, "permissions"), ["write"]),
        (OPS + "    tools: [{server: issues, include: [search]}]\n", ("assistants", 0, "tools", 0),
         {"server": "issues", "include": ["search"], "aliases": {"search": "find"}}),
        (OPS + "    tools: [{server: scratch, $delete: true}]\n", ("assistants", 0, "tools"),
         [{"server": "issues", "include": ["search", "close"], "aliases": {"search": "find"}}]),
        ("reserved_names: [mine]\n", ("reserved_names",), ["mine"]),
    ],
)  # fmt: skip
def test_mappings_merge_lists_are_replaced_and_entries_merge_by_name(
    overlay: str, path: tuple[str | int, ...], value: Json
) -> None:
    assert value_at(laid_over(overlay), *path) == value


def test_a_whole_server_goes_with_the_selections_that_name_it() -> None:
    overlay = (
        SERVERS + "    - {name: scratch, $delete: true}\n" + OPS + "    tools: [{server: scratch, $delete: true}]\n"
    )
    read = laid_over(overlay).desired
    assert ([each.name for each in read.servers], [each.server for each in read.assistants[0].selections]) == (
        ["issues"],
        ["issues"],
    )


def test_each_value_keeps_the_place_of_the_file_that_set_it() -> None:
    overlay = (
        ISSUES
        + "      url: https://prod.example.com/mcp\n      tools:\n        close: {surface: locked}\n"
        + OPS
        + "    tools:\n      - server: issues\n        aliases: {close: shut}\n"
    )
    read = laid_over(overlay).desired
    (issues, scratch), (ops,) = read.servers, read.assistants
    assert (issues.source, scratch.source) == (Source("envs/prod.yaml", 4, 7), Source("mcp.yaml", 12, 7))
    assert issues.endpoint == HttpEndpoint("https://prod.example.com/mcp")
    assert issues.connection.auth == BearerAuth(token="${env:DEV}")
    assert {name: each.source for name, each in issues.tools.items()} == {
        "search": Source("mcp.yaml", 11, 9),
        "close": Source("envs/prod.yaml", 7, 9),
    }
    assert [each.source.file for each in ops.selections[0].include] == ["mcp.yaml", "mcp.yaml"]
    assert {name: each.source.file for name, each in ops.selections[0].aliases.items()} == {
        "search": "mcp.yaml",
        "close": "envs/prod.yaml",
    }
    assert (read.environment, [each.path for each in read.files]) == ("prod", ["mcp.yaml", "envs/prod.yaml"])


def test_an_overlay_that_says_nothing_changes_nothing() -> None:
    read, plain = laid_over("", EXAMPLE).desired, desired_of(EXAMPLE)
    assert read == replace(plain, files=read.files, environment="prod")


@pytest.mark.parametrize(
    ("overlay", "codes"),
    [
        ("workspace: x\n", ["envs/prod.yaml:1:1 missing-key"]),
        ("version: 2\n", ["envs/prod.yaml:1:10 unsupported-version"]),
        ("version: 1\ninclude: [a.yaml]\n", ["envs/prod.yaml:2:1 unknown-key"]),
        ("version: 1\nworkspac: x\n", ["envs/prod.yaml:2:1 unknown-key"]),
        ("version: 1\nmcp: {servers: {issues: {}}}\n", ["envs/prod.yaml:2:16 wrong-type", "mcp.yaml:19:17 unknown-server",
                                                         "mcp.yaml:22:17 unknown-server"]),
        ("version: 1\nmcp: {servers: [{name: isues, url: https://x.example/}]}\n", ["envs/prod.yaml:2:24 overlay-entry"]),
        ("version: 1\nmcp: {servers: [{name: issues, $new: true}]}\n", ["envs/prod.yaml:2:24 overlay-entry"]),
        ("version: 1\nmcp: {servers: [{name: extra, $new: yes, command: [x]}]}\n", ["envs/prod.yaml:2:37 overlay-directive"]),
        ("version: 1\nmcp: {servers: [{name: extra, $new: true}]}\n", ["envs/prod.yaml:2:17 missing-key"]),
        ("version: 1\nmcp: {servers: [{name: gone, $delete: true}]}\n", ["envs/prod.yaml:2:24 overlay-entry"]),
        ("version: 1\nmcp: {servers: [{name: issues, $delete: [heders]}]}\n", ["envs/prod.yaml:2:42 overlay-directive"]),
        ("version: 1\nmcp: {servers: [{name: issues, $delete: [1]}]}\n", ["envs/prod.yaml:2:42 overlay-directive"]),
        ("version: 1\nmcp: {$delete: true}\n", ["envs/prod.yaml:2:16 overlay-directive"]),
        ("version: 1\nmcp: {servers: [{name: issues, $delete: false}]}\n", ["envs/prod.yaml:2:41 overlay-directive"]),
        ("version: 1\nassistants: [{name: ops, tools: [{server: scratch, $delete: true, include: [a]}]}]\n",
         ["envs/prod.yaml:2:34 overlay-directive"]),
        ("version: 1\nmcp: {servers: [{name: issues}, {name: issues}]}\n", ["envs/prod.yaml:2:40 duplicate-name"]),
        ("version: 1\nmcp: {servers: [{url: https://x.example/}]}\n", ["envs/prod.yaml:2:17 missing-key"]),
        ("version: 1\nmcp: {servers: [{name: scratch, url: https://x.example/}]}\n", ["envs/prod.yaml:2:33 transport-conflict"]),
        ("version: 1\nmcp: {servers: [{name: scratch, $delete: true}]}\n", ["mcp.yaml:22:17 unknown-server"]),
        ("version: 1\nmcp: {servers: [{name: issues, auth: {token: '${env:X}'}}]}\n", ["envs/prod.yaml:2:32 missing-key"]),
        ("version: 1\nmcp: {servers: [{name: issues, headers: {X-Api-Key: k3y-0f-a-p3rs0n-1234567}}]}\n",
         ["envs/prod.yaml:2:53 inline-secret"]),
    ],
)  # fmt: skip
def test_what_an_overlay_cannot_mean_is_found_at_its_place(overlay: str, codes: list[str]) -> None:
    assert found(overlay) == codes


def test_the_way_from_a_command_to_a_url_is_told_and_holds() -> None:
    result = laid("version: 1\n" + SERVERS + "    - name: scratch\n      url: https://x.example/mcp\n")
    assert not isinstance(result, Loaded)
    assert result.diagnostics[0].hint == "a server has one of them; `$delete: [command]` in the overlay takes it away"
    read = laid_over(SERVERS + "    - name: scratch\n      $delete: [command, env]\n      url: https://x.example/mcp\n")
    assert read.desired.servers[1].endpoint == HttpEndpoint("https://x.example/mcp")


def test_files_may_have_holes_that_the_overlay_fills() -> None:
    holes = BASE.replace("      url: https://dev.example.com/mcp\n", "")
    overlay = ISSUES + "      url: https://prod.example.com/mcp\n"
    assert laid_over(overlay, holes).desired.servers[0].endpoint == HttpEndpoint("https://prod.example.com/mcp")
    assert found("version: 1\n", holes) == ["mcp.yaml:5:7 missing-key"]


def test_what_an_overlay_replaces_is_still_read_for_shapes_and_credentials() -> None:
    secret = BASE.replace("X-Stage: dev", "X-Api-Key: k3y-0f-a-p3rs0n-1234567")
    overlay = "version: 1\n" + ISSUES + "      headers: {$delete: [X-Api-Key]}\n"
    assert found(overlay, secret) == ["mcp.yaml:7:39 inline-secret"]
    result = laid(overlay, secret)
    assert "k3y-0f" not in repr(result)
    misspelt = BASE.replace("      auth:", "      timeout_secnds: 3\n      auth:")
    deleting = "version: 1\n" + ISSUES + "      $delete: [timeout_secnds]\n"
    assert found(deleting, misspelt) == ["mcp.yaml:9:7 unknown-key"]


@given(st.lists(st.sampled_from(["issues", "scratch", "new_one"]), unique=True), st.booleans())
def test_entries_that_an_overlay_does_not_name_stay_as_they_are(names: list[str], quiet: bool) -> None:
    news = {"new_one": ", $new: true, command: [n]"}
    entries = "".join(f"    - {{name: {name}{news.get(name, '')}, timeout_seconds: 7}}\n" for name in names)
    overlay = SERVERS + entries if names else "trace_days: 2\n" * quiet
    read, before = laid_over(overlay).desired, {each.name: each for each in desired_of(BASE).servers}
    after = {each.name: each for each in read.servers}
    assert {name: each for name, each in after.items() if name not in names} == {
        name: each for name, each in before.items() if name not in names
    }
    assert all(after[name].connection.timeout_seconds == 7 for name in names)
    assert [each.name for each in read.servers] == ["issues", "scratch", *(n for n in names if n == "new_one")]


def test_a_desired_state_of_one_environment_is_the_one_of_the_flat_file() -> None:
    flat = BASE.replace("dev.example.com", "prod.example.com").replace("permissions: [read]", "permissions: [write]")
    overlay = ISSUES + "      url: https://prod.example.com/mcp\n" + OPS + "    permissions: [write]\n"
    assert without_places(laid_over(overlay).desired) == without_places(desired_of(flat))


def without_places(read: Desired) -> tuple[object, ...]:
    servers = tuple((each.name, each.endpoint, each.connection, each.envelope, each.enabled) for each in read.servers)
    assistants = tuple((each.name, each.permissions, len(each.selections)) for each in read.assistants)
    return read.workspace, read.owner, servers, assistants, read.trace_days


def test_the_overlay_of_the_documentation_holds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    [overlay] = [
        block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if block.startswith("# envs/prod.yaml")
    ]
    base = (
        "version: 1\nmcp:\n  servers:\n    - {name: tickets, url: 'https://dev.example.com/mcp', headers: {X-Team: a}}\n"
        "    - {name: analytics, command: [x], env: {A: b}, cwd: .}\n    - {name: scratch, command: [y]}\n"
        "assistants:\n  - name: ops\n    tools:\n      - {server: scratch, include: ['*']}\n"
        "      - {server: tickets, include: [search, close], aliases: {search: find}}\n"
    )
    result = laid(overlay, base)
    assert isinstance(result, Loaded), result
    read = result.desired
    assert [each.name for each in read.servers] == ["tickets", "analytics", "audit"]
    assert read.servers[0].connection.headers == {"X-Team": "a", "X-Stage": "prod"}
    assert [each.server for each in read.assistants[0].selections] == ["tickets"]
