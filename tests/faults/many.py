"""A program that calls many servers under ceilings: `python -m tests.faults.many FOLDER SERVER...`.

Its memory may grow by 256 MB, and at first it may have so few open files that not all servers can be started; then it may
have more. Calls tool `a` of every server at once, both times. Prints a JSON list: for each time the code of every server's
call, null where it was answered.
"""

import asyncio
import json
import os
import resource
import sys
from pathlib import Path

import remit
from remit.runtime.abi import HandOff
from remit.runtime.run import Run

__all__ = ["main"]

_FEW = 60
_MANY = 400
_SECONDS = 10.0
_GROWTH = 256 * 1024 * 1024


async def main(folder: Path, servers: list[str]) -> None:
    """Call, twice."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    rounds: list[dict[str, str | None]] = []
    async with remit.Runtime.open(folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
        for files in (_FEW, _MANY):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
            async with asyncio.timeout(_SECONDS):
                codes = await asyncio.gather(*(_code(run, server) for server in servers))
            rounds.append(dict(zip(servers, codes, strict=True)))
    sys.stdout.write(json.dumps(rounds))


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    ceiling = pages * os.sysconf("SC_PAGE_SIZE") + _GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))


async def _code(run: Run, server: str) -> str | None:
    result = await run.call(f"{server}__a", '{"q": "x"}')
    assert not isinstance(result, HandOff)
    return result.code


if __name__ == "__main__":
    _limit_memory()
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
