"""What an import came to, as JSON for machines.

Decides the shape only; no value of a source stands in it that is not in the mcp.yaml text too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypedDict

from remit.config.dialects.model import ClientCredentials, ImportedServer, Imports
from remit.core.diagnostics import Diagnostic
from remit.render.diagnostics import DiagnosticsDocument, diagnostics_document, source_document
from remit.render.shapes import SourceDocument

__all__ = ["AuthDocument", "ImportDocument", "ServerDocument", "VariableDocument", "import_document", "told"]


class AuthDocument(TypedDict):
    """The one way of proving oneself that an import writes; `client_secret` is a reference."""

    type: Literal["oauth_client_credentials"]
    token_url: str
    client_id: str
    client_secret: str
    scopes: list[str]


class ServerDocument(TypedDict):
    """One server. Timeouts are seconds; `include` is null where the source has no allow-list; `notes` are its comments."""

    name: str
    declared_name: str
    namespace: str | None
    dialect: str
    source: SourceDocument | None
    transport: str
    command: list[str]
    program: list[str]
    url: str | None
    env: Mapping[str, str]
    headers: Mapping[str, str]
    auth: AuthDocument | None
    env_files: list[str]
    cwd: str | None
    enabled: bool
    instance: str | None
    timeout_seconds: float | None
    start_timeout_seconds: float | None
    include: list[str] | None
    exclude: list[str]
    notes: list[str]


class VariableDocument(TypedDict):
    """A variable that must be set, and who uses it; `secret` is false only where the source says that it holds none."""

    name: str
    secret: bool
    servers: list[str]


class ImportDocument(DiagnosticsDocument):
    """An import. `written` names the servers that a file got, `file` is that file; null where nothing was to be written."""

    dialects: Mapping[str, str]
    servers: list[ServerDocument]
    variables: list[VariableDocument]
    file: str | None
    written: list[str]


def import_document(imports: Imports, *, file: str | None, written: Sequence[str]) -> ImportDocument:
    """The document of an import; `dialects` is by file."""
    return {
        **diagnostics_document(imports.diagnostics),
        "dialects": imports.dialects,
        "servers": [_server(each) for each in imports.servers],
        "variables": [
            {"name": each.name, "secret": each.secret, "servers": list(each.servers)} for each in imports.variables
        ],
        "file": file,
        "written": list(written),
    }


def _server(server: ImportedServer) -> ServerDocument:
    return {
        "name": server.name,
        "declared_name": server.declared,
        "namespace": server.namespace,
        "dialect": server.dialect,
        "source": source_document(server.source),
        "transport": server.transport.value,
        "command": list(server.command),
        "program": list(server.program),
        "url": server.url,
        "env": server.env,
        "headers": server.headers,
        "auth": None if server.auth is None else _auth(server.auth),
        "env_files": list(server.env_files),
        "cwd": server.cwd,
        "enabled": server.enabled,
        "instance": server.instance,
        "timeout_seconds": server.timeout_seconds,
        "start_timeout_seconds": server.start_timeout_seconds,
        "include": None if server.include is None else list(server.include),
        "exclude": list(server.exclude),
        "notes": list(server.notes),
    }


def _auth(client: ClientCredentials) -> AuthDocument:
    return {
        "type": "oauth_client_credentials",
        "token_url": client.token_url,
        "client_id": client.client_id,
        "client_secret": client.client_secret,
        "scopes": list(client.scopes),
    }


def told(imports: Imports) -> tuple[Diagnostic, ...]:
    """The findings as people read them: each names its server, as a file may hold all its servers in one line."""
    return tuple(
        replace(each, message=f"{each.address}: {each.message}") if each.address else each
        for each in imports.diagnostics
    )
