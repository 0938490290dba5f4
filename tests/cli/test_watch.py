"""`remit watch` as a process: what it prints, how it ends, and that there is only one of a workspace."""

import json
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from tests.cli.documents import assert_fits
from tests.cli.workspace import Workspace, measured_environment, tool
from tests.upstream.support import alive

pytestmark = pytest.mark.slow
SECONDS = 60.0
SERVER = Path(__file__).parents[1] / "servers" / "changing_stdio.py"
CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: a
      command: {command}
assistants:
  - name: ops
    tools:
      - server: a
        include: [one]
"""


class Watching:
    """A `remit watch` that runs, and the lines that it prints."""

    def __init__(self, here: Workspace, *arguments: str):
        self._stderr = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (closed by `close`)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "remit", "watch", *arguments],
            cwd=here.folder,
            env=measured_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
        )
        self.lines: list[str] = []
        self._news: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._news.put(line)

    def until(self, holds: Callable[[str], bool]) -> str:
        """The next line that holds."""
        while True:
            line = self._news.get(timeout=SECONDS)
            self.lines.append(line)
            if holds(line):
                return line

    def event(self, name: str, holds: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """The next JSON event of a name that holds."""

        def fits(line: str) -> bool:
            document = json.loads(line)
            assert_fits("watch", document)
            return document["event"] == name and holds(document)

        return json.loads(self.until(fits))

    def end(self, number: int | None = None) -> tuple[int, str]:
        """The exit code and stderr, after a signal if one is given."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=SECONDS)
        self._stderr.seek(0)
        return code, self._stderr.read()

    def close(self) -> None:
        """End the process, however it is, and give back its streams."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._stderr.close()


@pytest.fixture
def folder(here: Workspace) -> Workspace:
    serve(here, tool("one"))
    write(here)
    return here


def serve(here: Workspace, *tools: dict[str, Any]) -> None:
    partial = here.folder / "server.new"
    partial.write_text(json.dumps({"tools": tools, "pids": str(here.folder / "pids")}), "utf-8")
    partial.replace(here.folder / "server.json")


def write(here: Workspace, text: str = CONFIG) -> None:
    command = json.dumps([sys.executable, str(SERVER), f"@{here.folder / 'server.json'}"])
    (here.folder / "mcp.yaml").write_text(text.replace("{command}", command), "utf-8")


@contextmanager
def watching(here: Workspace, *arguments: str) -> Generator[Watching]:
    one = Watching(here, *arguments)
    try:
        yield one
    finally:
        one.close()


def applied(one: Watching) -> None:
    one.event("applied", lambda event: event["applied"]["changed"])


def children(here: Workspace) -> list[int]:
    return [int(line) for line in (here.folder / "pids").read_text("utf-8").split()]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_watch_with_its_servers_and_its_lease(folder: Workspace, number: int, code: int) -> None:
    with watching(folder, "--apply", "--create-db", "--format", "json") as one:
        applied(one)
        ended, err = one.end(number)
    assert (ended, "Traceback" in err) == (code, False)
    assert [pid for pid in children(folder) if alive(pid)] == []
    with closing(sqlite3.connect(folder.folder / ".remit" / "remit.db")) as raw:
        assert raw.execute(
            "SELECT expires_at <= strftime('%Y-%m-%dT%H:%M:%f', 'now', '+1 second') FROM watch_leases"
        ).fetchone() == (1,)


def test_a_changed_description_is_held_shown_with_its_argument_and_enters_by_it(folder: Workspace) -> None:
    with watching(folder, "--apply", "--create-db") as one:
        one.until(lambda line: "Applied: 1 attach" in line)
        serve(folder, tool("one", "Does another thing."))
        line = one.until(lambda line: "--accept assistant.ops/a__one@d1:" in line)
        one.until(lambda line: "held until somebody accepts it" in line)
        accepted = folder.process("apply", "--auto-approve", *line.split())
        assert (accepted.code, "1 refresh" in accepted.out) == (0, True)
        one.until(lambda line: "Nothing to do: 1 unchanged" in line)
        assert one.end(signal.SIGINT)[0] == 130
    assert "Does another thing." in folder.run("status", "--format", "json").out or folder.plan().done == {
        "unchanged": 1
    }


def test_under_a_lock_a_held_line_names_the_lock_and_no_argument_that_would_be_refused(folder: Workspace) -> None:
    assert folder.process("lock", "--yes").code == 0
    folder.write((folder.folder / "mcp.yaml").read_text("utf-8").replace("include: [one]", "include: [one, two]"))
    serve(folder, tool("one"), tool("two"))
    with watching(folder, "--apply", "--create-db") as one:
        one.until(lambda line: "held until the lock approves it: `remit lock`" in line)
    assert [line for line in one.lines if "--accept" in line] == []


def test_a_watch_without_apply_says_what_an_apply_would_do_and_creates_nothing(folder: Workspace) -> None:
    with watching(folder) as one:
        one.until(lambda line: "next: remit apply" in line)
        one.end(signal.SIGINT)
    assert any("+ attach" in line for line in one.lines)
    assert not (folder.folder / ".remit").exists()


def test_a_file_that_is_not_valid_is_told_with_its_lines_and_waited_for(folder: Workspace) -> None:
    write(folder, "mcp: [")
    with watching(folder, "--format", "json") as one:
        rejected = one.event("rejected")
        write(folder)
        one.event("plan", lambda event: event["plan"]["summary"]["attach"] == 1)
        one.end(signal.SIGINT)
    assert [(each["code"], each["source"]["file"]) for each in rejected["problems"]] == [("yaml-syntax", "mcp.yaml")]


def test_a_second_watch_exits_with_6_and_names_the_first(folder: Workspace) -> None:
    with watching(folder, "--apply", "--create-db", "--format", "json") as one:
        applied(one)
        with watching(folder, "--apply") as second:
            code, err = second.end()
        assert (code, f"process {one.process.pid} on " in err) == (6, True)
        assert one.process.poll() is None


def test_a_watch_that_was_killed_keeps_nobody_waiting(folder: Workspace) -> None:
    with watching(folder, "--apply", "--create-db", "--format", "json") as one:
        applied(one)
        one.process.kill()
        one.process.wait()
    with watching(folder, "--apply", "--format", "json") as second:
        second.event("plan")
        assert second.end(signal.SIGTERM)[0] == 143


def test_fault_f4_a_stopped_watch_that_wakes_after_its_lease_applies_nothing_and_exits_with_6(
    folder: Workspace,
) -> None:
    with watching(folder, "--apply", "--create-db", "--format", "json") as one:
        applied(one)
        one.process.send_signal(signal.SIGSTOP)
        with closing(sqlite3.connect(folder.folder / ".remit" / "remit.db")) as raw, raw:
            raw.execute("UPDATE watch_leases SET expires_at = '2000-01-01T00:00:00.000000+00:00'")
        with watching(folder, "--apply", "--format", "json") as second:
            second.event("plan")
            write(folder, CONFIG.replace("include: [one]", "include: [one, two]"))
            serve(folder, tool("one"), tool("two"))
            second.event("applied", lambda event: event["applied"]["serial"] == 2)
            one.process.send_signal(signal.SIGCONT)
            code, err = one.end()
            assert (code, f"process {second.process.pid} on " in err) == (6, True)
            second.end(signal.SIGTERM)
    assert [each["serial"] for each in folder.run("history", "--format", "json").document["applies"]] == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--apply",), 1, "there is no database"),
        (("--no-watch-files",), 64, "--interval"),
        (("--create-db",), 64, "--apply"),
        (("--poll", "nan"), 64, "no number of seconds"),
        (("--interval", "0"), 64, "0"),
        (("--interval", "nan"), 64, "no number of seconds"),
        (("--env", "prod"), 64, "no environment is called 'prod'"),
    ],
)
def test_what_cannot_be_meant_ends_at_once(
    folder: Workspace, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ended = folder.run("watch", *arguments)
    assert (ended.code, words in ended.err) == (code, True)


def test_on_a_terminal_a_panel_shows_servers_and_the_last_plan(folder: Workspace) -> None:
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "watch"],
        cwd=folder.folder,
        env={**measured_environment(), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    shown = ""
    try:
        while "next: remit apply" not in shown:
            shown += os.read(leader, 65536).decode("utf-8", "replace")
        process.send_signal(signal.SIGINT)
        while True:
            try:
                shown += os.read(leader, 65536).decode("utf-8", "replace")
            except OSError:
                break
        assert process.wait(timeout=SECONDS) == 130
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    panel = shown.split("next: remit apply")[0]
    assert "1 tool; says when its tools change; since " in panel
    assert "Ctrl-C ends it" in panel
    assert shown.rstrip().endswith("remit: interrupted")
