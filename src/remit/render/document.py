"""A plan as its JSON document (DESIGN.md section 7), and the digest over what it would do.

Decides the encoding only: what is in a plan is core's decision, what a person reads is `plan_text.py`'s. The shape is in
`shapes.py`. The digest covers `operations` and `held` without their `source`: a line that moved in a file changes nothing
that would be done, so it must not make a reviewed plan stale.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypedDict, assert_never, cast

from remit.core.addresses import address_of
from remit.core.canonical import Json, canonical_json, sha256_hex
from remit.core.definition import Definition, digest_of
from remit.core.diagnostics import Severity
from remit.core.envelope import Envelope
from remit.core.identity import ServerId
from remit.core.live import Listed, Observation, Quarantine, Skipped, Unreachable
from remit.core.operations import (
    Attach,
    Change,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Operation,
    OpName,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    Risk,
    ServerFacts,
    SetEnvelope,
    ToolOperation,
    ToolRef,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.plan import Deferred, Drift, Held
from remit.core.recorded import LastGood
from remit.core.report import DatabaseFacts, DiscoveryLine, PlanReport
from remit.core.servers import facts_document
from remit.render.diagnostics import problem_document, source_document
from remit.render.escape import well_formed
from remit.render.moved_workspace import moved_workspace_document
from remit.render.shapes import (
    FORMAT_VERSION,
    AssistantOperationDocument,
    AssistantState,
    AttachmentState,
    ChangeDocument,
    DatabaseDocument,
    DeferredDocument,
    DefinitionState,
    DiscoveryDocument,
    DriftDocument,
    EnvelopeDocument,
    LastGoodDocument,
    MovedWorkspaceDocument,
    OperationDocument,
    PlanDocument,
    QuarantineDocument,
    RecordedAttachmentState,
    RiskDocument,
    ServerOperationDocument,
    ServerState,
    SourceDocument,
    SummaryDocument,
    ToolOperationDocument,
)
from remit.render.spans import timestamp

__all__ = [
    "database_document",
    "definition_state",
    "digest_of_document",
    "envelope_document",
    "last_good_document",
    "operation_document",
    "plan_document",
    "quarantine_document",
]


def plan_document(report: PlanReport) -> PlanDocument:
    """The document of a plan: `format_version` "1.0", every key always there, nothing resolved, nothing shortened."""
    plan = report.plan
    operations = [operation_document(operation) for operation in plan.operations]
    held = [_held(each) for each in plan.held]
    moved = None if plan.moved_workspace is None else moved_workspace_document(plan.moved_workspace)
    return {
        "format_version": FORMAT_VERSION,
        "workspace": plan.workspace,
        "moved_workspace": moved,
        "environment": report.config.environment,
        "complete": plan.complete,
        "digest": _digest(operations, held, moved),
        "config": {
            "files": [{"path": file.path, "sha256": file.sha256} for file in report.config.files],
            "digest": report.config.digest,
            "commit": report.config.commit,
            "lock": None if (lock := report.config.lock) is None else {"path": lock.path, "sha256": lock.sha256},
            "assistants": [
                {"name": name, "tools": load.tools, "tokens": load.tokens}
                for name, load in sorted(report.tokens.items())
            ],
        },
        "database": database_document(report.database),
        "discovery": [_discovery(line) for line in report.discovery],
        "operations": operations,
        "held": held,
        "problems": [problem_document(problem) for problem in plan.problems],
        "drift": [_drift(drift) for drift in plan.drift],
        "deferred": [_deferred(deferred) for deferred in plan.deferred],
        "unmanaged": {
            "servers": plan.unmanaged.servers,
            "assistants": plan.unmanaged.assistants,
            "attachments": plan.unmanaged.attachments,
            "functions": plan.unmanaged.functions,
        },
        "summary": _summary(report),
    }


def digest_of_document(document: PlanDocument) -> str:
    """The digest recomputed from a document, e.g. one read from a file: `sha256:` + hex.

    A document whose `digest` differs was changed after it was made.
    """
    return _digest(document["operations"], document["held"], document["moved_workspace"])


def _digest(
    operations: Sequence[OperationDocument], held: Sequence[OperationDocument], moved: MovedWorkspaceDocument | None
) -> str:
    covered: dict[str, Json] = {"operations": _without_source(operations), "held": _without_source(held)}
    if moved is not None:
        [covered["moved_workspace"]] = _without_source([moved])
    return "sha256:" + sha256_hex(canonical_json(covered))


def _without_source(parts: Sequence[OperationDocument | MovedWorkspaceDocument]) -> list[Json]:
    return [{key: cast("Json", value) for key, value in each.items() if key != "source"} for each in parts]


def database_document(database: DatabaseFacts) -> DatabaseDocument:
    """The database: whether it exists, and how often it was applied to."""
    return {
        "exists": database.exists,
        "dialect": database.dialect,
        "lineage": database.lineage,
        "serial": database.serial,
    }


def _summary(report: PlanReport) -> SummaryDocument:
    plan = report.plan
    counts: dict[str, int] = dict.fromkeys((op.value for op in OpName), 0)
    for operation in plan.operations:
        counts[operation.op.value] += 1
    counts |= {
        "held": len(plan.held),
        "problems": sum(problem.severity is not Severity.NOTE for problem in plan.problems),
        "drift": len(plan.drift),
        "deferred": len(plan.deferred),
        "unchanged": plan.unchanged,
    }
    return cast("SummaryDocument", counts)


def _drift(drift: Drift) -> DriftDocument:
    offered = drift.offered
    return {
        "address": drift.address,
        "kind": drift.kind.value,
        "assistant": drift.assistant,
        "server": drift.server,
        "remote_name": drift.remote_name,
        "detail": well_formed(drift.detail),
        "before": None if offered is None else definition_state(offered.before),
        "after": None if offered is None else definition_state(offered.after),
        "changes": [] if offered is None else [_change(change) for change in offered.changes],
        "classes": [] if offered is None else sorted(offered.classes),
        "risks": [] if offered is None else _risks(offered.risks),
    }


def _deferred(deferred: Deferred) -> DeferredDocument:
    return {
        "address": deferred.address,
        "assistant": deferred.assistant,
        "server": deferred.server,
        "remote_name": deferred.remote_name,
        "attached": deferred.attached,
        "reason": deferred.reason.value,
        "detail": well_formed(deferred.detail),
    }


# -- discovery ---------------------------------------------------------------------------------------------------------


def _discovery(line: DiscoveryLine) -> DiscoveryDocument:
    return _observation(line.server, line.observation, cached=line.cached, last_good=line.last_good)


def _observation(
    server: str, observation: Observation, *, cached: bool, last_good: LastGood | None
) -> DiscoveryDocument:
    match observation:
        case Listed():
            identity = observation.server_info
            return {
                "status": "listed",
                "server": server,
                "cached_at": timestamp(observation.observed_at) if cached else None,
                "tools": len(observation.tools),
                "quarantined": [quarantine_document(each) for each in observation.quarantined],
                "era": observation.era.value,
                "protocol_version": well_formed(observation.protocol_version),
                "server_info": None
                if identity is None
                else {"name": well_formed(identity.name), "version": well_formed(identity.version)},
                "notes": [well_formed(note) for note in observation.notes],
            }
        case Unreachable(reason=reason, detail=detail):
            return {
                "status": "unreachable",
                "server": server,
                "reason": reason.value,
                "detail": well_formed(detail),
                "last_good": last_good_document(last_good),
            }
        case Skipped(reason=reason):
            return {
                "status": "skipped",
                "server": server,
                "reason": reason.value,
                "last_good": last_good_document(last_good),
            }
        case _:
            assert_never(observation)


def quarantine_document(quarantine: Quarantine) -> QuarantineDocument:
    """An unusable tool, whatever the server called it."""
    return {
        "remote_name": well_formed(quarantine.remote_name),
        "reason": quarantine.reason.value,
        "detail": well_formed(quarantine.detail),
    }


def last_good_document(last_good: LastGood | None) -> LastGoodDocument | None:
    """The kept listing by size and time."""
    if last_good is None:
        return None
    return {"tools": last_good.tools, "observed_at": timestamp(last_good.observed_at)}


# -- operations --------------------------------------------------------------------------------------------------------


def _held(held: Held) -> OperationDocument:
    document = operation_document(held.operation)
    document["held_because"] = [reason.value for reason in held.because]
    return document


def operation_document(operation: Operation) -> OperationDocument:
    """One operation, closed by its `op`."""
    match operation:
        case Attach() | Detach() | Refresh() | SetEnvelope() | RenameAlias():
            return _tool_operation(operation)
        case RegisterServer() | UpdateServer() | RenameServer() | UnregisterServer():
            return _server_operation(operation)
        case CreateAssistant() | UpdateAssistant() | DeleteAssistant():
            return _assistant_operation(operation)
        case _:
            assert_never(operation)


def _tool_operation(operation: ToolOperation) -> ToolOperationDocument:
    match operation:
        case Attach(tool=tool, definition=definition, envelope=envelope):
            attached = _attachment(tool, definition, envelope)
            return {"op": "attach", **_tool(operation), "before": None, "after": attached, "changes": []}
        case Detach():
            return {"op": "detach", **_tool(operation), "before": _found(operation), "after": None, "changes": []}
        case Refresh():
            return {
                "op": "refresh",
                **_tool(operation),
                "before": definition_state(operation.before),
                "after": definition_state(operation.after),
                "changes": [_change(change) for change in operation.changes],
                "classes": sorted(operation.classes),
            }
        case SetEnvelope():
            policy, wanted = envelope_document(operation.before), envelope_document(operation.after)
            return {
                "op": "set_envelope",
                **_tool(operation),
                "before": policy,
                "after": wanted,
                "changes": _changed_fields(policy, wanted),
                "direction": operation.direction.value,
            }
        case RenameAlias(tool=tool, after=after):
            return {
                "op": "rename_alias",
                **_tool(operation),
                "before": {"provider_name": tool.provider_name},
                "after": {"provider_name": after},
                "changes": _changed_fields({"provider_name": tool.provider_name}, {"provider_name": after}),
            }
        case _:
            assert_never(operation)


class _Head(TypedDict):
    address: str
    origin: str
    reason: str
    risks: list[RiskDocument]
    source: SourceDocument | None


def _risks(risks: Iterable[Risk]) -> list[RiskDocument]:
    return [{"code": risk.code.value, "detail": well_formed(risk.detail)} for risk in risks]


class _ToolHead(_Head):
    assistant: str
    server: str
    remote_name: str
    provider_name: str
    canonical_id: str


def _head(operation: Operation) -> _Head:
    return {
        "address": address_of(operation),
        "origin": operation.origin.value,
        "reason": operation.reason.value,
        "risks": _risks(operation.risks),
        "source": source_document(operation.source),
    }


def _tool(operation: ToolOperation) -> _ToolHead:
    tool = operation.tool
    return {
        **_head(operation),
        "assistant": tool.assistant,
        "server": tool.server,
        "remote_name": tool.remote_name,
        "provider_name": tool.provider_name,
        "canonical_id": tool.canonical_id,
    }


def _server_operation(
    operation: RegisterServer | UpdateServer | RenameServer | UnregisterServer,
) -> ServerOperationDocument:
    changes: tuple[Change, ...] = ()
    match operation:
        case RegisterServer(facts=facts):
            before, after = None, facts
        case UnregisterServer(before=facts):
            before, after = facts, None
        case UpdateServer() | RenameServer():
            before, after, changes = operation.before, operation.after, operation.changes
        case _:
            assert_never(operation)
    return {
        "op": cast("_ServerOp", operation.op.value),
        **_head(operation),
        "before": before and _server(operation.server_id, before),
        "after": after and _server(operation.server_id, after),
        "changes": [_change(change) for change in changes],
    }


_ServerOp = Literal["register_server", "update_server", "rename_server", "unregister_server"]
_AssistantOp = Literal["create_assistant", "update_assistant", "delete_assistant"]


def _assistant_operation(
    operation: CreateAssistant | UpdateAssistant | DeleteAssistant,
) -> AssistantOperationDocument:
    changes: list[ChangeDocument] = []
    match operation:
        case CreateAssistant(assistant=name, permissions=permissions, protect=protect):
            before, after = None, _assistant(name, permissions, protect=protect)
        case DeleteAssistant(assistant=name, permissions=permissions, protect=protect):
            before, after = _assistant(name, permissions, protect=protect), None
        case UpdateAssistant(assistant=name):
            before = _assistant(name, operation.before, protect=operation.protect_before)
            after = _assistant(operation.name_after, operation.after, protect=operation.protect_after)
            changes = _changed_fields(before, after)
        case _:
            assert_never(operation)
    return {
        "op": cast("_AssistantOp", operation.op.value),
        **_head(operation),
        "before": before,
        "after": after,
        "changes": changes,
    }


# -- states ------------------------------------------------------------------------------------------------------------


def _attachment(tool: ToolRef, definition: Definition, envelope: Envelope) -> AttachmentState:
    return {
        "provider_name": tool.provider_name,
        "envelope": envelope_document(envelope),
        **definition_state(definition),
    }


def _found(operation: Detach) -> RecordedAttachmentState:
    """What a detach takes away. A definition damaged in the database may be no JSON at all, and must not stop that."""
    definition, tool = operation.definition, operation.tool
    if digest_of(definition.text) == definition.definition_digest:
        return {**_attachment(tool, definition, operation.envelope)}
    return {
        "provider_name": tool.provider_name,
        "envelope": envelope_document(operation.envelope),
        "definition": None,
        "definition_digest": definition.definition_digest,
        "contract_digest": definition.contract_digest,
    }


def definition_state(definition: Definition) -> DefinitionState:
    """A definition in wire form, with its digests."""
    content = definition.content()
    return {
        "definition": {
            "title": content.title,
            "description": content.description,
            "inputSchema": content.input_schema,
            "outputSchema": content.output_schema,
            "annotations": content.annotations,
        },
        "definition_digest": definition.definition_digest,
        "contract_digest": definition.contract_digest,
    }


def envelope_document(envelope: Envelope) -> EnvelopeDocument:
    """A policy, every field decided."""
    return {
        "surface": envelope.surface.value,
        "side_effecting": envelope.side_effecting,
        "reversible": envelope.reversible,
        "required_permission": envelope.required_permission,
        "unknown_arguments": envelope.unknown_arguments.value,
        "record": envelope.record.value,
        "audit_arguments": envelope.audit_arguments.value,
    }


def _server(server_id: ServerId, facts: ServerFacts) -> ServerState:
    return cast("ServerState", {"server_id": server_id, **facts_document(facts)})


def _assistant(name: str, permissions: Sequence[str], *, protect: bool) -> AssistantState:
    return {"name": name, "permissions": list(permissions), "protect": protect}


def _changed_fields(before: Any, after: Any) -> list[ChangeDocument]:
    return [
        {"path": [key], "kind": "changed", "before": value, "after": after[key], "class": None}
        for key, value in before.items()
        if value != after[key]
    ]


def _change(change: Change) -> ChangeDocument:
    return {
        "path": list(change.path),
        "kind": "added" if change.added else "removed" if change.removed else "changed",
        "before": change.before,
        "after": change.after,
        "class": None if change.change_class is None else change.change_class.value,
    }
