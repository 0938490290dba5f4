"""`remit plan`: show what apply would do. Writes nothing, to no database."""

from pathlib import Path

import click

from remit.cli.options import plan_options
from remit.cli.session import PlanFlags, open_session
from remit.reconcile.outcome import plan_exit
from remit.reconcile.saved import write_plan
from remit.render.document import plan_document
from remit.render.plan_text import plan_text

__all__ = ["command"]


@click.command(name="plan")
@plan_options
def command(
    *,
    config: Path,
    form: str,
    out: Path | None,
    detailed_exitcode: bool,
    refresh: str,
    servers: tuple[str, ...],
    accept: tuple[str, ...],
    allow_detach: int | None,
    allow_empty: tuple[str, ...],
    require_complete: bool,
    no_color: bool,
) -> None:
    """Compare mcp.yaml with what the servers advertise now and with the database, tool by tool.

    Exit codes: 0 fine (changes and held live changes included), 2 changes or held (--detailed-exitcode), 3 refused by a
    safeguard or a held file operation, 4 incomplete, 1 error.
    """
    session = open_session(config, colour=not no_color)
    flags = PlanFlags.of(
        refresh=refresh, servers=servers, accept=accept, allow_detach=allow_detach, allow_empty=allow_empty
    )
    discovery = session.discovery(flags, attach_from_cache=True)
    report = session.report(discovery, session.request(flags), session.surroundings())
    document = plan_document(report)
    if out is not None and (report.plan.complete or not require_complete):
        write_plan(out, document)
        session.terminal.note(f"saved as {out}: apply exactly this with `remit apply {out}`")
    elif out is not None:
        session.terminal.note(f"not saved as {out}: the plan is incomplete and --require-complete was given")
    if form == "json":
        session.terminal.document(document)
    else:
        terminal = session.terminal
        terminal.result(plan_text(document, colour=terminal.colour, width=terminal.width))
    raise click.exceptions.Exit(plan_exit(report.plan, detailed=detailed_exitcode))
