"""`remit status`: what the database holds for this workspace. Asks no server."""

import click

from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.session import Session, open_session
from remit.config.file_set import FileSet
from remit.core.governance import Suspension
from remit.core.report import DatabaseFacts, StatusReport
from remit.render.status_text import status_document, status_text

__all__ = ["command"]

_APPLIES = 5


@click.command(name="status")
@file_option
@format_option
@no_color_option
def command(*, config: FileSet, form: str, no_color: bool) -> None:
    """Show registrations, assistants with their tools and policy, and the last applies. Asks no server."""
    session = open_session(config, colour=not no_color, obeys_lock=False)
    workspace = session.desired.workspace
    record = session.recorded.workspaces.get(workspace)
    surroundings = session.surroundings()
    report = StatusReport(
        workspace=workspace,
        database=DatabaseFacts(
            exists=surroundings.exists,
            dialect=surroundings.dialect,
            lineage=None if record is None else record.lineage,
            serial=0 if record is None else record.serial,
        ),
        recorded=session.recorded,
        history=() if session.store is None else session.store.history(workspace, limit=_APPLIES),
        suspensions=() if session.store is None else _suspensions(session),
    )
    terminal = session.terminal
    if form == "json":
        terminal.document(status_document(report))
    else:
        terminal.result(status_text(report, colour=terminal.colour, width=terminal.width))


def _suspensions(session: Session) -> tuple[Suspension, ...]:
    return session.database.governance().suspensions.suspensions(session.desired.owner)
