"""What `remit discover` prints: what each server offers, under all names, as text and as JSON.

Decides layout only. Everything a server says of itself is quoted and escaped; the JSON has it in full.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, TypeAlias, TypedDict, assert_never

from remit.core.live import (
    Era,
    Listed,
    McpDiscoveredTool,
    Observation,
    Quarantine,
    ServerIdentity,
    Skipped,
    SkipReason,
    Unreachable,
    UnreachableReason,
)
from remit.render.document import definition_state, quarantine_document
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import WIDEST, Painter, Style, aligned, counted, repeated
from remit.render.shapes import FORMAT_VERSION, DefinitionState, QuarantineDocument
from remit.render.spans import timestamp
from remit.render.words import SKIP_WORDS

__all__ = [
    "DiscoverDocument",
    "DiscoveredToolDocument",
    "ListedServerDocument",
    "ServerListing",
    "SkippedServerDocument",
    "UnreachableServerDocument",
    "discover_document",
    "discover_text",
]

ServerListing: TypeAlias = tuple[str, Observation, tuple[McpDiscoveredTool, ...]]
"""A declared server's name, what was observed, and its usable tools under all their names."""

_HEADER = ("REMOTE NAME", "PROVIDER NAME", "CANONICAL ID", "DIGEST", "DESCRIPTION")
_DIGEST_CHARACTERS = len("d1:") + 12
_NAME = 64


class DiscoveredToolDocument(DefinitionState):
    """One tool: its four names beside its definition and digests."""

    server_id: str
    remote_name: str
    canonical_id: str
    provider_name: str


class ListedServerDocument(TypedDict):
    """A server that was listed completely."""

    status: Literal["listed"]
    server: str
    era: Annotated[str, Era]
    protocol_version: str
    server_info: dict[str, str] | None
    instructions: str | None
    observed_at: str
    tools: list[DiscoveredToolDocument]
    quarantined: list[QuarantineDocument]
    notes: list[str]


class UnreachableServerDocument(TypedDict):
    """A server without a listing."""

    status: Literal["unreachable"]
    server: str
    reason: Annotated[str, UnreachableReason]
    detail: str


class SkippedServerDocument(TypedDict):
    """A server that was not asked."""

    status: Literal["skipped"]
    server: str
    reason: Annotated[str, SkipReason]


class DiscoverDocument(TypedDict):
    """Everything that was discovered."""

    format_version: str
    servers: list[ListedServerDocument | UnreachableServerDocument | SkippedServerDocument]


