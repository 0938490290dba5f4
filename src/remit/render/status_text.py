"""What `remit status` prints: what the database holds for a workspace, as text and as JSON.

Decides layout only; rows of other workspaces are counted, not shown.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from remit.core.identity import Transport, display_endpoint
from remit.core.live import Era
from remit.core.recorded import RecordedAssistant, RecordedAttachment, RecordedServer, WorkspaceRecord
from remit.core.report import StatusReport
from remit.render.document import database_document, envelope_document, last_good_document
from remit.render.escape import escape_terminal
from remit.render.history_text import ApplyDocument, apply_cells, apply_document
from remit.render.layout import WIDEST, Painter, Style, aligned, counted
from remit.render.shapes import (
    FORMAT_VERSION,
    BindingDocument,
    DatabaseDocument,
    EnvelopeDocument,
    LastGoodDocument,
    UnmanagedDocument,
)
from remit.render.suspensions_text import SuspensionDocument, suspension_document, suspension_rows
from remit.render.words import database_words, envelope_words, unmanaged_words

__all__ = [
    "AttachedToolDocument",
    "RegisteredServerDocument",
    "StatusAssistantDocument",
    "StatusDocument",
    "status_document",
    "status_text",
]

_DIGEST_CHARACTERS = len("d1:") + 12


class RegisteredServerDocument(TypedDict):
    """One registration."""

    server_id: str
    name: str
    namespace: str
    transport: Annotated[str, Transport]
    endpoint: str
    enabled: bool
    era: Annotated[str, Era] | None
    last_good: LastGoodDocument | None


class AttachedToolDocument(TypedDict):
    """One attachment."""

    provider_name: str
    server: str
    remote_name: str
    canonical_id: str
    envelope: EnvelopeDocument
    definition_digest: str
    enabled: bool


class StatusAssistantDocument(TypedDict):
    """One assistant with the tools that this workspace attached."""

    name: str
    permissions: list[str]
    revision: int
    foreign_functions: list[str]
    tools: list[AttachedToolDocument]


class StatusDocument(TypedDict):
    """The recorded state of a workspace; `binding` is null until it is applied."""

    format_version: str
    workspace: str
    database: DatabaseDocument
    binding: BindingDocument | None
    servers: list[RegisteredServerDocument]
    assistants: list[StatusAssistantDocument]
    unmanaged: UnmanagedDocument
    suspensions: list[SuspensionDocument]
    applies: list[ApplyDocument]


def status_document(report: StatusReport) -> StatusDocument:
    """`{format_version, workspace, database, binding, servers[], assistants[], unmanaged, suspensions[], applies[]}`.

    An assistant of another workspace is listed where this one attached tools to it; otherwise it is unmanaged.
    """
    held, workspace = report.recorded, report.workspace
    servers = [server for server in held.servers if server.workspace == workspace]
    attachments = [each for each in held.attachments if each.workspace == workspace]
    tools_of = _by_assistant(attachments, {server.server_id: server.name for server in held.servers})
    assistants = [
        each for each in held.assistants if each.workspace == workspace or (each.owner, each.name) in tools_of
    ]
    return {
        "format_version": FORMAT_VERSION,
        "workspace": workspace,
        "database": database_document(report.database),
        "binding": _binding(held.workspaces.get(workspace)),
        "servers": [_server(server) for server in sorted(servers, key=lambda each: each.name)],
        "assistants": [
            _assistant(each, tools_of.get((each.owner, each.name), []))
            for each in sorted(assistants, key=lambda each: (each.name, each.owner))
        ],
        "unmanaged": {
            "servers": len(held.servers) - len(servers),
            "assistants": len(held.assistants) - len(assistants),
            "attachments": len(held.attachments) - len(attachments),
            "functions": sum(len(each.foreign_functions) for each in held.assistants),
        },
        "suspensions": [suspension_document(each) for each in report.suspensions],
        "applies": [apply_document(entry) for entry in report.history],
    }


def status_text(report: StatusReport, *, colour: bool, width: int) -> str:
    """Servers, assistants with their tools, and the last applies; ends with a newline.

    `width` is the terminal's, in columns: it bounds how much of an endpoint is shown.
    """
    document, paint = status_document(report), Painter(colour=colour)
    sections = (
        [
            paint(Style.HEAD, f"Workspace {escape_terminal(report.workspace)}"),
            f"  database  {database_words(document['database'])}",
            *_bound(document["binding"]),
            *(f"  {line}" for line in unmanaged_words(document["unmanaged"])),
        ],
        _suspended(document["suspensions"], paint),
        _servers(document["servers"], paint, max(40, width // 2)),
        *(_assistant_lines(each, paint) for each in document["assistants"]),
        _applies(document["applies"], paint),
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _by_assistant(
    attachments: Sequence[RecordedAttachment], names: Mapping[str, str]
) -> dict[tuple[str, str], list[AttachedToolDocument]]:
    tools_of: dict[tuple[str, str], list[AttachedToolDocument]] = {}
    for each in sorted(attachments, key=lambda attachment: attachment.provider_name):
        tools_of.setdefault((each.assistant_owner, each.assistant), []).append(
            {
                "provider_name": each.provider_name,
                "server": names.get(each.server_id, each.server_id),
                "remote_name": each.remote_name,
                "canonical_id": each.canonical_id,
                "envelope": envelope_document(each.envelope),
                "definition_digest": each.definition.definition_digest,
                "enabled": each.enabled,
            }
        )
    return tools_of


def _binding(record: WorkspaceRecord | None) -> BindingDocument | None:
    if record is None or record.environment is None:
        return None
    return {"environment": record.environment or None, "source": record.source}


def _server(server: RecordedServer) -> RegisteredServerDocument:
    return {
        "server_id": server.server_id,
        "name": server.name,
        "namespace": server.namespace,
        "transport": server.endpoint.transport.value,
        "endpoint": display_endpoint(server.endpoint),
        "enabled": server.enabled,
        "era": server.era,
        "last_good": last_good_document(server.last_good),
    }


def _assistant(assistant: RecordedAssistant, tools: list[AttachedToolDocument]) -> StatusAssistantDocument:
    return {
        "name": assistant.name,
        "permissions": list(assistant.permissions),
        "revision": assistant.revision,
        "foreign_functions": list(assistant.foreign_functions),
        "tools": tools,
    }


# -- text --------------------------------------------------------------------------------------------------------------


def _bound(binding: BindingDocument | None) -> list[str]:
    if binding is None:
        return []
    environment, source = binding["environment"], binding["source"]
    made_for = f"for environment {escape_terminal(environment)}" if environment else "without an environment"
    return [f"  applied   {made_for}, from {escape_terminal(source) if source else 'no repository'}"]


def _suspended(suspensions: Sequence[SuspensionDocument], paint: Painter) -> list[str]:
    rows = suspension_rows(suspensions)
    head = paint(Style.DANGER, "suspended: every call is denied")
    return [head, *(f"  {line}" for line in aligned(rows, widest=WIDEST))] if rows else []


def _servers(servers: Sequence[RegisteredServerDocument], paint: Painter, room: int) -> list[str]:
    rows = [
        [
            escape_terminal(each["name"]),
            each["transport"] + ("" if each["enabled"] else ", disabled"),
            escape_terminal(each["endpoint"], limit=room),
            f"{each['era']} era" if each["era"] else "never connected to",
            _listing(each["last_good"]),
        ]
        for each in servers
    ]
    return [paint(Style.HEAD, "servers"), *(f"  {line}" for line in aligned(rows, widest=WIDEST))] if rows else []


def _listing(kept: LastGoodDocument | None) -> str:
    return "never listed" if kept is None else f"{counted(kept['tools'], 'tool')}, listed {kept['observed_at']}"


def _assistant_lines(assistant: StatusAssistantDocument, paint: Painter) -> list[str]:
    granted = ", ".join(escape_terminal(name) for name in assistant["permissions"])
    facts = [counted(len(assistant["tools"]), "tool"), f"permissions {granted}" if granted else "no permissions"]
    if assistant["foreign_functions"]:
        facts.append(counted(len(assistant["foreign_functions"]), "foreign function"))
    rows = [
        [
            escape_terminal(tool["provider_name"]),
            f"{escape_terminal(tool['server'])}/{escape_terminal(tool['remote_name'])}",
            escape_terminal(envelope_words(tool["envelope"])) + ("" if tool["enabled"] else ", disabled"),
            tool["definition_digest"][:_DIGEST_CHARACTERS],
        ]
        for tool in assistant["tools"]
    ]
    head = paint(Style.HEAD, f"assistant {escape_terminal(assistant['name'])}")
    return [f"{head}  {'; '.join(facts)}", *(f"  {line}" for line in aligned(rows, widest=WIDEST))]


def _applies(applies: Sequence[ApplyDocument], paint: Painter) -> list[str]:
    rows = [apply_cells(apply) for apply in applies]
    return [paint(Style.HEAD, "last applies"), *(f"  {line}" for line in aligned(rows, widest=WIDEST))] if rows else []
