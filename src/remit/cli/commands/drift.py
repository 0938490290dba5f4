"""`remit drift`: what moved without a commit. Writes nothing; made for a nightly job."""

from pathlib import Path

import click

from remit.cli.options import file_option, format_choice, no_color_option, server_option, summary_option
from remit.cli.outcomes import drift_outcome, forget_summary, show, write_summary
from remit.cli.session import PlanFlags, open_session
from remit.config.file_set import FileSet
from remit.reconcile.outcome import ExitCode, first_of
from remit.render.document import plan_document
from remit.render.drift import has_drift, restricted_to_drift

__all__ = ["command"]


@click.command(name="drift")
@format_choice("text", "json", "markdown", "github")
@file_option
@summary_option
@click.option(
    "--refresh",
    type=click.Choice(["live", "cached"]),
    default="live",
    show_default=True,
    help="Ask the servers, or use what was kept of their last good listings.",
)
@server_option
@no_color_option
def command(
    *, form: str, config: FileSet, summary: Path | None, refresh: str, servers: tuple[str, ...], no_color: bool
) -> None:
    """Show what moved without a commit: tools that vanished, changed or came, and rows edited outside of apply.

    Exit codes: 0 no drift, 2 drift, 4 a server was not listed or a selection stayed unresolved, 1 error.
    """
    forget_summary(summary)
    session = open_session(config, colour=not no_color, annotate=form == "github")
    session.existing_store()
    flags = PlanFlags.of(refresh=refresh, servers=servers, accept=(), allow_detach=None, allow_empty=())
    discovery = session.discovery(flags, attach_from_cache=True)
    report = session.report(discovery, session.request(flags), session.surroundings())
    restricted = restricted_to_drift(plan_document(report))
    outcome = drift_outcome(restricted)
    show(outcome, form, session.host.environ, session.terminal)
    write_summary(summary, outcome.summary)
    incomplete = ExitCode.OK if restricted["complete"] else ExitCode.INCOMPLETE
    raise click.exceptions.Exit(first_of(incomplete, ExitCode.CHANGES if has_drift(restricted) else ExitCode.OK))
