"""`remit plan`: show what apply would do. Writes nothing, to no database."""

import shlex
from pathlib import Path

import click

from remit.app import host_of
from remit.cli.links import refuse_links_in_pipelines
from remit.cli.next_steps import file_flag, flags_again, leave_again
from remit.cli.options import format_choice, plan_options
from remit.cli.outcomes import forget_summary, plan_outcome, show, write_summary
from remit.cli.session import PlanFlags, open_session
from remit.config.file_set import FileSet
from remit.core.binding import Leave
from remit.reconcile.outcome import plan_exit
from remit.reconcile.saved import check_target, write_plan
from remit.render.document import plan_document

__all__ = ["command"]


@click.command(name="plan")
@format_choice("text", "json", "markdown", "github")
@plan_options
@click.option(
    "--offline", is_flag=True, help="Ask no server: plan from the lock, as if every server offered what it has."
)
@click.option(
    "--untrusted",
    is_flag=True,
    help="For pull requests: run, read and send nothing that was not applied before; defer the rest.",
)
def command(
    *,
    config: FileSet,
    form: str,
    summary: Path | None,
    out: Path | None,
    detailed_exitcode: bool,
    refresh: str,
    servers: tuple[str, ...],
    accept: tuple[str, ...],
    allow_detach: int | None,
    allow_empty: tuple[str, ...],
    allow_missing: tuple[str, ...],
    offline: bool,
    untrusted: bool,
    rebind: bool,
    change_env: bool,
    allow_older_commit: bool,
    require_complete: bool,
    no_color: bool,
) -> None:
    """Compare mcp.yaml with what the servers advertise now and with the database, tool by tool.

    Exit codes: 0 fine (changes and held live changes included), 2 changes or held (--detailed-exitcode), 3 refused by a
    safeguard or a held file operation, 4 incomplete, 1 error.
    """
    if offline and (refresh != "live" or allow_empty):
        raise click.UsageError("--offline asks no server; leave out --refresh and --allow-empty")
    if untrusted and (offline or refresh != "live"):
        raise click.UsageError("--untrusted decides itself which servers are asked; leave out --offline and --refresh")
    forget_summary(summary)
    if out is not None:
        check_target(out)
    if offline:
        refuse_links_in_pipelines(config, host_of().environ)
    session = open_session(config, colour=not no_color, annotate=form == "github", untrusted=untrusted)
    flags = PlanFlags.of(
        refresh=refresh,
        servers=servers,
        accept=accept,
        allow_detach=allow_detach,
        allow_empty=allow_empty,
        allow_missing=allow_missing,
        leave=Leave(rebind=rebind, older_commit=allow_older_commit, environment=change_env),
        offline=offline,
        untrusted=untrusted,
    )
    discovery = session.discovery(flags, attach_from_cache=True)
    report = session.report(discovery, session.request(flags), session.surroundings(flags))
    document = plan_document(report)
    if session.store is None and not session.database.exists():
        session.terminal.note(
            f"no database at {session.database} yet: planned from nothing; `remit apply` needs --create-db or "
            "`remit db upgrade` first, or set REMIT_DATABASE_URL to the right one"
        )
    saved = out is not None and (report.plan.complete or not require_complete)
    if out is not None and saved:
        write_plan(out, document)
        session.terminal.note(f"saved as {out}")
    elif out is not None:
        session.terminal.note(f"not saved as {out}: the plan is incomplete and --require-complete was given")
    outcome = plan_outcome(document)
    show(outcome, form, session.host.environ, session.terminal)
    if form == "text" and not (offline or untrusted) and report.plan.has_changes and not report.plan.vetoes:
        again = [f" {shlex.quote(str(out))}", *leave_again(flags)] if saved else flags_again(flags, accept)
        session.terminal.note(f"next: remit apply{''.join(again)}{file_flag(config)}")
    write_summary(summary, outcome.summary)
    raise click.exceptions.Exit(plan_exit(report.plan, detailed=detailed_exitcode, untrusted=untrusted))
