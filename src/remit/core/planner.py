"""From three states to a plan: `make_plan(desired, recorded, live, request)`.

Puts the judgements together in one order: match servers, judge registrations, judge every assistant's tools, decide what
may run, look at the outcome. The result depends on its arguments alone, not on the order in which they list things.
What it does not decide: how states are read, and how operations are carried out. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from remit.core.acceptance import Acceptance, Unsettled, settle
from remit.core.addresses import address_of, tool_address
from remit.core.aliases import folded_reserved
from remit.core.assistant_context import AssistantContext, ToolOutcome
from remit.core.assistants import judge_assistants
from remit.core.contributing import judge_files
from remit.core.desired import Desired, DesiredAssistant, LockUse
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.identity import ServerId
from remit.core.kept import judge_attachments
from remit.core.live import Listed, Live, Skipped, SkipReason
from remit.core.lock import Lock, LockedByServer, for_environment
from remit.core.matching import Known, Matching, Unknown, match_servers
from remit.core.missing import judge_missing
from remit.core.moves import Moves, done_notes, occupied_tools, resolve_moves
from remit.core.near_subjects import gone_subjects
from remit.core.operations import (
    FROM_THE_ROWS,
    Attach,
    Detach,
    Operation,
    OpName,
    Reason,
    Refresh,
    UpdateAssistant,
)
from remit.core.ownership import released_workspace
from remit.core.permissions import judge_permissions
from remit.core.plan import LOCK_MISSING, SAFEGUARD_CODES, Plan, Unmanaged
from remit.core.ports import DefinitionDiff
from remit.core.protection import judge_handed_over
from remit.core.recorded import Recorded, RecordedAttachment
from remit.core.removals import is_released, removal_problems
from remit.core.safeguards import judge_outcome
from remit.core.selector import Selector
from remit.core.servers import judge_servers
from remit.core.subjects import Subject, WorkspaceSubject
from remit.core.suggestions import rename_notes
from remit.core.views import ServerView, as_locked, view_of

__all__ = ["PlanRequest", "make_plan", "refusals_of", "with_problems"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What comes with a plan beside the three states.

    `accept` lets live operations through, `allow_detach` is the exact number of detaches that was agreed to, `scope` the
    server names that the plan is limited to (None: all), `lock` what was approved where a lock is kept: a server that was
    left alone on purpose (`live.AS_LOCKED`) counts as offering that. `allow_missing` names files that may be gone.
    """

    diff: DefinitionDiff
    accept: tuple[Acceptance, ...] = ()
    allow_detach: int | None = None
    scope: frozenset[str] | None = None
    lock: Lock | None = None
    allow_missing: frozenset[str] = frozenset()


def make_plan(desired: Desired, recorded: Recorded, live: Live, request: PlanRequest) -> Plan:
    """Compare the three states. `live` has an observation for every declared server."""
    moves = resolve_moves(desired, recorded)
    matching = match_servers(desired, recorded, moves)
    if refusals := refusals_of(desired, moves, matching):
        return _refused(desired, moves.recorded, refusals)
    return _planned(desired, moves, matching, live, request)


def refusals_of(desired: Desired, moves: Moves, matching: Matching) -> tuple[Diagnostic, ...]:
    """Why nothing at all can be planned: whose the workspace is, and what of `moved` cannot be followed."""
    return (
        *_foreign_workspace(desired, moves.recorded),
        *moves.problems,
        *occupied_tools(desired, moves.recorded, _declared_names(matching)),
    )


