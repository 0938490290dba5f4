"""What `remit graph` prints: who gets which tool from where, as text, as a Mermaid flowchart and as JSON.

Decides layout, and that no name can leave its label in a flowchart: every character that is no plain letter, digit or
space of a label is written as Mermaid's numeric entity.
"""

import re
from collections.abc import Iterator
from typing import Annotated, TypedDict

from remit.core.envelope import Surface
from remit.core.holdings import Holdings
from remit.core.identity import Transport, display_endpoint
from remit.core.recorded import RecordedAttachment, RecordedServer
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import WIDEST, Painter, Style, aligned, counted
from remit.render.shapes import FORMAT_VERSION

__all__ = [
    "GraphAssistantDocument",
    "GraphDocument",
    "GraphEdgeDocument",
    "GraphServerDocument",
    "graph_document",
    "graph_mermaid",
    "graph_text",
]


class GraphServerDocument(TypedDict):
    """A server at one end; of another workspace where its tools are used from this one."""

    name: str
    workspace: str
    server_id: str
    transport: Annotated[str, Transport]
    endpoint: str
    enabled: bool


class GraphAssistantDocument(TypedDict):
    """An assistant at the other end."""

    name: str
    workspace: str
    permissions: list[str]


class GraphEdgeDocument(TypedDict):
    """One tool that an assistant has, under its alias, from a server."""

    assistant: str
    provider_name: str
    server: str
    server_id: str
    remote_name: str
    surface: Annotated[str, Surface]
    side_effecting: bool
    required_permission: str | None
    enabled: bool


class GraphDocument(TypedDict):
    """The whole graph of a workspace."""

    format_version: str
    workspace: str
    assistants: list[GraphAssistantDocument]
    servers: list[GraphServerDocument]
    edges: list[GraphEdgeDocument]


def graph_document(held: Holdings) -> GraphDocument:
    """`{format_version, workspace, assistants[], servers[], edges[]}`: one edge an attachment."""
    return {
        "format_version": FORMAT_VERSION,
        "workspace": held.workspace,
        "assistants": [
            {"name": each.name, "workspace": each.workspace, "permissions": list(each.permissions)}
            for each in held.assistants
        ],
        "servers": [_server(each) for each in _servers(held)],
        "edges": [_edge(held, each) for each in held.attachments],
    }


def _servers(held: Holdings) -> list[RecordedServer]:
    used = {str(each.server_id) for each in (*held.registrations, *held.attachments)}
    found = [held.servers[each] for each in used if each in held.servers]
    return sorted(found, key=lambda each: (each.name, each.workspace))


def _server(server: RecordedServer) -> GraphServerDocument:
    return {
        "name": server.name,
        "workspace": server.workspace,
        "server_id": server.server_id,
        "transport": server.endpoint.transport.value,
        "endpoint": display_endpoint(server.endpoint),
        "enabled": server.enabled,
    }


def _edge(held: Holdings, attachment: RecordedAttachment) -> GraphEdgeDocument:
    server, envelope = held.servers.get(attachment.server_id), attachment.envelope
    return {
        "assistant": attachment.assistant,
        "provider_name": attachment.provider_name,
        "server": held.server_name(attachment.server_id),
        "server_id": attachment.server_id,
        "remote_name": well_formed(attachment.remote_name),
        "surface": envelope.surface.value,
        "side_effecting": envelope.side_effecting,
        "required_permission": envelope.required_permission,
        "enabled": attachment.enabled and (server is None or server.enabled),
    }


# -- text --------------------------------------------------------------------------------------------------------------


def graph_text(held: Holdings, *, colour: bool) -> str:
    """Each assistant with its aliases, what they reach and how; then servers that nobody uses. Ends with a newline."""
    document, paint = graph_document(held), Painter(colour=colour)
    used = {each["server_id"] for each in document["edges"]}
    idle = [escape_terminal(each["name"]) for each in document["servers"] if each["server_id"] not in used]
    blocks = ["\n".join(_assistant_lines(each["name"], document, paint)) for each in document["assistants"]] or [
        f"Workspace {escape_terminal(held.workspace)} has no assistants"
    ]
    return "\n\n".join([*blocks, *([f"used by nobody: {', '.join(idle)}"] if idle else [])]) + "\n"


def _assistant_lines(name: str, document: GraphDocument, paint: Painter) -> Iterator[str]:
    edges = [each for each in document["edges"] if each["assistant"] == name]
    yield f"{paint(Style.HEAD, f'assistant {escape_terminal(name)}')}  {counted(len(edges), 'tool')}"
    rows = [
        [
            escape_terminal(each["provider_name"]),
            _surface(each),
            f"<- {escape_terminal(each['server'])}/{escape_terminal(each['remote_name'])}",
        ]
        for each in edges
    ]
    yield from (f"  {line}" for line in aligned(rows, widest=WIDEST))


def _surface(edge: GraphEdgeDocument) -> str:
    return edge["surface"] + ("" if edge["enabled"] else ", disabled")


# -- Mermaid -----------------------------------------------------------------------------------------------------------

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 _-]")


def graph_mermaid(held: Holdings) -> str:
    """The same as a Mermaid flowchart, assistants left, servers right; ends with a newline.

    Nodes are numbered, so that a name is only ever text inside a label. A dotted line is a tool that is disabled.
    """
    document = graph_document(held)
    people = {each["name"]: f"a{number}" for number, each in enumerate(document["assistants"])}
    ends = {each["server_id"]: f"s{number}" for number, each in enumerate(document["servers"])}
    lines = [
        "flowchart LR",
        *(f'  {node}(["assistant {_label(name)}"])' for name, node in people.items()),
        *(f'  {ends[each["server_id"]]}[("server {_label(each["name"])}")]' for each in document["servers"]),
    ]
    for number, edge in enumerate(document["edges"]):
        arrow = "-->" if edge["enabled"] else "-.->"
        end = ends.get(edge["server_id"])
        lines.append(f'  {people[edge["assistant"]]} {arrow} t{number}["{_label(edge["provider_name"])}"]')
        if end is not None:
            lines.append(f'  t{number} {arrow}|"{_label(_surface(edge))}"| {end}')
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return _NOT_PLAIN.sub(lambda found: f"#{ord(found[0])};", escape_terminal(text))
