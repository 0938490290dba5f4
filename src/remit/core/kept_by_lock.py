"""What becomes of a listed attachment where a lock is in force: refreshed to what the lock approves, held, or reported.

Carries out the rows of core/lock_table.py for attachments. What a server says against the lock is no operation at all: the
way into service leads through the lock, so it is drift until somebody changes that. Pure.
"""

from remit.core.addresses import attachment_address
from remit.core.assistant_context import AssistantContext, ToolOutcome
from remit.core.attached import Kept, drift_of, refresh_of
from remit.core.definition import Definition
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.lock import for_environment
from remit.core.lock_table import LockRow, lock_row
from remit.core.operations import Origin, Reason, Refresh
from remit.core.plan import DriftKind, HoldReason

__all__ = ["judge_by_lock"]


def judge_by_lock(context: AssistantContext, kept: Kept, outcome: ToolOutcome) -> None:
    """Judge the definition of an attachment whose server lists its tool, against what the lock approves."""
    remote_name = kept.remote_name
    live = kept.view.tools[remote_name].definition
    locked = context.locked(kept.view).get(remote_name)
    match lock_row(kept.attachment, locked, live):
        case LockRow.REFRESH:
            outcome.operations.append(_to_lock(context, kept, live))
        case LockRow.DRIFT:
            _report_change(context, kept, live, outcome)
        case LockRow.NOT_LOCKED if kept.moved_to is None:
            outcome.problems.append(_not_locked(context, kept))
        case LockRow.NOT_LOCKED | LockRow.HOLD_NOT_LOCKED:
            # A changed text is the server's wish. A move is the file's, and so is whatever it waits for.
            origin = Origin.LIVE if kept.moved_to is None else Origin.FILE
            _hold(refresh_of(context, kept, live, origin=origin), HoldReason.NOT_IN_LOCK, outcome)
        case LockRow.HOLD_NOT_OFFERED if locked is not None:
            _hold(_to_lock(context, kept, locked.definition), HoldReason.UNLIKE_LOCK, outcome)
            if live.definition_digest != kept.attachment.definition.definition_digest:
                _report_change(context, kept, live, outcome)
        case LockRow.KEEP if kept.moved_to is not None:
            outcome.operations.append(_to_lock(context, kept, live))
        case _:
            pass


def _to_lock(context: AssistantContext, kept: Kept, approved: Definition) -> Refresh:
    return refresh_of(context, kept, approved, origin=Origin.FILE, reason=Reason.LOCK_CHANGED)


def _hold(refresh: Refresh, why: HoldReason, outcome: ToolOutcome) -> None:
    outcome.operations.append(refresh)
    outcome.lock_holds[refresh.tool.key] = why


def _report_change(context: AssistantContext, kept: Kept, live: Definition, outcome: ToolOutcome) -> None:
    offered = refresh_of(context, kept, live)
    detail = f"lists another definition ({', '.join(sorted(offered.classes))}), {live.definition_digest}"
    outcome.drift.append(drift_of(context, kept, DriftKind.CHANGED, detail, offered))
    outcome.unlike_lock.add(kept.attachment.server_id)


def _not_locked(context: AssistantContext, kept: Kept) -> Diagnostic:
    return Diagnostic(
        code="not-in-lock",
        severity=Severity.WARNING,
        message="it is attached as the server lists it, and the lock does not have it; it stays as it is",
        address=attachment_address(context.name, kept.attachment.provider_name),
        source=kept.pattern.source,
        hint=for_environment(
            "run `remit lock` and have its change reviewed, or take the tool out of `include`",
            context.desired.environment,
        ),
    )
