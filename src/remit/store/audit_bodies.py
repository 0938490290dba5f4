"""What audit events of the store hold: the one place that names their fields.

Decides the names: OpenTelemetry's GenAI, MCP and RPC conventions where they have one (reference: security.md section 6),
`remit.*` for the rest. Arguments appear as their digest; as values only where the tool's policy asks for it. A field that has
no value is left out. Pure.
"""

from collections.abc import Sequence

from remit.core.approvals import Approval
from remit.core.audit import Head
from remit.core.call_ports import CallEnd, CallFacts, CallIntent, CallRefusal, NewRun
from remit.core.calls import FailureCode, RunState, ToolOutcome
from remit.core.canonical import Json, JsonObject
from remit.core.governance import Suspension
from remit.core.ports import AppliedRecord

__all__ = [
    "applied_body",
    "approval_body",
    "checkpoint_body",
    "denied_body",
    "handed_off_body",
    "intent_body",
    "late_body",
    "outcome_body",
    "recovered_body",
    "run_body",
    "run_end_body",
    "suspension_body",
    "well_formed",
]


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced, as canonical JSON and UTF-8 have none."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def intent_body(intent: CallIntent, approval_id: str | None) -> JsonObject:
    """A call that goes out now."""
    facts = intent.facts
    body = _call(facts) | {
        "remit.side_effecting": intent.side_effecting,
        "remit.reversible": intent.reversible,
    }
    if intent.idempotency is not None:
        body["remit.idempotency_key"] = intent.idempotency.key
    if approval_id is not None:
        body["remit.approval_id"] = approval_id
    return body


def denied_body(refusal: CallRefusal) -> JsonObject:
    """A call that did not go out."""
    cancelled = refusal.code is FailureCode.CANCELLED
    body = _call(refusal.facts) | {
        "remit.outcome": "cancelled" if cancelled else "denied",
        "error.type": refusal.code.value,
        "remit.reason": well_formed(refusal.message),
    }
    if refusal.approval_id:
        body["remit.approval_id"] = refusal.approval_id
    return body


def handed_off_body(facts: CallFacts) -> JsonObject:
    """A call of the consumer's own tool."""
    body = _call(facts)
    for absent in ("mcp.method.name", "remit.server", "remit.server_id", "remit.remote_name"):
        del body[absent]
    return body


def outcome_body(end: CallEnd, facts: CallFacts, approval_id: str | None) -> JsonObject:
    """How a call ended: transport, JSON-RPC and tool apart. Says by itself who called what under which revision."""
    body = _tool(facts) | _end(end)
    body["remit.assistant"], body["remit.principal"] = facts.assistant, facts.principal
    body["remit.revision"] = facts.stamp.revision
    if approval_id is not None:
        body["remit.approval_id"] = approval_id
    return body


def late_body(end: CallEnd, facts: CallFacts | None) -> JsonObject:
    """An outcome that came after the call was declared unknown, by whoever may no longer end it."""
    return ({} if facts is None else _tool(facts)) | _end(end)


