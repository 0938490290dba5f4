"""Apply: what was reviewed, in one transaction under the workspace lock, or nothing.

Plans again inside the transaction, from what the database says then, and compares with what was approved: a plan digest,
or a saved plan's operations. Decides what runs; core decides what a plan is and store how rows change. Caches are told
after the commit, as the database is the truth and a cache that was told too early would read the old rows again.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never, cast

from remit.core.binding import Binding, Leave, binding_after, environment_after, source_after
from remit.core.canonical import JsonObject
from remit.core.contributing import contributors_after, judge_files
from remit.core.desired import Desired, LockUse
from remit.core.diagnostics import Diagnostic
from remit.core.groups import changes_endpoint
from remit.core.identity import ServerId
from remit.core.leases import Lease
from remit.core.live import Listed
from remit.core.matching import Known, Unknown, match_servers
from remit.core.moves import as_declared
from remit.core.operations import (
    Attach,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Operation,
    OpName,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    SetEnvelope,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.plan import SAFEGUARD_CODES, STANDING_VETOES, Plan
from remit.core.planner import PlanRequest
from remit.core.ports import AppliedRecord, CacheInvalidation, Failure, Store, WorkspaceTransaction
from remit.core.protection import judge_handed_over
from remit.core.recorded import Recorded, WorkspaceRecord
from remit.core.report import DiscoveryLine, PlanReport
from remit.core.safeguards import judge_outcome
from remit.errors import PlanStale
from remit.reconcile.done import DoneCheck
from remit.reconcile.planning import Surroundings, make_report
from remit.reconcile.saved import Chosen, allowed_detaches, choose
from remit.render.document import plan_document
from remit.render.shapes import PlanDocument, SummaryDocument

__all__ = ["Applied", "AppliedBy", "ApprovedDigest", "ApprovedPlan", "Inputs", "Planned", "apply", "choose_approved"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a plan is made from, apart from the recorded state, which the transaction reads itself."""

    desired: Desired
    discovery: tuple[DiscoveryLine, ...]
    request: PlanRequest
    surroundings: Surroundings

    def plan_from(self, recorded: Recorded) -> "Planned":
        """The plan that comes out of these inputs and a recorded state."""
        report = make_report(self.desired, recorded, self.discovery, self.request, self.surroundings)
        return Planned(inputs=self, recorded=recorded, report=report, document=plan_document(report))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with everything it was made from."""

    inputs: Inputs
    recorded: Recorded
    report: PlanReport
    document: PlanDocument

    def made_from(self, recorded: Recorded) -> "Planned":
        """The plan for another recorded state; this one where the state is the same, as planning is a function."""
        return self if recorded == self.recorded else self.inputs.plan_from(recorded)


@dataclass(frozen=True, slots=True)
class ApprovedDigest:
    """Somebody saw the plan with this digest and said yes to it."""

    digest: str


@dataclass(frozen=True, slots=True)
class ApprovedPlan:
    """Somebody reviewed this saved plan."""

    document: PlanDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedBy:
    """Who applies, when, and from which git commit, if it is known."""

    actor: str
    at: datetime
    commit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """How an apply ended. `vetoes` non-empty: nothing was done. `serial` is None where nothing changed.

    `binding` is what the workspace is applied for and from now, where this apply changed that.
    """

    plan: Plan
    done: tuple[Operation, ...]
    already_done: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    vetoes: tuple[Diagnostic, ...] = ()
    serial: int | None = None
    binding: Binding | None = None

    @property
    def has_changed(self) -> bool:
        """Whether anything is otherwise than before."""
        moved = self.serial is not None and self.plan.moved_workspace is not None
        return bool(self.done) or moved or self.binding is not None


def apply(
    store: Store,
    before: Planned,
    approval: ApprovedDigest | ApprovedPlan,
    *,
    by: AppliedBy,
    lock_timeout: float,
    caches: CacheInvalidation,
    lease: Lease | None = None,
) -> Applied:
    """Carry out what was approved of the plan that was made `before` the lock was had; a watch does so under its `lease`.

    Raises PlanStale, WorkspaceBusy or another StoreError; then nothing was done.
    """
    desired = before.inputs.desired
    with store.workspace(desired.workspace, owner=desired.owner, lock_timeout=lock_timeout, lease=lease) as transaction:
        planned = before.made_from(transaction.recorded())
        plan = planned.report.plan
        chosen = choose_approved(approval, planned)
        vetoes = _vetoes(approval, chosen.operations, planned)
        if vetoes:
            return Applied(plan=plan, done=(), vetoes=vetoes)
        if plan.moved_workspace is not None:
            transaction.move_workspace(plan.moved_workspace.name)
        failures = transaction.execute(chosen.operations)
        _keep_listings(transaction, planned, chosen.operations)
        document = _approved_document(approval, planned, chosen)
        binding = _binding(planned)
        changed = bool(chosen.operations) or plan.moved_workspace is not None or binding is not None
        serial = _keep_history(transaction, failures, document, by, _beside(plan, binding)) if changed else None
        if (files := _files_to_keep(planned)) is not None:
            transaction.keep_files(files)
        if _first_lock(planned):
            transaction.note_lock()
        _bind(transaction, planned)
    _invalidate(caches, desired.owner, chosen.operations)
    failed = {each.assistant for each in failures}
    return Applied(
        plan=plan,
        done=tuple(each for each in chosen.operations if _assistant_of(each) not in failed),
        already_done=chosen.done,
        extra=chosen.extra,
        failures=failures,
        serial=serial,
        binding=binding,
    )


def choose_approved(approval: ApprovedDigest | ApprovedPlan, planned: Planned) -> Chosen:
    """What of a plan was approved and still is to do. Raises PlanStale where the approval was for something else."""
    match approval:
        case ApprovedDigest(digest=digest):
            if planned.document["digest"] != digest:
                raise PlanStale(
                    "the plan that comes out now is not the one that was approved",
                    hint="the files, the database or a server changed meanwhile; look at `remit plan` again",
                )
            return Chosen(operations=planned.report.plan.operations, done=(), extra=())
        case ApprovedPlan(document=saved):
            desired = planned.inputs.desired
            _check_move(saved, planned)
            recorded = as_declared(desired, planned.recorded)
            check = DoneCheck(recorded, workspace=desired.workspace, owner=desired.owner)
            return choose(saved, planned.report.plan.operations, check.is_done)


def _check_move(saved: PlanDocument, planned: Planned) -> None:
    """Refuse to take a workspace over that nobody reviewed, or with more or less in it. The line of its entry may move."""
    moved = planned.document["moved_workspace"]
    reviewed = saved["moved_workspace"]
    if moved is not None and (reviewed is None or {**reviewed, "source": None} != {**moved, "source": None}):
        raise PlanStale(
            f"the workspace moves from {moved['name']!r} now, which nobody reviewed as it is",
            hint="save and review a new plan",
        )


def _vetoes(
    approval: ApprovedDigest | ApprovedPlan, chosen: Sequence[Operation], planned: Planned
) -> tuple[Diagnostic, ...]:
    allowed = planned.inputs.request.allow_detach
    if isinstance(approval, ApprovedPlan) and not _was_refused(approval.document):
        # Its reviewers saw these detaches; only the ones that are still to do are left to count.
        reviewed = sum(isinstance(each, Detach) for each in chosen)
        allowed = reviewed if reviewed <= allowed_detaches(approval.document) else allowed
    outcome = [*judge_outcome(chosen, planned.inputs.desired, planned.recorded, allowed)]
    outcome += judge_handed_over(chosen) if planned.report.plan.moved_workspace is not None else ()
    standing = [each for each in planned.report.plan.problems if each.code in STANDING_VETOES]
    return (*outcome, *_lost_files(approval, chosen, planned), *standing)


def _lost_files(
    approval: ApprovedDigest | ApprovedPlan, chosen: Sequence[Operation], planned: Planned
) -> tuple[Diagnostic, ...]:
    if isinstance(approval, ApprovedPlan) and not _was_refused(approval.document):
        # Its reviewers saw what it takes back, and nothing else runs.
        return ()
    inputs, held = planned.inputs, planned.report.plan.held
    due = [*chosen, *(each.operation for each in held)]
    recorded = as_declared(inputs.desired, planned.recorded)
    return judge_files(due, inputs.desired, recorded, inputs.request.allow_missing)


def _bind(transaction: WorkspaceTransaction, planned: Planned) -> None:
    """Write down what the workspace is applied from and for, from now on."""
    if (environment := environment_after(_record(planned), planned.inputs.desired.environment)) is not None:
        transaction.note_environment(environment)
    binds, source = _source(planned)
    if binds:
        transaction.bind(source)


def _binding(planned: Planned) -> Binding | None:
    return binding_after(_record(planned), planned.inputs.desired.environment, _source(planned))


def _record(planned: Planned) -> WorkspaceRecord | None:
    desired = planned.inputs.desired
    return as_declared(desired, planned.recorded).workspaces.get(desired.workspace)


def _source(planned: Planned) -> tuple[bool, str | None]:
    surroundings = planned.inputs.surroundings
    if surroundings.provenance is None:
        return False, None
    return source_after(_record(planned), surroundings.provenance.source, surroundings.leave or Leave())


def _first_lock(planned: Planned) -> bool:
    """Whether a lock is in force that the database does not know of."""
    inputs = planned.inputs
    known = planned.recorded.workspaces.get(inputs.desired.workspace)
    in_force = inputs.request.lock is not None and inputs.desired.lock is LockUse.FILE
    return in_force and (known is None or not known.lock_used)


def _files_to_keep(planned: Planned) -> tuple[str, ...] | None:
    inputs = planned.inputs
    return contributors_after(inputs.desired, planned.recorded, scoped=inputs.request.scope is not None)


def _was_refused(document: PlanDocument) -> bool:
    return any(problem["code"] in SAFEGUARD_CODES for problem in document["problems"])


def _keep_listings(transaction: WorkspaceTransaction, planned: Planned, operations: Sequence[Operation]) -> None:
    """Keep each listing that was asked for now with its registration, unless it is of an endpoint that was not adopted."""
    inputs = planned.inputs
    unadopted = {
        each.server_id
        for each in (*planned.report.plan.operations, *(held.operation for held in planned.report.plan.held))
        if isinstance(each, UpdateServer | RenameServer) and changes_endpoint(each) and each not in operations
    }
    after = _registered_after(planned.recorded, inputs.desired, operations)
    for line in inputs.discovery:
        server_id = after.get(line.server)
        if server_id is None or server_id in unadopted or line.cached:
            continue
        if isinstance(line.observation, Listed):
            transaction.keep_listing(server_id, line.observation)


def _registered_after(recorded: Recorded, desired: Desired, operations: Sequence[Operation]) -> dict[str, ServerId]:
    registered = {each.server_id for each in operations if isinstance(each, RegisterServer)}
    ids: dict[str, ServerId] = {}
    for name, match in match_servers(desired, recorded).matches.items():
        match match:
            case Known(registration=registration):
                ids[name] = registration.server_id
            case Unknown(server_id=server_id) if server_id in registered:
                ids[name] = server_id
            case _:
                pass
    return ids


def _approved_document(approval: ApprovedDigest | ApprovedPlan, planned: Planned, chosen: Chosen) -> PlanDocument:
    """The plan that history keeps: the one that was approved, its summary counting what of it ran now."""
    document = planned.document if isinstance(approval, ApprovedDigest) else approval.document
    ran = Counter(each.op.value for each in chosen.operations)
    summary = {**document["summary"], **{op.value: ran[op.value] for op in OpName}}
    return {**document, "summary": cast("SummaryDocument", summary)}


def _beside(plan: Plan, binding: Binding | None) -> JsonObject:
    moved = {} if plan.moved_workspace is None else {"moved_from": plan.moved_workspace.name}
    return {**moved, **({} if binding is None else binding.news)}


def _keep_history(
    transaction: WorkspaceTransaction,
    failures: Sequence[Failure],
    document: PlanDocument,
    by: AppliedBy,
    beside: JsonObject,
) -> int:
    return transaction.keep_apply(
        AppliedRecord(
            actor=by.actor,
            at=by.at,
            commit=by.commit,
            digest=document["digest"],
            outcome="partly applied" if failures else "applied",
            plan=cast("JsonObject", document),
            beside=beside,
        )
    )


def _invalidate(caches: CacheInvalidation, owner: str, operations: Sequence[Operation]) -> None:
    assistants = sorted({name for each in operations if (name := _assistant_of(each)) is not None})
    if not assistants:
        return
    try:
        caches.assistants_changed(owner, assistants)
    except Exception:  # noqa: BLE001 (a cache may fail in any way; the commit stands)
        # The rows are committed; whoever cached them checks the revision at the next load.
        _log.exception("caches of %d assistants could not be invalidated", len(assistants))


def _assistant_of(operation: Operation) -> str | None:
    match operation:
        case Attach() | Detach() | Refresh() | SetEnvelope() | RenameAlias():
            return operation.tool.assistant
        case CreateAssistant() | UpdateAssistant() | DeleteAssistant():
            return operation.name_after if isinstance(operation, UpdateAssistant) else operation.assistant
        case RegisterServer() | UpdateServer() | RenameServer() | UnregisterServer():
            return None
        case _:
            assert_never(operation)
