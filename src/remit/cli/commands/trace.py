"""`remit trace`: what went over the connections to MCP servers in one turn, in order."""

import shlex

import click

from remit.cli.governance import open_reading, unknown_id
from remit.cli.options import file_option, format_option, no_color_option
from remit.config.file_set import FileSet
from remit.render.escape import escape_terminal
from remit.render.trace_text import trace_document, trace_text, traces_document, traces_text

__all__ = ["command"]

_LOOKED_THROUGH = 500
"""Traces among which a misspelt id is looked for."""


@click.group(name="trace")
def command() -> None:
    """Show protocol traces: handshake, listing, calls, notifications, close."""


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
