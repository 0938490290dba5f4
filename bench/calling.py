"""The calls themselves, in a process of their own: bare with the official SDK's `Client`, or governed through `remit.Runtime`.

    python -m bench.child FACTS bare-calls|governed-calls CALLERS COUNT

Decides what is measured: CPU seconds of this whole process (the journal's thread included) and the time of each call, from
the first call to the end of the last one. Connecting, listing and a warm-up come before. Writes them to calls.json here.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.definitions import tool_names
from bench.server import answer_text

__all__ = ["FACTS", "WARM_UP", "bare", "governed"]

FACTS = "calls.json"
WARM_UP = 200
"""Calls before the clock starts; they are in the audit trail too."""

_TOOL = tool_names(1)[0]

Call = Callable[[int], Awaitable[Any]]
"""Makes the call with this number."""

Facts = dict[str, Any]
"""CPU seconds of the process, seconds by the clock, and the seconds of each call."""


def bare() -> None:
    """Call with the SDK alone."""
    (server,) = json.loads(Path("servers.json").read_text("utf-8"))["servers"]
    _keep(asyncio.run(_bare(server, *map(int, sys.argv[1:]))))


def governed() -> None:
    """Call as the one assistant of the workspace."""
    _keep(asyncio.run(_governed(*map(int, sys.argv[1:]))))


def _keep(facts: Facts) -> None:
    Path(FACTS).write_text(json.dumps(facts), "utf-8")


async def _bare(server: str | list[str], callers: int, count: int) -> Facts:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 (the governed program does not import it like this)

    target = server if isinstance(server, str) else StdioServerParameters(command=server[0], args=server[1:])
    async with Client(target) as client:
        # The SDK knows by a listing what it checks results against; without one it would list at the first call.
        await client.list_tools()
        given = [_arguments(number) for number in _numbers(count)]
        results, facts = await _measured(lambda number: client.call_tool(_TOOL, given[number - 1]), callers, count)
    for number, result in enumerate(results, start=1):
        assert result.content[0].text == answer_text(number)  # noqa: S101 (a figure for a wrong answer is none)
        assert not result.is_error  # noqa: S101 (as above)
    return facts


async def _governed(callers: int, count: int) -> Facts:
    import remit  # noqa: PLC0415 (the bare program does not import it)

    alias = f"server01__{_TOOL}"
    async with remit.Runtime.open("mcp.yaml") as runtime, runtime.run("for-server01") as run:
        # As a model writes them: JSON text.
        given = [json.dumps(_arguments(number)) for number in _numbers(count)]
        results, facts = await _measured(lambda number: run.call(alias, given[number - 1]), callers, count)
    for number, result in enumerate(results, start=1):
        assert result.content == answer_text(number), result  # noqa: S101 (as above)
        assert not result.is_error  # noqa: S101 (as above)
    return facts


def _numbers(count: int) -> range:
    return range(1, max(count, WARM_UP) + 1)


def _arguments(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "filter": {"author": "sam", "state": "open", "order": {"by": "created", "descending": True}},
        "labels": ["urgent", "customer"],
        "dry_run": True,
    }


async def _measured(call: Call, callers: int, count: int) -> tuple[list[Any], Facts]:
    await _made(call, callers, WARM_UP)
    gc.collect()
    began, spent = time.perf_counter(), time.process_time()
    results, seconds = await _made(call, callers, count)
    facts: Facts = {"cpu_seconds": time.process_time() - spent, "seconds": time.perf_counter() - began}
    return results, facts | {"latencies": seconds}


async def _made(call: Call, callers: int, count: int) -> tuple[list[Any], list[float]]:
    """The results by number, and the seconds that each call took, of so many callers who each call as soon as they can."""
    numbers = iter(range(1, count + 1))
    results: list[Any] = [None] * count
    seconds: list[float] = []

    async def caller() -> None:
        for number in numbers:
            began = time.perf_counter()
            results[number - 1] = await call(number)
            seconds.append(time.perf_counter() - began)

    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(caller())
    return results, seconds
