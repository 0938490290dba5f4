"""Reading the recorded state, in the caller's transaction.

Decides the order of what is read (by code point, not by a database's collation). Definitions are not parsed and digests
not computed: both engines hand over texts, and 5,000 attachments stay a matter of milliseconds.
"""

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, Unpack, cast

from sqlalchemy import Connection, Row, RowMapping, and_, select

from remit.core.aliases import fold
from remit.core.canonical import JsonObject
from remit.core.definition import Definition
from remit.core.diagnostics import Source
from remit.core.envelope import AuditedArguments, Envelope, Recording, Surface, UnknownArguments
from remit.core.identity import CanonicalId, ProviderName, RemoteName, ServerId
from remit.core.live import Era, Listed, ListedTool
from remit.core.ports import AppliedRecord, HistoryEntry
from remit.core.recorded import (
    LastGood,
    Recorded,
    RecordedAssistant,
    RecordedAttachment,
    RecordedServer,
    WorkspaceRecord,
)
from remit.errors import DatabaseUnusable
from remit.store import codec
from remit.store.tables import (
    applies,
    assistant_functions,
    assistant_mcp_tools,
    assistants,
    discovered_tools,
    discovery_snapshots,
    mcp_server_registrations,
    workspaces,
)
from remit.store.texts import json_list, time_from

__all__ = [
    "read_apply",
    "read_attachments",
    "read_history",
    "read_last_good",
    "read_recorded",
    "read_servers",
    "readable",
    "tool_configs",
]


