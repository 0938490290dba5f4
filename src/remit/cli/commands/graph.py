"""`remit graph`: who gets which tool from where, as the database records it. Asks no server."""

import click

from remit.cli.options import file_option, format_choice, no_color_option
from remit.cli.session import open_session
from remit.config.file_set import FileSet
from remit.core.holdings import holdings_of
from remit.render.graph_text import graph_document, graph_mermaid, graph_text

__all__ = ["command"]


@click.command(name="graph")
@file_option
@format_choice("text", "mermaid", "json")
@no_color_option
def command(*, config: FileSet, form: str, no_color: bool) -> None:
    """Show which assistant has which tool from which server, with its surface: what is applied, not what is planned."""
    session = open_session(config, colour=not no_color, obeys_lock=False)
    session.existing_store()
    held, terminal = holdings_of(session.recorded, session.desired.workspace), session.terminal
    if form == "json":
        terminal.document(graph_document(held))
    elif form == "mermaid":
        terminal.result(graph_mermaid(held))
    else:
        terminal.result(graph_text(held, colour=terminal.colour))
