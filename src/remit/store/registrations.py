"""Writing registrations: register, update, rename, unregister, and the last good listing of each.

Decides the order inside one apply in which names and endpoints change hands: whoever gives one up does so first, so that
two servers can swap and a server can be replaced by another of its name.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import bindparam, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from remit.core.definition import Definition
from remit.core.identity import ServerId
from remit.core.live import Listed
from remit.core.operations import Reason, RegisterServer, RenameServer, UnregisterServer, UpdateServer
from remit.core.ownership import released_workspace
from remit.errors import StoreError
from remit.store.codec import Columns, listed_columns, registration_columns
from remit.store.renaming import ensure_released
from remit.store.scope import Scope
from remit.store.tables import (
    assistant_mcp_tools,
    assistants,
    discovered_tools,
    discovery_snapshots,
    mcp_server_registrations,
)
from remit.store.texts import time_text

__all__ = ["Declaration", "Released", "declare_servers", "keep_listing", "release_servers", "unregister_server"]

Declaration: TypeAlias = RegisterServer | UpdateServer | RenameServer
Released: TypeAlias = Mapping[str, tuple[str, str]]
"""The name and identity key that a registration gave up, by id."""

_COLUMNS = mcp_server_registrations.c


def release_servers(scope: Scope, operations: Sequence[Declaration | UnregisterServer]) -> Released:
    """Take name and identity from every registration that is about to change or go, and say what they were.

    Nobody owns one that is to be adopted, so it may be changed as one's own.
    """
    ids = [operation.server_id for operation in operations if not isinstance(operation, RegisterServer)]
    owners = [scope.workspace]
    if any(operation.reason is Reason.ADOPTED for operation in operations):
        owners.append(released_workspace(scope.owner))
    query = select(_COLUMNS.id, _COLUMNS.name, _COLUMNS.identity_key).where(
        _COLUMNS.id.in_(ids), _COLUMNS.workspace.in_(owners), _COLUMNS.deleted_at.is_(None)
    )
    held = {server_id: (name, key) for server_id, name, key in scope.connection.execute(query)}
    for server_id in held:
        # "~" is no character of a name or a key, so a placeholder is never in anybody's way.
        _set(scope, server_id, name=f"~{server_id}", identity_key=f"~{server_id}")
    return held


def declare_servers(scope: Scope, operations: Sequence[Declaration], released: Released) -> None:
    """Register, update and rename. Raises StoreError where a name or an endpoint is somebody else's."""
    for operation in operations:
        match operation:
            case RegisterServer(server_id=server_id, facts=facts):
                row = {"id": server_id, "owner": scope.owner, "workspace": scope.workspace}
                statement = insert(mcp_server_registrations).values(row | registration_columns(facts))
            case UpdateServer(server_id=server_id, after=facts) | RenameServer(server_id=server_id, after=facts):
                if server_id not in released:
                    raise _not_registered(facts.name)
                values = registration_columns(facts) | _owner_after(scope, operation)
                statement = update(mcp_server_registrations).where(_COLUMNS.id == server_id).values(values)
        try:
            with scope.connection.begin_nested():
                scope.connection.execute(statement)
        except IntegrityError as error:
            raise _taken(scope, server_id, registration_columns(facts)) from error


def _owner_after(scope: Scope, operation: UpdateServer | RenameServer) -> Columns:
    match operation.reason:
        case Reason.RELEASED:
            return {"workspace": ensure_released(scope)}
        case Reason.ADOPTED:
            return {"workspace": scope.workspace}
        case _:
            return {}


def unregister_server(scope: Scope, operation: UnregisterServer, released: Released) -> tuple[str, ...]:
    """Make a registration a tombstone and forget its listing; or keep it, and say which assistants still use it.

    A registration that is gone already is done. Raises StoreError where it must stay while its name or endpoint already
    went to another one: half of a replacement is worse than none.
    """
    if operation.server_id not in released:
        return ()
    name, identity_key = released[operation.server_id]
    users = _users(scope, operation.server_id)
    if not users:
        deleted_at = time_text(scope.clock())
        _set(scope, operation.server_id, name=name, identity_key=identity_key, deleted_at=deleted_at)
        _forget_listing(scope, operation.server_id)
        return ()
    try:
        with scope.connection.begin_nested():
            _set(scope, operation.server_id, name=name, identity_key=identity_key)
    except IntegrityError as error:
        raise StoreError(
            f"its successor cannot take over while these assistants use its tools: {', '.join(users)}",
            code="server-still-used",
            place=f"server.{name}",
            hint="mend what failed for these assistants, then apply again; nothing was changed",
        ) from error
    return users


