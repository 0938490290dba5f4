"""What `remit approvals` prints: the queue, and one request with all that a human decides on.

Decides layout only, and that nothing of a request is cut where a human is to approve it.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, TypedDict, cast

from remit.core.addresses import attachment_address
from remit.core.approvals import Approval, ApprovalState, is_intact
from remit.core.canonical import Json
from remit.render.escape import escape_json, escape_terminal, json_lines, well_formed
from remit.render.layout import Painter, Style, aligned
from remit.render.shapes import FORMAT_VERSION
from remit.render.spans import span, timestamp

__all__ = [
    "ApprovalDocument",
    "ApprovalsDocument",
    "OneApprovalDocument",
    "approval_document",
    "approval_text",
    "approvals_document",
    "approvals_text",
    "one_approval_document",
    "state_words",
]

_CUT = 60
_WIDEST = 80
_LONGEST_ESCAPE = len(r"\U000e0041")

_OPEN = frozenset({ApprovalState.PENDING, ApprovalState.APPROVED})

_STATE_STYLE = {
    ApprovalState.PENDING: Style.CHANGE,
    ApprovalState.APPROVED: Style.ADD,
    ApprovalState.EXECUTING: Style.ADD,
    ApprovalState.DENIED: Style.REMOVE,
    ApprovalState.UNKNOWN: Style.DANGER,
}


class ApprovalDocument(TypedDict):
    """One request. `intact` is whether it still is the one that was made; `arguments` is null where it is no JSON."""

    approval_id: str
    state: Annotated[str, ApprovalState]
    binding_hash: str
    intact: bool
    owner: str
    assistant: str
    principal: str
    server: str
    server_id: str
    identity_key: str
    remote_name: str
    provider_name: str
    definition_digest: str
    envelope_digest: str
    reversible: bool
    arguments: Json
    requested_at: str
    expires_at: str
    decided_at: str | None
    approver: str | None
    reason: str | None
    action_id: str | None


class ApprovalsDocument(TypedDict):
    """The queue of an owner, newest first."""

    format_version: str
    owner: str
    approvals: list[ApprovalDocument]


class OneApprovalDocument(TypedDict):
    """One request; `changed` is whether this command decided it."""

    format_version: str
    owner: str
    changed: bool
    approval: ApprovalDocument


def approval_document(approval: Approval) -> ApprovalDocument:
    """One request as JSON."""
    binding = approval.binding
    readable, arguments = _arguments(binding.arguments)
    return {
        "approval_id": well_formed(approval.approval_id),
        "state": approval.state.value,
        "binding_hash": well_formed(approval.binding_hash),
        "intact": readable and is_intact(approval),
        "owner": well_formed(binding.owner),
        "assistant": well_formed(binding.assistant),
        "principal": well_formed(binding.principal),
        "server": well_formed(binding.server),
        "server_id": well_formed(binding.server_id),
        "identity_key": well_formed(binding.identity_key),
        "remote_name": well_formed(binding.remote_name),
        "provider_name": well_formed(binding.provider_name),
        "definition_digest": well_formed(binding.definition_digest),
        "envelope_digest": well_formed(binding.envelope_digest),
        "reversible": binding.reversible,
        "arguments": arguments,
        "requested_at": timestamp(approval.requested_at),
        "expires_at": timestamp(approval.expires_at),
        "decided_at": None if approval.decided_at is None else timestamp(approval.decided_at),
        "approver": None if approval.approver is None else well_formed(approval.approver),
        "reason": None if approval.reason is None else well_formed(approval.reason),
        "action_id": approval.action_id,
    }


def approvals_document(owner: str, approvals: Sequence[Approval]) -> ApprovalsDocument:
    """`{format_version, owner, approvals[]}`."""
    return {
        "format_version": FORMAT_VERSION,
        "owner": well_formed(owner),
        "approvals": [approval_document(each) for each in approvals],
    }


def one_approval_document(owner: str, approval: Approval, *, changed: bool = False) -> OneApprovalDocument:
    """`{format_version, owner, changed, approval}`."""
    return {
        "format_version": FORMAT_VERSION,
        "owner": well_formed(owner),
        "changed": changed,
        "approval": approval_document(approval),
    }


# -- text --------------------------------------------------------------------------------------------------------------


def approvals_text(owner: str, approvals: Sequence[Approval], *, now: datetime, everything: bool, colour: bool) -> str:
    """A line for each request, newest first; ends with a newline. `everything` is whether decided ones were asked for too."""
    head = Painter(colour=colour)(Style.HEAD, f"Approvals of owner {escape_terminal(owner)}")
    rows = [
        [
            escape_terminal(each.approval_id),
            each.state.value,
            f"{span(now - each.requested_at)} old",
            _window(each, now),
            escape_terminal(attachment_address(each.binding.assistant, each.binding.provider_name)),
            f"by {escape_terminal(each.binding.principal)}",
            _one_line(each),
        ]
        for each in approvals
    ]
    nothing = "none yet" if everything else "nothing waits for an approval"
    return "\n".join([head, *(f"  {line}" for line in aligned(rows, widest=_WIDEST) or [nothing])]) + "\n"


def approval_text(approval: Approval, *, now: datetime, colour: bool) -> str:
    """One request, whole: who asks for what, bound to what, with every argument; ends with a newline."""
    paint = Painter(colour=colour)
    state = paint(_STATE_STYLE.get(approval.state, Style.QUIET), state_words(approval, now=now))
    lines = [f"{paint(Style.HEAD, f'Approval {escape_terminal(approval.approval_id)}')}  {state}"]
    if not is_intact(approval):
        lines.append(f"  {paint(Style.DANGER, 'ALTERED: what is shown here is not what was asked for')}")
    *facts, undo = aligned(list(_facts(approval, now)), widest=_WIDEST)
    lines += [f"  {line}" for line in (*facts, undo if approval.binding.reversible else paint(Style.DANGER, undo))]
    lines += ["  arguments", *(f"    {line}" for line in _argument_lines(approval.binding.arguments))]
    return "\n".join(lines) + "\n"


def state_words(approval: Approval, *, now: datetime) -> str:
    """Where a request stands, in words: `pending, expires in 12m`, `denied by user:eva`."""
    window = _window(approval, now)
    if approval.state in _OPEN:
        return f"{approval.state.value}, {window}"
    by = f" by {escape_terminal(approval.approver)}" if approval.approver else ""
    return approval.state.value + (by if approval.state in {ApprovalState.DENIED, ApprovalState.REVOKED} else "")


def _facts(approval: Approval, now: datetime) -> Iterator[Sequence[str]]:
    binding, escape = approval.binding, escape_terminal
    yield "tool", escape(binding.provider_name, limit=400)
    yield "calls", f"{escape(binding.remote_name, limit=400)} on server {escape(binding.server, limit=400)}"
    yield "assistant", f"{escape(binding.assistant)}, of owner {escape(binding.owner)}"
    yield "asked by", escape(binding.principal)
    yield "asked at", f"{timestamp(approval.requested_at)}, {span(now - approval.requested_at)} ago"
    ends = "expires at" if approval.state in _OPEN else "window ended"
    yield ends, timestamp(approval.expires_at)
    if approval.decided_at is not None:
        yield "decided at", timestamp(approval.decided_at)
    if approval.approver is not None:
        yield "decided by", escape(approval.approver)
    if approval.reason is not None:
        yield "reason", escape(approval.reason, limit=2_000)
    if approval.action_id is not None:
        yield "used by", f"action {escape(approval.action_id)}"
    yield "registration", escape(binding.server_id)
    yield "identity", escape(binding.identity_key)
    yield "definition", escape(binding.definition_digest)
    yield "envelope", escape(binding.envelope_digest)
    yield "binding", escape(approval.binding_hash)
    yield "undo", "its policy calls it reversible" if binding.reversible else "cannot be undone, says its policy"


def _window(approval: Approval, now: datetime) -> str:
    if approval.state is ApprovalState.PENDING:
        return f"expires in {span(approval.expires_at - now)}"
    if approval.state is ApprovalState.APPROVED:
        return f"usable once for {span(approval.expires_at - now)}"
    return "-"


def _one_line(approval: Approval) -> str:
    readable, arguments = _arguments(approval.binding.arguments)
    if not readable or not is_intact(approval):
        return "ALTERED"
    return escape_json(arguments, limit=_CUT)


def _argument_lines(text: str) -> list[str]:
    readable, arguments = _arguments(text)
    try:
        if readable:
            return json_lines(arguments)
    except RecursionError:  # nested deeper than the indenting writer goes: shown in one line instead
        pass
    return [escape_terminal(text, limit=_LONGEST_ESCAPE * len(text))]


def _arguments(text: str) -> tuple[bool, Json]:
    try:
        return True, cast("Json", json.loads(text, parse_constant=_no_number))
    except (ValueError, RecursionError):
        return False, None


def _no_number(name: str) -> Json:
    raise ValueError(name)
