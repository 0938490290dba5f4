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
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.envelope import compare_envelopes, difference_words
from remit.core.identity import ProviderName, ServerId
from remit.core.kept_by_lock import judge_by_lock
from remit.core.naming import KeptNames, settle_kept
from remit.core.operations import Detach, Reason, Refresh, RenameAlias, Risk, RiskCode, SetEnvelope
from remit.core.plan import DriftKind
from remit.core.recorded import RecordedAttachment
from remit.core.risks import direction_risks, policy_risks
from remit.core.selector import Selector
from remit.core.table import TOOL_TABLE, Row, Stored, Wanted
from remit.core.views import ServerView

__all__ = ["judge_attachments"]


def judge_attachments(context: AssistantContext, outcome: ToolOutcome) -> KeptNames:
    """Judge every attachment of an assistant; gives the names that stay, as the ones to attach have to avoid them."""
    outcome.unchanged += len(context.protected) - context.overlooked
    for protected in context.protected:
        outcome.unchecked.append(_guarded(context, protected, outcome))
    kept: list[Kept] = []
    chosen = context.chosen()
    for attachment in sorted(context.attachments, key=lambda each: each.provider_name):
        _guarded(context, attachment, outcome)
        selected = _selected(chosen, attachment)
        if selected is None:
            outcome.operations.append(_detach(context, attachment))
        else:
            kept.append(selected)
    names = _settle_names(context, kept, outcome)
    for each in kept:
        before = outcome.size
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
    pattern = selector.pattern_for(attachment.remote_name)
    return None if pattern is None else Kept(attachment, selector.selection, pattern, view)


def _guarded(context: AssistantContext, attachment: RecordedAttachment, outcome: ToolOutcome) -> str:
    """Note what an attachment asks for until its policy changes; gives its address."""
    address = attachment_address(context.name, attachment.provider_name)
    outcome.guard(context.name, attachment.envelope.required_permission, address)
    return address


def _detach(context: AssistantContext, attachment: RecordedAttachment) -> Detach:
    return Detach(
        tool=ref_of(context, attachment),
        definition=attachment.definition,
        envelope=attachment.envelope,
        reason=_why_detached(context, attachment),
    )


def _why_detached(context: AssistantContext, attachment: RecordedAttachment) -> Reason:
    if context.assistant is None:
        return Reason.ASSISTANT_REMOVED
    if any(view.server_id == attachment.server_id for view in context.views.values()):
        return Reason.NO_LONGER_SELECTED
    successor = context.names[attachment.server_id]
    wanted = any(
        selection.server == successor and Selector.of(selection).pattern_for(attachment.remote_name)
        for selection in context.selections
    )
    return Reason.SERVER_REPLACED if wanted and successor in context.views else Reason.SERVER_REMOVED


def _settle_names(context: AssistantContext, kept: Sequence[Kept], outcome: ToolOutcome) -> KeptNames:
    # A function gets its new name together with its text, so a tool whose approved text is lost keeps the old one.
    declared = {
        each.attachment.provider_name: ProviderName(alias.provider_name)
        for each in kept
        if (alias := each.selection.aliases.get(each.attachment.remote_name)) is not None
        and _approved(context, each) is not None
    }
    origins = {each.attachment.provider_name: origin_of_attachment(context, each.attachment) for each in kept}
    names = settle_kept(origins, declared, context.untouchable, context.reserved)
    for each in kept:
        clash = names.refused.get(each.attachment.provider_name)
        if clash is not None:
            remote_name = each.attachment.remote_name
            outcome.problems.append(clash_problem(context, each.view, remote_name, clash, each.selection))
    return names


def _judge_definition(context: AssistantContext, kept: Kept, outcome: ToolOutcome) -> None:
    attachment, view = kept.attachment, kept.view
    if not attachment.is_coherent:
        _repair(context, kept, outcome)
    match TOOL_TABLE[Wanted.SELECTED, Stored.ATTACHED, view.seen(attachment.remote_name, attachment)]:
        case Row.REFRESH | Row.KEEP if attachment.is_definition_intact and context.lock is not None:
            judge_by_lock(context, kept, outcome)
        case Row.REFRESH if attachment.is_definition_intact:
            outcome.operations.append(refresh_of(context, kept, kept.view.tools[attachment.remote_name].definition))
        case Row.VANISHED:
            outcome.drift.append(drift_of(context, kept, DriftKind.VANISHED, "not in the complete listing"))
        case Row.OUT_OF_SERVICE:
            quarantine = view.quarantined[attachment.remote_name]
            detail = f"{quarantine.reason}: {quarantine.detail}"
            outcome.drift.append(drift_of(context, kept, DriftKind.QUARANTINED, detail))
        case Row.STALE:
            outcome.deferred.append(deferral(context, view, attachment.remote_name, attached=True))
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
    live = kept.view.tools.get(kept.attachment.remote_name)
    locked = context.locked(kept.view).get(kept.attachment.remote_name)
    known = (each.definition for each in (live, locked) if each is not None)
    return next((each for each in known if each.definition_digest == recorded.definition_digest), None)


def _judge_policy(context: AssistantContext, kept: Kept, outcome: ToolOutcome) -> None:
    before = kept.attachment.envelope
    after = kept.view.envelope(kept.attachment.remote_name, context.desired)
    address = attachment_address(context.name, kept.attachment.provider_name)
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
            source=kept.view.envelope_source(kept.attachment.remote_name, context.desired),
        )
    )


def _judge_alias(context: AssistantContext, kept: Kept, names: KeptNames, outcome: ToolOutcome) -> None:
    recorded = kept.attachment.provider_name
    final = names.final[recorded]
    if final == recorded:
        return
    declared = kept.selection.aliases[kept.attachment.remote_name]
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
    recorded, remote_name = kept.attachment.provider_name, kept.attachment.remote_name
    if remote_name in kept.selection.aliases:
        return
    address = attachment_address(context.name, recorded)
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
