"""`plan --untrusted`: a branch can make the runner start, send and read nothing that was not applied before.

What was started and sent is counted where it arrives: by the servers themselves.
"""

import json
import shutil
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cli.actions_runner import git
from tests.cli.workspace import SERVER, Ended, Workspace, tool

STDIO = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: COMMAND
      envelope: {surface: locked, side_effecting: false}
assistants:
  - name: ops
    tools: [{include: [search], server: issues}]
"""
HTTP = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: remote
      url: URL/mcp
      headers: {X-Team: "${env:TEAM}"}
      allow_private_network: true
assistants:
  - name: ops
    tools: [{include: [search], server: remote}]
"""
TEAM = {"TEAM": "dummy-team-name", "OTHER_SECRET": "dummy-other-secret"}


class Runner:
    """A checkout, and beside it what a runner has of its own: servers that count their starts, and a database."""

    def __init__(self, folder: Path):
        self.checkout = Workspace(folder / "checkout")
        self.outside = folder / "outside"
        for each in (self.checkout.folder / ".git", self.outside):
            each.mkdir(parents=True)
        self.environ = {"REMIT_DATABASE_URL": f"sqlite:///{self.outside / 'remit.db'}", **TEAM}

    def server(self, name: str = "a", *tools: dict[str, Any], folder: Path | None = None) -> list[str]:
        """The command of a server that counts its starts in `outside`, configured in `outside` or another folder."""
        options = {"tools": tools or (tool("search"),), "pids": str(self.outside / f"{name}.pids")}
        file = (folder or self.outside) / f"{name}.json"
        file.write_text(json.dumps(options), "utf-8")
        return ["{python}", str(SERVER), f"@{file}"]

    def starts(self, name: str = "a") -> int:
        pids = self.outside / f"{name}.pids"
        return len(pids.read_text("utf-8").splitlines()) if pids.exists() else 0

    def write(self, command: list[str], text: str = STDIO) -> None:
        self.checkout.write(text.replace("COMMAND", json.dumps(command)))

    def applied(self) -> None:
        """Apply what the files say, and forget how often servers were started for it."""
        assert self.checkout.apply(**self.environ).code in (0, 3, 4)
        for each in self.outside.glob("*.pids"):
            each.unlink()

    def plan(self, *arguments: str, **environ: str) -> Ended:
        return self.checkout.plan("--untrusted", *arguments, **{**self.environ, **environ})


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def reasons(ended: Ended) -> dict[str, str]:
    return {each["server"]: each.get("reason", each["status"]) for each in ended.document["discovery"]}


# --- processes ---------------------------------------------------------------------------------------------------------


def test_a_server_whose_entry_was_applied_is_asked_once_and_its_changes_are_seen(runner: Runner):
    runner.write(runner.server("a", tool("search"), tool("other")))
    runner.applied()
    runner.write(runner.server("a", tool("search"), tool("other")), STDIO.replace("[search]", "[search, other]"))
    planned = runner.plan()
    assert (planned.code, runner.starts()) == (0, 1)
    assert planned.done["attach"] == 1
    assert planned.document["complete"] is True


ENTRIES: dict[str, tuple[str, str]] = {
    "another command": ("command: COMMAND", 'command: ["sh", "-c", "echo $$$$ >> OUTSIDE/a.pids"]'),
    "an argument more": ("command: COMMAND", 'command: ["{python}", "SERVER", "@OUTSIDE/a.json", "more"]'),
    "an argument with a reference": (
        "command: COMMAND",
        'command: ["{python}", "SERVER", "@OUTSIDE/a.json", "${env:OTHER_SECRET}"]',
    ),
    "a variable": ("command: COMMAND", "command: COMMAND\n      env: {PYTHONSTARTUP: x.py}"),
    "a variable with a reference": ("command: COMMAND", 'command: COMMAND\n      env: {T: "${env:OTHER_SECRET}"}'),
    "a variable with a file": ("command: COMMAND", 'command: COMMAND\n      env: {T: "${file:/run/secrets/t}"}'),
    "another folder": ("command: COMMAND", "command: COMMAND\n      cwd: tools"),
    "another instance": ("command: COMMAND", "command: COMMAND\n      instance: two"),
    "another time limit": ("command: COMMAND", "command: COMMAND\n      timeout_seconds: 299"),
    "another protocol": ("command: COMMAND", "command: COMMAND\n      protocol: legacy"),
}


