"""One call on its way through the gate: what was asked, by whom, on which grants, and what was decided.

Decides how the facts of the gate are put together from a grant, a principal and the live contract, and what identifies a
call in the journal. Carries nothing out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import TypeAlias

from remit.core.approvals import ApprovalBinding
from remit.core.arguments import Objected, parse_arguments
from remit.core.call_ports import CallFacts, CallIntent, GrantedTool, IdempotencyUse, Stamp
from remit.core.calls import arguments_text_digest
from remit.core.canonical import JsonObject, canonical_json, sha256_hex
from remit.core.envelope import AuditedArguments, Envelope, Recording
from remit.core.gatekeeper import Contract, Decision, ToolFacts
from remit.core.recorded import RecordedServer
from remit.runtime.abi import Principal, ToolCallEnvelope
from remit.runtime.grant_cache import HeldGrants, is_coherent

__all__ = ["Arguments", "Case", "Masking", "RunIdentity", "call_facts", "call_seconds", "tool_facts", "unbound_facts"]

Masking: TypeAlias = Callable[[RecordedServer, JsonObject], JsonObject]
"""What of the arguments of a call to a server may be kept (Connections.masked)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """Whose call it is: the run, its trace and the assistant."""

    run_id: str
    thread_id: str | None
    trace_id: str
    owner: str
    assistant: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a model sent: the object and its canonical text, or the objection to it and a text that identifies it."""

    value: JsonObject
    text: str
    digest: str
    objection: str | None = None

    @classmethod
    def of(cls, raw: str | JsonObject) -> "Arguments":
        """Read arguments. Never raises: what cannot be read is an objection."""
        parsed = parse_arguments(raw)
        if isinstance(parsed, Objected):
            # What cannot be parsed is identified by its own text; an object that has no canonical text, by nothing.
            text = raw if isinstance(raw, str) else ""
            return cls({}, text, arguments_text_digest(text.encode("utf-8", "surrogatepass").hex()), parsed.message)
        text = canonical_json(parsed)
        return cls(parsed, text, arguments_text_digest(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One attempt at deciding a call. `session` is the session whose contract the decision rests on."""

    call: ToolCallEnvelope
    arguments: Arguments
    grants: HeldGrants
    tool: GrantedTool
    decision: Decision
    facts: CallFacts
    session: int | None = field(default=None)

    def intent(self, *, needs_approval: bool, approval_id: str) -> CallIntent:
        """The intent that the journal keeps before the call goes out."""
        key = self.call.idempotency_key
        envelope = self.tool.attachment.envelope
        return CallIntent(
            facts=self.facts,
            side_effecting=envelope.side_effecting,
            reversible=envelope.reversible,
            idempotency=None if key is None else IdempotencyUse(key=key, fingerprint=self._fingerprint()),
            approval=self.binding() if needs_approval else None,
            approval_id=approval_id,
        )

    def _fingerprint(self) -> str:
        attachment = self.tool.attachment
        return sha256_hex("call-v1", attachment.server_id, attachment.remote_name, self.arguments.text)

    def binding(self) -> ApprovalBinding:
        """The terms of the call, as a person approves them: whose it is, where it goes, under what policy, with what."""
        facts = self.facts
        return ApprovalBinding(
            principal=facts.principal,
            owner=facts.owner,
            assistant=facts.assistant,
            server_id=facts.server_id,
            identity_key=self.tool.server.identity_key,
            remote_name=facts.remote_name,
            server=facts.server,
            provider_name=facts.provider_name,
            reversible=self.tool.attachment.envelope.reversible,
            definition_digest=facts.definition_digest,
            envelope_digest=facts.envelope_digest,
            arguments=self.arguments.text,
        )


def call_seconds(tool: GrantedTool, call: ToolCallEnvelope) -> float:
    """The absolute limit of a call: the server's, or the caller's own where that is tighter."""
    own = tool.server.connection.call_timeout_seconds
    return own if call.timeout_seconds is None else min(own, call.timeout_seconds)


@lru_cache(maxsize=1_000)
def _envelope_digest(envelope: Envelope) -> str:
    # A few policies cover every tool, and hashing one takes as long as deciding a call.
    return envelope.digest()


def tool_facts(
    tool: GrantedTool, grants: HeldGrants, principal: Principal, contract: Contract, objection: str | None
) -> ToolFacts:
    """What the gate is asked about one tool; a principal's permissions only ever narrow the assistant's."""
    attachment = tool.attachment
    held = grants.permissions if principal.permissions is None else grants.permissions & principal.permissions
    return ToolFacts(
        envelope=attachment.envelope,
        attachment_enabled=attachment.enabled,
        server_enabled=tool.server.enabled,
        coherent=is_coherent(attachment),
        suspended_by=tool.suspended_by,
        contract=contract,
        permissions=held,
        objection=objection,
    )


def call_facts(
    run: RunIdentity,
    call: ToolCallEnvelope,
    tool: GrantedTool,
    grants: HeldGrants,
    arguments: Arguments,
    masked: Masking,
    *,
    action_id: str,
    at: datetime,
) -> CallFacts:
    """What identifies the call in the journal, as the tool's policy lets it be kept; values of arguments masked."""
    attachment, envelope = tool.attachment, tool.attachment.envelope
    keeps_values = envelope.audit_arguments is AuditedArguments.VALUES and arguments.objection is None
    return replace(
        unbound_facts(run, call, arguments, grants.stamp, action_id=action_id, at=at),
        server_id=attachment.server_id,
        server=tool.server.name,
        remote_name=attachment.remote_name,
        definition_digest=attachment.definition.definition_digest,
        envelope_digest=_envelope_digest(envelope),
        arguments_text=canonical_json(masked(tool.server, arguments.value)) if keeps_values else None,
        record_output=envelope.record is Recording.FULL,
    )


def unbound_facts(
    run: RunIdentity, call: ToolCallEnvelope, arguments: Arguments, stamp: Stamp, *, action_id: str, at: datetime
) -> CallFacts:
    """What identifies a call in the journal whose name no tool of the run has."""
    return CallFacts(
        action_id=action_id,
        run_id=run.run_id,
        thread_id=run.thread_id,
        tool_call_id=call.tool_call_id,
        trace_id=call.trace_id,
        owner=run.owner,
        assistant=run.assistant,
        principal=call.principal.name,
        provider_name=call.name,
        server_id="",
        server="",
        remote_name="",
        definition_digest="",
        envelope_digest="",
        arguments_digest=arguments.digest,
        arguments_text=None,
        record_output=True,
        stamp=stamp,
        at=at,
    )
