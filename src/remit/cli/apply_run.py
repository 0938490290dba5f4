"""One run of `remit apply`, step by step: show, ask, carry out, report.

Decides what counts as an approval (a saved plan, a digest, a person's yes, `--auto-approve` for what the file asks for) and
what the run ends with. What is held needs an acceptance of its own: `--auto-approve` never gives one.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from remit.app import NoCaches
from remit.cli.applied import applied_document, applied_text, is_told_by_plan
from remit.cli.outcomes import apply_outcome, forget_summary, publish_to_github, write_summary
from remit.cli.session import PlanFlags, Session, open_session
from remit.config.file_set import FileSet
from remit.core.acceptance import acceptance_of
from remit.core.operations import Attach, Origin, Refresh
from remit.core.plan import HoldReason, Plan
from remit.core.planner import PlanRequest
from remit.core.ports import Store
from remit.core.report import DiscoveryLine
from remit.errors import NotApproved, OutputUnwritable, PlanStale, UsageError
from remit.reconcile.applying import (
    Applied,
    AppliedBy,
    ApprovedDigest,
    ApprovedPlan,
    Inputs,
    Planned,
    apply,
    choose_approved,
)
from remit.reconcile.outcome import ExitCode, first_of, plan_exit
from remit.reconcile.planning import Surroundings, check_acceptances
from remit.reconcile.saved import acceptances_of, check_target, read_plan, write_plan
from remit.render.diagnostics import diagnostics_text
from remit.render.escape import escape_terminal
from remit.render.layout import counted
from remit.render.plan_text import plan_text
from remit.render.shapes import PlanDocument

__all__ = ["ApplyFlags", "run_apply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyFlags:
    """The flags of apply beside those that shape its plan. `lock_timeout` is in seconds."""

    plan: Path | None
    form: str
    summary: Path | None
    out: Path | None
    detailed: bool
    require_complete: bool
    auto_approve: bool
    approve_digest: str | None
    create_db: bool
    lock_timeout: float
    colour: bool


@dataclass(frozen=True, slots=True)
class _Run:
    session: Session
    flags: ApplyFlags
    discovery: tuple[DiscoveryLine, ...]
    surroundings: Surroundings

    def inputs(self, request: PlanRequest) -> Inputs:
        return Inputs(
            desired=self.session.desired, discovery=self.discovery, request=request, surroundings=self.surroundings
        )

    def plan(self, request: PlanRequest) -> Planned:
        return self.inputs(request).plan_from(self.session.recorded)


def run_apply(config: FileSet, plan_flags: PlanFlags, flags: ApplyFlags) -> ExitCode:
    """Run apply and give its exit code. Raises RemitError where nothing was done."""
    forget_summary(flags.summary)
    saved = None if flags.plan is None else read_plan(flags.plan)
    if flags.out is not None:
        check_target(flags.out)
    session = open_session(config, colour=flags.colour, annotate=flags.form == "github")
    if saved is not None:
        _require_environment(session, saved)
    _require_database(session, flags)
    discovery = session.discovery(plan_flags, attach_from_cache=False)
    run = _Run(session, flags, discovery, session.surroundings(plan_flags))
    request = session.request(plan_flags)
    if saved is not None:
        return _apply_saved(run, request, saved)
    return _apply_fresh(run, request)


def _require_environment(session: Session, saved: PlanDocument) -> None:
    """Refuse a plan of one environment for another: what comes out would be called stale, and nobody would see why."""
    if saved["environment"] != session.desired.environment:
        made = saved["environment"]
        raise UsageError(
            "the plan was made without an environment"
            if made is None
            else f"the plan was made for environment {made!r}",
            place="--env",
            hint="leave out --env"
            if made is None
            else f"pass --env {made}, or make a plan for the environment that is meant",
        )


def _require_database(session: Session, flags: ApplyFlags) -> None:
    """Refuse early where nobody allows a new database: a forgotten URL in CI must not plan everything anew.

    A person who will be asked about a plan made now says yes to both at once.
    """
    if session.store is not None or flags.create_db:
        return
    reviewed = flags.plan is not None or flags.approve_digest is not None
    if flags.auto_approve or not session.terminal.interactive:
        session.existing_store()
    elif reviewed and not session.terminal.ask(f"There is no database at {session.database}. Create it?"):
        raise NotApproved("not approved; nothing was done")


# --- a saved plan ------------------------------------------------------------------------------------------------------


def _apply_saved(run: _Run, request: PlanRequest, saved: PlanDocument) -> ExitCode:
    planned = run.plan(replace(request, accept=(*request.accept, *acceptances_of(saved))))
    # Looked at before the lock too: a stale plan is stale whoever holds the workspace.
    choose_approved(ApprovedPlan(saved), planned)
    if run.flags.require_complete and not planned.report.plan.complete:
        return _incomplete(run, planned)
    return _carry_out(run, planned, ApprovedPlan(saved))


# --- a plan made now ---------------------------------------------------------------------------------------------------


def _apply_fresh(run: _Run, request: PlanRequest) -> ExitCode:
    planned = run.plan(request)
    plan = planned.report.plan
    check_acceptances(request.accept, plan, run.session.desired, planned.recorded, run.discovery)
    _show(run, planned.document)
    if plan.vetoes or _is_strangers(planned):
        _refuse(run, planned)
        return plan_exit(plan, detailed=False)
    if run.flags.require_complete and not plan.complete:
        return _incomplete(run, planned)
    approved = _approve(run, planned)
    if run.session.store is None and not (approved.report.plan.has_changes or run.flags.create_db):
        # Nothing to do is no leave to create a database.
        _tell(run, planned.document, Applied(plan=plan, done=()))
        _publish(run, planned.document, None)
        return plan_exit(plan, detailed=run.flags.detailed)
    if run.flags.out is not None:
        write_plan(run.flags.out, approved.document)
    return _carry_out(run, approved, ApprovedDigest(approved.document["digest"]))


def _is_strangers(planned: Planned) -> bool:
    """Whether the workspace is recorded for another owner, so that not even a listing may be kept."""
    desired = planned.inputs.desired
    record = planned.recorded.workspaces.get(desired.workspace)
    return record is not None and record.owner != desired.owner


def _refuse(run: _Run, planned: Planned) -> None:
    """Tell a pipeline that nothing was tried; a person saw why in the plan."""
    if run.flags.form == "json":
        plan = planned.report.plan
        run.session.terminal.document(applied_document(Applied(plan=plan, done=(), vetoes=plan.vetoes)))
    _publish(run, planned.document, None)


def _show(run: _Run, document: PlanDocument) -> None:
    terminal = run.session.terminal
    if run.flags.form != "text":
        terminal.note(plan_text(document, colour=terminal.error_colour, width=terminal.width))
    else:
        terminal.result(plan_text(document, colour=terminal.colour, width=terminal.width))


def _approve(run: _Run, planned: Planned) -> Planned:
    """The plan as it was approved. Raises NotApproved, or PlanStale where another digest was approved."""
    flags, terminal, plan, digest = run.flags, run.session.terminal, planned.report.plan, planned.document["digest"]
    if flags.approve_digest is not None:
        if flags.approve_digest != digest:
            raise PlanStale(
                f"the plan that comes out is {digest}, not the approved {flags.approve_digest}",
                hint="look at the plan above; approve its digest, or find out what changed",
            )
        return planned
    if flags.auto_approve or not (plan.has_changes or plan.held):
        return planned
    if not terminal.interactive:
        raise NotApproved(
            "nobody is there to approve this plan",
            hint="run `remit plan --out plan.json` and `remit apply plan.json`, or pass --approve-digest or --auto-approve",
        )
    if plan.has_changes and not terminal.ask(_question(run, plan)):
        raise NotApproved("not approved; nothing was done")
    return _accept_held(run, planned)


def _question(run: _Run, plan: Plan) -> str:
    creating = f" This creates the database {run.session.database}." if run.session.store is None else ""
    moving = "" if plan.moved_workspace is None else f"Move workspace {escape_terminal(plan.moved_workspace.name)}? "
    return f"{moving}Apply {counted(len(plan.operations), 'operation')}?{creating}"


def _accept_held(run: _Run, planned: Planned) -> Planned:
    """Ask apart for what the servers said: a yes to the file's operations is none to theirs."""
    if run.session.lock is not None:
        # What it holds is accepted by its review, and by nobody at a prompt.
        return planned
    held = [each for each in planned.report.plan.held if isinstance(each.operation, Attach | Refresh)]
    waiting = [each.operation for each in held if HoldReason.FINDING not in each.because]
    if len(waiting) < len(held):
        run.session.terminal.note(
            f"{len(held) - len(waiting)} held with a finding in their text: no part of this; pass the --accept of each"
        )
    changes = "change" if len(waiting) == 1 else "changes"
    if not waiting or not run.session.terminal.ask(f"Also accept the {len(waiting)} held {changes} shown above?"):
        return planned
    request = planned.inputs.request
    return run.plan(
        replace(
            request,
            accept=(*request.accept, *(acceptance_of(each) for each in waiting if isinstance(each, Attach | Refresh))),
        )
    )


