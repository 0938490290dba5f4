"""`remit resume`: end a suspension."""

import click

from remit.cli.governance import open_owned
from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.suspendable import Suspendable
from remit.config.file_set import FileSet
from remit.render.escape import escape_terminal
from remit.render.suspensions_text import suspension_change_document

__all__ = ["command"]


@click.command(name="resume")
@click.argument("address")
@file_option
@format_option
@no_color_option
def command(*, address: str, config: FileSet, form: str, no_color: bool) -> None:
    """End the suspension of ADDRESS. What is suspended otherwise (its server, its assistant) stays so."""
    owned = open_owned(config, colour=not no_color)
    terminal, desk, owner = owned.terminal, owned.desks.suspensions, owned.owner
    before = desk.suspensions(owner)
    target = Suspendable(owned.recorded(), owner=owner, workspace=owned.workspace).require(address, before)
    changed = desk.resume(owner, target, actor=owned.host.actor(), at=owned.now())
    if form == "json":
        terminal.document(
            suspension_change_document(
                owner, desk.suspensions(owner), address=address, suspended=False, changed=changed
            )
        )
        return
    told = "resumed: this suspension denies nothing any more" if changed else "was not suspended; nothing changed"
    terminal.result(f"{escape_terminal(address)} {told}")
