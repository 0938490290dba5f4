"""A program that calls tools through the library: `python -m tests.faults.caller FOLDER CALLS`.

CALLS is a JSON list of `{"tool", "number", "id", "key"}`; all of them are made at once, in one run of assistant `ops`. Prints
`run RUN_ID` first, then a line of JSON for each call as it ends: its id, its code (null where it has none), and its metadata.
SIGTERM ends it as Ctrl-C does: the run is cancelled, and connections and child processes are ended.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import remit
from remit.runtime.run import Run
from tests.faults.live import called

__all__ = ["main"]


async def main(folder: Path, calls: list[dict[str, Any]]) -> None:
    """Make the calls."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with remit.Runtime.open(folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
        _say(f"run {run.run_id}")
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(_one(run, **call))


async def _one(run: Run, *, tool: str, number: int, id: str, key: str | None = None) -> None:  # noqa: A002 (a JSON key)
    result = await called(run, tool, number, tool_call_id=id, idempotency_key=key)
    _say(json.dumps({"id": id, "code": result.code, "metadata": result.metadata}, default=str))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
