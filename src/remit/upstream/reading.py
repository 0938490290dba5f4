"""One complete listing read over an open session: walked page by page, judged tool by tool.

Decides nothing that remit.upstream.listing and remit.upstream.judge do not; it puts the two together.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from remit.core.live import Listed
from remit.upstream.judge import judge_listing
from remit.upstream.listing import PageSource, walk_pages
from remit.upstream.schema_check import SchemaChecker
from remit.upstream.sdk_session import Negotiated

__all__ = ["NotedPages", "read_listing"]


class NotedPages(PageSource, Protocol):
    """Pages, and what a person should know about the connection that they come on."""

    def notes(self) -> tuple[str, ...]:
        """The notes, for display."""
        ...


async def read_listing(
    pages: NotedPages,
    negotiated: Negotiated,
    *,
    deadline: float,
    page_seconds: float,
    checker: SchemaChecker,
    clock: Callable[[], datetime],
) -> Listed:
    """Every page, judged. `deadline` is a time of time.monotonic(). Raises Fault for anything short of a whole listing."""
    raw = await walk_pages(
        pages, deadline=deadline, page_seconds=page_seconds, offers_tools="tools" in negotiated.capabilities
    )
    tools, quarantined = await judge_listing(raw, negotiated.era, checker, deadline=deadline)
    return Listed(
        tools=tools,
        quarantined=quarantined,
        era=negotiated.era,
        protocol_version=negotiated.protocol_version,
        server_info=negotiated.server_info,
        capabilities=negotiated.capabilities,
        instructions=negotiated.instructions,
        observed_at=clock(),
        notes=pages.notes(),
    )
