"""`remit watch` as a process: what it prints, how it ends, and that there is only one of a workspace."""

import contextlib
import io
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
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, cast

import pytest

from remit.app import host_of
from remit.cli.session import PlanFlags
from remit.cli.terminal import Terminal
from remit.cli.watch_desk import Desk
from remit.cli.watch_view import TextLines
from remit.config.file_set import FileSet
from remit.config.loader import Loaded, load
from remit.reconcile.watch import Cause
from remit.reconcile.watch_pace import WatchPace
from remit.render.shapes import PlanDocument
from tests.cli.documents import assert_fits
from tests.cli.workspace import Workspace, clean_environment, measured_environment, tool
from tests.upstream.support import alive

pytestmark = pytest.mark.slow
SECONDS = 60.0
TERMINAL = Terminal(colour=False, error_colour=False, interactive=False, width=100)
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


def desk(here: Workspace) -> Desk:
    """A watch's desk in this process, as a second `remit watch` would have it."""
    host = host_of(clean_environment())
    return Desk(
        config=FileSet(main=here.folder / "mcp.yaml"),
        host=host,
        terminal=TERMINAL,
        flags=PlanFlags.of(refresh="live", servers=(), accept=(), allow_detach=None, allow_empty=()),
        pace=WatchPace(),
        watcher=host.watcher(),
        required=True,
    )


def loaded(here: Workspace) -> Loaded:
    found = load(FileSet(main=here.folder / "mcp.yaml"))
    assert isinstance(found, Loaded)
    return found


def is_left(here: Workspace) -> bool:
    """Whether no server of a watch runs any more, and its lease is free."""
    with closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as raw:
        free = raw.execute(
            "SELECT expires_at <= strftime('%Y-%m-%dT%H:%M:%f', 'now', '+1 second') FROM watch_leases"
        ).fetchone()
    return free == (1,) and [pid for pid in children(here) if alive(pid)] == []


def test_a_changed_description_is_held_shown_with_its_argument_and_enters_by_it_until_ctrl_c(folder: Workspace) -> None:
    with watching(folder, "--apply", "--create-db") as one:
        one.until(lambda line: "Applied: 1 attach" in line)
        serve(folder, tool("one", "Does another thing."))
        line = one.until(lambda line: "--accept assistant.ops/a__one@d1:" in line)
        one.until(lambda line: "held until somebody accepts it" in line)
        accepted = folder.run("apply", "--auto-approve", *line.split())
        assert (accepted.code, "1 refresh" in accepted.out) == (0, True)
        one.until(lambda line: "Nothing to do: 1 unchanged" in line)
        ended, err = one.end(signal.SIGINT)
    assert (ended, "Traceback" in err, is_left(folder)) == (130, False, True)


def test_a_watch_that_was_killed_keeps_nobody_waiting_and_the_next_waits_for_a_valid_file_until_sigterm(
    folder: Workspace,
) -> None:
    with watching(folder, "--apply", "--create-db", "--format", "json") as one:
        applied(one)
        one.process.kill()
        one.process.wait()
    write(folder, "mcp: [")
    with watching(folder, "--apply", "--format", "json") as second:
        rejected = second.event("rejected")
        write(folder)
        second.event("plan", lambda event: event["plan"]["summary"]["unchanged"] == 1)
        ended, err = second.end(signal.SIGTERM)
    assert (ended, "Traceback" in err, is_left(folder)) == (143, False, True)
    assert [(each["code"], each["source"]["file"]) for each in rejected["problems"]] == [("yaml-syntax", "mcp.yaml")]


def test_under_a_lock_a_held_line_names_the_lock_and_no_argument_that_would_be_refused(folder: Workspace) -> None:
    assert folder.run("lock", "--yes").code == 0
    folder.write((folder.folder / "mcp.yaml").read_text("utf-8").replace("include: [one]", "include: [one, two]"))
    serve(folder, tool("one"), tool("two"))
    document = folder.plan().document
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        view = TextLines(TERMINAL, lambda: datetime(2026, 5, 4, tzinfo=UTC), applies=True)
        view.plan(cast("PlanDocument", document), Cause.START, is_news=True)
    assert "held until the lock approves it: `remit lock`" in out.getvalue()
    assert "--accept" not in out.getvalue()


def test_a_second_watch_exits_with_6_and_names_the_first(folder: Workspace) -> None:
    desk(folder).host.database(folder.folder).create_or_upgrade()
    first = desk(folder)
    lease = first.take(loaded(folder))
    second = folder.run("watch", "--apply")
    assert lease is not None
    assert (second.code, f"process {os.getpid()} on " in second.err) == (6, True)
    assert first.renew(lease)


def test_fault_f4_a_stopped_watch_that_wakes_after_its_lease_applies_nothing_and_exits_with_6(
    folder: Workspace,
) -> None:
    with watching(folder, "--apply", "--create-db", "--format", "json") as one:
        applied(one)
        one.process.send_signal(signal.SIGSTOP)
        with closing(sqlite3.connect(folder.folder / ".remit" / "remit.db")) as raw, raw:
            raw.execute("UPDATE watch_leases SET expires_at = '2000-01-01T00:00:00.000000+00:00'")
        assert desk(folder).take(loaded(folder)) is not None
        # What it finds when it wakes is a plan that it would have applied.
        write(folder, CONFIG.replace("include: [one]", "include: [one, two]"))
        serve(folder, tool("one"), tool("two"))
        one.process.send_signal(signal.SIGCONT)
        code, err = one.end()
    assert (code, f"process {os.getpid()} on " in err) == (6, True)
    assert [each["serial"] for each in folder.run("history", "--format", "json").document["applies"]] == [1]


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


def test_on_a_terminal_a_panel_shows_servers_and_what_an_apply_would_do_and_nothing_is_created(
    folder: Workspace,
) -> None:
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
    assert "+ attach" in panel
    assert not (folder.folder / ".remit").exists()
    assert "1 tool; says when its tools change; since " in panel
    assert "Ctrl-C ends it" in panel
    assert shown.rstrip().endswith("remit: interrupted")
