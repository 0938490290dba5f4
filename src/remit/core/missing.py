"""What becomes of selected tools that are not attached: attach, a problem that names near ones, or wait for a listing.

A tool written out by name was approved by the review of the file; what a glob matches was named by the server, so its
origin is `live` (DESIGN.md section 6), unless a lock spells it out. Pure.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from remit.core.addresses import address_of, assistant_address, nearest, tool_address
from remit.core.aliases import AliasClash
from remit.core.assistant_context import (
    AssistantContext,
    ToolOutcome,
    clash_problem,
    deferral,
    origin_of_attachment,
    origin_of_tool,
)
from remit.core.desired import Pattern, Selection
from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.core.identity import ProviderName, RemoteName, ServerId, canonical_id_of
from remit.core.lock_table import LockRow, lock_row
from remit.core.naming import Claim, KeptNames, claim_all
from remit.core.operations import Attach, Origin, Reason, ToolRef
from remit.core.plan import HoldReason
from remit.core.risks import attach_risks
from remit.core.selector import Selector
from remit.core.table import TOOL_TABLE, Row, Stored, Wanted
from remit.core.views import ServerView

__all__ = ["judge_missing"]

_HOLDS = {LockRow.HOLD_NOT_LOCKED: HoldReason.NOT_IN_LOCK, LockRow.HOLD_NOT_OFFERED: HoldReason.UNLIKE_LOCK}


@dataclass(frozen=True, slots=True)
class _Candidate:
    view: ServerView
    selection: Selection
    pattern: Pattern
    remote_name: RemoteName

    @property
    def key(self) -> tuple[str, str]:
        return self.view.server.name, self.remote_name


def judge_missing(context: AssistantContext, names: KeptNames, outcome: ToolOutcome) -> None:
    """Judge every selected tool that is not attached yet, and name those that can be."""
    attached = {(each.server_id, str(each.remote_name)) for each in context.attachments}
    # What an attachment moves to is as good as attached, and what it comes from is free again only once it has moved.
    attached |= {
        (view.server_id, new)
        for view in context.views.values()
        for old, new in view.moved.items()
        if (view.server_id, old) in attached
    }
    candidates: list[_Candidate] = []
    for selector, view in context.chosen().values():
        candidates += _candidates(context, selector, view, attached, outcome)
        outcome.problems.extend(_idle_globs(context, selector, view))
    granted = claim_all(_claims(context, candidates), _holders(context, names), context.reserved)
    for candidate in candidates:
        given = granted[candidate.key]
        if isinstance(given, AliasClash):
            problem = clash_problem(context, candidate.view, candidate.remote_name, given, candidate.selection)
            outcome.problems.append(problem)
        else:
            attach = _attach(context, candidate, given, outcome)
            outcome.operations.append(attach)
            outcome.require(context.name, attach.envelope.required_permission, address_of(attach))


def _candidates(
    context: AssistantContext,
    selector: Selector,
    view: ServerView,
    attached: Collection[tuple[ServerId, str]],
    outcome: ToolOutcome,
) -> Iterator[_Candidate]:
    for remote_name in selector.names_among({**view.tools, **context.locked(view)}):
        pattern = selector.pattern_for(remote_name)
        if pattern is None or (view.server_id, remote_name) in attached:
            continue
        match TOOL_TABLE[Wanted.SELECTED, Stored.ABSENT, view.seen(remote_name, None)]:
            case Row.ATTACH:
                yield _Candidate(view, selector.selection, pattern, RemoteName(remote_name))
            case Row.NOT_ADVERTISED:
                outcome.problems.append(_not_advertised(view, remote_name, pattern.source))
            case Row.UNUSABLE:
                outcome.problems.append(_unusable(view, remote_name, pattern.source))
            case _:
                outcome.deferred.append(deferral(context, view, remote_name, attached=False))
    if not view.is_listed:
        # Offline the tools are what the lock approves, and a glob that finds some there is as good as spelled out.
        unknown = (glob for glob in selector.globs if not any(glob.matches(name) for name in view.tools))
        outcome.deferred.extend(deferral(context, view, glob.text, attached=False) for glob in unknown)


def _idle_globs(context: AssistantContext, selector: Selector, view: ServerView) -> Iterator[Diagnostic]:
    if not view.is_listed:
        return
    for pattern in selector.globs:
        if not any(pattern.matches(name) for name in view.tools):
            yield Diagnostic(
                code="pattern-matches-nothing",
                severity=Severity.WARNING,
                message=f"{pattern.text!r} matches no tool that {view.server.name} lists",
                address=assistant_address(context.name),
                source=pattern.source,
                hint=f"run `remit discover {view.server.name}` to see the names",
            )


def _claims(context: AssistantContext, candidates: Iterable[_Candidate]) -> Iterator[Claim]:
    for each in candidates:
        alias = each.selection.aliases.get(each.remote_name)
        locked = context.locked(each.view).get(each.remote_name)
        yield Claim(
            key=each.key,
            origin=origin_of_tool(context, each.view, each.remote_name),
            namespace=each.view.server.namespace,
            explicit=None if alias is None else ProviderName(alias.provider_name),
            computed=each.view.aliases[each.remote_name],
            locked=None if locked is None else locked.alias,
        )


def _holders(context: AssistantContext, names: KeptNames) -> dict[str, str]:
    by_name = {each.provider_name: each for each in context.attachments}
    kept = {final: origin_of_attachment(context, by_name[old]) for old, final in names.final.items()}
    return {**context.untouchable, **kept}


def _attach(
    context: AssistantContext, candidate: _Candidate, provider_name: ProviderName, outcome: ToolOutcome
) -> Attach:
    view, remote_name = candidate.view, candidate.remote_name
    live, locked = view.tools[remote_name].definition, context.locked(view).get(remote_name)
    definition = live if locked is None else locked.definition
    envelope = view.envelope(remote_name, context.desired)
    by_name = candidate.pattern.text == remote_name
    attach = Attach(
        tool=ToolRef(
            assistant=context.name,
            server=view.server.name,
            server_id=view.server_id,
            remote_name=remote_name,
            provider_name=provider_name,
            canonical_id=canonical_id_of(view.server_id, remote_name),
        ),
        definition=definition,
        envelope=envelope,
        origin=Origin.FILE if by_name or locked is not None else Origin.LIVE,
        reason=Reason.SELECTED_BY_NAME if by_name else Reason.SELECTED_BY_GLOB,
        risks=attach_risks(definition, envelope),
        source=candidate.pattern.source,
    )
    if context.lock is not None:
        why = _HOLDS.get(lock_row(None, locked, live))
        outcome.lock_holds.update({} if why is None else {attach.tool.key: why})
    return attach


def _not_advertised(view: ServerView, remote_name: str, source: Source) -> Diagnostic:
    near = nearest(remote_name, view.tools)
    return Diagnostic(
        code="tool-not-advertised",
        message=f"{view.server.name} lists no tool {remote_name!r}",
        address=tool_address(view.server.name, remote_name),
        source=source,
        hint=f"did you mean {near!r}?" if near else f"run `remit discover {view.server.name}` to see the names",
    )


def _unusable(view: ServerView, remote_name: str, source: Source) -> Diagnostic:
    quarantine = view.quarantined[remote_name]
    return Diagnostic(
        code="tool-quarantined",
        message=f"{view.server.name} lists {remote_name!r} in a form that cannot be used: {quarantine.detail}",
        address=tool_address(view.server.name, remote_name),
        source=source,
        hint="it has to be mended on the server; leave it out of `include` until then",
    )