@pytest.mark.parametrize("change", ENTRIES)
def test_a_branch_that_changes_an_entry_starts_nothing(runner: Runner, change: str):
    command = runner.server()
    runner.write(command)
    runner.applied()
    before, after = ENTRIES[change]
    changed = after.replace("OUTSIDE", str(runner.outside)).replace("SERVER", str(SERVER))
    runner.write(command, STDIO.replace(before, changed))
    planned = runner.plan()
    assert (planned.code, runner.starts(), reasons(planned)) == (4, 0, {"issues": "untrusted_entry"})
    assert {each["reason"] for each in planned.document["deferred"]} == {"untrusted"}
    assert "detach" not in planned.done


def test_a_new_server_is_deferred_and_its_neighbour_asked(runner: Runner):
    command = runner.server()
    runner.write(command)
    runner.applied()
    new = f"    - name: more\n      command: {json.dumps(runner.server('b'))}\nassistants:"
    runner.write(command, STDIO.replace("assistants:", new))
    planned = runner.plan()
    assert reasons(planned) == {"issues": "listed", "more": "untrusted_entry"}
    assert (planned.code, runner.starts("a"), runner.starts("b")) == (4, 1, 0)


def test_a_server_that_was_applied_as_disabled_is_not_started_by_enabling_it(runner: Runner):
    command = runner.server()
    runner.write(command, STDIO.replace("command:", "enabled: false\n      command:"))
    runner.applied()
    runner.write(command)
    planned = runner.plan()
    assert (reasons(planned), runner.starts()) == ({"issues": "untrusted_entry"}, 0)


def test_another_workspace_of_the_same_database_lends_no_entry(runner: Runner):
    command = runner.server()
    runner.write(command)
    runner.applied()
    seen: list[list[str]] = []
    for claimed in (
        STDIO.replace("workspace: demo", "workspace: mine"),
        STDIO.replace("workspace: demo", "workspace: mine\nmoved: [{from: workspace.demo, to: workspace.mine}]"),
    ):
        runner.write(command, claimed)
        planned = runner.plan()
        # It was planned, whole but for the server that was not asked; under its own name the entry is a known one.
        assert (planned.code, runner.starts(), reasons(planned)) == (4, 0, {"issues": "untrusted_entry"})
        seen.append([each["code"] for each in planned.document["problems"]] + list(planned.done))
    assert seen == [["registered-elsewhere", "problems"], ["deferred"]]
    runner.write(command)
    assert (runner.plan().code, runner.starts()) == (0, 1)


@pytest.mark.parametrize("how", ["argument", "folder", "file", "name"])
def test_an_applied_server_that_stands_on_the_checkout_is_not_started(runner: Runner, how: str):
    checkout = runner.checkout.folder
    text = STDIO
    command = runner.server(folder=checkout if how == "argument" else None)
    if how == "folder":
        (checkout / "tools").mkdir()
        text = text.replace("command:", "cwd: tools\n      command:")
    if how == "file":
        (checkout / "token").write_text("dummy-secret-value", "utf-8")
        text = text.replace("command:", 'env: {TOKEN: "${file:token}"}\n      command:')
    if how == "name":
        shutil.copy(SERVER, checkout / "server.py")
        command[1] = "server.py"
    runner.write(command, text)
    runner.applied()
    planned = runner.plan()
    assert (planned.code, runner.starts(), reasons(planned)) == (4, 0, {"issues": "untrusted_files"})


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME"])
def test_a_server_whose_home_is_in_the_checkout_is_not_started(runner: Runner, name: str):
    """There lie `.npmrc`, `pip.conf` and what else says whose code a program runs."""
    runner.write(runner.server())
    runner.applied()
    homes = {"untrusted_files": runner.checkout.folder / "home", "listed": runner.outside / "home"}
    for home in homes.values():
        home.mkdir()
    found = {reason: reasons(runner.plan(**{name: str(home)})) for reason, home in homes.items()}
    assert (found, runner.starts()) == ({reason: {"issues": reason} for reason in homes}, 1)


