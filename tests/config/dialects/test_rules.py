"""The rules that hold for every dialect: names, secrets, references, selections, and that one bad entry costs no other."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from remit.config.dialects.importing import import_files
from remit.config.dialects.model import Imports
from remit.config.dialects.packages import package_of, program_of
from remit.core.identity import StdioEndpoint
from tests.config.dialects.support import CASES, desired_of, entries, findings, imported, server, variables


def claude(folder: Path, **servers: Any) -> Imports:
    """What a `.mcp.json` with these servers comes to."""
    return imported(folder, ".mcp.json", json.dumps({"mcpServers": servers}))


def test_one_bad_entry_never_hides_the_others_and_each_is_told(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "mcpServers": {
                "good": {"command": "x"},
                "both": {"command": "x", "url": "https://b.example.com"},
                "neither": {"args": []},
                "list": [],
                "number": {"command": "x", "args": [8080]},
                "program": {"command": "${HOME}/x"},
                "host": {"url": "https://${HOST}/mcp"},
                "scheme": {"url": "ftp://x.example.com"},
                "contradiction": {"type": "sse", "command": "x"},
                "🔎": {"command": "y"},
                "last": {"command": "z"},
            }
        }
    )
    found = imported(tmp_path, ".mcp.json", text)
    assert [each.name for each in found.servers] == ["good", "last"]
    assert [(code, name) for code, _, name in findings(found) if code.startswith("error")] == [
        ("error transport-conflict", "both"),
        ("error missing-key", "neither"),
        ("error wrong-type", "list"),
        ("error not-a-string", "number"),
        ("error reference-not-allowed", "program"),
        ("error invalid-url", "host"),
        ("error invalid-url", "scheme"),
        ("error transport-conflict", "contradiction"),
        ("error invalid-name", "?"),
    ]
    assert found.failed


def test_a_value_of_the_wrong_kind_is_told_and_never_dropped_in_silence(tmp_path: Path) -> None:
    found = claude(
        tmp_path,
        a={"url": "https://a.example.com", "headers": ["X-A: b"]},
        b={"url": "https://b.example.com", "headers": {"X-A": ["b"], "X-B": "c"}},
        c={"command": "x", "env": ["A=b"], "autoApprove": "all"},
        d={"command": "y", "includeTools": "search", "cwd": 1},
    )
    assert [(code, name) for code, _, name in findings(found) if code.startswith("error")] == [
        ("error wrong-type", "a"),
        ("error wrong-type", "b"),
        ("error wrong-type", "c"),
        ("error wrong-type", "c"),
        ("error wrong-type", "d"),
        ("error not-a-string", "d"),
    ]
    assert [(each.name, dict(each.headers), each.include) for each in found.servers] == [
        ("a", {}, None),
        ("b", {"X-B": "c"}, None),
        ("c", {}, None),
        ("d", {}, None),
    ]


def test_a_file_that_cannot_be_read_never_hides_the_others(tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    good.write_text('{"mcpServers": {"a": {"command": "x"}}}', "utf-8")
    broken = tmp_path / "broken.json"
    broken.write_text('{"mcpServers": {"b": {"command": "dummy-secret-value" "x"}}}', "utf-8")
    found = import_files([tmp_path / "missing.json", broken, good])
    assert [each.name for each in found.servers] == ["a"]
    assert [(each.code, each.severity.value) for each in found.diagnostics] == [
        ("json-syntax", "error"),
        ("config-missing", "error"),
    ]
    assert "dummy" not in repr(found.diagnostics)


def test_two_names_with_one_slug_are_an_error_that_names_both(tmp_path: Path) -> None:
    found = claude(tmp_path, **{"my/server": {"command": "x"}, "my server": {"command": "y"}})
    assert [each.name for each in found.servers] == ["my_server"]
    [collision] = [each for each in found.diagnostics if each.code == "name-collision"]
    assert collision.message.startswith("`my server` and `my/server` in ")


def test_a_name_in_another_script_comes_through_and_beside_a_name_that_mcp_yaml_can_have(tmp_path: Path) -> None:
    names = ("тест", "日本", "é", "Zoë server")
    found = claude(tmp_path, **{name: {"command": name} for name in names})
    assert [(each.declared, each.name, each.namespace) for each in found.servers] == [
        ("тест", "xn--e1aybc", "xn_e1aybc"),
        ("日本", "xn--wgv71a", "xn_wgv71a"),
        ("é", "xn--9ca", "xn_9ca"),
        ("Zoë server", "zo_server", None),
    ]
    assert (findings(found), found.failed) == ([], False)
    assert [line.strip() for line in entries(found).splitlines() if "called there" in line] == [
        f"# called there: {name}" for name in names
    ]


def test_a_finding_on_a_name_in_another_script_names_the_server_all_the_same(tmp_path: Path) -> None:
    found = claude(tmp_path, тест={"command": "npx", "args": ["foo"]})
    assert findings(found) == [("warning unpinned", 1, "xn--e1aybc")]


def test_the_same_server_in_two_files_is_taken_once(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "x"}}}'
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        path.write_text(text, "utf-8")
    found = import_files(paths)
    assert ([each.name for each in found.servers], findings(found), found.failed) == (
        ["a"],
        [("note already-declared", 1, "a")],
        False,
    )


def test_one_endpoint_with_other_credentials_becomes_an_instance(tmp_path: Path) -> None:
    url = "https://x.example.com/mcp"
    found = claude(
        tmp_path,
        a={"type": "http", "url": url, "headers": {"X-Key": "${A}"}},
        b={"type": "http", "url": url, "headers": {"X-Key": "${B}"}},
        c={"type": "http", "url": url, "headers": {"X-Key": "${B}"}},
    )
    assert [(each.name, each.instance) for each in found.servers] == [("a", None), ("b", "b")]
    assert findings(found) == [("note instance-given", 1, "b"), ("error duplicate-endpoint", 1, "c")]


def test_namespaces_that_would_be_the_same_are_told_apart_by_more_of_the_name(tmp_path: Path) -> None:
    names = [f"organisation-{each}-of-many/tools" for each in ("one", "two", "six")]
    found = claude(tmp_path, **{name: {"command": name} for name in names})
    other = claude(tmp_path, **{name: {"command": name} for name in reversed(names)})
    assert [each.namespace for each in found.servers] == ["tools", "organisation_two_of", "organisation_six_of"]
    assert [each.namespace for each in other.servers] == ["tools", "organisation_two_of", "organisation_one_of"]
    alike = claude(
        tmp_path, **{f"{name}": {"command": name} for name in (*(f"organisation-of-many-{n}/tools" for n in "abc"),)}
    )
    namespaces = [str(each.namespace) for each in alike.servers]
    assert namespaces[:2] == ["tools", "organisation_of_many"]
    assert namespaces[2].startswith("tools_x")


def test_windows_paths_spaces_and_other_scripts_come_through_unchanged(tmp_path: Path) -> None:
    arguments = [
        "C:\\Users\\Zoë\\my files\\x.py",
        "a  b",
        "検索",
        "it's",
        'say "hi"',
        "",
        "#no",
        "- x",
        "~",
        "null",
        "1e3",
    ]
    found = claude(tmp_path, a={"command": "C:\\Program Files\\py.exe", "args": arguments, "cwd": "D:\\data dir"})
    [desired] = desired_of("version: 1\nmcp:\n  servers:\n" + entries(found)).servers
    assert (found.servers[0].command, found.servers[0].cwd) == (
        ("C:\\Program Files\\py.exe", *arguments),
        "D:\\data dir",
    )
    assert desired.endpoint == StdioEndpoint(found.servers[0].command, "D:\\data dir")


SPELLINGS = {
    "${A}": "${env:A}",
    "${env:A}": "${env:A}",
    "${A:-b}": "${env:A:-b}",
    "{env:A}": "${env:A}",
    "${{ secrets.A }}": "${env:A}",
    "os.environ/A": "${env:A}",
    "Bearer os.environ/A": "Bearer ${env:A}",
    "{{A}}": "${env:A}",
    "$A": "${env:A}",
    "x$A": "x$$A",
    "costs $5": "costs $$5",
    "$2b$10$x": "$$2b$$10$$x",
    "${REMIT_TOKEN}": "${env:IMPORTED_REMIT_TOKEN}",
    "${input:my-key}": "${env:MY_KEY}",
    "{a}": "{a}",
    "op://Private/My Item/field": "${env:X}",
    "{{vault:B}}": "${env:B}",
    "${workspaceFolder}/a": "${env:WORKSPACE_FOLDER}/a",
    "${command:pick}": "${env:COMMAND_PICK}",
    "${userHome}": "${env:HOME}",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_reference_in_anybodys_words_becomes_one_of_ours(tmp_path: Path, text: str) -> None:
    found = claude(tmp_path, a={"command": "x", "env": {"X": text}})
    assert found.servers[0].env == {"X": SPELLINGS[text]}
    assert entries(found)


SECRETS = {
    "a variable": {"command": "x", "env": {"API_KEY": "dummy-secret-1"}},
    "a variable with an unusual name": {"command": "x", "env": {"AMAP_KEY": "dummysecret1dummysecret"}},
    "a bearer value": {"command": "x", "env": {"WHATEVER": "Bearer dummy-secret-1"}},
    "a header": {"url": "https://a.example.com", "headers": {"Authorization": "Bearer dummy-secret-1"}},
    "a flag": {"command": "x", "args": ["--token", "dummy-secret-1"]},
    "a flag with =": {"command": "x", "args": ["--api-key=dummy-secret-1"]},
    "a header of a bridge": {"command": "npx", "args": ["mcp-remote", "https://a.example.com", "--header", "Authorization: Bearer dummy-secret-1"]},
    "a variable of a container": {"command": "docker", "args": ["run", "-e", "GITHUB_TOKEN=dummy-secret-1", "img"]},
    "a query": {"url": "https://a.example.com/mcp?api_key=dummy-secret-1&region=eu"},
    "a path": {"url": "https://a.example.com/s/sk-dummysecret1dummysecret1/mcp"},
    "before the host": {"url": "https://me:dummy-secret-1@a.example.com/mcp"},
    "a query in an argument": {"command": "x", "args": ["https://a.example.com/?token=dummy-secret-1"]},
    "a connection string": {"command": "x", "env": {"DB": "postgres://me:dummy-secret-1@db/x"}},
    "a block nobody knows": {"command": "x", "vendor": {"deep": [{"password": "dummy-secret-1"}]}},
    "a default": {"command": "x", "env": {"X": "${T:-ghp_dummysecret1dummysecret}"}},
    "a second time under a harmless name": {"command": "x", "args": ["dummy-secret-1"], "env": {"TOKEN": "dummy-secret-1"}},
    "a shell line": {"command": "bash", "args": ["-c", "TOKEN=dummy-secret-1 npx x"]},
}  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
def test_a_written_out_secret_is_replaced_reported_and_shown_nowhere(tmp_path: Path, name: str) -> None:
    found = claude(tmp_path, acme=SECRETS[name])
    assert [code for code, _, _ in findings(found) if code == "warning inline-secret"]
    assert not any(word in entries(found) + repr(found) for word in ("dummy-secret", "dummysecret"))


def test_what_is_not_the_secret_stays_readable(tmp_path: Path) -> None:
    found = claude(
        tmp_path,
        a=SECRETS["a query"],
        b=SECRETS["before the host"],
        c=SECRETS["a flag with ="],
        d={"url": "https://d.example.com", "headers": {"Authorization": "Bearer dummy-secret-2"}},
    )
    assert server(found, "a").url == "https://a.example.com/mcp?api_key=${env:A_API_KEY}&region=eu"
    assert (server(found, "b").url, server(found, "b").headers) == (
        "https://a.example.com/mcp",
        {"Authorization": "Basic ${env:B_BASIC}"},
    )
    assert server(found, "c").command == ("x", "--api-key=${env:A_API_KEY}")
    assert server(found, "d").headers == {"Authorization": "Bearer ${env:D_TOKEN}"}


KEPT = {
    "a connection string": (
        {"command": "pg-mcp", "args": ["postgresql://u:dummy-secret-1@h/db", "postgresql://u:dummy-secret-2@h/db"]},
        ("pg-mcp", "postgresql://u:${env:A_URL_PASSWORD}@h/db", "postgresql://u:${env:A_URL_PASSWORD_2}@h/db"),
    ),
    "arguments without a name": (
        {"command": "x", "args": ["ghp_dummysecret1dummysecret", "ghp_dummysecret2dummysecret"]},
        ("x", "${env:A_ARGUMENT}", "${env:A_ARGUMENT_2}"),
    ),
    "a line for a shell": (
        {"command": "sh", "args": ["-c", "GITHUB_TOKEN=dummy1 exec npx -y srv@1.0.0 --port 3"]},
        ("sh", "-c", "GITHUB_TOKEN=${env:A_GITHUB_TOKEN} exec npx -y srv@1.0.0 --port 3"),
    ),
    "a shell's own variables": (
        {"command": "sh", "args": ["-c", "TOKEN=$TOKEN KEY=$(cat /run/k) exec x"]},
        ("sh", "-c", "TOKEN=$$TOKEN KEY=$$(cat /run/k) exec x"),
    ),
    "a whole line": (
        {"command": "npx -y foo@1.0.0 --token dummy-secret", "args": ["--port", "3"]},
        ("npx", "-y", "foo@1.0.0", "--token", "${env:A_TOKEN}", "--port", "3"),
    ),
    "spaces in a path": ({"command": "C:\\Program Files\\py.exe", "args": ["-v"]}, ("C:\\Program Files\\py.exe", "-v")),
    "json": (
        {"command": "x", "args": ['{"Authorization": "Bearer dummy-secret", "Notion-Version": "2022-06-28"}']},
        ("x", '{"Authorization": "Bearer ${env:A_AUTHORIZATION}", "Notion-Version": "2022-06-28"}'),
    ),
    "a default": ({"command": "x", "args": ["--token=${TOKEN:-dummy-secret}"]}, ("x", "--token=${env:TOKEN}")),
    "a harmless default": ({"command": "x", "args": ["--region=${REGION:-eu}"]}, ("x", "--region=${env:REGION:-eu}")),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_no_more_of_a_command_is_taken_out_than_its_secret(tmp_path: Path, name: str) -> None:
    entry, command = KEPT[name]
    [found] = claude(tmp_path, a=entry).servers
    assert found.command == command


def test_a_reference_stays_one_where_its_default_was_a_secret(tmp_path: Path) -> None:
    found = claude(
        tmp_path,
        a={"type": "http", "url": "https://a.example.com", "headers": {"Authorization": "Bearer ${TOKEN:-dummy1}"}},
        b={"command": "x", "env": {"GITHUB_TOKEN": "${MINE:-dummy-secret-1}", "FOO": "${API_KEY:-YOUR_KEY}"}},
    )
    assert (server(found, "a").headers, server(found, "b").env) == (
        {"Authorization": "Bearer ${env:TOKEN}"},
        {"GITHUB_TOKEN": "${env:MINE}", "FOO": "${env:API_KEY}"},
    )
    assert findings(found) == [
        ("warning inline-secret", 1, "a"),
        ("warning inline-secret", 1, "b"),
        ("warning placeholder-secret", 1, "b"),
    ]


def test_a_command_line_in_the_place_of_a_program_is_told(tmp_path: Path) -> None:
    found = claude(tmp_path, a={"command": "npx -y foo"}, b={"command": "/opt/My App/bin/x --port 3"})
    assert findings(found) == [
        ("warning command-line", 1, "a"),
        ("warning unpinned", 1, "a"),
        ("error invalid-command", 1, "b"),
    ]


def test_json_is_no_placeholder_and_a_placeholder_within_it_is_one(tmp_path: Path) -> None:
    found = claude(
        tmp_path,
        a={"command": "x", "env": {"CONFIG": '{"password": "dummy-secret"}'}},
        b={"command": "y", "env": {"CONFIG": '{"password": "YOUR_KEY"}'}},
        c={"command": "z", "env": {"TOKEN": "{secret}"}},
    )
    assert findings(found) == [
        ("warning inline-secret", 1, "a"),
        ("warning placeholder-secret", 1, "b"),
        ("warning placeholder-secret", 1, "c"),
    ]


def test_two_servers_with_a_placeholder_wait_for_two_secrets(tmp_path: Path) -> None:
    found = claude(
        tmp_path,
        a={"command": "x", "env": {"TOKEN": "YOUR_TOKEN"}},
        b={"command": "y", "env": {"TOKEN": "YOUR_TOKEN", "OTHER_TOKEN": ""}},
    )
    assert variables(found) == ["A_TOKEN*", "B_OTHER_TOKEN*", "B_TOKEN*"]
    assert [code for code, _, _ in findings(found)] == [
        "warning placeholder-secret",
        "warning placeholder-secret",
        "warning empty-secret",
    ]


def test_a_secret_never_gets_the_name_of_a_variable_that_the_file_uses(tmp_path: Path) -> None:
    found = claude(
        tmp_path, a={"command": "x", "env": {"TOKEN": "dummy-secret-1"}}, b={"command": "y", "env": {"T": "${A_TOKEN}"}}
    )
    assert [dict(each.env) for each in found.servers] == [{"TOKEN": "${env:A_TOKEN_2}"}, {"T": "${env:A_TOKEN}"}]


def test_a_bridges_secret_never_gets_the_variable_that_another_server_reaches(tmp_path: Path) -> None:
    bridge = [
        "mcp-remote@0.1.29",
        "https://b.example.com/mcp",
        "--transport",
        "http-only",
        "--header",
        "X-Key:${TOKEN}",
    ]
    found = claude(
        tmp_path,
        a={"command": "npx", "args": bridge, "env": {"TOKEN": "Bearer dummy-secret-1"}},
        b={"command": "y", "env": {"T": "${TOKEN}"}},
    )
    assert (server(found, "a").headers, server(found, "b").env) == ({"X-Key": "${env:TOKEN_2}"}, {"T": "${env:TOKEN}"})


PACKAGES = {
    "npx -y a@1.2.3": True,
    "npx -y @s/a@1.2.3-rc.1": True,
    "npx -y a": False,
    "npx @s/a@latest": False,
    "npx --registry https://r.example.com a@1.0.0": True,
    "npx -p a@1.0.0 b": True,
    "bun x a@2.0.0": True,
    "pnpm dlx a": False,
    "uvx a==1.2": True,
    "uvx a@1.2.3": True,
    "uvx a": False,
    "uvx --from a==1.2.3 b": True,
    "uvx --from=a b": False,
    "uvx --python 3.12 a": False,
    "uv tool run a==1.0": True,
    f"uvx --from git+https://g.example.com/a@{'0f1e2d3c' * 5} a": True,
    "uvx --from git+https://g.example.com/a@main a": False,
    "docker run -i --rm -e A img:1.2.3": True,
    "docker run img:latest": False,
    "docker run --name n img": False,
    f"podman run img@sha256:{'0f1e2d3c' * 8}": True,
    "npx ./local": None,
    "node server.js": None,
    "npx": None,
}


@pytest.mark.parametrize("line", PACKAGES)
def test_a_package_is_exact_or_it_is_not(line: str) -> None:
    package = package_of(line.split())
    assert (package and package.exact) is PACKAGES[line]


WRAPPED: Mapping[tuple[str, ...], tuple[tuple[str, ...], str | None]] = {
    ("bash", "-c", "npx a"): (("npx", "a"), "shell"),
    ("cmd", "/c", "npx", "a"): (("npx", "a"), "shell"),
    ("C:\\Windows\\cmd.exe", "/c", "npx", "a"): (("npx", "a"), "shell"),
    ("op", "run", "--", "npx", "a"): (("npx", "a"), "secrets"),
    ("env", "-i", "A=b", "npx", "a"): (("npx", "a"), None),
    ("bash", "x.sh"): (("bash", "x.sh"), None),
    ("op", "run", "npx"): (("op", "run", "npx"), None),
}


@pytest.mark.parametrize("command", WRAPPED)
def test_the_program_behind_a_wrapper_is_found(command: tuple[str, ...]) -> None:
    assert program_of(command) == WRAPPED[command]


def test_a_bridge_that_was_told_more_than_a_url_stays_a_command(tmp_path: Path) -> None:
    arguments = ["mcp-remote@0.1.29", "https://a.example.com/mcp", "--static-oauth-client-info", "@client.json"]
    found = claude(tmp_path, a={"command": "npx", "args": arguments})
    assert (found.servers[0].command, found.servers[0].url) == (("npx", *arguments), None)


def test_an_entry_that_mcp_yaml_would_refuse_is_refused_in_its_own_words(tmp_path: Path) -> None:
    found = claude(
        tmp_path,
        a={"command": "x", "env": {"A-B": "c"}},
        b={"url": "https://b.example.com", "headers": {"X A": "c"}},
        c={"url": "https://c.example.com", "headers": {"Accept": "application/json", "X-A": "c"}},
    )
    assert [(each.name, dict(each.headers)) for each in found.servers] == [("c", {"X-A": "c"})]
    assert [(code, name) for code, _, name in findings(found) if "transport" not in code] == [
        ("error invalid-env-name", "a"),
        ("error invalid-header", "b"),
        ("note not-carried-over", "c"),
    ]


COUNTING = """
import subprocess, socket, sys
watched = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "os.system", "socket.connect", "socket.bind",
           "socket.getaddrinfo"}
counted = []
sys.addaudithook(lambda event, _: counted.append(event) if event in watched else None)
from pathlib import Path
from remit.config.dialects.importing import import_files
found = import_files([Path(each) for each in sys.argv[1:]])
print(len(found.servers), counted)
"""


def test_an_import_starts_no_process_and_opens_no_connection() -> None:
    paths = [str(path) for path in sorted(CASES.iterdir())]
    ended = subprocess.run(
        [sys.executable, "-c", COUNTING, *paths], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "39 []\n"


def test_the_count_of_processes_and_connections_would_see_one() -> None:
    seen = (
        COUNTING
        + "subprocess.run([sys.executable, '-c', ''])\nsocket.socket().connect_ex(('127.0.0.1', 9))\nprint(counted)"
    )
    ended = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, timeout=60, check=True)
    assert "subprocess.Popen" in ended.stdout
    assert "socket.connect" in ended.stdout
