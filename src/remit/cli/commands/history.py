"""`remit history`: what was applied, when, by whom, and one apply with its plan. Asks no server."""

from pathlib import Path

import click

from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.session import Session, open_session
from remit.config.file_set import FileSet
from remit.core.ports import HistoryEntry
from remit.errors import UsageError
from remit.reconcile.saved import checked_plan
from remit.render.history_text import (
    applied_plan_text,
    history_document,
    history_entry_document,
    history_text,
)
from remit.render.shapes import PlanDocument

__all__ = ["command"]


@click.command(name="history")
@click.argument("serial", required=False, type=click.IntRange(min=1))
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many, newest first."
)
@file_option
@format_option
@no_color_option
def command(*, serial: int | None, limit: int, config: FileSet, form: str, no_color: bool) -> None:
    """List the applies of this workspace, newest first; with SERIAL, show that one with the plan it carried out."""
    session = open_session(config, colour=not no_color, obeys_lock=False)
    terminal, workspace = session.terminal, session.desired.workspace
    if serial is not None:
        entry, plan = _applied(session, serial)
        if form == "json":
            terminal.document(history_entry_document(entry, plan))
        else:
            terminal.result(applied_plan_text(entry, plan, colour=terminal.colour, width=terminal.width))
        return
    entries = session.existing_store().history(workspace, limit=limit)
    if form == "json":
        terminal.document(history_document(workspace, entries))
    else:
        terminal.result(history_text(workspace, entries, colour=terminal.colour))


def _applied(session: Session, serial: int) -> tuple[HistoryEntry, PlanDocument]:
    """One apply and its plan. Raises UsageError where there was none, PlanUnreadable where its plan was edited since."""
    workspace = session.desired.workspace
    record = session.existing_store().applied(workspace, serial)
    if record is None:
        raise UsageError(
            f"workspace {workspace!r} has no apply with serial {serial}", hint="`remit history` lists them"
        )
    plan = checked_plan(record.plan, Path(f"{session.database}: apply {serial} of workspace {workspace}"))
    entry = HistoryEntry(
        workspace=workspace,
        serial=serial,
        actor=record.actor,
        at=record.at,
        commit=record.commit,
        digest=record.digest,
        outcome=record.outcome,
        summary={
            **{key: value for key, value in plan["summary"].items() if isinstance(value, int)},
            **record.beside,
        },
    )
    return entry, plan