def _planned(desired: Desired, moves: Moves, matching: Matching, live: Live, request: PlanRequest) -> Plan:
    recorded = moves.recorded
    servers = judge_servers(desired, recorded, matching, request.scope, moves)
    views = _views(desired, matching, moves, live, servers.blocked, request.scope)
    tools = ToolOutcome()
    contexts = tuple(_contexts(desired, recorded, matching, views, request))
    for context in contexts:
        names = judge_attachments(context, tools)
        judge_missing(context, names, tools)
    attaching = frozenset(each.tool.assistant for each in tools.operations if isinstance(each, Attach))
    keeping = frozenset(context.name for context in contexts if context.protected)
    needed = None if request.scope is None else attaching
    released = frozenset(
        each.tool.assistant for each in tools.operations if isinstance(each, Refresh) and each.reason is Reason.RELEASED
    )
    assistants = judge_assistants(desired, recorded, keeping, needed, moves.assistants, released)
    lock_missing = tuple(_missing_lock(desired, recorded, request))
    settled = settle(
        [*servers.operations, *tools.operations, *assistants],
        request.accept,
        Unsettled(
            drifted={*(each.address for each in tools.drift), *tools.uneasy},
            unchecked=tools.unchecked,
            misnamed=tools.misnamed,
            unlisted={view.server_id for view in views.values() if view.server.enabled and not view.is_listed},
            replaced=_replaced(matching),
            awaited=tools.awaited,
            guarded=tools.guarded,
            lock_holds=None if _lock_in_force(desired, request) is None else tools.lock_holds,
            unlike_lock=tools.unlike_lock,
            lock_missing=bool(lock_missing),
        ),
    )
    problems = [*servers.problems, *tools.problems, *_idle_policies(views.values()), *settled.problems]
    problems += judge_permissions(desired, recorded, tools.requires)
    problems += judge_outcome(settled.operations, desired, recorded, request.allow_detach)
    problems += judge_handed_over(settled.operations) if moves.workspace is not None else ()
    problems += lock_missing
    due = [*settled.operations, *(each.operation for each in settled.held)]
    problems += judge_files(due, desired, recorded, request.allow_missing)
    problems += _remarks(desired, moves, matching, due, settled.operations)
    return Plan(
        workspace=desired.workspace,
        owner=desired.owner,
        operations=tuple(sorted(settled.operations, key=_order)),
        held=tuple(sorted(settled.held, key=lambda each: _order(each.operation))),
        problems=tuple(sorted(problems, key=_problem_order)),
        drift=tuple(sorted(tools.drift)),
        deferred=tuple(sorted(tools.deferred)),
        unmanaged=_unmanaged(desired, recorded),
        unchanged=tools.unchanged,
        complete=_complete(views, tools, problems, locked=_lock_in_force(desired, request) is not None),
        moved_workspace=moves.workspace,
    )


def with_problems(plan: Plan, problems: Iterable[Diagnostic]) -> Plan:
    """The plan with more problems, in their order."""
    more = tuple(problems)
    return replace(plan, problems=tuple(sorted((*plan.problems, *more), key=_problem_order))) if more else plan


def _remarks(
    desired: Desired, moves: Moves, matching: Matching, due: Sequence[Operation], running: Sequence[Operation]
) -> Iterator[Diagnostic]:
    recorded = moves.recorded
    names = {**{each.server_id: each.name for each in recorded.servers}, **_declared_names(matching)}
    let_go = {
        address_of(each)
        for each in due
        if isinstance(each, Detach) or (isinstance(each, Refresh) and each.reason is Reason.RELEASED)
    }
    gone: list[Subject] = [*gone_subjects(running, desired)] if desired.moved or desired.removed else []
    if desired.workspace not in recorded.workspaces:
        others = {name for name, each in recorded.workspaces.items() if each.owner == desired.owner}
        gone += [WorkspaceSubject(name) for name in others - {released_workspace(desired.owner)}]
    yield from done_notes(desired, moves, names, gone)
    yield from removal_problems(desired, recorded, names, let_go, gone)
    yield from rename_notes(due)


def _declared_names(matching: Matching) -> dict[ServerId, str]:
    return {match.registration.server_id: name for name, match in matching.matches.items() if isinstance(match, Known)}


# --- states, arranged --------------------------------------------------------------------------------------------------


def _replaced(matching: Matching) -> dict[ServerId, ServerId]:
    """From registrations that no declaration claims to the other servers, new or renamed, that take their names."""
    successors = {
        name: match.server_id if isinstance(match, Unknown) else match.registration.server_id
        for name, match in matching.matches.items()
        if isinstance(match, Known | Unknown)
    }
    return {each.server_id: successors[each.name] for each in matching.unclaimed if each.name in successors}


def _views(
    desired: Desired,
    matching: Matching,
    moves: Moves,
    live: Live,
    blocked: Iterable[str],
    scope: frozenset[str] | None,
) -> dict[str, ServerView]:
    reserved = _reserved(desired)
    left_out = set(blocked)
    views: dict[str, ServerView] = {}
    for server in desired.servers:
        match = matching.matches[server.name]
        in_scope = scope is None or server.name in scope
        if server.name in left_out or not in_scope or not isinstance(match, Known | Unknown):
            continue
        server_id = match.registration.server_id if isinstance(match, Known) else match.server_id
        observation = live.get(server.name, Skipped(SkipReason.NEVER_LISTED))
        views[server.name] = view_of(server, server_id, observation, reserved, moves.tools.get(server.name))
    return views


def _reserved(desired: Desired) -> frozenset[str]:
    return folded_reserved(desired.reserved_names)


