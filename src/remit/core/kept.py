"""What becomes of attachments: detached by the file, or kept and refreshed, renamed, given another policy, reported.

A detach comes from the file alone: nothing a server says or fails to say leads to one. What of the rest may run at once
is core/acceptance.py's. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence

from remit.core.addresses import attachment_address
from remit.core.aliases import fold
from remit.core.assistant_context import (
    AssistantContext,
    ToolOutcome,
    clash_problem,
    deferral,
    origin_of_attachment,
    ref_of,
)
from remit.core.attached import Kept, drift_of, refresh_of
from remit.core.definition import Definition
from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.core.envelope import compare_envelopes, difference_words, strictest
from remit.core.identity import ProviderName, RemoteName, ServerId
from remit.core.kept_by_lock import judge_by_lock
from remit.core.lock import for_environment
from remit.core.naming import KeptNames, settle_kept
from remit.core.operations import (
    Change,
    Detach,
    Origin,
    Reason,
    Refresh,
    RenameAlias,
    Risk,
    RiskCode,
    SetEnvelope,
    ToolKey,
)
from remit.core.plan import DriftKind
from remit.core.recorded import RecordedAttachment
from remit.core.removals import removal_of_tool
from remit.core.risks import direction_risks, policy_risks
from remit.core.selector import Selector
from remit.core.suggestions import vanished_notes
from remit.core.table import TOOL_TABLE, Row, Seen, Stored, Wanted
from remit.core.views import ServerView

__all__ = ["judge_attachments"]


def judge_attachments(context: AssistantContext, outcome: ToolOutcome) -> KeptNames:
    """Judge every attachment of an assistant; gives the names that stay, as the ones to attach have to avoid them."""
    outcome.unchanged += len(context.protected) - context.overlooked
    for protected in context.protected:
        outcome.unchecked.append(_guarded(context, protected, outcome))
    kept: list[Kept] = []
    gone: list[Detach | Refresh] = []
    chosen = context.chosen()
    for attachment in sorted(context.attachments, key=lambda each: each.provider_name):
        _guarded(context, attachment, outcome)
        selected = _selected(chosen, attachment)
        if selected is None:
            gone.append(_let_go(context, attachment))
        else:
            kept.append(selected)
    outcome.operations.extend(gone)
    outcome.awaited.update(_awaited(context, gone, kept))
    names = _settle_names(context, kept, outcome)
    for each in kept:
        before = outcome.size
        if each.attachment.workspace != context.desired.workspace:
            outcome.operations.append(_adopt(context, each))
        _judge_definition(context, each, outcome)
        _judge_policy(context, each, outcome)
        _judge_alias(context, each, names, outcome)
        outcome.unchanged += before == outcome.size
        outcome.problems.extend(_remarks(context, each))
    return names


def _selected(chosen: Mapping[ServerId, tuple[Selector, ServerView]], attachment: RecordedAttachment) -> Kept | None:
    if attachment.server_id not in chosen:
        return None
    selector, view = chosen[attachment.server_id]
    moved_to = view.moved.get(attachment.remote_name)
    pattern = selector.pattern_for(view.name_now(attachment.remote_name))
    if pattern is None:
        return None
    return Kept(attachment, selector.selection, pattern, view, None if moved_to is None else RemoteName(moved_to))


def _guarded(context: AssistantContext, attachment: RecordedAttachment, outcome: ToolOutcome) -> str:
    """Note what an attachment asks for until its policy changes; gives its address."""
    address = attachment_address(context.name, attachment.provider_name)
    outcome.guard(context.name, attachment.envelope.required_permission, address)
    return address


def _let_go(context: AssistantContext, attachment: RecordedAttachment) -> Detach | Refresh:
    """What becomes of an attachment that the file does not select: it goes, or stays and belongs to no file."""
    tool = ref_of(context, attachment)
    removal = removal_of_tool(context.desired, tool)
    if removal is not None:
        return _handed_over(context, attachment, Reason.RELEASED, removal.source)
    return Detach(
        tool=tool,
        definition=attachment.definition,
        envelope=attachment.envelope,
        reason=_why_detached(context, attachment),
    )


def _adopt(context: AssistantContext, kept: Kept) -> Refresh:
    return _handed_over(context, kept.attachment, Reason.ADOPTED, kept.pattern.source)


def _handed_over(context: AssistantContext, attachment: RecordedAttachment, reason: Reason, source: Source) -> Refresh:
    """The refresh by which an attachment changes hands, and nothing else of it."""
    owner = context.desired.workspace
    before, after = (owner, None) if reason is Reason.RELEASED else (None, owner)
    return Refresh(
        tool=ref_of(context, attachment),
        before=attachment.definition,
        after=attachment.definition,
        changes=(Change(path=("workspace",), before=before, after=after),),
        classes=frozenset(),
        reason=reason,
        source=source,
    )


def _why_detached(context: AssistantContext, attachment: RecordedAttachment) -> Reason:
    if context.assistant is None:
        return Reason.ASSISTANT_REMOVED
    if any(view.server_id == attachment.server_id for view in context.views.values()):
        return Reason.NO_LONGER_SELECTED
    successor = context.names[attachment.server_id]
    view = context.views.get(successor)
    name = attachment.remote_name if view is None else view.name_now(attachment.remote_name)
    wanted = any(
        selection.server == successor and Selector.of(selection).pattern_for(name) for selection in context.selections
    )
    return Reason.SERVER_REPLACED if wanted and view is not None else Reason.SERVER_REMOVED


def _awaited(
    context: AssistantContext, gone: Sequence[Detach | Refresh], kept: Sequence[Kept]
) -> Iterator[tuple[ToolKey, ToolKey]]:
    """What has to be attached before the tools of a replaced server may go, apart from what is attached already.

    Of a server that the file disables nothing serves, so nothing waits for it.
    """
    replaced = [each.tool for each in gone if each.reason is Reason.SERVER_REPLACED]
    there = {
        (each.view.server_id, each.remote_name)
        for each in kept
        if replaced and each.view.seen(each.remote_name, each.attachment) in (Seen.SAME, Seen.OTHER)
    }
    for tool in replaced:
        view = context.views[tool.server]
        name = view.name_now(tool.remote_name)
        if view.server.enabled and (view.server_id, name) not in there:
            yield tool.key, (context.name, view.server_id, name)


def _settle_names(context: AssistantContext, kept: Sequence[Kept], outcome: ToolOutcome) -> KeptNames:
    # A function gets its new name together with its text, so a tool whose approved text is lost keeps the old one.
    declared = {
        each.attachment.provider_name: ProviderName(alias.provider_name)
        for each in kept
        if (alias := each.selection.aliases.get(each.remote_name)) is not None and _approved(context, each) is not None
    }
    origins = {each.attachment.provider_name: origin_of_attachment(context, each.attachment) for each in kept}
    names = settle_kept(origins, declared, context.untouchable, context.reserved)
    for each in kept:
        clash = names.refused.get(each.attachment.provider_name)
        if clash is not None:
            outcome.problems.append(clash_problem(context, each.view, each.remote_name, clash, each.selection))
    return names


def _judge_definition(context: AssistantContext, kept: Kept, outcome: ToolOutcome) -> None:
    attachment, view = kept.attachment, kept.view
    if not attachment.is_coherent:
        _repair(context, kept, outcome)
    match TOOL_TABLE[Wanted.SELECTED, Stored.ATTACHED, view.seen(kept.remote_name, attachment)]:
        case Row.REFRESH | Row.KEEP if attachment.is_definition_intact and context.lock is not None:
            judge_by_lock(context, kept, outcome)
        case Row.REFRESH if attachment.is_definition_intact:
            outcome.operations.append(refresh_of(context, kept, kept.view.tools[kept.remote_name].definition))
        case Row.KEEP if attachment.is_definition_intact and kept.moved_to is not None:
            # The model reads what it read before, so the file alone is the approval.
            live = kept.view.tools[kept.remote_name].definition
            outcome.operations.append(refresh_of(context, kept, live, origin=Origin.FILE))
        case Row.VANISHED:
            gone = "" if kept.moved_to is None else f"moved to {kept.moved_to!r}, which is "
            outcome.drift.append(drift_of(context, kept, DriftKind.VANISHED, f"{gone}not in the complete listing"))
            if not gone and attachment.is_definition_intact:
                outcome.problems.extend(vanished_notes(context, kept))
        case Row.OUT_OF_SERVICE:
            quarantine = view.quarantined[kept.remote_name]
            detail = f"{quarantine.reason}: {quarantine.detail}"
            outcome.drift.append(drift_of(context, kept, DriftKind.QUARANTINED, detail))
        case Row.STALE:
            outcome.deferred.append(deferral(context, view, kept.remote_name, attached=True))
            outcome.unchecked.append(attachment_address(context.name, attachment.provider_name))
        case Row.SWITCHED_OFF if attachment.drifted_when_last_listed:
            # Nobody can call it now, but enabling it must not find a policy that its drift had held back.
            outcome.uneasy.append(attachment_address(context.name, attachment.provider_name))
        case _:
            pass


def _repair(context: AssistantContext, kept: Kept, outcome: ToolOutcome) -> None:
    """Put back what was approved after somebody changed the rows. Where its text is gone, only a listing can give it."""
    approved = _approved(context, kept)
    if approved is None:
        address = attachment_address(context.name, kept.attachment.provider_name)
        outcome.uneasy.append(address)
        outcome.problems.append(
            Diagnostic(
                code="definition-lost",
                message="the recorded definition was changed outside remit and the server does not offer the approved one",
                address=address,
                source=kept.pattern.source,
                hint="restore the database from a backup, or remove the tool from the file, apply, and select it again",
            )
        )
        return
    if kept.attachment.alias_restored:
        outcome.misnamed.append(attachment_address(context.name, kept.attachment.provider_name))
    risk = Risk(RiskCode.DATABASE_DRIFT, "the rows were changed outside remit; the approved state is restored")
    outcome.operations.append(
        Refresh(
            tool=ref_of(context, kept.attachment),
            before=approved,
            after=approved,
            changes=(),
            classes=frozenset(),
            reason=Reason.DATABASE_DRIFT,
            risks=(risk,),
            source=kept.pattern.source,
        )
    )


def _approved(context: AssistantContext, kept: Kept) -> Definition | None:
    recorded = kept.attachment.definition
    if kept.attachment.is_definition_intact:
        return recorded
    live = kept.view.tools.get(kept.remote_name)
    locked = context.locked(kept.view).get(kept.remote_name)
    known = (each.definition for each in (live, locked) if each is not None)
    return next((each for each in known if each.definition_digest == recorded.definition_digest), None)


def _judge_policy(context: AssistantContext, kept: Kept, outcome: ToolOutcome) -> None:
    before = kept.attachment.envelope
    after = kept.view.envelope(kept.remote_name, context.desired)
    address = attachment_address(context.name, kept.attachment.provider_name)
    if kept.moved_to is not None and strictest(before, after) != after:
        after = strictest(before, after)
        outcome.problems.append(_stricter_kept(kept, address))
    outcome.require(context.name, after.required_permission, address)
    outcome.guard(context.name, after.required_permission, address)
    if before == after:
        return
    direction = compare_envelopes(before, after)
    unattended = policy_risks(_approved(context, kept), after)
    outcome.operations.append(
        SetEnvelope(
            tool=ref_of(context, kept.attachment),
            before=before,
            after=after,
            direction=direction,
            reason=Reason.POLICY_CHANGED,
            risks=(*direction_risks(direction, difference_words(before, after)), *unattended),
            source=kept.view.envelope_source(kept.remote_name, context.desired),
        )
    )


def _stricter_kept(kept: Kept, address: str) -> Diagnostic:
    return Diagnostic(
        code="moved-policy-kept",
        severity=Severity.NOTE,
        message="the tool moves under the stricter of its old and its new policy; the plan after this one shows what is looser",
        address=address,
        source=kept.pattern.source,
    )


def _judge_alias(context: AssistantContext, kept: Kept, names: KeptNames, outcome: ToolOutcome) -> None:
    recorded = kept.attachment.provider_name
    final = names.final[recorded]
    if final == recorded:
        return
    declared = kept.selection.aliases[kept.remote_name]
    risk = Risk(RiskCode.ALIAS_RENAMED, f"models and stored conversations know it as {recorded}")
    outcome.operations.append(
        RenameAlias(
            tool=ref_of(context, kept.attachment),
            after=final,
            reason=Reason.ALIAS_DECLARED,
            risks=(risk,),
            source=declared.source,
        )
    )


def _remarks(context: AssistantContext, kept: Kept) -> Iterator[Diagnostic]:
    """Aliases that would come out otherwise today; they are durable, so this changes nothing."""
    recorded, remote_name = kept.attachment.provider_name, kept.remote_name
    if remote_name in kept.selection.aliases:
        return
    address = attachment_address(context.name, recorded)
    locked = context.locked(kept.view).get(remote_name)
    if locked is not None and locked.alias != recorded:
        yield Diagnostic(
            code="lock-alias-historic",
            severity=Severity.NOTE,
            message=f"the lock calls it {locked.alias}; the alias stays {recorded}, as it was attached under it",
            address=address,
            source=kept.pattern.source,
            hint=for_environment(
                "run `remit lock`, which writes the name that is in service", context.desired.environment
            ),
        )
    computed = kept.view.aliases.get(remote_name)
    if fold(recorded) in context.reserved:
        yield Diagnostic(
            code="alias-reserved",
            severity=Severity.WARNING,
            message=f"{recorded} is a reserved name now; it stays, as it was attached before",
            address=address,
            source=kept.pattern.source,
            hint="give it another name under `aliases:` when its users can follow",
        )
    elif computed is not None and computed != recorded:
        yield Diagnostic(
            code="alias-historic",
            severity=Severity.NOTE,
            message=f"the alias stays {recorded}; attached today it would be {computed}",
            address=address,
            source=kept.pattern.source,
        )
