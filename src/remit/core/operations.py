"""What a plan can do, as a closed union of values; store executes them, render shows them, core/model.py predicts them.

Every operation carries its origin (who said it), the reason the user sees, its risks and the place in a file that asked
for it. Assistants and servers are named; ids appear where rows are bound to them. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from remit.core.canonical import Json
from remit.core.definition import Definition
from remit.core.desired import Connection
from remit.core.diagnostics import Source
from remit.core.envelope import Direction, Envelope
from remit.core.identity import CanonicalId, Endpoint, ProviderName, RemoteName, ServerId

__all__ = [
    "FROM_THE_ROWS",
    "Attach",
    "Change",
    "ChangeClass",
    "CreateAssistant",
    "DeleteAssistant",
    "Detach",
    "OpName",
    "Operation",
    "Origin",
    "Reason",
    "Refresh",
    "RegisterServer",
    "RenameAlias",
    "RenameServer",
    "Risk",
    "RiskCode",
    "ServerFacts",
    "SetEnvelope",
    "ToolKey",
    "ToolOperation",
    "ToolRef",
    "UnregisterServer",
    "UpdateAssistant",
    "UpdateServer",
]


class OpName(StrEnum):
    """The twelve operations, in the order a summary counts them."""

    ATTACH = "attach"
    DETACH = "detach"
    REFRESH = "refresh"
    SET_ENVELOPE = "set_envelope"
    RENAME_ALIAS = "rename_alias"
    REGISTER_SERVER = "register_server"
    UPDATE_SERVER = "update_server"
    RENAME_SERVER = "rename_server"
    UNREGISTER_SERVER = "unregister_server"
    CREATE_ASSISTANT = "create_assistant"
    UPDATE_ASSISTANT = "update_assistant"
    DELETE_ASSISTANT = "delete_assistant"


class Origin(StrEnum):
    """Who said it: the file, whose review is the approval, or the server, which nobody approved yet."""

    FILE = "file"
    LIVE = "live"


class Reason(StrEnum):
    """Why an operation is in the plan."""

    SELECTED_BY_NAME = "selected_by_name"
    SELECTED_BY_GLOB = "selected_by_glob"
    NO_LONGER_SELECTED = "no_longer_selected"
    SERVER_REMOVED = "server_removed"
    SERVER_REPLACED = "server_replaced"
    ASSISTANT_REMOVED = "assistant_removed"
    DEFINITION_CHANGED = "definition_changed"
    LOCK_CHANGED = "lock_changed"
    DATABASE_DRIFT = "database_drift"
    POLICY_CHANGED = "policy_changed"
    ALIAS_DECLARED = "alias_declared"
    DECLARED = "declared"
    CONNECTION_CHANGED = "connection_changed"
    ENDPOINT_CHANGED = "endpoint_changed"
    NAME_CHANGED = "name_changed"
    FIELDS_CHANGED = "fields_changed"
    MOVED = "moved"
    RELEASED = "released"
    ADOPTED = "adopted"


FROM_THE_ROWS = frozenset({Reason.DATABASE_DRIFT, Reason.RELEASED, Reason.ADOPTED})
"""Reasons of a refresh that brings nothing a server said: what is recorded is written again, or changes hands."""


class ChangeClass(StrEnum):
    """What a changed path of a definition means for callers (DESIGN.md section 5)."""

    TEXT = "text"
    COMPATIBLE = "compatible"
    BREAKING = "breaking"
    CLAIMS = "claims"


class RiskCode(StrEnum):
    """What a reviewer should look at first."""

    ENDPOINT_CHANGE = "endpoint-change"
    WORKSPACE_MOVED = "workspace-moved"
    LOOSENED = "loosened"
    MIXED = "policy-mixed"
    PROTECTION_LIFTED = "protection-lifted"
    BREAKING = "breaking"
    CLAIMS = "claims"
    FINDING_HIGH = "finding-high"
    FINDING_LOW = "finding-low"
    ALIAS_RENAMED = "alias-renamed"
    NAMESPACE_CHANGED = "namespace-changed"
    IRREVERSIBLE_UNATTENDED = "irreversible-unattended"
    CLAIM_CONTRADICTS = "claim-contradicts"
    DATABASE_DRIFT = "database-drift"


@dataclass(frozen=True, slots=True)
class Risk:
    """One risk and the words that make it concrete. `detail` may quote server text: escape it before showing."""

    code: RiskCode
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One changed path. `path` is a list of keys and indices from the definition's or the record's root.

    `change_class` is None where the change is not one of a definition. A side that does not exist is `ABSENT`-like:
    `added`/`removed` say so, as None is a JSON value.
    """

    path: tuple[str | int, ...]
    before: Json = None
    after: Json = None
    added: bool = False
    removed: bool = False
    change_class: ChangeClass | None = None


