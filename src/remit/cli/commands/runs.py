"""`remit runs`: what runs there are, what one of them did, and the end of one."""

import click

from remit.cli.governance import Owned, open_owned, unknown_id
from remit.cli.options import file_option, format_option, no_color_option
from remit.config.file_set import FileSet
from remit.core.calls import RUN_MOVES, RunState
from remit.core.governance import RunRow
from remit.errors import UsageError
from remit.render.escape import escape_terminal
from remit.render.runs_text import one_run_document, run_text, runs_document, runs_text

__all__ = ["command"]

_LOOKED_THROUGH = 500
"""Runs among which a misspelt id is looked for."""


@click.group(name="runs")
def command() -> None:
    """List runs, look at one, cancel one."""


@command.command(name="list")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many, newest first."
)
@file_option
@format_option
@no_color_option
def list_(*, limit: int, config: FileSet, form: str, no_color: bool) -> None:
    """List the newest runs."""
    owned = open_owned(config, colour=not no_color)
    found, terminal = owned.desks.runs.runs(owned.owner, limit=limit), owned.terminal
    if form == "json":
        terminal.document(runs_document(owned.owner, found))
    else:
        terminal.result(runs_text(owned.owner, found, now=owned.now(), colour=terminal.colour))


@command.command(name="show")
@click.argument("run_id", metavar="RUN_ID")
@file_option
@format_option
@no_color_option
def show(*, run_id: str, config: FileSet, form: str, no_color: bool) -> None:
    """Show one run with its actions."""
    owned = open_owned(config, colour=not no_color)
    run = owned.desks.runs.run(owned.owner, run_id)
    if run is None:
        raise _unknown(owned, run_id)
    terminal = owned.terminal
    if form == "json":
        terminal.document(one_run_document(owned.owner, run))
    else:
        terminal.result(run_text(run, now=owned.now(), colour=terminal.colour))


@command.command(name="cancel")
@click.argument("run_id", metavar="RUN_ID")
@file_option
@format_option
@no_color_option
def cancel(*, run_id: str, config: FileSet, form: str, no_color: bool) -> None:
    """Cancel a run. The process that works on it cancels its calls within about a second.

    Exit codes: 0 cancelled, also where it was before; 1 it had ended otherwise.
    """
    owned = open_owned(config, colour=not no_color)
    before = owned.desks.runs.run(owned.owner, run_id)
    after = owned.desks.runs.cancel_run(owned.owner, run_id, actor=owned.host.actor(), at=owned.now())
    if before is None or after is None:
        raise _unknown(owned, run_id)
    changed = after.state is RunState.CANCELLED and bool(RUN_MOVES[before.state])
    terminal = owned.terminal
    if form == "json":
        terminal.document(one_run_document(owned.owner, after, changed=changed))
    else:
        terminal.result(f"run {escape_terminal(run_id)} {_told(after, changed=changed)}")
    raise click.exceptions.Exit(0 if after.state is RunState.CANCELLED else 1)


def _told(run: RunRow, *, changed: bool) -> str:
    if changed:
        return "is cancelled; calls under way are cancelled within about a second"
    if run.state is RunState.CANCELLED:
        return "was cancelled already; nothing changed"
    return f"had ended ({run.state.value}): it cannot be cancelled any more"


def _unknown(owned: Owned, run_id: str) -> UsageError:
    known = (each.run_id for each in owned.desks.runs.runs(owned.owner, limit=_LOOKED_THROUGH))
    return unknown_id("run", run_id, known, listed_by=f"remit runs list{owned.file_flag}")