def _contexts(
    desired: Desired,
    recorded: Recorded,
    matching: Matching,
    views: Mapping[str, ServerView],
    request: PlanRequest,
) -> Iterator[AssistantContext]:
    names = {
        **{each.server_id: each.name for each in recorded.servers},
        **{view.server_id: name for name, view in views.items()},
    }
    judged = _judged_servers(matching, views, request.scope)
    declared = {each.name: each for each in desired.assistants}
    own, foreign = _by_assistant(desired, recorded)
    functions = {each.name: each.foreign_functions for each in recorded.assistants if each.owner == desired.owner}
    reserved, lock = _reserved(desired), _lock_in_force(desired, request)
    for name in sorted({*declared, *own}):
        adopted = _adopted(foreign.get(name, ()), declared.get(name), views, desired)
        attachments = [*own.get(name, ()), *adopted]
        others = [each for each in foreign.get(name, ()) if each not in adopted]
        # What goes without being detached keeps its name.
        others += [each for each in attachments if is_released(desired, each, names.get(each.server_id, ""))]
        locked = None if lock is None else lock.of_assistant(name)
        yield AssistantContext(
            desired=desired,
            assistant=declared.get(name),
            name=name,
            attachments=[each for each in attachments if each.server_id in judged],
            protected=[each for each in attachments if each.server_id not in judged],
            overlooked=sum(_is_out_of_scope(names.get(each.server_id), request.scope) for each in attachments),
            views=views if locked is None else _seen_by(views, locked, reserved),
            names=names,
            fixed=_fixed_names(others, functions.get(name, ()), names),
            reserved=reserved,
            diff=request.diff,
            lock=locked,
        )


def _adopted(
    foreign: Iterable[RecordedAttachment],
    assistant: DesiredAssistant | None,
    views: Mapping[str, ServerView],
    desired: Desired,
) -> list[RecordedAttachment]:
    """What was released and the file selects now."""
    released = [each for each in foreign if each.workspace == released_workspace(desired.owner)]
    if not released or assistant is None:
        return []
    wanted = {
        view.server_id: Selector.of(selection)
        for selection in assistant.selections
        if (view := views.get(selection.server)) is not None
    }
    return [
        each for each in released if each.server_id in wanted and wanted[each.server_id].pattern_for(each.remote_name)
    ]


def _lock_in_force(desired: Desired, request: PlanRequest) -> Lock | None:
    return None if desired.lock is LockUse.NONE else request.lock


def _seen_by(
    views: Mapping[str, ServerView], locked: LockedByServer, reserved: frozenset[str]
) -> Mapping[str, ServerView]:
    return {name: as_locked(view, locked.get(name, {}), reserved) for name, view in views.items()}


def _is_out_of_scope(server: str | None, scope: frozenset[str] | None) -> bool:
    return scope is not None and server not in scope


def _judged_servers(
    matching: Matching, views: Mapping[str, ServerView], scope: frozenset[str] | None
) -> frozenset[ServerId]:
    """Servers whose attachments this plan may touch: resolved ones, and those that no file declares any more.

    One whose name a server with a problem is to take serves until that problem is gone.
    """
    gone = (
        each.server_id
        for each in matching.unclaimed
        if (scope is None or each.name in scope) and (each.name in views or each.name not in matching.matches)
    )
    return frozenset((*(view.server_id for view in views.values()), *gone))


_ByAssistant = dict[str, list[RecordedAttachment]]


def _by_assistant(desired: Desired, recorded: Recorded) -> tuple[_ByAssistant, _ByAssistant]:
    own: _ByAssistant = {}
    foreign: _ByAssistant = {}
    for each in recorded.attachments:
        if each.assistant_owner == desired.owner:
            side = own if each.workspace == desired.workspace else foreign
            side.setdefault(each.assistant, []).append(each.with_approved_alias())
    return own, foreign


def _fixed_names(
    foreign: Iterable[RecordedAttachment], functions: Iterable[str], names: Mapping[ServerId, str]
) -> dict[str, str]:
    fixed = dict.fromkeys(functions, "a function that its developer defined")
    for each in foreign:
        tool = tool_address(names.get(each.server_id, each.server_id), each.remote_name)
        fixed[each.provider_name] = f"{tool} of workspace {each.workspace}"
    return fixed


# --- the outcome, arranged ---------------------------------------------------------------------------------------------

_RANK = {
    op: rank
    for rank, op in enumerate(
        (
            OpName.REGISTER_SERVER,
            OpName.UPDATE_SERVER,
            OpName.RENAME_SERVER,
            OpName.CREATE_ASSISTANT,
            OpName.UPDATE_ASSISTANT,
            OpName.DETACH,
            OpName.RENAME_ALIAS,
            OpName.ATTACH,
            OpName.REFRESH,
            OpName.SET_ENVELOPE,
            OpName.DELETE_ASSISTANT,
            OpName.UNREGISTER_SERVER,
        )
    )
}
"""The order in which operations are carried out keeps every constraint at every step (DESIGN.md section 7, apply)."""