@contextmanager
def readable(table: str) -> Generator[None]:
    """Rows that no remit wrote are an error that names the table, and no value of theirs."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError):
        # The error's text quotes the value, so it is cut off instead of chained.
        raise DatabaseUnusable(
            f"a row of {table} is not one that remit wrote",
            code="database-row",
            hint="restore the database from a backup, or mend that row",
        ) from None


def read_recorded(connection: Connection) -> Recorded:
    """The whole recorded state: servers by id, assistants by owner and name, attachments by assistant, server, name."""
    with readable("workspaces"):
        owned = _workspaces(connection)
    with readable("mcp_server_registrations"):
        servers, used = _servers(connection)
    with readable("assistants"):
        known = _assistants(connection)
    with readable("assistant_mcp_tools"):
        attachments = _attachments(connection.execute(_ATTACHMENTS))
    return Recorded(servers=servers, assistants=known, attachments=attachments, used_server_ids=used, workspaces=owned)


def _workspaces(connection: Connection) -> Mapping[str, WorkspaceRecord]:
    newest = (applies.c.workspace == workspaces.c.name) & (applies.c.serial == workspaces.c.serial)
    query = select(workspaces, applies.c.commit).outerjoin_from(workspaces, applies, newest)
    rows = connection.execute(query).mappings()
    return {
        row["name"]: WorkspaceRecord(
            name=row["name"],
            owner=row["owner"],
            lineage=row["lineage"],
            serial=row["serial"],
            lock_used=row["lock_used"],
            files=() if row["files"] is None else json_list(row["files"]),
            source=row["source"],
            commit=row["commit"],
            environment=row["environment"],
        )
        for row in sorted(rows, key=lambda row: row["name"])
    }


_SERVERS = select(
    mcp_server_registrations, discovery_snapshots.c.observed_at, discovery_snapshots.c.tool_count
).outerjoin_from(mcp_server_registrations, discovery_snapshots)


def _servers(connection: Connection) -> tuple[tuple[RecordedServer, ...], frozenset[ServerId]]:
    rows = connection.execute(_SERVERS).mappings().all()
    used = frozenset(ServerId(row["id"]) for row in rows)
    active = [_server(row) for row in rows if row["deleted_at"] is None]
    return tuple(sorted(active, key=lambda server: server.server_id)), used


def read_servers(connection: Connection, server_ids: Sequence[ServerId]) -> Mapping[ServerId, RecordedServer]:
    """These registrations; one that is deleted or was never there is absent."""
    columns = mcp_server_registrations.c
    query = _SERVERS.where(columns.id.in_(server_ids), columns.deleted_at.is_(None))
    with readable("mcp_server_registrations"):
        return {ServerId(row["id"]): _server(row) for row in connection.execute(query).mappings()}


def _server(row: RowMapping) -> RecordedServer:
    observed = row["observed_at"]
    return RecordedServer(
        server_id=ServerId(row["id"]),
        owner=row["owner"],
        workspace=row["workspace"],
        name=row["name"],
        namespace=row["namespace"],
        endpoint=codec.endpoint_from(row["transport"], row["normalized_url"], row["command"], row["cwd"]),
        instance=row["instance"],
        connection=codec.connection_from(row["connection"], row["timeout_seconds"]),
        enabled=row["enabled"],
        protect=row["protect"],
        era=row["era"],
        last_good=None if observed is None else LastGood(tools=row["tool_count"], observed_at=time_from(observed)),
    )


def _assistants(connection: Connection) -> tuple[RecordedAssistant, ...]:
    functions = assistant_functions
    foreign: dict[str, list[str]] = {}
    unattached = select(functions.c.assistant_id, functions.c.name).where(functions.c.attachment_id.is_(None))
    for assistant_id, name in connection.execute(unattached):
        foreign.setdefault(assistant_id, []).append(name)
    found = [
        RecordedAssistant(
            owner=row["owner"],
            workspace=row["workspace"],
            name=row["name"],
            permissions=json_list(row["permissions"]),
            protect=row["protect"],
            revision=row["revision"],
            foreign_functions=tuple(sorted(foreign.get(row["id"], ()))),
        )
        for row in connection.execute(select(assistants)).mappings()
    ]
    return tuple(sorted(found, key=lambda assistant: (assistant.owner, assistant.name)))


_TOOL = assistant_mcp_tools.c
_ATTACHMENTS = (
    select(
        assistants.c.owner,
        assistants.c.name,
        _TOOL.registration_id,
        _TOOL.remote_name,
        _TOOL.workspace,
        _TOOL.canonical_id,
        _TOOL.provider_name,
        _TOOL.definition,
        _TOOL.definition_digest,
        _TOOL.contract_digest,
        _TOOL.surface,
        _TOOL.side_effecting,
        _TOOL.reversible,
        _TOOL.required_permission,
        _TOOL.unknown_arguments,
        _TOOL.record,
        _TOOL.audit_arguments,
        assistant_functions.c.document,
        assistant_functions.c.name,
        assistant_functions.c.folded_name,
        _TOOL.function_digest,
        _TOOL.source_file,
        _TOOL.source_line,
        _TOOL.source_column,
        _TOOL.enabled,
        _TOOL.row_version,
        discovery_snapshots.c.registration_id,
        discovered_tools.c.definition_digest,
    )
    .join_from(assistant_mcp_tools, assistants)
    .outerjoin(assistant_functions, assistant_functions.c.attachment_id == _TOOL.id)
    .outerjoin(discovery_snapshots, discovery_snapshots.c.registration_id == _TOOL.registration_id)
    .outerjoin(
        discovered_tools,
        and_(
            discovered_tools.c.registration_id == _TOOL.registration_id,
            discovered_tools.c.remote_name == _TOOL.remote_name,
        ),
    )
)
"""The four columns that give the order come first, so that sorting the rows sorts the attachments."""


def read_attachments(connection: Connection, *, owner: str, assistant: str) -> tuple[RecordedAttachment, ...]:
    """The attachments of one assistant, whichever workspaces made them, by server and name."""
    query = _ATTACHMENTS.where(assistants.c.owner == owner, assistants.c.name == assistant)
    with readable("assistant_mcp_tools"):
        return _attachments(connection.execute(query))


def _attachments(rows: Iterable[Row[*tuple[Any, ...]]]) -> tuple[RecordedAttachment, ...]:
    envelope_of = _shared_envelopes()
    return tuple(
        RecordedAttachment(
            workspace=workspace,
            assistant_owner=owner,
            assistant=assistant,
            server_id=ServerId(server_id),
            remote_name=RemoteName(remote_name),
            canonical_id=CanonicalId(canonical_id),
            provider_name=ProviderName(provider_name),
            definition=Definition(text=definition, definition_digest=definition_digest, contract_digest=contract),
            envelope=envelope_of(surface, side_effecting, reversible, permission, unknown, record, audited),
            function_text=_text(document),
            function_name=function if function is not None and fold(function) == folded else None,
            function_digest=function_digest,
            source=None if file is None else Source(file, line, column),
            enabled=enabled,
            row_version=row_version,
            drifted_when_last_listed=snapshot is not None and last_seen != definition_digest,
        )
        for (
            owner, assistant, server_id, remote_name, workspace, canonical_id, provider_name, definition,
            definition_digest, contract, surface, side_effecting, reversible, permission, unknown, record, audited,
            document, function, folded, function_digest, file, line, column, enabled, row_version, snapshot, last_seen,
        ) in sorted(rows, key=lambda row: row[:4])
    )  # fmt: skip


def _text(document: str | None) -> str | None:
    """A column that may hold a text only; SQLite would also take bytes. Raises TypeError."""
    if document is not None and not isinstance(document, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("not a text")
    return document


_Policy: TypeAlias = tuple[str, bool, bool, str | None, str, str, str]


def _shared_envelopes() -> Callable[[Unpack[_Policy]], Envelope]:
    """A few policies cover thousands of attachments, so each is built once a reading."""
    seen: dict[_Policy, Envelope] = {}

    def envelope_of(*policy: *_Policy) -> Envelope:
        if (known := seen.get(policy)) is None:
            surface, side_effecting, reversible, permission, unknown, record, audited = policy
            known = seen[policy] = Envelope(
                surface=Surface(surface),
                side_effecting=side_effecting,
                reversible=reversible,
                required_permission=permission,
                unknown_arguments=UnknownArguments(unknown),
                record=Recording(record),
                audit_arguments=AuditedArguments(audited),
            )
        return known

    return envelope_of


def read_last_good(connection: Connection, server_ids: Sequence[ServerId]) -> Mapping[ServerId, Listed]:
    """The last good listings of these registrations, tools by remote name; one that was never listed is absent."""
    with readable("discovery_snapshots"):
        tools = _listed_tools(connection, server_ids)
        query = select(discovery_snapshots).where(discovery_snapshots.c.registration_id.in_(server_ids))
        return {
            (server_id := ServerId(row["registration_id"])): _listed(row, tuple(tools.get(server_id, ())))
            for row in connection.execute(query).mappings()
        }


def _listed_tools(connection: Connection, server_ids: Sequence[ServerId]) -> dict[str, list[ListedTool]]:
    columns = discovered_tools.c
    query = select(
        columns.registration_id,
        columns.remote_name,
        columns.definition,
        columns.definition_digest,
        columns.contract_digest,
    ).where(columns.registration_id.in_(server_ids))
    tools: dict[str, list[ListedTool]] = {}
    for server_id, name, definition, definition_digest, contract in sorted(
        connection.execute(query), key=lambda row: row[:2]
    ):
        tools.setdefault(server_id, []).append(
            ListedTool(
                remote_name=RemoteName(name),
                definition=Definition(text=definition, definition_digest=definition_digest, contract_digest=contract),
            )
        )
    return tools


def _listed(row: RowMapping, tools: tuple[ListedTool, ...]) -> Listed:
    identity, capabilities, quarantined = codec.listed_parts(
        row["server_info"], row["capabilities"], row["quarantined"]
    )
    return Listed(
        tools=tools,
        quarantined=quarantined,
        era=Era(row["era"]),
        protocol_version=json.loads(row["protocol_version"]),
        server_info=identity,
        capabilities=capabilities,
        instructions=json.loads(row["instructions"]),
        observed_at=time_from(row["observed_at"]),
        notes=json_list(row["notes"]),
    )


def read_history(connection: Connection, workspace: str, *, limit: int) -> tuple[HistoryEntry, ...]:
    """The newest applies of a workspace, newest first; none for an unknown workspace."""
    columns = [column for column in applies.c if column.name not in ("id", "plan")]
    query = (
        select(*columns).where(applies.c.workspace == workspace).order_by(applies.c.serial.desc()).limit(max(limit, 0))
    )
    with readable("applies"):
        return tuple(
            HistoryEntry(
                workspace=row["workspace"],
                serial=row["serial"],
                actor=row["actor"],
                at=time_from(row["at"]),
                commit=row["commit"],
                digest=row["digest"],
                outcome=row["outcome"],
                summary=json.loads(row["summary"]),
            )
            for row in connection.execute(query).mappings()
        )


def read_apply(connection: Connection, workspace: str, serial: int) -> AppliedRecord | None:
    """One apply with its plan, whatever that holds: a caller that shows it checks it as it checks a file."""
    query = select(applies).where(applies.c.workspace == workspace, applies.c.serial == serial)
    with readable("applies"):
        row = connection.execute(query).mappings().first()
        if row is None:
            return None
        return AppliedRecord(
            actor=row["actor"],
            at=time_from(row["at"]),
            commit=row["commit"],
            digest=row["digest"],
            outcome=row["outcome"],
            plan=json.loads(row["plan"]),
            beside={key: value for key, value in json.loads(row["summary"]).items() if not isinstance(value, int)},
        )


def tool_configs(connection: Connection, *, owner: str, assistant: str) -> list[JsonObject]:
    """`Assistant.tool_configs`: the model-facing functions, foreign ones included, ordered by name.

    Each is `{"type": "function", "function": {"name", "description", "parameters"}}`; an unknown assistant has none.
    """
    query = (
        select(assistant_functions.c.name, assistant_functions.c.document)
        .join_from(assistant_functions, assistants, assistant_functions.c.assistant_id == assistants.c.id)
        .where(assistants.c.owner == owner, assistants.c.name == assistant)
    )
    with readable("assistant_functions"):
        rows = sorted(connection.execute(query), key=lambda row: row[0])
        return [cast("JsonObject", json.loads(document)) for _, document in rows]
