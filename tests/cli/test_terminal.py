"""On a terminal: a person is asked, sees progress, and may say no."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from tests.cli.workspace import Workspace, measured_environment, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a, "g*"]
"""
SECONDS = 30


def converse(
    here: Workspace, arguments: Sequence[str], replies: Sequence[tuple[str, str]], **environ: str
) -> tuple[int, str]:
    """Run remit on a pseudo-terminal, answer each question once it stands there, and give exit code and screen."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "remit", *arguments],
        cwd=here.folder,
        env={**measured_environment(), "TERM": "xterm", "COLUMNS": "120", **environ},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    screen, waiting, deadline = "", list(replies), time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                got = os.read(ours, 65536)
            except OSError:  # the other side closed: the command ended
                break
            screen += got.decode("utf-8", "replace")
        if waiting and waiting[0][0] in screen:
            os.write(ours, waiting.pop(0)[1].encode())
    os.close(ours)
    try:
        return child.wait(max(0.1, deadline - time.monotonic())), screen
    finally:
        child.kill()
        child.wait()


@pytest.fixture
def planned(here: Workspace) -> Workspace:
    here.serve("issues", tool("a"), tool("g1"))
    here.write(CONFIG)
    return here


APPLY, HELD = "Apply 3 operations?", "Also accept the 1 held change shown above"


def test_a_yes_applies_the_files_operations_and_a_second_yes_the_held_ones(planned: Workspace):
    code, screen = converse(planned, ["apply"], [(APPLY, "yes\n"), (HELD, "yes\n")])
    assert (code, "This creates the database" in screen) == (0, True)
    assert planned.plan().done == {"unchanged": 2}


def test_a_no_to_the_held_changes_keeps_them_held(planned: Workspace):
    code, _screen = converse(planned, ["apply"], [(APPLY, "yes\n"), (HELD, "no\n")])
    assert (code, planned.plan().done) == (0, {"held": 1, "unchanged": 1})


@pytest.mark.parametrize("answer", ["y", "YES"])
def test_anything_but_yes_does_nothing(planned: Workspace, answer: str):
    code, screen = converse(planned, ["apply"], [(APPLY, f"{answer}\n")])
    assert (code, "not-approved" in screen, (planned.folder / ".remit").exists()) == (1, True, False)


@pytest.mark.slow
def test_a_lock_is_written_after_a_yes_and_an_apply_by_it_asks_for_nothing_that_it_holds(planned: Workspace):
    code, screen = converse(planned, ["lock"], [("Write mcp.lock?", "no\n")])
    assert (code, "nothing was written" in screen, (planned.folder / "mcp.lock").exists()) == (1, True, False)
    code, _screen = converse(planned, ["lock"], [("Write mcp.lock?", "yes\n")])
    planned.serve("issues", tool("a"), tool("g1"), tool("g2"))
    assert (code, (planned.folder / "mcp.lock").exists()) == (0, True)
    code, screen = converse(planned, ["apply"], [("Apply 4 operations?", "yes\n")])
    assert (code, "Also accept" in screen, planned.plan().done) == (0, False, {"held": 1, "unchanged": 2})


def test_auto_approve_asks_nothing_and_accepts_nothing_held(planned: Workspace):
    code, screen = converse(planned, ["apply", "--auto-approve", "--create-db"], [])
    assert (code, "Only 'yes'" in screen) == (0, False)
    assert planned.plan().done == {"held": 1, "unchanged": 1}


def test_without_a_terminal_nobody_is_asked_and_the_plan_is_shown_all_the_same(planned: Workspace):
    planned.run("db", "upgrade")
    ended = planned.run("apply")
    assert (ended.code, "not-approved" in ended.err, "Plan: 1 attach" in ended.out) == (1, True, True)


def test_progress_names_the_server_that_is_waited_for(planned: Workspace):
    # It never answers the probe, so for a second there is something to wait for.
    planned.serve("issues", tool("a"), tool("g1"), silent_on=["server/discover"])
    planned.write(CONFIG.replace("assistants:", "      start_timeout_seconds: 3\nassistants:"))
    code, screen = converse(planned, ["plan"], [])
    assert code == 0
    assert "waiting for issues" in screen


def test_colour_is_there_for_a_terminal_and_nowhere_else(planned: Workspace):
    _code, colourful = converse(planned, ["plan"], [])
    _code, plain = converse(planned, ["plan", "--no-color"], [])
    _code, asked_not_to = converse(planned, ["plan"], [], NO_COLOR="1")
    piped = planned.process("plan")
    assert "\x1b[32m" in colourful or "\x1b[1" in colourful
    for screen in (plain, asked_not_to):
        assert "\x1b[3" not in screen.split("Plan for workspace")[1]
    assert "\x1b" not in piped.out + piped.err


def test_json_on_a_terminal_is_still_json_alone_on_stdout(planned: Workspace):
    planned.run("db", "upgrade")
    ended = planned.process("plan", "--format", "json")
    assert ended.document["workspace"] == "demo"
    assert ended.err == ""


@pytest.mark.parametrize(
    ("flags", "environ", "coloured"),
    [((), {}, True), (("--no-color",), {}, False), ((), {"NO_COLOR": "1"}, False)],
    ids=["a-terminal", "no-color", "NO_COLOR"],
)
def test_the_error_that_ends_a_command_is_coloured_only_where_colour_is_wanted(
    planned: Workspace, flags: tuple[str, ...], environ: dict[str, str], coloured: bool
):
    code, screen = converse(planned, ["runs", "list", *flags], [], **environ)
    assert (code, "no-database" in screen, "\x1b[" in screen) == (1, True, coloured)
