"""`remit trace`: what went over the connections to MCP servers in one turn, in order; and dropping it before its time."""

import shlex
from datetime import timedelta

import click

from remit.cli.governance import open_owned, open_reading, unknown_id
from remit.cli.options import file_option, format_option, no_color_option
from remit.config.file_set import FileSet
from remit.core.governance import Swept
from remit.errors import UsageError
from remit.render.escape import escape_terminal
from remit.render.trace_text import (
    pruned_document,
    pruned_text,
    trace_document,
    trace_text,
    traces_document,
    traces_text,
)

__all__ = ["command"]

_LOOKED_THROUGH = 500
"""Traces among which a misspelt id is looked for."""

_MOST_DAYS = 3650
_LOCK_SECONDS = 10.0


@click.group(name="trace")
def command() -> None:
    """Show protocol traces (handshake, listing, calls, notifications, close), and drop old ones."""


@command.command(name="list")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many, newest first."
)
@file_option
@format_option
@no_color_option
def list_(*, limit: int, config: FileSet, form: str, no_color: bool) -> None:
    """List the newest traces that are kept."""
    reading = open_reading(config, colour=not no_color)
    found, terminal = reading.desks.traces.traces(limit=limit), reading.terminal
    if form == "json":
        terminal.document(traces_document(found))
    else:
        terminal.result(traces_text(found, colour=terminal.colour))


@command.command(name="show")
@click.argument("trace_id", metavar="TRACE_ID")
@click.option("--full", is_flag=True, help="Every message whole, below its line.")
@file_option
@format_option
@no_color_option
def show(*, trace_id: str, full: bool, config: FileSet, form: str, no_color: bool) -> None:
    """Draw one trace in order: time, direction, server, message."""
    reading = open_reading(config, colour=not no_color)
    events, terminal = reading.desks.traces.trace(trace_id), reading.terminal
    if not events and not any(reading.desks.audit.audit_events(limit=1, trace_id=trace_id)):
        known = (each for each, _, _ in reading.desks.traces.traces(limit=_LOOKED_THROUGH))
        raise unknown_id("trace", trace_id, known, listed_by=f"remit trace list{reading.file_flag}")
    if form == "json":
        terminal.document(trace_document(trace_id, events))
    else:
        terminal.result(trace_text(trace_id, events, full=full, colour=terminal.colour))
    if not events:
        shown = escape_terminal(shlex.quote(trace_id))
        terminal.note(
            f"No message is kept of it; what was decided: remit audit tail --trace {shown}{reading.file_flag}"
        )


@command.command(name="prune")
@click.option(
    "--days",
    type=click.IntRange(min=0, max=_MOST_DAYS),
    metavar="N",
    help="Drop what is older than so many days, instead of the file's `trace_days`.",
)
@file_option
@format_option
@no_color_option
def prune(*, days: int | None, config: FileSet, form: str, no_color: bool) -> None:
    """Drop the contents of calls that are kept no longer, as an open runtime does every hour.

    These are protocol events, outputs in `remit runs show`, results under idempotency keys, and approvals that are over (the
    last two are kept for a day at least). Runs, keys and the audit trail stay.
    """
    owned = open_owned(config, colour=not no_color)
    days = owned.trace_days if days is None else days
    if days is None:
        raise UsageError(
            "nobody can say how long anything is kept", place=str(config), hint="mend the file, or pass --days"
        )
    swept = Swept(is_done=False)
    while not swept.is_done:
        swept += owned.desks.retention.sweep(owned.owner, timedelta(days=days), lock_timeout=_LOCK_SECONDS)
    if form == "json":
        owned.terminal.document(pruned_document(owned.owner, days, swept))
    else:
        owned.terminal.result(pruned_text(days, swept))