# --- carrying out ------------------------------------------------------------------------------------------------------


def _carry_out(run: _Run, planned: Planned, approval: ApprovedDigest | ApprovedPlan) -> ExitCode:
    session, flags = run.session, run.flags
    applied = apply(
        _store(run),
        planned,
        approval,
        by=AppliedBy(actor=session.host.actor(), at=session.host.clock(), commit=run.surroundings.commit),
        lock_timeout=flags.lock_timeout,
        caches=NoCaches(),
    )
    try:
        _tell(run, planned.document, applied)
        _publish(run, planned.document, applied)
    except OutputUnwritable:
        # Exit code 1 would say that nothing was done.
        session.terminal.note("the outcome cannot be written; what was done stands, `remit plan` shows the rest")
    return _exit(applied, detailed=flags.detailed)


def _store(run: _Run) -> Store:
    if run.session.store is not None:
        return run.session.store
    run.session.database.create_or_upgrade()
    return run.session.database.open()


def _tell(run: _Run, document: PlanDocument, applied: Applied) -> None:
    terminal = run.session.terminal
    shown = run.flags.plan is None and is_told_by_plan(applied)
    if applied.vetoes:
        terminal.note(diagnostics_text(applied.vetoes, colour=terminal.error_colour))
    if run.flags.form == "json":
        terminal.document(applied_document(applied))
    elif shown:
        # The last line of the plan above said so.
        return
    elif run.flags.form == "github":
        terminal.note(applied_text(applied, document))
    else:
        terminal.result(applied_text(applied, document))


def _publish(run: _Run, document: PlanDocument, applied: Applied | None) -> None:
    """Tell the pipeline how it ended; `applied` is None where nothing was tried."""
    flags = run.flags
    outcome = apply_outcome(document, applied)
    if flags.form == "github":
        publish_to_github(outcome, run.session.host.environ, run.session.terminal)
    write_summary(flags.summary, outcome.summary)


def _exit(applied: Applied, *, detailed: bool) -> ExitCode:
    plan = applied.plan
    if applied.vetoes:
        return ExitCode.REFUSED
    held_file = any(held.operation.origin is Origin.FILE for held in plan.held)
    refused = ExitCode.REFUSED if held_file else ExitCode.OK
    incomplete = ExitCode.INCOMPLETE if applied.failures or not plan.complete else ExitCode.OK
    changed = ExitCode.CHANGES if detailed and (applied.has_changed or plan.held) else ExitCode.OK
    return first_of(refused, incomplete, changed)


def _incomplete(run: _Run, planned: Planned) -> ExitCode:
    plan = planned.report.plan
    _refuse(run, planned)
    run.session.terminal.note("nothing was done: the plan is incomplete and --require-complete was given")
    return first_of(plan_exit(plan, detailed=False), ExitCode.INCOMPLETE)
