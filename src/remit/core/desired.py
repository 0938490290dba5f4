"""What mcp.yaml asks for, as values. Built by config, compared by core; references are kept as written. Pure."""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from remit.core.diagnostics import Source
from remit.core.envelope import EnvelopePatch
from remit.core.identity import Endpoint
from remit.core.subjects import Subject

__all__ = [
    "Alias",
    "Auth",
    "BearerAuth",
    "ClientCredentialsAuth",
    "ConfigFile",
    "Connection",
    "Desired",
    "DesiredAssistant",
    "DesiredServer",
    "LockUse",
    "Move",
    "Pattern",
    "PrivateKeyJwtAuth",
    "ProtocolPin",
    "Removal",
    "Selection",
    "Tls",
    "ToolPolicy",
]


class ProtocolPin(StrEnum):
    """Which era a server is spoken to in: found out, or pinned."""

    AUTO = "auto"
    LEGACY = "legacy"
    MODERN = "2026-07-28"


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerAuth:
    """`auth: {type: bearer, token: ...}`: a token sent as Authorization header; a reference as written."""

    token: str
    type: Literal["bearer"] = "bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentialsAuth:
    """`auth: {type: oauth_client_credentials, ...}`: a token fetched from `token_url` outside the request path."""

    token_url: str
    client_id: str
    client_secret: str
    scopes: tuple[str, ...] = ()
    type: Literal["oauth_client_credentials"] = "oauth_client_credentials"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKeyJwtAuth:
    """`auth: {type: private_key_jwt, ...}`: as client credentials, the client proven by a signed JWT (RFC 7523)."""

    token_url: str
    client_id: str
    private_key: str
    algorithm: str = "RS256"
    key_id: str | None = None
    scopes: tuple[str, ...] = ()
    type: Literal["private_key_jwt"] = "private_key_jwt"


Auth: TypeAlias = BearerAuth | ClientCredentialsAuth | PrivateKeyJwtAuth


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """`tls:`: a CA bundle, and a client certificate with its key, as paths."""

    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How a server is connected to, beside its endpoint. Values of `env`, `headers` and `auth` are references as written.

    Times are seconds. `timeout_seconds` bounds one request, of a call the time without any progress from the server;
    `call_timeout_seconds` bounds the whole of one call and is no less.
    """

    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    auth: Auth | None = None
    tls: Tls | None = None
    protocol: ProtocolPin = ProtocolPin.AUTO
    timeout_seconds: float = 30.0
    call_timeout_seconds: float = 300.0
    start_timeout_seconds: float = 60.0
    allow_private_network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """The entry of one tool under a server's `tools:`."""

    patch: EnvelopePatch
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredServer:
    """One entry of `mcp.servers`. `tools` is policy by exact remote name, `protect` where the file says so, if it does."""

    name: str
    namespace: str
    endpoint: Endpoint
    source: Source
    instance: str | None = None
    connection: Connection = field(default_factory=Connection)
    enabled: bool = True
    envelope: EnvelopePatch = field(default_factory=EnvelopePatch)
    envelope_source: Source | None = None
    protect: Source | None = None
    tools: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One line of `include` or `exclude`: an exact remote name, or a glob (`fnmatchcase`)."""

    text: str
    source: Source

    @property
    def is_glob(self) -> bool:
        """Whether the text is a glob; a glob's matches are named by the server, an exact name by the file."""
        return any(character in self.text for character in "*?[")

    def matches(self, remote_name: str) -> bool:
        """Whether a remote name is meant, case included."""
        return self.text == remote_name or (self.is_glob and fnmatch.fnmatchcase(remote_name, self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """An explicit provider_name from `aliases:`."""

    provider_name: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What one assistant selects of one server."""

    server: str
    include: tuple[Pattern, ...]
    source: Source
    exclude: tuple[Pattern, ...] = ()
    aliases: Mapping[str, Alias] = field(default_factory=dict[str, Alias])


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredAssistant:
    """One entry of `assistants`; each selection names another server. `protect` is where the file says so, if it does."""

    name: str
    source: Source
    permissions: tuple[str, ...] = ()
    selections: tuple[Selection, ...] = ()
    protect: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One entry of `moved`: what was recorded as `before` is what the file now declares as `after`."""

    before: Subject
    after: Subject
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One entry of `removed`: this may go, whatever the safeguards say; with `keep` it stays and nobody here owns it."""

    subject: Subject
    source: Source
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file that the desired state was read from: its path as the user wrote it, and the hex sha256 of its bytes."""

    path: str
    sha256: str


class LockUse(StrEnum):
    """Whether a lock is the approval of what servers say: where there is one or once was one, or never."""

    FILE = "file"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """The whole desired state of one workspace. `trace_days` is how long contents of calls are kept.

    `environment` is the one whose overlay was laid over the files, if one was. `contributors` are the files by their paths
    from the main one's folder, sorted, so that a file is called the same wherever a run starts; empty where nobody can tell.
    """

    workspace: str
    owner: str
    servers: tuple[DesiredServer, ...] = ()
    assistants: tuple[DesiredAssistant, ...] = ()
    default_envelope: EnvelopePatch = field(default_factory=EnvelopePatch)
    default_envelope_source: Source | None = None
    reserved_names: frozenset[str] = frozenset()
    trace_days: int = 7
    lock: LockUse = LockUse.FILE
    files: tuple[ConfigFile, ...] = ()
    environment: str | None = None
    contributors: tuple[str, ...] = ()
    moved: tuple[Move, ...] = ()
    removed: tuple[Removal, ...] = ()