_FIRST = frozenset({Reason.MOVED, Reason.ADOPTED})


def _order(operation: Operation) -> tuple[int, str, str, str]:
    # A renamed tool's function is written from its recorded definition, so a damaged one is mended before that.
    op = OpName.DETACH if isinstance(operation, Refresh) and operation.reason in FROM_THE_ROWS else operation.op
    rank = 2 * _RANK[op]
    if isinstance(operation, UpdateAssistant) and operation.reason in _FIRST:
        # Whatever else is done to it is done under its new name, and by its new owner.
        rank = 2 * _RANK[OpName.CREATE_ASSISTANT] + (operation.reason is Reason.ADOPTED)
    elif isinstance(operation, Refresh) and operation.moved_to is not None:
        # The others speak of the tool by the name that it has until then.
        rank = 2 * _RANK[OpName.SET_ENVELOPE] + 1
    return rank, address_of(operation), operation.origin, operation.reason


def _problem_order(problem: Diagnostic) -> tuple[object, ...]:
    severity = (Severity.ERROR, Severity.WARNING, Severity.NOTE).index(problem.severity)
    place = () if problem.source is None else (problem.source,)
    return severity, problem.code not in SAFEGUARD_CODES, problem.address or "", problem.code, problem.message, place


def _idle_policies(views: Iterable[ServerView]) -> Iterator[Diagnostic]:
    for view in views:
        unmatched = sorted(set(view.server.tools) - set(view.tools) - set(view.quarantined)) if view.is_listed else ()
        for name in unmatched:
            yield Diagnostic(
                code="policy-unmatched",
                severity=Severity.WARNING,
                message=f"{view.server.name} lists no tool {name!r}, so its policy holds for nothing",
                address=tool_address(view.server.name, name),
                source=view.server.tools[name].source,
                hint=f"run `remit discover {view.server.name}` to see the names, or remove the entry",
            )


def _complete(
    views: Mapping[str, ServerView], tools: ToolOutcome, problems: Iterable[Diagnostic], *, locked: bool
) -> bool:
    left_alone = {name for name, view in views.items() if locked and view.as_locked}
    listed = all(
        isinstance(view.observation, Listed)
        for name, view in views.items()
        if view.server.enabled and name not in left_alone
    )
    # What the lock does not know of such a server nobody knows.
    listed = listed and not any(each.server in left_alone for each in tools.deferred)
    resolved = all(problem.severity is not Severity.ERROR or problem.code in SAFEGUARD_CODES for problem in problems)
    return listed and resolved


def _unmanaged(desired: Desired, recorded: Recorded) -> Unmanaged:
    return Unmanaged(
        servers=sum(each.workspace != desired.workspace for each in recorded.servers),
        assistants=sum(each.workspace != desired.workspace for each in recorded.assistants),
        attachments=sum(each.workspace != desired.workspace for each in recorded.attachments),
        functions=sum(len(each.foreign_functions) for each in recorded.assistants),
    )


def _foreign_workspace(desired: Desired, recorded: Recorded) -> Iterator[Diagnostic]:
    known = recorded.workspaces.get(desired.workspace)
    if known is None or known.owner == desired.owner:
        return
    yield Diagnostic(
        code="not-owner",
        message=f"workspace {desired.workspace!r} belongs to {known.owner!r}, this file to {desired.owner!r}",
        address=f"workspace.{desired.workspace}",
        hint=f"set `owner: {known.owner}` if that is meant, or choose another `workspace:`",
    )


def _missing_lock(desired: Desired, recorded: Recorded, request: PlanRequest) -> Iterator[Diagnostic]:
    """Refuse to go on without a lock: a lost file would otherwise let in everything that it held back."""
    known = recorded.workspaces.get(desired.workspace)
    if known is not None and known.lock_used and desired.lock is LockUse.FILE and request.lock is None:
        yield Diagnostic(
            code=LOCK_MISSING,
            message="this workspace was applied by a lock before, and there is none now",
            address=f"workspace.{desired.workspace}",
            hint=for_environment(
                "bring the lock file back, write it anew with `remit lock`, or say `lock: none` in the file",
                desired.environment,
            ),
        )


def _refused(desired: Desired, recorded: Recorded, problems: Iterable[Diagnostic]) -> Plan:
    own = sum(each.workspace == desired.workspace for each in recorded.attachments)
    return Plan(
        workspace=desired.workspace,
        owner=desired.owner,
        operations=(),
        held=(),
        problems=tuple(sorted(problems, key=_problem_order)),
        drift=(),
        deferred=(),
        unmanaged=_unmanaged(desired, recorded),
        unchanged=own,
        complete=False,
    )