def test_a_module_of_the_checkout_is_not_what_an_applied_server_runs(runner: Runner):
    """`python -m NAME` looks into the folder it is started in, and so do npx, uvx and others with their configuration."""
    evil = f"open({str(runner.outside / 'evil')!r}, 'w').close()\n"
    (runner.checkout.folder / "json.py").write_text(evil, "utf-8")
    runner.write(["{python}", "-c", "import json, sys; sys.path; import http"])
    runner.applied()
    (runner.outside / "evil").unlink(missing_ok=True)
    planned = runner.plan()
    assert (planned.code, reasons(planned)) == (4, {"issues": "start_failed"})
    assert not (runner.outside / "evil").exists()


def test_a_program_of_the_checkout_is_not_found_by_an_applied_name(runner: Runner):
    folders = {"own": runner.outside / "bin", "branch": runner.checkout.folder / "bin"}
    for name, folder in folders.items():
        folder.mkdir()
        program = folder / "serve-it"
        program.write_text(f"#!/bin/sh\necho 1 >> {runner.outside}/{name}.pids\n", "utf-8")
        program.chmod(0o755)
    path = f"{folders['branch']}:{folders['own']}:bin:/usr/bin:/bin"
    runner.write(["serve-it"])
    runner.environ["PATH"] = path
    runner.applied()
    runner.plan()
    assert (runner.starts("own") > 0, runner.starts("branch")) == (True, 0)


# --- connections -------------------------------------------------------------------------------------------------------


