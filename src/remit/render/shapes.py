"""The shape of the plan document (DESIGN.md section 7), as types; docs/plan-format.md describes it for consumers.

Every object is closed and every key is always there. `plan_schema.py` says the same as JSON Schema. Decides nothing.
"""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypeAlias, TypedDict

from remit.core.canonical import Json, JsonObject

__all__ = [
    "FORMAT_VERSION",
    "AliasState",
    "AssistantLoadDocument",
    "AssistantOperationDocument",
    "AssistantState",
    "AttachDocument",
    "AttachmentState",
    "BindingDocument",
    "ChangeDocument",
    "ConfigDocument",
    "ConfigFileDocument",
    "DatabaseDocument",
    "DeferredDocument",
    "DefinitionDocument",
    "DefinitionState",
    "DetachDocument",
    "DiscoveryDocument",
    "DriftDocument",
    "EnvelopeDocument",
    "LastGoodDocument",
    "ListedDocument",
    "MovedWorkspaceDocument",
    "OperationDocument",
    "PlanDocument",
    "ProblemDocument",
    "QuarantineDocument",
    "RecordedAttachmentState",
    "RefreshDocument",
    "RenameAliasDocument",
    "RiskDocument",
    "ServerOperationDocument",
    "ServerState",
    "SetEnvelopeDocument",
    "SkippedDocument",
    "SourceDocument",
    "SummaryDocument",
    "ToolOperationDocument",
    "UnmanagedDocument",
    "UnreachableDocument",
]

FORMAT_VERSION = "1.0"
"""Of every JSON document remit prints: a minor step adds, a major step breaks."""


class SourceDocument(TypedDict):
    """A place in a file, counted from 1."""

    file: str
    line: int
    column: int


class ProblemDocument(TypedDict):
    """A diagnostic."""

    code: str
    severity: str
    message: str
    address: str | None
    source: SourceDocument | None
    hint: str | None


class RiskDocument(TypedDict):
    """What a reviewer should look at."""

    code: str
    detail: str


ChangeDocument = TypedDict(
    "ChangeDocument",
    {
        "path": list[str | int],
        "kind": Literal["added", "removed", "changed"],
        "before": Json,
        "after": Json,
        "class": str | None,
    },
)
"""One changed path; where `kind` is `added`, `before` is null and means nothing, and the reverse for `removed`."""


class EnvelopeDocument(TypedDict):
    """A resolved policy."""

    surface: str
    side_effecting: bool
    reversible: bool
    required_permission: str | None
    unknown_arguments: str
    record: str
    audit_arguments: str


class DefinitionDocument(TypedDict):
    """A tool's definition in wire form."""

    title: str | None
    description: str | None
    inputSchema: JsonObject
    outputSchema: JsonObject | None
    annotations: JsonObject


class DefinitionState(TypedDict):
    """A definition with its digests."""

    definition: DefinitionDocument
    definition_digest: str
    contract_digest: str


class AttachmentState(DefinitionState):
    """An attachment as recorded, or to be recorded."""

    provider_name: str
    envelope: EnvelopeDocument


class RecordedAttachmentState(TypedDict):
    """An attachment as found; `definition` is null where its text no longer is the one its digest was taken of."""

    definition: DefinitionDocument | None
    definition_digest: str
    contract_digest: str
    provider_name: str
    envelope: EnvelopeDocument


class AliasState(TypedDict):
    """The one field that a rename of an alias changes."""

    provider_name: str


class ServerState(TypedDict):
    """A registration, keys as in mcp.yaml; `command` and `cwd` are null for a URL, `url` is null for a command.

    Every value of `command`, `cwd`, `url`, `env`, `headers` and `auth` is as written, references never resolved.
    """

    server_id: str
    name: str
    namespace: str
    transport: str
    command: list[str] | None
    cwd: str | None
    url: str | None
    instance: str | None
    enabled: bool
    protect: bool
    env: Mapping[str, str]
    headers: Mapping[str, str]
    auth: JsonObject | None
    tls: JsonObject | None
    protocol: str
    timeout_seconds: float
    call_timeout_seconds: float
    start_timeout_seconds: float
    allow_private_network: bool


class AssistantState(TypedDict):
    """An assistant's own fields."""

    name: str
    permissions: list[str]
    protect: bool


class _Operation(TypedDict):
    """What every operation has; `held_because` stands on those under `held`, and only there."""

    address: str
    origin: str
    reason: str
    changes: list[ChangeDocument]
    risks: list[RiskDocument]
    source: SourceDocument | None
    held_because: NotRequired[list[str]]


class _ToolOperation(_Operation):
    assistant: str
    server: str
    remote_name: str
    provider_name: str
    canonical_id: str


class AttachDocument(_ToolOperation):
    """`attach`."""

    op: Literal["attach"]
    before: None
    after: AttachmentState


class DetachDocument(_ToolOperation):
    """`detach`."""

    op: Literal["detach"]
    before: RecordedAttachmentState
    after: None


class RefreshDocument(_ToolOperation):
    """`refresh`, with the classes of its changes."""

    op: Literal["refresh"]
    before: DefinitionState
    after: DefinitionState
    classes: list[str]


