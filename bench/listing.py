"""A bare listing on the official SDK: every page of every server of servers.json here, and nothing done with it.

What the SDK costs by itself, to hold a live plan of remit against.
"""

import asyncio
import json
from pathlib import Path

from mcp import Client, StdioServerParameters

__all__ = ["main"]


def main() -> None:
    """List all servers at once. Raises AssertionError where a tool is missing."""
    found = json.loads(Path("servers.json").read_text("utf-8"))
    targets: list[str | StdioServerParameters] = [
        each if isinstance(each, str) else StdioServerParameters(command=each[0], args=each[1:])
        for each in found["servers"]
    ]
    counts = asyncio.run(_list_all(targets))
    assert sum(counts) == found["tools"], counts  # noqa: S101 (a figure for half a listing would be a lie)


async def _list_all(targets: list[str | StdioServerParameters]) -> list[int]:
    return await asyncio.gather(*(_count(target) for target in targets))


async def _count(target: str | StdioServerParameters) -> int:
    total = 0
    async with Client(target) as client:
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            total += len(page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return total