def recovered_body(
    action_id: str, run_id: str, provider_name: str, tool_call_id: str, server: str | None, remote_name: str | None
) -> JsonObject:
    """A call whose journal died."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": provider_name,
        "gen_ai.tool.call.id": tool_call_id,
        "remit.action_id": action_id,
        "remit.run_id": run_id,
        "remit.server": server,
        "remit.remote_name": remote_name,
        "remit.outcome": "unknown",
        "error.type": FailureCode.OUTCOME_UNKNOWN.value,
    }


def run_body(run: NewRun) -> JsonObject:
    """A run that starts."""
    body: dict[str, Json] = {
        "remit.run_id": run.run_id,
        "remit.owner": run.owner,
        "remit.assistant": run.assistant,
        "remit.principal": run.principal,
        "remit.state": RunState.IN_PROGRESS.value,
    }
    if run.thread_id is not None:
        body["gen_ai.conversation.id"] = run.thread_id
    return body


def run_end_body(run_id: str, state: RunState) -> JsonObject:
    """A run that ended."""
    return {"remit.run_id": run_id, "remit.state": state.value}


def approval_body(approval: Approval) -> JsonObject:
    """An approval as it is now; the arguments as their digest, which the binding hash is not."""
    binding = approval.binding
    body: dict[str, Json] = {
        "gen_ai.tool.name": binding.provider_name,
        "remit.approval_id": approval.approval_id,
        "remit.approval_state": approval.state.value,
        "remit.binding_hash": approval.binding_hash,
        "remit.principal": binding.principal,
        "remit.owner": binding.owner,
        "remit.assistant": binding.assistant,
        "remit.server": binding.server,
        "remit.server_id": binding.server_id,
        "remit.remote_name": binding.remote_name,
        "remit.definition_digest": binding.definition_digest,
        "remit.envelope_digest": binding.envelope_digest,
        "remit.expires_at": approval.expires_at.isoformat(),
    }
    if approval.reason is not None:
        body["remit.reason"] = well_formed(approval.reason)
    return body


def suspension_body(owner: str, suspension: Suspension) -> JsonObject:
    """A suspension that begins or ends."""
    target = suspension.target
    return {
        "remit.owner": owner,
        "remit.address": suspension.address,
        "remit.server_id": target.server_id,
        "remit.assistant": target.assistant,
        "remit.remote_name": target.remote_name,
        "remit.reason": None if suspension.reason is None else well_formed(suspension.reason),
    }


def applied_body(workspace: str, serial: int, record: AppliedRecord) -> JsonObject:
    """An apply; what it changed stands in the history row of this serial."""
    return {
        "remit.workspace": workspace,
        "remit.serial": serial,
        "remit.plan_digest": record.digest,
        "remit.outcome": record.outcome,
        "remit.commit": record.commit,
    }


def checkpoint_body(heads: Sequence[Head]) -> JsonObject:
    """The heads of other chains (`remit.core.audit_review.heads_in` reads them)."""
    return {"remit.heads": [{"writer": head.writer, "seq": head.seq, "digest": head.digest} for head in heads]}


def _call(facts: CallFacts) -> dict[str, Json]:
    body = _tool(facts) | {
        "mcp.method.name": "tools/call",
        "remit.owner": facts.owner,
        "remit.assistant": facts.assistant,
        "remit.principal": facts.principal,
        "remit.revision": facts.stamp.revision,
        "remit.server_id": facts.server_id,
        "remit.definition_digest": facts.definition_digest,
        "remit.envelope_digest": facts.envelope_digest,
        "remit.arguments_digest": facts.arguments_digest,
    }
    if facts.arguments_text is not None:
        body["gen_ai.tool.call.arguments"] = facts.arguments_text
    return body


def _tool(facts: CallFacts) -> dict[str, Json]:
    body: dict[str, Json] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": facts.provider_name,
        "gen_ai.tool.call.id": facts.tool_call_id,
        "remit.action_id": facts.action_id,
        "remit.run_id": facts.run_id,
        "remit.server": facts.server,
        "remit.remote_name": facts.remote_name,
    }
    if facts.thread_id is not None:
        body["gen_ai.conversation.id"] = facts.thread_id
    return body


def _end(end: CallEnd) -> dict[str, Json]:
    body: dict[str, Json] = {
        "remit.action_id": end.action_id,
        "remit.run_id": end.run_id,
        "remit.state": end.state.value,
        "remit.outcome": end.outcome.value,
        "remit.transport": end.transport.value,
        "remit.tool": end.tool.value,
        "remit.duration_ms": round(end.duration_ms, 3),
        "remit.attempts": end.attempts,
    }
    if end.rpc_code is not None:
        body["rpc.response.status_code"] = str(end.rpc_code)
    if end.code is not None:
        body["error.type"] = end.code.value
    elif end.tool is ToolOutcome.ERROR:
        body["error.type"] = "tool_error"
    if end.protocol_version is not None:
        body["mcp.protocol.version"] = well_formed(end.protocol_version)
    if end.renewed:
        body["remit.session_renewed"] = True
    if end.result_digest is not None:
        body["remit.result_digest"] = end.result_digest
    return body
