"""Inputs 60 and 61: whatever a stdio server does, a plan ends in time with a reason for it, its neighbour is listed, nobody survives."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.workspace import Workspace, tool
from tests.faults.processes import ended_within

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: bad
      command: {server:bad}
      start_timeout_seconds: 2
      timeout_seconds: 2
    - name: good
      command: {server:good}
assistants:
  - name: ops
    tools:
      - server: bad
        include: [a]
      - server: good
        include: [a]
"""
LISTED = None
MISBEHAVIOURS: dict[str, tuple[dict[str, Any], str | None]] = {
    "60-banner-lines": ({"say": {"": "hello\n" * 2000}}, LISTED),
    "60-bad-utf-8-on-stderr-and-noise": ({"say": {"tools/list": "\ufffd\u0000\n"}}, LISTED),
    "60-half-a-line-then-death": ({"say": {"tools/list": '{"jsonrpc": "2.0", "id"'}, "die_on": {"tools/list": 0}}, "protocol"),
    "60-half-a-line-then-an-answer": ({"say": {"tools/list": '{"jsonrpc": "2.0", '}}, "protocol"),
    "60-endless-line": ({"flood": {"tools/list": 5_000_000}}, "too_large"),
    "61-silent": ({"silent_on": ["server/discover", "initialize"]}, "timeout"),
    "61-silent-at-the-list": ({"silent_on": ["tools/list"]}, "timeout"),
    "61-exits-at-once": ({"die_on": {"server/discover": 3, "initialize": 3}}, "start_failed"),
    "61-dies-while-it-lists": ({"die_on": {"tools/list": 3}}, "protocol"),
    "61-ignores-sigterm-and-its-stdin": ({"stay": True}, LISTED),
    "61-silent-and-ignores-sigterm": ({"stay": True, "silent_on": ["tools/list"]}, "timeout"),
    "61-floods-stderr": ({"stderr": "x" * 2_000_000}, LISTED),
    "61-floods-stderr-and-dies": ({"stderr": "x" * 2_000_000, "die_on": {"tools/list": 1}}, "protocol"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "reason"), [pytest.param(options, why, id=name) for name, (options, why) in MISBEHAVIOURS.items()]
)
def test_input(here: Workspace, options: dict[str, Any], reason: str | None) -> None:
    pids, children = here.folder / "pids", here.folder / "children"
    here.serve("bad", tool("a"), pids=str(pids), children=str(children), **options)
    here.serve("good", tool("a"))
    here.write(CONFIG)
    began = time.monotonic()
    planned = here.plan()
    took = time.monotonic() - began
    started = [int(pid) for file in (pids, children) for pid in Path(file).read_text("utf-8").split()]
    assert (len(started) >= 3, ended_within(1, started)) == (True, [])
    found = {each["server"]: each for each in planned.document["discovery"]}
    assert (found["good"]["status"], found["bad"].get("reason")) == ("listed", reason)
    assert (planned.code, planned.document["complete"]) == ((0, True) if reason is None else (4, False))
    assert (took < 15, len(planned.out) + len(planned.err) < 100_000) == (True, True)


def test_input_61_a_server_inherits_no_open_file_and_no_variable_of_ours(here: Workspace) -> None:
    program = (
        "import os, sys; print(sorted(os.listdir('/proc/self/fd')), sorted(os.environ), file=open(sys.argv[1], 'w'))"
    )
    seen = here.folder / "seen"
    (here.folder / "mcp.yaml").write_text(
        "version: 1\nworkspace: demo\nmcp:\n  servers:\n    - name: it\n"
        f"      command: ['{{python}}', -c, \"{program}\", '{seen}']\n      env: {{DECLARED: 'yes'}}\n",
        "utf-8",
    )
    with Path(__file__).open("rb") as ours:
        assert here.run("plan", REMIT_DATABASE_URL="", REMIT_TOKEN="dummy-secret-value", OURS="1").code == 4, ours
    text = seen.read_text("utf-8")
    assert ("DECLARED" in text, "REMIT" in text, "OURS" in text, "dummy" in text) == (True, False, False, False)
    # 0, 1 and 2 are its pipes, 3 is the file it writes, 4 the folder that it lists.
    assert text.startswith(("['0', '1', '2', '3', '4'] ", "['0', '1', '2', '3'] "))
