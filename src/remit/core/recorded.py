"""What the database holds, as values: read by the store, compared by core, predicted by core/model.py. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from remit.core.canonical import sha256_hex
from remit.core.definition import Definition, digest_of
from remit.core.desired import Connection
from remit.core.diagnostics import Source
from remit.core.envelope import Envelope
from remit.core.identity import CanonicalId, Endpoint, ProviderName, RemoteName, ServerId, identity_key_of

__all__ = [
    "NO_ENVIRONMENT",
    "LastGood",
    "Recorded",
    "RecordedAssistant",
    "RecordedAttachment",
    "RecordedServer",
    "WorkspaceRecord",
]


NO_ENVIRONMENT = ""
"""What is recorded of a workspace that was applied without an environment; no environment is called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastGood:
    """The last complete listing of a registration, by size and time; its tools are read only where a plan asks for them."""

    tools: int
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedServer:
    """One registration (`McpServerRegistration`) that is not deleted."""

    server_id: ServerId
    owner: str
    workspace: str
    name: str
    namespace: str
    endpoint: Endpoint
    instance: str | None = None
    connection: Connection = field(default_factory=Connection)
    enabled: bool = True
    protect: bool = False
    era: str | None = None
    last_good: LastGood | None = None

    @property
    def identity_key(self) -> str:
        """The key of the endpoint as it is now; `server_id` came from the one at registration."""
        return identity_key_of(self.endpoint, self.instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAssistant:
    """One assistant. `foreign_functions` are the names of its functions that no attachment stands behind."""

    owner: str
    workspace: str
    name: str
    permissions: tuple[str, ...] = ()
    protect: bool = False
    revision: int = 0
    foreign_functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAttachment:
    """One attachment (`AssistantMcpTool`) with the function that stands for it, if one does.

    `assistant_owner` and `assistant` name the assistant; `workspace` is the one that attached. `function_text` is the
    canonical JSON found in `assistant_functions` (None: the row is missing), `function_name` the name that row stands
    under (None: under none that can be called), `function_digest` what apply wrote there.
    """

    workspace: str
    assistant_owner: str
    assistant: str
    server_id: ServerId
    remote_name: RemoteName
    canonical_id: CanonicalId
    provider_name: ProviderName
    definition: Definition
    envelope: Envelope
    function_text: str | None
    function_name: str | None
    function_digest: str
    source: Source | None = None
    enabled: bool = True
    row_version: int = 1
    alias_restored: bool = False
    drifted_when_last_listed: bool = False
    """Whether the registration's last good listing had no such tool, or another definition of it."""

    @property
    def is_definition_intact(self) -> bool:
        """Whether the definition's text still is the one its digest was taken of."""
        return digest_of(self.definition.text) == self.definition.definition_digest

    @property
    def is_coherent(self) -> bool:
        """Whether definition and function are both what the last apply wrote (else: `database_drift`)."""
        return (
            not self.alias_restored
            and self.function_name == self.provider_name
            and self.is_function_intact
            and self.is_definition_intact
        )

    @property
    def is_function_intact(self) -> bool:
        """Whether the function's text still is the one that apply wrote."""
        return self.function_text is not None and sha256_hex(self.function_text) == self.function_digest

    def with_approved_alias(self) -> "RecordedAttachment":
        """The attachment under the alias that apply gave it, which its function still holds if its row was edited."""
        if self.function_text is None or _named(self.provider_name) in self.function_text:
            return self
        if not self.is_function_intact:
            return self
        approved = ProviderName(json.loads(self.function_text)["function"]["name"])
        return replace(self, provider_name=approved, alias_restored=True)


def _named(provider_name: ProviderName) -> str:
    # Canonical JSON puts the name between description and parameters, and quotes inside a text are escaped in it.
    return f',"name":{json.dumps(provider_name)},"parameters":'


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRecord:
    """A workspace's own row: who owns it, which database line it belongs to, and how many applies changed it.

    `lock_used` says that it was once applied by a lock. `files` are the ones that declared it at the last apply
    (`Desired.contributors`); empty where none was kept. `source` is the repository and path that it is bound to, `commit`
    the one that its last apply was made from; None where nobody could tell. `environment` is the one that it is applied for,
    `NO_ENVIRONMENT` without one, None where nobody wrote it down.
    """

    name: str
    owner: str
    lineage: str
    serial: int
    lock_used: bool = False
    files: tuple[str, ...] = ()
    source: str | None = None
    commit: str | None = None
    environment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The whole recorded state, rows of other workspaces included.

    `used_server_ids` holds every id ever given, tombstones included. `workspaces` is keyed by name.
    """

    servers: tuple[RecordedServer, ...] = ()
    assistants: tuple[RecordedAssistant, ...] = ()
    attachments: tuple[RecordedAttachment, ...] = ()
    used_server_ids: frozenset[ServerId] = frozenset()
    workspaces: Mapping[str, WorkspaceRecord] = field(default_factory=dict[str, WorkspaceRecord])