def discover_text(listings: Sequence[ServerListing], *, colour: bool, width: int) -> str:
    """A block for each server, by name, with a table of its tools, then the counts; ends with a newline.

    `width` is the terminal's, in columns: it bounds what is quoted of a description.
    """
    paint = Painter(colour=colour)
    room = max(40, width // 2)
    blocks = [
        "\n".join(_block(name, seen, tools, paint, room))
        for name, seen, tools in sorted(listings, key=lambda each: each[0])
    ]
    return "\n\n".join([*blocks, _counts(listings)]) + "\n"


def discover_document(listings: Sequence[ServerListing]) -> DiscoverDocument:
    """`{format_version, servers[]}`, each server closed by its `status`: listed, unreachable or skipped."""
    return {"format_version": FORMAT_VERSION, "servers": [_server(*listing) for listing in listings]}


def _server(
    name: str, seen: Observation, tools: Sequence[McpDiscoveredTool]
) -> ListedServerDocument | UnreachableServerDocument | SkippedServerDocument:
    match seen:
        case Listed():
            return _listed(name, seen, tools)
        case Unreachable(reason=reason, detail=detail):
            return {"status": "unreachable", "server": name, "reason": reason.value, "detail": well_formed(detail)}
        case Skipped(reason=reason):
            return {"status": "skipped", "server": name, "reason": reason.value}
        case _:
            assert_never(seen)


def _listed(name: str, seen: Listed, tools: Sequence[McpDiscoveredTool]) -> ListedServerDocument:
    identity = seen.server_info
    return {
        "status": "listed",
        "server": name,
        "era": seen.era.value,
        "protocol_version": well_formed(seen.protocol_version),
        "server_info": None
        if identity is None
        else {"name": well_formed(identity.name), "version": well_formed(identity.version)},
        "instructions": None if seen.instructions is None else well_formed(seen.instructions),
        "observed_at": timestamp(seen.observed_at),
        "tools": [_tool(tool) for tool in tools],
        "quarantined": [quarantine_document(each) for each in seen.quarantined],
        "notes": [well_formed(note) for note in seen.notes],
    }


def _tool(tool: McpDiscoveredTool) -> DiscoveredToolDocument:
    return {
        "server_id": tool.server_id,
        "remote_name": tool.remote_name,
        "canonical_id": tool.canonical_id,
        "provider_name": tool.provider_name,
        **definition_state(tool.definition),
    }


def _block(
    name: str, seen: Observation, tools: Sequence[McpDiscoveredTool], paint: Painter, room: int
) -> Iterator[str]:
    title = paint(Style.HEAD, escape_terminal(name))
    match seen:
        case Listed():
            yield f"{title}  {_connection(seen)}"
            yield from _tool_table(tools, room)
            bad = aligned([_quarantined(each, room) for each in seen.quarantined], widest=WIDEST)
            yield from (f"  ! quarantined  {line}" for line in repeated(bad))
            yield from (f"  note: {escape_terminal(note)}" for note in seen.notes)
        case Unreachable(reason=reason, detail=detail):
            yield f"{title}  {paint(Style.DANGER, f'unreachable ({reason})')}: {escape_terminal(detail)}"
        case Skipped(reason=reason):
            yield f"{title}  not asked: {SKIP_WORDS[reason]}"
        case _:
            assert_never(seen)


def _connection(seen: Listed) -> str:
    bad = f", {len(seen.quarantined)} quarantined" if seen.quarantined else ""
    version = escape_terminal(seen.protocol_version, limit=40)
    count = counted(len(seen.tools), "tool")
    return f"{count}{bad}; {seen.era} era, protocol {version}, {_identity(seen.server_info)}"


def _identity(claimed: ServerIdentity | None) -> str:
    if claimed is None:
        return "gives no name"
    return f"calls itself {escape_terminal(claimed.name, limit=_NAME)} {escape_terminal(claimed.version, limit=40)}"


def _tool_table(tools: Sequence[McpDiscoveredTool], room: int) -> list[str]:
    if not tools:
        return []
    rows = [_HEADER, *(_row(tool, room) for tool in tools)]
    return [f"  {line}" for line in aligned(rows, widest=WIDEST)]


def _row(tool: McpDiscoveredTool, room: int) -> tuple[str, ...]:
    content = tool.definition.content()
    return (
        escape_terminal(tool.remote_name, limit=_NAME),
        tool.provider_name,
        tool.canonical_id,
        tool.definition.definition_digest[:_DIGEST_CHARACTERS],
        escape_terminal(content.description or content.title or "", limit=room),
    )


def _quarantined(tool: Quarantine, room: int) -> tuple[str, str]:
    name = escape_terminal(tool.remote_name, limit=_NAME) or "(no name)"
    return name, f"{tool.reason}: {escape_terminal(tool.detail, limit=room)}"


def _counts(listings: Sequence[ServerListing]) -> str:
    listed = [seen for _, seen, _ in listings if isinstance(seen, Listed)]
    tools = sum(len(seen.tools) for seen in listed)
    bad = sum(len(seen.quarantined) for seen in listed)
    words = f"{len(listed)} of {counted(len(listings), 'server')} listed, {counted(tools, 'tool')}"
    return f"{words}, {bad} quarantined" if bad else words
