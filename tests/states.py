"""Short ways to write desired, recorded and live states: what a test is about is spelled out, the rest has a value here.

Every builder takes the few things tests vary; for the others use `dataclasses.replace` on what it returns.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from remit.core.acceptance import Acceptance
from remit.core.canonical import JsonObject, sha256_hex
from remit.core.definition import Definition, function_of
from remit.core.desired import (
    Alias,
    Connection,
    Desired,
    DesiredAssistant,
    DesiredServer,
    Pattern,
    Selection,
    ToolPolicy,
)
from remit.core.diagnostics import Source
from remit.core.envelope import MOST_RESTRICTIVE, Envelope, EnvelopePatch
from remit.core.identity import (
    Endpoint,
    HttpEndpoint,
    ProviderName,
    RemoteName,
    ServerId,
    canonical_id_of,
    identity_key_of,
    server_id_of,
)
from remit.core.live import Era, Listed, ListedTool, Live, Quarantine, QuarantineReason
from remit.core.lock import Lock, LockedTool
from remit.core.operations import Change, ChangeClass
from remit.core.plan import Plan
from remit.core.planner import PlanRequest, make_plan
from remit.core.recorded import Recorded, RecordedAssistant, RecordedAttachment, RecordedServer

__all__ = [
    "ALIAS",
    "ASSISTANT",
    "ENVELOPE",
    "LINE",
    "NOW",
    "OTHER_WORKSPACE",
    "OWNER",
    "POLICY",
    "SERVER",
    "WORKSPACE",
    "assistant",
    "attachment",
    "definition",
    "desired",
    "listed",
    "locked",
    "plan",
    "quarantine",
    "recorded",
    "recorded_assistant",
    "registration",
    "select",
    "server",
    "whole_change",
]

OWNER, WORKSPACE, OTHER_WORKSPACE = "local", "acme-ops", "acme-web"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

SERVER, ENVELOPE, POLICY, ASSISTANT, LINE, ALIAS = (Source("mcp.yaml", line, 7) for line in (10, 15, 20, 40, 50, 60))
"""Where the builders say that things are written: a server, its envelope, a tool's policy, an assistant, a pattern, an
alias. Line LINE + n is the n-th pattern of a selection, excludes after includes."""


def definition(description: str = "Finds things.", **properties: JsonObject) -> Definition:
    """A definition with this description and these input properties."""
    return Definition.of(description=description, input_schema={"type": "object", "properties": properties})


def whole_change(before: Definition, after: Definition) -> tuple[Change, ...]:
    """A DefinitionDiff that finds one change: text where the contract is the same, breaking else."""
    if before.definition_digest == after.definition_digest:
        return ()
    text = before.contract_digest == after.contract_digest
    return (Change(path=(), change_class=ChangeClass.TEXT if text else ChangeClass.BREAKING),)


# --- desired -----------------------------------------------------------------------------------------------------------


def server(
    name: str,
    endpoint: Endpoint | None = None,
    *,
    namespace: str | None = None,
    instance: str | None = None,
    enabled: bool = True,
    connection: Connection | None = None,
    envelope: EnvelopePatch | None = None,
    tools: Mapping[str, EnvelopePatch] | None = None,
) -> DesiredServer:
    """A declared server; its endpoint comes from its name where none is given. `tools` is policy by remote name."""
    return DesiredServer(
        name=name,
        namespace=name if namespace is None else namespace,
        endpoint=endpoint or HttpEndpoint(f"https://{name}.example.com/mcp"),
        source=SERVER,
        instance=instance,
        connection=connection or Connection(),
        enabled=enabled,
        envelope=envelope or EnvelopePatch(),
        envelope_source=None if envelope is None else ENVELOPE,
        tools={tool: ToolPolicy(patch=patch, source=POLICY) for tool, patch in (tools or {}).items()},
    )


def select(
    server_name: str, *include: str, exclude: Iterable[str] = (), aliases: Mapping[str, str] | None = None
) -> Selection:
    """A selection of one server's tools by names and globs."""
    excluded = tuple(exclude)
    patterns = [
        Pattern(text=text, source=Source(LINE.file, LINE.line + index, LINE.column))
        for index, text in enumerate((*include, *excluded))
    ]
    return Selection(
        server=server_name,
        include=tuple(patterns[: len(include)]),
        exclude=tuple(patterns[len(include) :]),
        source=LINE,
        aliases={tool: Alias(provider_name=name, source=ALIAS) for tool, name in (aliases or {}).items()},
    )


def assistant(name: str, *selections: Selection, permissions: tuple[str, ...] = ()) -> DesiredAssistant:
    """A declared assistant."""
    return DesiredAssistant(name=name, source=ASSISTANT, permissions=permissions, selections=selections)


