"""`remit approvals`: the calls that wait for a human, and the human's word on each. There is no way to approve all."""

import re
import shlex
from collections.abc import Mapping
from datetime import datetime

import click

from remit.cli.governance import Owned, open_owned, unknown_id
from remit.cli.options import file_option, format_option, no_color_option
from remit.config.file_set import FileSet
from remit.core.addresses import attachment_address
from remit.core.approvals import APPROVAL_MOVES, Approval, ApprovalState, is_in_force, is_intact
from remit.errors import NotApproved
from remit.render.approvals_text import (
    approval_text,
    approvals_document,
    approvals_text,
    one_approval_document,
    state_words,
)
from remit.render.escape import escape_terminal
from remit.render.spans import timestamp

__all__ = ["command"]

_UNDECIDED = (ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.EXECUTING)
_HASH = re.compile(r"[0-9a-f]{8,64}")
_HASH_SHOWN = 12

_TOLD: Mapping[ApprovalState, str] = {
    ApprovalState.APPROVED: "approved: repeating the very call carries it out once, until {until}",
    ApprovalState.DENIED: "denied: the call is refused",
    ApprovalState.REVOKED: "revoked: the approval can no longer be used",
}


def _check_hash(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _HASH.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not 8 or more hex characters of the binding hash that `show` prints")
    return value


@click.group(name="approvals")
def command() -> None:
    """List calls that wait for a human, look at one, approve it, deny it.

    Each approval is for one call with the very arguments shown, once, for a few minutes.
    """


@command.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Decided and expired ones too.")
@file_option
@format_option
@no_color_option
def list_(*, everything: bool, config: FileSet, form: str, no_color: bool) -> None:
    """List what waits for an approval, newest first."""
    owned = open_owned(config, colour=not no_color)
    found = owned.desks.approvals.approvals(owned.owner, states=() if everything else _UNDECIDED)
    terminal = owned.terminal
    if form == "json":
        terminal.document(approvals_document(owned.owner, found))
        return
    terminal.result(approvals_text(owned.owner, found, now=owned.now(), everything=everything, colour=terminal.colour))


@command.command(name="show")
@click.argument("approval_id", metavar="ID")
@file_option
@format_option
@no_color_option
def show(*, approval_id: str, config: FileSet, form: str, no_color: bool) -> None:
    """Show one request with every argument, and how to decide it."""
    owned = open_owned(config, colour=not no_color)
    approval, terminal = _found(owned, approval_id), owned.terminal
    if form == "json":
        terminal.document(one_approval_document(owned.owner, approval))
        return
    steps = "\n".join(_next_steps(owned, approval))
    terminal.result(
        approval_text(approval, now=owned.now(), colour=terminal.colour) + (f"\n{steps}\n" if steps else "")
    )


@command.command(name="approve")
@click.argument("approval_id", metavar="ID")
@click.option(
    "--hash",
    "prefix",
    metavar="PREFIX",
    callback=_check_hash,
    help="8 or more characters of the binding hash that `show` prints. Without it the terminal asks.",
)
@file_option
@format_option
@no_color_option
def approve(*, approval_id: str, prefix: str | None, config: FileSet, form: str, no_color: bool) -> None:
    """Approve one request, for one call, for five minutes.

    Exit codes: 0 approved, 1 it cannot be approved any more or is another request, 3 you may not approve it.
    """
    owned = open_owned(config, colour=not no_color)
    approval = _found(owned, approval_id)
    _require_move(owned, approval, ApprovalState.APPROVED)
    # The desk checks it again when it decides; here, so that nobody is asked for what cannot be.
    owned.desks.approvals.require_approvable(approval, owned.host.actor())
    if prefix is None:
        _ask(owned, approval)
    elif not approval.binding_hash.startswith(prefix):
        raise NotApproved(
            "the hash is another request's: nothing was approved",
            code="approval-hash",
            place=approval_id,
            hint=f"read it again: remit approvals show {approval_id}{owned.file_flag}",
        )
    _decide(owned, approval, ApprovalState.APPROVED, None, form)


@command.command(name="deny")
@click.argument("approval_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help="What the caller is told.")
@file_option
@format_option
@no_color_option
def deny(*, approval_id: str, reason: str | None, config: FileSet, form: str, no_color: bool) -> None:
    """Deny one request. Exit codes: 0 denied, 1 it is decided already or has expired."""
    owned = open_owned(config, colour=not no_color)
    approval = _found(owned, approval_id)
    _require_move(owned, approval, ApprovalState.DENIED)
    _decide(owned, approval, ApprovalState.DENIED, reason, form)


@command.command(name="revoke")
@click.argument("approval_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Kept with the approval.")
@file_option
@format_option
@no_color_option
def revoke(*, approval_id: str, reason: str | None, config: FileSet, form: str, no_color: bool) -> None:
    """Take an approval back that was not used yet. Exit codes: 0 revoked, 1 there is nothing to take back."""
    owned = open_owned(config, colour=not no_color)
    approval = _found(owned, approval_id)
    _require_move(owned, approval, ApprovalState.REVOKED)
    _decide(owned, approval, ApprovalState.REVOKED, reason, form)


# --- the steps ---------------------------------------------------------------------------------------------------------


def _found(owned: Owned, approval_id: str) -> Approval:
    approval = owned.desks.approvals.approval(owned.owner, approval_id)
    if approval is None:
        known = (each.approval_id for each in owned.desks.approvals.approvals(owned.owner))
        raise unknown_id("approval", approval_id, known, listed_by=f"remit approvals list --all{owned.file_flag}")
    return approval


def _decide(owned: Owned, approval: Approval, state: ApprovalState, reason: str | None, form: str) -> None:
    decided = owned.desks.approvals.decide_approval(
        owned.owner, approval.approval_id, state, approver=owned.host.actor(), reason=reason, at=owned.now()
    )
    if decided is None or not decided.changed:
        # Somebody was quicker, or the window closed while a person was reading.
        raise _too_late(owned, approval if decided is None else decided.approval, state)
    if form == "json":
        owned.terminal.document(one_approval_document(owned.owner, decided.approval, changed=True))
        return
    told = _TOLD[state].format(until=timestamp(decided.approval.expires_at))
    owned.terminal.result(f"{escape_terminal(_address(approval))} {told}")


def _require_move(owned: Owned, approval: Approval, state: ApprovalState) -> None:
    in_force = state is ApprovalState.REVOKED or is_in_force(approval, owned.now())
    if state not in APPROVAL_MOVES[approval.state] or not in_force:
        raise _too_late(owned, approval, state)


def _too_late(owned: Owned, approval: Approval, state: ApprovalState) -> NotApproved:
    now = owned.now()
    is_over = approval.state in (ApprovalState.PENDING, ApprovalState.APPROVED) and not is_in_force(approval, now)
    words = "expired" if is_over else state_words(approval, now=now)
    ways = {
        ApprovalState.PENDING: f"deny it: remit approvals deny {approval.approval_id}{owned.file_flag}",
        ApprovalState.APPROVED: f"take it back: remit approvals revoke {approval.approval_id}{owned.file_flag}",
    }
    hint = "a new call makes a new request" if is_over else ways.get(approval.state, "a new call makes a new request")
    return NotApproved(
        f"it cannot be {state.value}: it is {words}",
        code="approval-not-open",
        place=approval.approval_id,
        hint=hint,
    )


def _ask(owned: Owned, approval: Approval) -> None:
    terminal, command_line = owned.terminal, f"remit approvals show {approval.approval_id}{owned.file_flag}"
    if not terminal.interactive:
        raise NotApproved(
            "nobody is there to ask",
            place=approval.approval_id,
            hint=f"look at it, then pass its --hash: {command_line}",
        )
    terminal.note(approval_text(approval, now=owned.now(), colour=terminal.error_colour))
    if not terminal.ask(f"Approve this one call of {escape_terminal(_address(approval))}?"):
        raise NotApproved("nobody said yes: nothing was approved", place=approval.approval_id, hint="it still waits")


def _next_steps(owned: Owned, approval: Approval) -> list[str]:
    now: datetime = owned.now()
    if not is_in_force(approval, now):
        return []
    shown, flag = escape_terminal(shlex.quote(approval.approval_id)), owned.file_flag
    if approval.state is ApprovalState.APPROVED:
        return [f"Revoke:   remit approvals revoke {shown}{flag}"]
    if approval.state is not ApprovalState.PENDING:
        return []
    deny_line = f"Deny:     remit approvals deny {shown}{flag} --reason TEXT"
    if not is_intact(approval):
        return [deny_line]
    return [f"Approve:  remit approvals approve {shown}{flag} --hash {approval.binding_hash[:_HASH_SHOWN]}", deny_line]


def _address(approval: Approval) -> str:
    return attachment_address(approval.binding.assistant, approval.binding.provider_name)
