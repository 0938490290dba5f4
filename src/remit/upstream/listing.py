"""The full page walk: every page of tools/list, or a fault. There is no partial list.

Limits (DESIGN.md section 5): 1,000 pages, 10,000 tools, 64 MiB received, no cursor twice, one deadline for all of it and
a shorter one for each page. What the tools are worth is decided in remit.upstream.judge.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from remit.core.canonical import Json, JsonObject
from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault

__all__ = ["MAX_BYTES", "MAX_PAGES", "MAX_TOOLS", "PageSource", "walk_pages"]

MAX_PAGES = 1_000
MAX_TOOLS = 10_000
MAX_BYTES = 64 * 1024 * 1024
_METHOD_NOT_FOUND = -32601


class PageSource(Protocol):
    """What the walk needs of a client."""

    @property
    def received(self) -> int:
        """Bytes received so far."""
        ...

    async def list_page(self, cursor: str | None = None, *, timeout: float) -> JsonObject:
        """One raw page within `timeout` seconds."""
        ...


async def walk_pages(
    source: PageSource, *, deadline: float, page_seconds: float, offers_tools: bool = True
) -> tuple[Json, ...]:
    """All raw tools in the order of the server. Raises Fault for anything short of a complete listing.

    `deadline` is a time of time.monotonic(). A server that does not announce tools (`offers_tools`) and does not know
    the method has none.
    """
    tools: list[Json] = []
    seen: set[str] = set()
    cursor: str | None = None
    before = source.received
    for _ in range(MAX_PAGES):
        page = await _page(source, cursor, deadline, page_seconds, offers_tools=offers_tools)
        tools.extend(_tools_of(page))
        _check_size(tools, source.received - before)
        cursor = _cursor_of(page)
        if cursor is None:
            return tuple(tools)
        if cursor in seen:
            raise Fault(UnreachableReason.PAGINATION_LOOP, f"page {len(seen) + 1} names a cursor that was used before")
        seen.add(cursor)
    raise Fault(UnreachableReason.PAGINATION_LOOP, f"page {MAX_PAGES} still names a next one")


async def _page(
    source: PageSource, cursor: str | None, deadline: float, page_seconds: float, *, offers_tools: bool
) -> JsonObject:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise Fault(UnreachableReason.TIMEOUT, "the listing took longer than start_timeout_seconds")
    try:
        return await source.list_page(cursor, timeout=min(page_seconds, remaining))
    except Fault as fault:
        if fault.rpc_code == _METHOD_NOT_FOUND and not offers_tools and cursor is None:
            return {"tools": []}
        raise


def _tools_of(page: JsonObject) -> Sequence[Json]:
    tools = page.get("tools")
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise Fault(UnreachableReason.PROTOCOL, "a page of tools/list has no list of tools")
    return tools


def _cursor_of(page: JsonObject) -> str | None:
    cursor = page.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        raise Fault(UnreachableReason.PROTOCOL, "nextCursor of tools/list is no text")
    return cursor


def _check_size(tools: Sequence[Json], received: int) -> None:
    if len(tools) <= MAX_TOOLS and received <= MAX_BYTES:
        return
    names = {str(cast("JsonObject", tool).get("name")) for tool in tools if isinstance(tool, Mapping)}
    if len(names) * 2 < len(tools):
        # The same tools over and over under new cursors: a loop, whatever limit it meets first.
        raise Fault(
            UnreachableReason.PAGINATION_LOOP, f"{len(tools)} tools were listed, only {len(names)} of them differ"
        )
    detail = f"{len(tools)} tools in {received} bytes; {MAX_TOOLS} tools and {MAX_BYTES} bytes are the limit"
    raise Fault(UnreachableReason.TOO_LARGE, detail)
