"""A remit that is told to end, or is killed, leaves no process behind: not a server, and nothing that a server started."""

import os
import signal
import subprocess
from collections.abc import Callable

import pytest

from remit.upstream.processes import mark_of
from remit.upstream.watchdog import Watchdog
from tests.cli.workspace import Workspace, tool
from tests.faults.processes import ended_within, start_remit, until, waited

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: polite
      command: {server:polite}
    - name: stubborn
      command: {server:stubborn}
assistants:
  - name: ops
    tools:
      - server: polite
        include: [a]
      - server: stubborn
        include: [a]
"""
IGNORING_CTRL_C = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")


def listing(here: Workspace, *through: str) -> "tuple[subprocess.Popen[str], list[int]]":
    """A `remit plan` that waits for two listings that never come, and the processes it and its servers started.

    Each server has two children, one of them in a session of its own; the stubborn one ignores SIGTERM and the end of
    its stdin.
    """
    files = {name: here.folder / name for name in ("pids", "children", "methods")}
    names = {name: str(path) for name, path in files.items()}
    here.serve("polite", tool("a"), silent_on=["tools/list"], **names)
    here.serve("stubborn", tool("a"), silent_on=["tools/list"], stay=True, **names)
    here.write(CONFIG)
    remit = start_remit(here, "plan", through=through)
    try:
        until(lambda: files["methods"].exists() and files["methods"].read_text().count("tools/list") == 2)
    except AssertionError:
        remit.send_signal(signal.SIGKILL)
        waited(remit)
        raise
    started = [int(pid) for name in ("pids", "children") for pid in files[name].read_text().split()]
    assert len(started) == 6
    return remit, started


@pytest.mark.parametrize(
    ("number", "through", "code"),
    [
        pytest.param(signal.SIGINT, (), 130, id="ctrl-c"),
        pytest.param(signal.SIGTERM, (), 143, id="sigterm"),
        pytest.param(signal.SIGTERM, IGNORING_CTRL_C, 143, id="sigterm-in-the-background-of-a-shell"),
    ],
)
def test_input_61_a_remit_that_is_told_to_end_takes_its_servers_and_their_children_with_it(
    here: Workspace, number: signal.Signals, through: tuple[str, ...], code: int
) -> None:
    remit, started = listing(here, *through)
    remit.send_signal(number)
    ended, out, err = waited(remit)
    assert (ended, out, err.strip(), ended_within(3, started)) == (code, "", "remit: interrupted", [])


@pytest.mark.parametrize("whole_group", [False, True], ids=["the-process", "its-whole-group"])
def test_input_61_a_remit_that_is_killed_with_minus_9_leaves_no_process_within_seconds(
    here: Workspace, whole_group: bool
) -> None:
    remit, started = listing(here)
    kill: Callable[[int, int], None] = os.killpg if whole_group else os.kill
    kill(remit.pid, signal.SIGKILL)
    assert (waited(remit), ended_within(3, started)) == ((-signal.SIGKILL, "", ""), [])


def test_a_second_signal_while_it_tidies_up_still_leaves_no_process(here: Workspace) -> None:
    remit, started = listing(here)
    remit.send_signal(signal.SIGTERM)
    remit.send_signal(signal.SIGTERM)
    code, _, err = waited(remit)
    assert (code, "Traceback" in err, ended_within(3, started)) == (143, False, [])


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "300"], start_new_session=True)


def test_the_watchdog_ends_what_is_watched_and_nothing_that_was_forgotten() -> None:
    watchdog, kept, ended = Watchdog(), sleeper(), sleeper()
    try:
        for each in (kept, ended):
            mark = mark_of(each.pid)
            assert mark is not None
            watchdog.watch(mark, ())
        forgotten = mark_of(kept.pid)
        assert forgotten is not None
        watchdog.forget(forgotten)
        watchdog.stop()
        assert (ended_within(3, [ended.pid]), kept.poll()) == ([], None)
    finally:
        for each in (kept, ended):
            each.kill()
            each.wait()


def test_the_watchdog_never_ends_a_stranger_who_was_given_the_number_again() -> None:
    watchdog = Watchdog()
    script = "sleep 300 & echo $!; wait"
    stranger = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert stranger.stdout is not None
    child = int(stranger.stdout.readline())
    try:
        mark = mark_of(stranger.pid)
        assert mark is not None
        watchdog.watch(type(mark)(mark.pid, str(int(mark.started) - 1)), ())
        watchdog.stop()
        assert (stranger.poll(), mark_of(child) is None) == (None, False)
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.wait()
        stranger.stdout.close()


def test_a_watchdog_that_was_killed_is_started_again_for_the_next_server() -> None:
    watchdog, watched = Watchdog(), sleeper()
    mark = mark_of(watched.pid)
    assert mark is not None
    try:
        watchdog.watch(mark, ())
        first = watchdog.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert ended_within(3, [first]) == []
        watchdog.watch(mark, ())
        watchdog.stop()
        assert ended_within(3, [watched.pid]) == []
    finally:
        watched.kill()
        watched.wait()
