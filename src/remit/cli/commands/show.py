"""`remit show`: print a saved plan exactly as `remit plan` printed it."""

from pathlib import Path

import click

from remit.cli.options import format_option, no_color_option
from remit.cli.terminal import Terminal
from remit.reconcile.saved import read_plan
from remit.render.plan_text import plan_text

__all__ = ["command"]


@click.command(name="show")
@click.argument("plan", type=click.Path(path_type=Path))
@format_option
@no_color_option
def command(*, plan: Path, form: str, no_color: bool) -> None:
    """Show the saved PLAN. Looks at nothing but the file."""
    terminal = Terminal.of(colour=not no_color)
    document = read_plan(plan)
    if form == "json":
        terminal.document(document)
    else:
        terminal.result(plan_text(document, colour=terminal.colour, width=terminal.width))
