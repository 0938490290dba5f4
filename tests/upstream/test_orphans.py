"""What a server started is ended with it also where its orphans become our children; what we started is not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.upstream.support import SERVERS

PROGRAM = """
import asyncio, ctypes, json, os, signal, subprocess, sys, time
from pathlib import Path
from remit.core.identity import StdioEndpoint
from tests.upstream.support import alive, client_for

PR_SET_CHILD_SUBREAPER = 36
if sys.argv[1] == "subreaper":
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
server, orphans = sys.argv[2:]
start = f"(setsid sleep 300 & echo $$! >> {orphans}; setsid sleep 300 < /dev/null 2> /dev/null & echo $$! >> {orphans})"
endpoint = StdioEndpoint(("sh", "-c", f"{start}; exec {sys.executable} {server} " + "'{\\"call_seconds\\": 0}'"))


def forked():
    pid = os.fork()
    if not pid:
        os.setsid()
        time.sleep(300)
    return pid


async def main():
    client = client_for(endpoint, environ=dict(os.environ))
    await client.connect()
    ours = [forked(), subprocess.Popen(["sleep", "300"], start_new_session=True).pid]
    kin = [int(pid) for pid in Path(orphans).read_text().split()]
    parents = [int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in kin]
    try:
        await client.close()
        print(json.dumps({
            "adopted": [parent == os.getpid() for parent in parents],
            "orphans": [alive(pid) for pid in kin],
            "ours": [alive(pid) for pid in ours],
        }))
    finally:
        for pid in [*ours, *(pid for pid in kin if alive(pid))]:
            os.kill(pid, signal.SIGKILL)


asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children that left their session are found in /proc")
@pytest.mark.parametrize("kind", ["subreaper", "ordinary process"])
def test_orphans_of_a_server_that_left_its_session_are_ended_and_our_own_children_are_not(kind: str, tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind, str(SERVERS / "raw_stdio.py"), str(tmp_path / "orphans")],
        cwd=SERVERS.parents[1],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "adopted": [kind == "subreaper"] * 2,
        "orphans": [False, False],
        "ours": [True, True],
    }
