"""`remit discover`: what the servers advertise now, under the names remit would give it."""

import click

from remit.cli.completions import server_names
from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.session import PlanFlags, open_session
from remit.config.file_set import FileSet
from remit.core.discovered import discovered_tools
from remit.core.live import Listed, Skipped
from remit.reconcile.observe import live_of
from remit.reconcile.outcome import ExitCode
from remit.render.listing_text import discover_document, discover_text

__all__ = ["command"]


@click.command(name="discover")
@click.argument("server", nargs=-1, shell_complete=server_names)
@file_option
@format_option
@no_color_option
def command(*, server: tuple[str, ...], config: FileSet, form: str, no_color: bool) -> None:
    """List the tools of SERVER, or of every declared server: names, ids, aliases, what cannot be used and why.

    Attaches nothing and writes nothing. Exit 4 if a server could not be listed.
    """
    session = open_session(config, colour=not no_color, obeys_lock=False)
    flags = PlanFlags.of(refresh="live", servers=server, accept=(), allow_detach=None, allow_empty=())
    lines = session.discovery(flags, attach_from_cache=False, place=None)
    wanted = [line for line in lines if not server or line.server in server]
    tools = discovered_tools(session.desired, session.recorded, live_of(lines))
    listings = [(line.server, line.observation, tools.get(line.server, ())) for line in wanted]
    terminal = session.terminal
    if form == "json":
        terminal.document(discover_document(listings))
    else:
        terminal.result(discover_text(listings, colour=terminal.colour, width=terminal.width))
    if not all(isinstance(line.observation, Listed | Skipped) for line in wanted):
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)
