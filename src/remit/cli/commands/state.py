"""`remit state`: the recorded rows of this workspace by address, and one of them whole. Asks no server."""

import click

from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.session import open_session
from remit.config.file_set import FileSet
from remit.core.holdings import holdings_of
from remit.errors import UsageError
from remit.render.state_text import entry_document, entry_text, state_document, state_text

__all__ = ["command"]


@click.group(name="state")
def command() -> None:
    """Look at what the database holds for this workspace, by address."""


@command.command(name="list")
@file_option
@format_option
@no_color_option
def list_(*, config: FileSet, form: str, no_color: bool) -> None:
    """List registrations, assistants and attachments by their addresses."""
    session = open_session(config, colour=not no_color, obeys_lock=False)
    session.existing_store()
    held, terminal = holdings_of(session.recorded, session.desired.workspace), session.terminal
    if form == "json":
        terminal.document(state_document(held))
    else:
        terminal.result(state_text(held, colour=terminal.colour, width=terminal.width))


@command.command(name="show")
@click.argument("address", metavar="ADDRESS")
@file_option
@format_option
@no_color_option
def show(*, address: str, config: FileSet, form: str, no_color: bool) -> None:
    """Show ADDRESS: server.NAME, assistant.NAME, assistant.NAME/ALIAS or tool.SERVER/TOOL. Exit 64 if nothing has it."""
    session = open_session(config, colour=not no_color, obeys_lock=False)
    session.existing_store()
    held, terminal = holdings_of(session.recorded, session.desired.workspace), session.terminal
    entry = held.entries().get(address)
    if entry is None:
        near = held.meant(address)
        raise UsageError(
            f"{address!r} is the address of nothing that workspace {held.workspace!r} has on record",
            hint=f"did you mean {near}?" if near else "`remit state list` lists them",
        )
    if form == "json":
        terminal.document(entry_document(held, entry))
    else:
        terminal.result(entry_text(held, entry, colour=terminal.colour))
