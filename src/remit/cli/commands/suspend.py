"""`remit suspend`: deny every call of a server, an assistant or one attachment from now on, until `remit resume`."""

import click

from remit.cli.governance import open_owned
from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.suspendable import Suspendable
from remit.config.file_set import FileSet
from remit.core.governance import Suspension
from remit.render.escape import escape_terminal
from remit.render.suspensions_text import suspension_change_document, suspensions_document, suspensions_text

__all__ = ["command"]


@click.command(name="suspend")
@click.argument("address", required=False)
@click.option("--reason", metavar="TEXT", help="Kept with the suspension and shown to whoever looks.")
@click.option("--list", "listing", is_flag=True, help="List what is suspended; suspends nothing.")
@file_option
@format_option
@no_color_option
def command(
    *, address: str | None, reason: str | None, listing: bool, config: FileSet, form: str, no_color: bool
) -> None:
    """Deny every call of ADDRESS at once: server.NAME, assistant.NAME or assistant.NAME/ALIAS.

    Apply leaves a suspension alone; `remit resume ADDRESS` ends it. Works while mcp.yaml is broken.
    """
    if (address is None) != listing:
        raise click.UsageError("give an ADDRESS to suspend, or --list")
    owned = open_owned(config, colour=not no_color)
    terminal, desk, owner = owned.terminal, owned.desks.suspensions, owned.owner
    if address is None:
        found = desk.suspensions(owner)
        if form == "json":
            terminal.document(suspensions_document(owner, found))
        else:
            terminal.result(suspensions_text(owner, found, now=owned.now(), colour=terminal.colour))
        return
    target = Suspendable(owned.recorded(), owner=owner, workspace=owned.workspace).require(address)
    wanted = Suspension(target=target, address=address, actor=owned.host.actor(), at=owned.now(), reason=reason or None)
    changed = desk.suspend(owner, wanted)
    if form == "json":
        terminal.document(
            suspension_change_document(owner, desk.suspensions(owner), address=address, suspended=True, changed=changed)
        )
        return
    told = "suspended: its calls are denied from now on" if changed else "was suspended already; nothing changed"
    terminal.result(f"{escape_terminal(address)} {told}")
    terminal.note(f"End it with: remit resume {escape_terminal(address)}{owned.file_flag}")
