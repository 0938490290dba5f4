"""One attachment that stays, with the line that selects it, and the values that are said of it: a refresh, a drift.

Decides how these are filled in; core/kept.py and core/kept_by_lock.py decide when. Pure.
"""

from dataclasses import dataclass

from remit.core.addresses import attachment_address
from remit.core.assistant_context import AssistantContext, ref_of
from remit.core.changes import classes_of
from remit.core.definition import Definition
from remit.core.desired import Pattern, Selection
from remit.core.identity import RemoteName
from remit.core.operations import Change, Origin, Reason, Refresh
from remit.core.plan import Drift, DriftKind
from remit.core.recorded import RecordedAttachment
from remit.core.risks import refresh_risks
from remit.core.views import ServerView

__all__ = ["Kept", "drift_of", "refresh_of"]


@dataclass(frozen=True, slots=True)
class Kept:
    """An attachment that the file still selects, by `pattern`; with `moved_to` under another remote name."""

    attachment: RecordedAttachment
    selection: Selection
    pattern: Pattern
    view: ServerView
    moved_to: RemoteName | None = None

    @property
    def remote_name(self) -> RemoteName:
        """The name that the file selects it by."""
        return self.moved_to or self.attachment.remote_name


def refresh_of(
    context: AssistantContext,
    kept: Kept,
    after: Definition,
    *,
    origin: Origin = Origin.LIVE,
    reason: Reason = Reason.DEFINITION_CHANGED,
) -> Refresh:
    """The refresh of an attachment from what is recorded to another definition."""
    before = kept.attachment.definition
    changes = context.diff(before, after)
    classes = classes_of(changes)
    if kept.moved_to is not None:
        moved = Change(path=("remote_name",), before=kept.attachment.remote_name, after=kept.moved_to)
        changes, reason = (moved, *changes), Reason.MOVED
    return Refresh(
        tool=ref_of(context, kept.attachment),
        before=before,
        after=after,
        changes=changes,
        classes=classes,
        origin=origin,
        reason=reason,
        risks=refresh_risks(before, after, classes),
        source=kept.pattern.source,
        moved_to=kept.moved_to,
    )


def drift_of(
    context: AssistantContext, kept: Kept, kind: DriftKind, detail: str, offered: Refresh | None = None
) -> Drift:
    """What moved of an attachment without a commit."""
    attachment = kept.attachment
    return Drift(
        address=attachment_address(context.name, attachment.provider_name),
        kind=kind,
        assistant=context.name,
        server=kept.view.server.name,
        remote_name=attachment.remote_name,
        detail=detail,
        offered=offered,
    )
