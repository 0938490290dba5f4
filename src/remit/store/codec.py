"""Between core values and rows: endpoints, connections, envelopes, listings; what was written comes back equal.

References are stored as written, never their values (DESIGN.md section 2). Decoding raises ValueError, KeyError or
TypeError for a row that no remit wrote; `reading.py` makes an error with a place of it. No I/O.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from remit.core.canonical import Json, JsonObject, canonical_json
from remit.core.desired import (
    Auth,
    BearerAuth,
    ClientCredentialsAuth,
    Connection,
    PrivateKeyJwtAuth,
    ProtocolPin,
    Tls,
)
from remit.core.diagnostics import Source
from remit.core.envelope import Envelope
from remit.core.identity import Endpoint, HttpEndpoint, StdioEndpoint, Transport, identity_key_of
from remit.core.live import Listed, Quarantine, QuarantineReason, ServerIdentity
from remit.core.operations import ServerFacts
from remit.store.texts import ascii_json, json_list, require_storable, time_text

__all__ = [
    "Columns",
    "connection_from",
    "document_text",
    "endpoint_from",
    "envelope_columns",
    "listed_columns",
    "listed_parts",
    "registration_columns",
    "source_columns",
]

Columns = dict[str, Any]
"""Values by column name."""


def registration_columns(facts: ServerFacts) -> Columns:
    """What a registration stores beside id, owner, workspace and era."""
    endpoint = facts.endpoint
    url, command, cwd = (
        (endpoint.url, None, None)
        if isinstance(endpoint, HttpEndpoint)
        else (None, ascii_json(endpoint.command), endpoint.cwd)
    )
    require_storable(facts.name, facts.namespace, facts.instance, url, cwd, place=f"server.{facts.name}")
    return {
        "name": facts.name,
        "namespace": facts.namespace,
        "transport": endpoint.transport.value,
        "normalized_url": url,
        "command": command,
        "cwd": cwd,
        "instance": facts.instance,
        "identity_key": identity_key_of(endpoint, facts.instance),
        "connection": _connection_text(facts.connection),
        "timeout_seconds": facts.connection.timeout_seconds,
        "enabled": facts.enabled,
        "protect": facts.protect,
    }


def endpoint_from(transport: str, url: str | None, command: str | None, cwd: str | None) -> Endpoint:
    """The endpoint of a registration row."""
    if url is not None:
        return HttpEndpoint(url, Transport(transport))
    if command is None:
        raise ValueError("a registration has neither URL nor command")
    return StdioEndpoint(json_list(command), cwd)


def _connection_text(connection: Connection) -> str:
    auth = connection.auth
    return ascii_json(
        {
            "env": dict(connection.env),
            "headers": dict(connection.headers),
            "auth": None if auth is None else asdict(auth),
            "tls": None if connection.tls is None else asdict(connection.tls),
            "protocol": connection.protocol.value,
            "call_timeout_seconds": connection.call_timeout_seconds,
            "start_timeout_seconds": connection.start_timeout_seconds,
            "allow_private_network": connection.allow_private_network,
        }
    )


def connection_from(text: str, timeout_seconds: float) -> Connection:
    """The connection of a registration row; its request timeout has a column of its own."""
    document = cast("dict[str, Any]", json.loads(text))
    auth, tls = document["auth"], document["tls"]
    return Connection(
        env=document["env"],
        headers=document["headers"],
        auth=None if auth is None else _auth_from(auth),
        tls=None if tls is None else Tls(**tls),
        protocol=ProtocolPin(document["protocol"]),
        timeout_seconds=timeout_seconds,
        call_timeout_seconds=document["call_timeout_seconds"],
        start_timeout_seconds=document["start_timeout_seconds"],
        allow_private_network=document["allow_private_network"],
    )


_AUTHS: Mapping[str, type[BearerAuth | ClientCredentialsAuth | PrivateKeyJwtAuth]] = {
    "bearer": BearerAuth,
    "oauth_client_credentials": ClientCredentialsAuth,
    "private_key_jwt": PrivateKeyJwtAuth,
}


def _auth_from(document: dict[str, Any]) -> Auth:
    fields: dict[str, Any] = {key: tuple(value) if key == "scopes" else value for key, value in document.items()}
    return _AUTHS[document["type"]](**fields)


def envelope_columns(envelope: Envelope) -> Columns:
    """The columns of an attachment's policy."""
    require_storable(envelope.required_permission, place="required_permission")
    return {
        "surface": envelope.surface.value,
        "side_effecting": envelope.side_effecting,
        "reversible": envelope.reversible,
        "required_permission": envelope.required_permission,
        "unknown_arguments": envelope.unknown_arguments.value,
        "record": envelope.record.value,
        "audit_arguments": envelope.audit_arguments.value,
    }


def source_columns(source: Source | None) -> Columns:
    """The three columns that say where an attachment is asked for."""
    if source is None:
        return {"source_file": None, "source_line": None, "source_column": None}
    require_storable(source.file, place="source")
    return {"source_file": source.file, "source_line": source.line, "source_column": source.column}


def listed_columns(listed: Listed) -> Columns:
    """A listing's own row, without its tools."""
    identity = listed.server_info
    return {
        "observed_at": time_text(listed.observed_at),
        "era": listed.era.value,
        "protocol_version": ascii_json(listed.protocol_version),
        "server_info": ascii_json(None if identity is None else asdict(identity)),
        "capabilities": ascii_json(listed.capabilities),
        "instructions": ascii_json(listed.instructions),
        "quarantined": ascii_json([[each.remote_name, each.reason.value, each.detail] for each in listed.quarantined]),
        "notes": ascii_json(listed.notes),
        "tool_count": len(listed.tools),
    }


def listed_parts(
    server_info: str, capabilities: str, quarantined: str
) -> tuple[Any, JsonObject, tuple[Quarantine, ...]]:
    """The structured parts of a listing's row: who the server says it is, what it can do, which tools are unusable."""
    identity = json.loads(server_info)
    return (
        None if identity is None else ServerIdentity(**identity),
        json.loads(capabilities),
        tuple(
            Quarantine(remote_name=name, reason=QuarantineReason(reason), detail=detail)
            for name, reason, detail in json.loads(quarantined)
        ),
    )


def document_text(document: Json) -> str:
    """A document that remit itself made, as canonical JSON."""
    return canonical_json(document)
