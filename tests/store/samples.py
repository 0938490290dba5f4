"""Values that the store's tests share: one owner, one time, short ways to write operations."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from remit.core.canonical import JsonObject
from remit.core.definition import Definition
from remit.core.desired import Connection
from remit.core.diagnostics import Source
from remit.core.envelope import MOST_RESTRICTIVE, Direction, Envelope
from remit.core.identity import HttpEndpoint, ProviderName, RemoteName, ServerId, canonical_id_of
from remit.core.live import Era, Listed, ListedTool
from remit.core.operations import (
    Attach,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Reason,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    ServerFacts,
    SetEnvelope,
    ToolRef,
    UnregisterServer,
    UpdateServer,
)
from remit.store.database import Location, create_or_upgrade, open_store
from remit.store.store import DatabaseStore

__all__ = [
    "NOW",
    "assistant",
    "attach",
    "created_store",
    "definition",
    "detach",
    "facts",
    "listed",
    "numbered",
    "opened",
    "refresh",
    "register",
    "remove_assistant",
    "rename",
    "rename_server",
    "server_id",
    "set_envelope",
    "tool",
    "unregister",
    "update_server",
]

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def numbered(prefix: str) -> Callable[[], str]:
    """An id factory that counts; every store of a test gets its own prefix."""
    count = itertools.count(1)
    return lambda: f"{prefix}-{next(count)}"


def opened(path: Path, *, prefix: str = "id") -> DatabaseStore:
    """A store on an existing database."""
    return open_store(Location(path), new_id=numbered(prefix), clock=lambda: NOW)


def created_store(folder: Path) -> DatabaseStore:
    """A store on a new database in `folder`."""
    create_or_upgrade(Location(folder / "remit.db"))
    return opened(folder / "remit.db")


def server_id(name: str) -> ServerId:
    """The id that `register` gives to a server of this name."""
    return ServerId(f"mcp_{name}")


def facts(name: str, *, host: str | None = None, connection: Connection | None = None) -> ServerFacts:
    """A server behind https://HOST/mcp, HOST being its name unless told otherwise."""
    return ServerFacts(
        name=name,
        namespace=name,
        endpoint=HttpEndpoint(f"https://{host or name}/mcp"),
        instance=None,
        connection=connection or Connection(),
        enabled=True,
    )


def register(name: str, *, host: str | None = None, connection: Connection | None = None) -> RegisterServer:
    return RegisterServer(
        reason=Reason.DECLARED,
        server_id=server_id(name),
        facts=facts(name, host=host, connection=connection),
    )


def update_server(of: str, before: ServerFacts, after: ServerFacts) -> UpdateServer:
    return UpdateServer(reason=Reason.ENDPOINT_CHANGED, server_id=server_id(of), before=before, after=after, changes=())


def rename_server(of: str, before: ServerFacts, after: ServerFacts) -> RenameServer:
    return RenameServer(reason=Reason.NAME_CHANGED, server_id=server_id(of), before=before, after=after, changes=())


def unregister(name: str) -> UnregisterServer:
    return UnregisterServer(reason=Reason.SERVER_REMOVED, server_id=server_id(name), before=facts(name))


def assistant(name: str, *permissions: str) -> CreateAssistant:
    return CreateAssistant(reason=Reason.DECLARED, assistant=name, permissions=permissions)


def remove_assistant(name: str) -> DeleteAssistant:
    return DeleteAssistant(reason=Reason.ASSISTANT_REMOVED, assistant=name, permissions=())


def definition(description: str = "Search.", **properties: JsonObject) -> Definition:
    return Definition.of(description=description, input_schema={"type": "object", "properties": properties})


def tool(of: str, server: str, remote_name: str, alias: str | None = None) -> ToolRef:
    """A tool of assistant `of`; its alias is SERVER__REMOTE_NAME unless told otherwise."""
    return ToolRef(
        assistant=of,
        server=server,
        server_id=server_id(server),
        remote_name=RemoteName(remote_name),
        provider_name=ProviderName(alias or f"{server}__{remote_name}"),
        canonical_id=canonical_id_of(server_id(server), remote_name),
    )


def attach(ref: ToolRef, content: Definition | None = None, envelope: Envelope = MOST_RESTRICTIVE) -> Attach:
    return Attach(
        reason=Reason.SELECTED_BY_NAME,
        source=Source("mcp.yaml", 7, 3),
        tool=ref,
        definition=content or definition(),
        envelope=envelope,
    )


def detach(ref: ToolRef) -> Detach:
    return Detach(reason=Reason.NO_LONGER_SELECTED, tool=ref, definition=definition(), envelope=MOST_RESTRICTIVE)


def refresh(ref: ToolRef, after: Definition) -> Refresh:
    return Refresh(
        reason=Reason.DEFINITION_CHANGED, tool=ref, before=definition(), after=after, changes=(), classes=frozenset()
    )


def rename(ref: ToolRef, alias: str) -> RenameAlias:
    return RenameAlias(reason=Reason.ALIAS_DECLARED, tool=ref, after=ProviderName(alias))


def set_envelope(ref: ToolRef, after: Envelope) -> SetEnvelope:
    return SetEnvelope(
        reason=Reason.POLICY_CHANGED, tool=ref, before=MOST_RESTRICTIVE, after=after, direction=Direction.LOOSENED
    )


def listed(**tools: Definition) -> Listed:
    """A complete listing of these tools."""
    return Listed(
        tools=tuple(ListedTool(remote_name=RemoteName(name), definition=tools[name]) for name in sorted(tools)),
        era=Era.MODERN,
        protocol_version="2026-07-28",
        observed_at=NOW,
    )