def keep_listing(scope: Scope, server_id: ServerId, listed: Listed) -> None:
    """Replace a registration's last good listing, writing only the tools that differ. Raises StoreError if it has gone."""
    connection = scope.connection
    if server_id not in scope.active_servers():
        raise _not_registered(server_id)
    columns = listed_columns(listed)
    _set(scope, server_id, era=listed.era.value)
    mine = discovery_snapshots.c.registration_id == server_id
    if not connection.execute(update(discovery_snapshots).where(mine).values(columns)).rowcount:
        connection.execute(insert(discovery_snapshots).values(columns | {"registration_id": server_id}))
    _keep_tools(scope, server_id, {each.remote_name: each.definition for each in listed.tools})


def _keep_tools(scope: Scope, server_id: ServerId, wanted: Mapping[str, Definition]) -> None:
    connection, tool = scope.connection, discovered_tools.c
    query = select(tool.remote_name, tool.definition_digest).where(tool.registration_id == server_id)
    kept = {name: digest for name, digest in connection.execute(query)}  # noqa: C416 (rows are no pairs to dict())
    stale = [name for name, digest in kept.items() if name not in wanted or wanted[name].definition_digest != digest]
    fresh = [name for name, content in wanted.items() if kept.get(name) != content.definition_digest]
    if stale:
        statement = delete(discovered_tools).where(
            tool.registration_id == server_id, tool.remote_name == bindparam("gone")
        )
        connection.execute(statement, [{"gone": name} for name in stale])
    if fresh:
        rows = [
            {
                "registration_id": server_id,
                "remote_name": name,
                "definition": wanted[name].text,
                "definition_digest": wanted[name].definition_digest,
                "contract_digest": wanted[name].contract_digest,
            }
            for name in fresh
        ]
        connection.execute(insert(discovered_tools), rows)


def _set(scope: Scope, server_id: str, **values: Any) -> None:
    scope.connection.execute(update(mcp_server_registrations).where(_COLUMNS.id == server_id).values(values))


def _users(scope: Scope, server_id: str) -> tuple[str, ...]:
    query = (
        select(assistants.c.name)
        .join_from(assistant_mcp_tools, assistants)
        .where(assistant_mcp_tools.c.registration_id == server_id)
        .group_by(assistants.c.name)
        .having(func.count() > 0)
    )
    return tuple(sorted(scope.connection.execute(query).scalars()))


def _forget_listing(scope: Scope, server_id: str) -> None:
    for table in (discovered_tools, discovery_snapshots):
        scope.connection.execute(delete(table).where(table.c.registration_id == server_id))


def _taken(scope: Scope, server_id: str, wanted: Mapping[str, Any]) -> StoreError:
    """Why a registration was refused: who has its id, its name or its endpoint."""
    name = wanted["name"]
    clash = or_(
        _COLUMNS.id == server_id,
        (_COLUMNS.owner == scope.owner)
        & (_COLUMNS.identity_key == wanted["identity_key"])
        & _COLUMNS.deleted_at.is_(None),
        (_COLUMNS.workspace == scope.workspace) & (_COLUMNS.name == name) & _COLUMNS.deleted_at.is_(None),
    )
    holder = scope.connection.execute(select(_COLUMNS.name, _COLUMNS.workspace).where(clash)).first()
    by = f"{holder[0]} of workspace {holder[1]}" if holder else "another registration"
    return StoreError(
        f"its name or its endpoint is registered already, as {by}",
        code="server-not-free",
        place=f"server.{name}",
        hint="plan again; where one endpoint is meant twice, tell the two apart by instance:",
    )


def _not_registered(name: str) -> StoreError:
    return StoreError(
        f"{name} is not registered in this workspace",
        code="server-not-registered",
        place=f"server.{name}",
        hint="plan again: the registration went away since",
    )