def desired(
    *parts: DesiredServer | DesiredAssistant,
    default_envelope: EnvelopePatch | None = None,
    reserved_names: Iterable[str] = (),
) -> Desired:
    """A desired state of OWNER's WORKSPACE from servers and assistants in any order."""
    return Desired(
        workspace=WORKSPACE,
        owner=OWNER,
        servers=tuple(part for part in parts if isinstance(part, DesiredServer)),
        assistants=tuple(part for part in parts if isinstance(part, DesiredAssistant)),
        default_envelope=default_envelope or EnvelopePatch(),
        reserved_names=frozenset(reserved_names),
    )


# --- recorded ----------------------------------------------------------------------------------------------------------


def registration(declared: DesiredServer, *, workspace: str = WORKSPACE, owner: str = OWNER) -> RecordedServer:
    """The registration that applying this declaration records."""
    key = identity_key_of(declared.endpoint, declared.instance)
    return RecordedServer(
        server_id=server_id_of(owner, key, frozenset()),
        owner=owner,
        workspace=workspace,
        name=declared.name,
        namespace=declared.namespace,
        endpoint=declared.endpoint,
        instance=declared.instance,
        connection=declared.connection,
        enabled=declared.enabled,
    )


def attachment(
    of: RecordedServer,
    remote_name: str,
    approved: Definition | None = None,
    *,
    assistant: str = "ops",
    alias: str | None = None,
    envelope: Envelope = MOST_RESTRICTIVE,
    workspace: str = WORKSPACE,
    owner: str = OWNER,
) -> RecordedAttachment:
    """A coherent attachment; its alias is the readable one where none is given."""
    approved = approved or definition()
    provider_name = ProviderName(alias or f"{of.namespace}__{remote_name}")
    function = function_of(provider_name, approved)
    return RecordedAttachment(
        workspace=workspace,
        assistant_owner=owner,
        assistant=assistant,
        server_id=of.server_id,
        remote_name=RemoteName(remote_name),
        canonical_id=canonical_id_of(of.server_id, remote_name),
        provider_name=provider_name,
        definition=approved,
        envelope=envelope,
        function_text=function,
        function_name=provider_name,
        function_digest=sha256_hex(function),
        source=LINE,
    )


def recorded_assistant(
    name: str = "ops",
    *,
    permissions: tuple[str, ...] = (),
    foreign_functions: tuple[str, ...] = (),
    workspace: str = WORKSPACE,
    owner: str = OWNER,
) -> RecordedAssistant:
    """A recorded assistant."""
    return RecordedAssistant(
        owner=owner, workspace=workspace, name=name, permissions=permissions, foreign_functions=foreign_functions
    )


def recorded(*rows: RecordedServer | RecordedAssistant | RecordedAttachment, used: Iterable[ServerId] = ()) -> Recorded:
    """A recorded state from its rows in any order; `used` are ids of deleted registrations."""
    servers = tuple(row for row in rows if isinstance(row, RecordedServer))
    return Recorded(
        servers=servers,
        assistants=tuple(row for row in rows if isinstance(row, RecordedAssistant)),
        attachments=tuple(row for row in rows if isinstance(row, RecordedAttachment)),
        used_server_ids=frozenset((*used, *(each.server_id for each in servers))),
    )


# --- live, and the plan ------------------------------------------------------------------------------------------------


def listed(*tools: str, quarantined: Iterable[str] = (), **definitions: Definition) -> Listed:
    """A complete listing of tools with the usual definition, of those given by keyword with theirs, and of unusable ones."""
    every = {**dict.fromkeys(tools, definition()), **definitions}
    return Listed(
        tools=tuple(ListedTool(remote_name=RemoteName(name), definition=every[name]) for name in sorted(every)),
        quarantined=tuple(quarantine(name) for name in quarantined),
        era=Era.LEGACY,
        protocol_version="2025-11-25",
        observed_at=NOW,
    )


def locked(
    server_name: str, *, assistant: str = "ops", environment: str | None = None, **definitions: Definition
) -> Lock:
    """A lock of one server's tools for one assistant, under their readable aliases."""
    tools = {
        name: LockedTool(alias=ProviderName(f"{server_name}__{name}"), definition=each)
        for name, each in definitions.items()
    }
    return Lock(environment=environment, assistants={assistant: {server_name: tools}})


def quarantine(name: str) -> Quarantine:
    """An advertised tool that cannot be used."""
    return Quarantine(remote_name=name, reason=QuarantineReason.EMPTY_REF, detail="the root refers to itself")


def plan(
    wanted: Desired,
    known: Recorded | None = None,
    live: Live | None = None,
    *,
    accept: Iterable[Acceptance] = (),
    allow_detach: int | None = None,
    scope: Iterable[str] | None = None,
    lock: Lock | None = None,
) -> Plan:
    """The plan for three states, with `whole_change` as diff."""
    request = PlanRequest(
        diff=whole_change,
        accept=tuple(accept),
        allow_detach=allow_detach,
        scope=None if scope is None else frozenset(scope),
        lock=lock,
    )
    return make_plan(wanted, known or Recorded(), live or {}, request)
