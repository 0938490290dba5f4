"""What `remit state` prints: the recorded rows of a workspace by address, and one of them whole, as text and as JSON.

Decides layout only. A definition whose text was edited in the database is not shown: it is not what was approved.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, assert_never, cast

from remit.core.addresses import assistant_address, attachment_address, server_address, tool_address
from remit.core.holdings import Entry, HeldTool, Holdings
from remit.core.identity import display_endpoint
from remit.core.live import Era
from remit.core.recorded import RecordedAssistant, RecordedAttachment, RecordedServer
from remit.core.servers import facts_document, facts_of
from remit.render.diagnostics import source_document
from remit.render.document import definition_state, envelope_document, last_good_document
from remit.render.escape import escape_terminal, json_lines, well_formed
from remit.render.layout import WIDEST, Painter, Style, aligned, counted
from remit.render.shapes import (
    FORMAT_VERSION,
    DefinitionDocument,
    EnvelopeDocument,
    LastGoodDocument,
    ServerState,
    SourceDocument,
)
from remit.render.words import envelope_words

__all__ = [
    "AssistantEntryDocument",
    "AttachmentEntryDocument",
    "ServerEntryDocument",
    "StateEntryDocument",
    "StateListDocument",
    "ToolEntryDocument",
    "entry_document",
    "entry_text",
    "state_document",
    "state_text",
]


_Kind: TypeAlias = Literal["server", "assistant", "attachment", "tool"]


class ServerEntryDocument(TypedDict):
    """One registration, and the attachments that use it."""

    kind: Literal["server"]
    address: str
    era: Annotated[str, Era] | None
    last_good: LastGoodDocument | None
    state: ServerState
    attachments: list[str]


class AssistantEntryDocument(TypedDict):
    """One assistant; `workspace` is the one that created it."""

    kind: Literal["assistant"]
    address: str
    workspace: str
    permissions: list[str]
    protect: bool
    revision: int
    foreign_functions: list[str]
    attachments: list[str]


class AttachmentEntryDocument(TypedDict):
    """One attachment; `definition` is null where its text no longer is the one that its digest was taken of."""

    kind: Literal["attachment"]
    address: str
    provider_name: str
    server: str
    remote_name: str
    canonical_id: str
    enabled: bool
    coherent: bool
    envelope: EnvelopeDocument
    source: SourceDocument | None
    definition_digest: str
    contract_digest: str
    definition: DefinitionDocument | None


class ToolEntryDocument(TypedDict):
    """One tool of a server, whoever uses it."""

    kind: Literal["tool"]
    address: str
    server: str
    remote_name: str
    canonical_id: str
    attachments: list[str]


_EntryDocument: TypeAlias = ServerEntryDocument | AssistantEntryDocument | AttachmentEntryDocument | ToolEntryDocument


class _Line(TypedDict):
    """Where one entry is to be found, and what it is."""

    address: str
    kind: _Kind


class StateListDocument(TypedDict):
    """Every recorded entry of a workspace, by address."""

    format_version: str
    workspace: str
    entries: list[_Line]


class StateEntryDocument(TypedDict):
    """One recorded entry, whole."""

    format_version: str
    workspace: str
    entry: _EntryDocument


def state_document(held: Holdings) -> StateListDocument:
    """`{format_version, workspace, entries[]{address, kind}}`; tools stand behind their attachments and are no entries."""
    entries: list[_Line] = [
        {"address": well_formed(address), "kind": _kind(entry)}
        for address, entry in held.entries().items()
        if not isinstance(entry, HeldTool)
    ]
    return {"format_version": FORMAT_VERSION, "workspace": held.workspace, "entries": entries}


def entry_document(held: Holdings, entry: Entry) -> StateEntryDocument:
    """`{format_version, workspace, entry}`, the entry closed by its `kind`."""
    return {"format_version": FORMAT_VERSION, "workspace": held.workspace, "entry": _document(held, entry)}


def _kind(entry: Entry) -> _Kind:
    match entry:
        case RecordedServer():
            return "server"
        case RecordedAssistant():
            return "assistant"
        case RecordedAttachment():
            return "attachment"
        case HeldTool():
            return "tool"
        case _:
            assert_never(entry)


def _document(held: Holdings, entry: Entry) -> _EntryDocument:
    match entry:
        case RecordedServer():
            return _server(held, entry)
        case RecordedAssistant():
            return _assistant(held, entry)
        case RecordedAttachment():
            return _attachment(held, entry)
        case HeldTool():
            return _tool(entry)
        case _:
            assert_never(entry)


def _addresses(attachments: Sequence[RecordedAttachment]) -> list[str]:
    return [attachment_address(each.assistant, each.provider_name) for each in attachments]


def _server(held: Holdings, server: RecordedServer) -> ServerEntryDocument:
    return {
        "kind": "server",
        "address": server_address(server.name),
        "era": server.era,
        "last_good": last_good_document(server.last_good),
        "state": cast("ServerState", {"server_id": server.server_id, **facts_document(facts_of(server))}),
        "attachments": _addresses([each for each in held.attachments if each.server_id == server.server_id]),
    }


def _assistant(held: Holdings, assistant: RecordedAssistant) -> AssistantEntryDocument:
    return {
        "kind": "assistant",
        "address": assistant_address(assistant.name),
        "workspace": assistant.workspace,
        "permissions": list(assistant.permissions),
        "protect": assistant.protect,
        "revision": assistant.revision,
        "foreign_functions": [well_formed(each) for each in assistant.foreign_functions],
        "attachments": _addresses(held.attached_to(assistant)),
    }


def _attachment(held: Holdings, attachment: RecordedAttachment) -> AttachmentEntryDocument:
    definition = attachment.definition
    return {
        "kind": "attachment",
        "address": attachment_address(attachment.assistant, attachment.provider_name),
        "provider_name": attachment.provider_name,
        "server": held.server_name(attachment.server_id),
        "remote_name": well_formed(attachment.remote_name),
        "canonical_id": attachment.canonical_id,
        "enabled": attachment.enabled,
        "coherent": attachment.is_coherent,
        "envelope": envelope_document(attachment.envelope),
        "source": source_document(attachment.source),
        "definition_digest": definition.definition_digest,
        "contract_digest": definition.contract_digest,
        "definition": definition_state(definition)["definition"] if attachment.is_definition_intact else None,
    }


def _tool(tool: HeldTool) -> ToolEntryDocument:
    return {
        "kind": "tool",
        "address": tool_address(tool.server.name, well_formed(tool.remote_name)),
        "server": tool.server.name,
        "remote_name": well_formed(tool.remote_name),
        "canonical_id": tool.attachments[0].canonical_id,
        "attachments": _addresses(tool.attachments),
    }


# -- text --------------------------------------------------------------------------------------------------------------


def state_text(held: Holdings, *, colour: bool, width: int) -> str:
    """A line for each entry, with what tells it apart; ends with a newline. `width` is the terminal's, in columns."""
    head = Painter(colour=colour)(Style.HEAD, f"Recorded of workspace {escape_terminal(held.workspace)}")
    rows = [
        [escape_terminal(address), *_cells(held, entry, max(40, width // 2))]
        for address, entry in held.entries().items()
        if not isinstance(entry, HeldTool)
    ]
    lines = aligned(rows, widest=WIDEST) or ["nothing yet"]
    return "\n".join([head, *(f"  {line}" for line in lines)]) + "\n"


def _cells(held: Holdings, entry: RecordedServer | RecordedAssistant | RecordedAttachment, room: int) -> list[str]:
    match entry:
        case RecordedServer():
            return [escape_terminal(display_endpoint(entry.endpoint), limit=room), _disabled(enabled=entry.enabled)]
        case RecordedAssistant():
            return [counted(len(held.attached_to(entry)), "tool"), ""]
        case RecordedAttachment():
            tool = tool_address(held.server_name(entry.server_id), entry.remote_name)
            words = escape_terminal(envelope_words(envelope_document(entry.envelope)))
            return [escape_terminal(tool), words + _disabled(enabled=entry.enabled, before=", ")]
        case _:
            assert_never(entry)


def _disabled(*, enabled: bool, before: str = "") -> str:
    return "" if enabled else f"{before}disabled"


def entry_text(held: Holdings, entry: Entry, *, colour: bool) -> str:
    """The entry under its address, a line for each field, JSON where a value is no single word; ends with a newline."""
    document = cast("dict[str, Any]", _document(held, entry))
    head = Painter(colour=colour)(Style.HEAD, escape_terminal(document.pop("address")))
    return "\n".join([head, *(f"  {line}" for line in _fields(document))]) + "\n"


def _fields(document: dict[str, Any]) -> Iterator[str]:
    widest = max(len(name) for name in document)
    for name, value in document.items():
        first, *others = [escape_terminal(value)] if isinstance(value, str) else json_lines(value)
        yield f"{name.ljust(widest)}  {first}"
        yield from (f"{' ' * widest}  {line}" for line in others)