class SetEnvelopeDocument(_ToolOperation):
    """`set_envelope`, with its direction."""

    op: Literal["set_envelope"]
    before: EnvelopeDocument
    after: EnvelopeDocument
    direction: str


class RenameAliasDocument(_ToolOperation):
    """`rename_alias`; `provider_name` is the old name."""

    op: Literal["rename_alias"]
    before: AliasState
    after: AliasState


class ServerOperationDocument(_Operation):
    """The four operations on registrations; a side that does not exist is null."""

    op: Literal["register_server", "update_server", "rename_server", "unregister_server"]
    before: ServerState | None
    after: ServerState | None


class AssistantOperationDocument(_Operation):
    """The three operations on assistants; a side that does not exist is null."""

    op: Literal["create_assistant", "update_assistant", "delete_assistant"]
    before: AssistantState | None
    after: AssistantState | None


ToolOperationDocument: TypeAlias = (
    AttachDocument | DetachDocument | RefreshDocument | SetEnvelopeDocument | RenameAliasDocument
)
OperationDocument: TypeAlias = ToolOperationDocument | ServerOperationDocument | AssistantOperationDocument


class LastGoodDocument(TypedDict):
    """The last complete listing that is kept."""

    tools: int
    observed_at: str


class QuarantineDocument(TypedDict):
    """An advertised tool that cannot be used."""

    remote_name: str
    reason: str
    detail: str


class ListedDocument(TypedDict):
    """A server with a complete listing; `cached_at` is null where it was asked for this plan."""

    status: Literal["listed"]
    server: str
    cached_at: str | None
    tools: int
    quarantined: list[QuarantineDocument]
    era: str
    protocol_version: str
    server_info: dict[str, str] | None
    notes: list[str]


class UnreachableDocument(TypedDict):
    """A server without a listing, and why."""

    status: Literal["unreachable"]
    server: str
    reason: str
    detail: str
    last_good: LastGoodDocument | None


class SkippedDocument(TypedDict):
    """A server that was not asked, and why."""

    status: Literal["skipped"]
    server: str
    reason: str
    last_good: LastGoodDocument | None


DiscoveryDocument: TypeAlias = ListedDocument | UnreachableDocument | SkippedDocument


class DriftDocument(TypedDict):
    """An attachment whose server no longer offers it as approved; of a changed one, what it offers, as of a refresh.

    Of any other, `before` and `after` are null and the lists are empty.
    """

    address: str
    kind: str
    assistant: str
    server: str
    remote_name: str
    detail: str
    before: DefinitionState | None
    after: DefinitionState | None
    changes: list[ChangeDocument]
    classes: list[str]
    risks: list[RiskDocument]


class DeferredDocument(TypedDict):
    """A selection or attachment that could not be checked."""

    address: str
    assistant: str
    server: str
    remote_name: str
    attached: bool
    reason: str
    detail: str


class ConfigFileDocument(TypedDict):
    """One file and the hex sha256 of its bytes."""

    path: str
    sha256: str


class AssistantLoadDocument(TypedDict):
    """What an assistant has after the plan."""

    name: str
    tools: int
    tokens: int


class ConfigDocument(TypedDict):
    """The files a plan was made from, the lock it obeys, and what every assistant has once they are applied."""

    files: list[ConfigFileDocument]
    digest: str
    commit: str | None
    lock: ConfigFileDocument | None
    assistants: list[AssistantLoadDocument]


class DatabaseDocument(TypedDict):
    """The database a plan was made against."""

    exists: bool
    dialect: str
    lineage: str | None
    serial: int


class UnmanagedDocument(TypedDict):
    """Rows that the workspace never touches, counted."""

    servers: int
    assistants: int
    attachments: int
    functions: int


class SummaryDocument(TypedDict):
    """Counts: the twelve operations, then the rest; `problems` counts errors and warnings."""

    attach: int
    detach: int
    refresh: int
    set_envelope: int
    rename_alias: int
    register_server: int
    update_server: int
    rename_server: int
    unregister_server: int
    create_assistant: int
    update_assistant: int
    delete_assistant: int
    held: int
    problems: int
    drift: int
    deferred: int
    unchanged: int


class MovedWorkspaceDocument(TypedDict):
    """A workspace that the file takes over under another name: `name` is the recorded one, the counts are what comes along."""

    name: str
    servers: int
    assistants: int
    attachments: int
    risks: list[RiskDocument]
    source: SourceDocument


class BindingDocument(TypedDict):
    """What a workspace is applied for and from: null without an environment, and outside a repository with a remote."""

    environment: str | None
    source: str | None


class PlanDocument(TypedDict):
    """The whole plan, as `--format json` prints and `--out FILE` saves it.

    `moved_workspace` is what the workspace is recorded as, where the file moves it to another name.
    """

    format_version: str
    workspace: str
    moved_workspace: MovedWorkspaceDocument | None
    environment: str | None
    complete: bool
    digest: str
    config: ConfigDocument
    database: DatabaseDocument
    discovery: list[DiscoveryDocument]
    operations: list[OperationDocument]
    held: list[OperationDocument]
    problems: list[ProblemDocument]
    drift: list[DriftDocument]
    deferred: list[DeferredDocument]
    unmanaged: UnmanagedDocument
    summary: SummaryDocument