class _Counting(ThreadingHTTPServer):
    """Answers every request with 500 and keeps its path and headers."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        cast("_Counting", self.server).requests.append(
            (self.path, {name.lower(): value for name, value in self.headers.items()})
        )
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(500)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base class)
        """Keep quiet."""


@pytest.fixture
def remote() -> Generator[_Counting]:
    with _Counting() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(5)


def _applied_remote(runner: Runner, remote: _Counting) -> str:
    text = HTTP.replace("URL", remote.url)
    runner.checkout.write(text)
    runner.applied()
    remote.requests.clear()
    return text


def test_an_applied_url_is_connected_to_with_its_applied_references(runner: Runner, remote: _Counting):
    _applied_remote(runner, remote)
    planned = runner.plan()
    assert planned.document["discovery"][0]["status"] == "unreachable"
    assert {(path, headers["x-team"]) for path, headers in remote.requests} == {("/mcp", "dummy-team-name")}


REMOTE_ENTRIES = {
    "a path": ("/mcp", "/mcp2"),
    "a query": ("/mcp", "/mcp?to=${env:OTHER_SECRET}"),
    "a header reference": ("${env:TEAM}", "${env:OTHER_SECRET}"),
    "a header default": ("${env:TEAM}", "${env:TEAM:-x}"),
    "a header file": ("${env:TEAM}", "${file:/etc/hostname}"),
    "a header more": ("{X-Team:", '{X-More: "${env:OTHER_SECRET}", X-Team:'),
    "a token": ("allow_private", 'auth: {type: bearer, token: "${env:OTHER_SECRET}"}\n      allow_private'),
    "a TLS file": ("allow_private", "tls: {ca_file: ca.pem}\n      allow_private"),
    "a transport": ("allow_private", "transport: sse\n      allow_private"),
}


@pytest.mark.parametrize("change", REMOTE_ENTRIES)
def test_a_branch_that_changes_a_remote_entry_sends_nothing(runner: Runner, remote: _Counting, change: str):
    text = _applied_remote(runner, remote)
    runner.checkout.write(text.replace(*REMOTE_ENTRIES[change]))
    planned = runner.plan()
    assert (planned.code, remote.requests, reasons(planned)) == (4, [], {"remote": "untrusted_entry"})


def test_a_new_url_is_sent_nothing_and_an_applied_one_still_is(runner: Runner, remote: _Counting):
    with _Counting() as other:
        thread = threading.Thread(target=other.serve_forever, daemon=True)
        thread.start()
        text = _applied_remote(runner, remote)
        new = f'    - {{name: new, url: "{other.url}/", headers: {{X: "${{env:OTHER_SECRET}}"}}, '
        runner.checkout.write(text.replace("assistants:", f"{new}allow_private_network: true}}\nassistants:"))
        planned = runner.plan()
        other.shutdown()
        thread.join(5)
    assert reasons(planned)["new"] == "untrusted_entry"
    assert (bool(remote.requests), other.requests) == (True, [])


def test_an_applied_entry_with_a_file_of_the_checkout_is_sent_nothing(runner: Runner, remote: _Counting):
    (runner.checkout.folder / "team").write_text("dummy-team-name", "utf-8")
    text = HTTP.replace("URL", remote.url).replace("${env:TEAM}", "${file:team}")
    runner.checkout.write(text)
    runner.applied()
    assert remote.requests
    remote.requests.clear()
    planned = runner.plan()
    assert (remote.requests, reasons(planned)) == ([], {"remote": "untrusted_files"})


# --- the database and the files ----------------------------------------------------------------------------------------


def test_without_a_database_everything_is_deferred(runner: Runner):
    runner.write(runner.server())
    planned = runner.plan()
    assert (planned.code, runner.starts(), reasons(planned)) == (4, 0, {"issues": "untrusted_database"})


@pytest.mark.parametrize("how", ["embedded", "named", "linked"])
def test_a_database_that_a_branch_could_have_committed_is_not_opened(runner: Runner, how: str):
    runner.write(runner.server())
    runner.applied()
    inside = runner.checkout.folder / ".remit" / "remit.db"
    inside.parent.mkdir()
    if how == "linked":
        inside.symlink_to(runner.outside / "remit.db")
    else:
        shutil.copy(runner.outside / "remit.db", inside)
    url = "" if how == "embedded" else f"sqlite:///{inside}"
    planned = runner.plan(REMIT_DATABASE_URL=url)
    assert (runner.starts(), reasons(planned)) == (0, {"issues": "untrusted_database"})
    assert "in the checkout, where a branch can put one" in planned.err


@pytest.mark.parametrize("how", ["the same workspace", "a moved one"])
def test_a_workspace_of_another_repository_is_neither_asked_for_nor_shown(tmp_path: Path, how: str):
    theirs, mine = Runner(tmp_path / "theirs"), Runner(tmp_path / "mine")
    for runner, name in ((theirs, "theirs"), (mine, "mine")):
        git(runner.checkout.folder, "init", "-q")
        git(runner.checkout.folder, "remote", "add", "origin", f"https://git.example.com/{name}.git")
    theirs.write(theirs.server("a", tool("search")))
    theirs.applied()
    assert theirs.plan().document["discovery"][0]["status"] == "listed"
    moved = "workspace: mine\nmoved: [{from: workspace.demo, to: workspace.mine}]"
    text = STDIO if how == "the same workspace" else STDIO.replace("workspace: demo", moved)
    mine.write(theirs.server(), text)
    started = theirs.starts()
    planned = mine.plan(REMIT_DATABASE_URL=theirs.environ["REMIT_DATABASE_URL"])
    assert (theirs.starts(), reasons(planned)) == (started, {"issues": "untrusted_database"})
    assert planned.document["database"] == {"dialect": "sqlite", "exists": False, "lineage": None, "serial": 0}
    assert "bound to another repository or path" in planned.err


@pytest.mark.parametrize("file", ["mcp.yaml", "mcp.lock", "envs/prod.yaml"])
def test_a_link_out_of_the_checkout_is_not_read(runner: Runner, file: str):
    secret = runner.outside / "token"
    secret.write_text("dummy-secret-value: [", "utf-8")
    runner.write(runner.server())
    link = runner.checkout.folder / file
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(secret)
    arguments = ["--env", "prod"] if file.startswith("envs") else []
    ended = runner.plan(*arguments)
    assert (ended.code, ended.out) == (1, "")
    assert "leads out of the checkout" in ended.err
    assert "dummy-secret" not in ended.err


@pytest.mark.parametrize("command", ["validate", "lock --check", "plan --offline"])
@pytest.mark.parametrize("file", ["mcp.yaml", "mcp.lock"])
def test_in_a_pipeline_what_asks_no_server_quotes_no_linked_file_either(runner: Runner, command: str, file: str):
    (runner.outside / "token").write_text("dummy-secret-value: x: y", "utf-8")
    runner.write(runner.server())
    link = runner.checkout.folder / file
    link.unlink(missing_ok=True)
    link.symlink_to(runner.outside / "token")
    arguments = command.split()
    refused = [
        runner.checkout.run(*arguments, **{**runner.environ, name: value})
        for name, value in (("CI", "true"), ("CI_PROJECT_DIR", str(runner.checkout.folder)))
    ]
    for ended in refused:
        assert (ended.code, "leads out of the checkout" in ended.err) == (1, True)
        assert "dummy-secret" not in ended.out + ended.err
    # At a desk it is the reader's own file, and a link to it may be what somebody wants.
    assert "leads out" not in runner.checkout.run(*arguments, **runner.environ).err


def test_a_linked_folder_of_overlays_is_not_even_listed(runner: Runner):
    (runner.outside / "dummy-name.yaml").touch()
    (runner.checkout.folder / "envs").symlink_to(runner.outside)
    runner.write(runner.server())
    ended = runner.plan("--env", "prod")
    assert (ended.code, "leads out of the checkout" in ended.err, "dummy-name" in ended.err) == (1, True, False)


def test_a_linked_include_is_not_read_either(runner: Runner):
    (runner.outside / "token").write_text("dummy-secret-value: [", "utf-8")
    (runner.checkout.folder / "more.yaml").symlink_to(runner.outside / "token")
    runner.write(runner.server(), STDIO.replace("version: 1", "version: 1\ninclude: [more.yaml]"))
    ended = runner.plan()
    assert (ended.code, ended.out) == (1, "")
    assert "dummy-secret" not in ended.err


def test_a_secret_folder_of_the_runner_is_out_of_reach_for_a_new_reference(runner: Runner, remote: _Counting):
    text = _applied_remote(runner, remote)
    (runner.outside / "token").write_text("dummy-secret-value", "utf-8")
    runner.checkout.write(text.replace("${env:TEAM}", f"${{file:{runner.outside / 'token'}}}"))
    planned = runner.plan(REMIT_SECRET_DIRS=str(runner.outside))
    assert (remote.requests, reasons(planned)) == ([], {"remote": "untrusted_entry"})
    assert "dummy-secret" not in planned.out + planned.err


# --- with a lock -------------------------------------------------------------------------------------------------------


def test_with_a_lock_what_may_not_be_asked_counts_as_offering_what_the_lock_has(runner: Runner):
    command = runner.server()
    runner.write(command)
    assert runner.checkout.run("lock", "--yes", **runner.environ).code == 0
    runner.applied()
    new = f"    - name: more\n      command: {json.dumps(runner.server('b'))}\nassistants:"
    text = STDIO.replace("assistants:", new).replace(
        "server: issues}]", "server: issues}, {include: [search], server: more}]"
    )
    runner.write(command, text)
    assert runner.checkout.run("lock", "--yes", **runner.environ).code == 0
    for each in runner.outside.glob("*.pids"):
        each.unlink()
    planned = runner.plan()
    assert (planned.code, runner.starts("a"), runner.starts("b")) == (0, 1, 0)
    assert {key: planned.done.get(key) for key in ("attach", "register_server", "deferred")} == {
        "attach": 1,
        "register_server": 1,
        "deferred": None,
    }
    trusted = runner.checkout.plan(**runner.environ)
    assert planned.document["digest"] == trusted.document["digest"]


def test_with_a_lock_what_it_does_not_know_is_deferred(runner: Runner):
    command = runner.server()
    runner.write(command)
    assert runner.checkout.run("lock", "--yes", **runner.environ).code == 0
    runner.applied()
    runner.write([*command, "more"], STDIO.replace("[search]", "[search, other]"))
    planned = runner.plan()
    assert (planned.code, runner.starts()) == (4, 0)
    assert [each["remote_name"] for each in planned.document["deferred"]] == ["other"]


def test_untrusted_decides_itself_whom_to_ask(runner: Runner):
    runner.write(runner.server())
    assert [runner.plan(each).code for each in ("--offline", "--refresh=cached")] == [64, 64]