ToolKey: TypeAlias = tuple[str, ServerId, str]
"""An assistant, a registration and a remote name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRef:
    """One tool of one assistant, under all its names. `server` is the declared (else the recorded) server name."""

    assistant: str
    server: str
    server_id: ServerId
    remote_name: RemoteName
    provider_name: ProviderName
    canonical_id: CanonicalId

    @property
    def key(self) -> ToolKey:
        """Which tool of which assistant, whatever its alias."""
        return self.assistant, self.server_id, self.remote_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a registration stores beside its id."""

    name: str
    namespace: str
    endpoint: Endpoint
    instance: str | None
    connection: Connection
    enabled: bool
    protect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    origin: Origin = Origin.FILE
    reason: Reason
    risks: tuple[Risk, ...] = ()
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach(_Operation):
    """Give an assistant a tool: provenance and function, both."""

    op: ClassVar[OpName] = OpName.ATTACH
    tool: ToolRef
    definition: Definition
    envelope: Envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class Detach(_Operation):
    """Take a tool from an assistant: provenance and function, both. Only the file asks for it."""

    op: ClassVar[OpName] = OpName.DETACH
    tool: ToolRef
    definition: Definition
    envelope: Envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(_Operation):
    """Replace an attachment's definition; the alias stays. `before` is what is recorded, `after` what comes into force.

    With reason `database_drift` the function and provenance are written anew from `after`. With `moved_to` the attachment
    goes on under another remote name of its server. With reason `released` or `adopted` it only changes hands.
    """

    op: ClassVar[OpName] = OpName.REFRESH
    tool: ToolRef
    before: Definition
    after: Definition
    changes: tuple[Change, ...]
    classes: frozenset[ChangeClass]
    moved_to: RemoteName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEnvelope(_Operation):
    """Change the policy of an attachment."""

    op: ClassVar[OpName] = OpName.SET_ENVELOPE
    tool: ToolRef
    before: Envelope
    after: Envelope
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameAlias(_Operation):
    """Give an attachment another provider_name because the file says so. `tool.provider_name` is the old one."""

    op: ClassVar[OpName] = OpName.RENAME_ALIAS
    tool: ToolRef
    after: ProviderName


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterServer(_Operation):
    """Record a server that the file declares and nothing is registered for."""

    op: ClassVar[OpName] = OpName.REGISTER_SERVER
    server_id: ServerId
    facts: ServerFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateServer(_Operation):
    """Change a registration's endpoint or connection; id, attachments and aliases stay.

    With reason `released` or `adopted` it only changes hands, as does a renamed one with `adopted`.
    """

    op: ClassVar[OpName] = OpName.UPDATE_SERVER
    server_id: ServerId
    before: ServerFacts
    after: ServerFacts
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameServer(_Operation):
    """Change a registration's name; id, attachments and aliases stay. Other changed facts come along in `after`."""

    op: ClassVar[OpName] = OpName.RENAME_SERVER
    server_id: ServerId
    before: ServerFacts
    after: ServerFacts
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterServer(_Operation):
    """Delete a registration that the file no longer declares; its id becomes a tombstone."""

    op: ClassVar[OpName] = OpName.UNREGISTER_SERVER
    server_id: ServerId
    before: ServerFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAssistant(_Operation):
    """Record an assistant that the file declares."""

    op: ClassVar[OpName] = OpName.CREATE_ASSISTANT
    assistant: str
    permissions: tuple[str, ...]
    protect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateAssistant(_Operation):
    """Change an assistant's own fields: its permissions, whether it is protected, and with `renamed_to` its name."""

    op: ClassVar[OpName] = OpName.UPDATE_ASSISTANT
    assistant: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    protect_before: bool = False
    protect_after: bool = False
    renamed_to: str | None = None

    @property
    def name_after(self) -> str:
        """What the assistant is called afterwards."""
        return self.renamed_to or self.assistant


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAssistant(_Operation):
    """Delete an assistant that this workspace created, that nothing else uses."""

    op: ClassVar[OpName] = OpName.DELETE_ASSISTANT
    assistant: str
    permissions: tuple[str, ...]
    protect: bool = False


ToolOperation: TypeAlias = Attach | Detach | Refresh | SetEnvelope | RenameAlias

Operation: TypeAlias = (
    ToolOperation
    | RegisterServer
    | UpdateServer
    | RenameServer
    | UnregisterServer
    | CreateAssistant
    | UpdateAssistant
    | DeleteAssistant
)
