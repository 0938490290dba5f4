"""`remit show`: print a saved plan exactly as `remit plan` printed it."""

from pathlib import Path

import click

from remit.app import host_of
from remit.cli.options import format_choice, no_color_option
from remit.cli.outcomes import plan_outcome, show
from remit.cli.terminal import Terminal
from remit.reconcile.saved import read_plan

__all__ = ["command"]


@click.command(name="show")
@click.argument("plan", type=click.Path(path_type=Path))
@format_choice("text", "json", "markdown", "github")
@no_color_option
def command(*, plan: Path, form: str, no_color: bool) -> None:
    """Show the saved PLAN. Looks at nothing but the file."""
    terminal = Terminal.of(colour=not no_color)
    document = read_plan(plan)
    show(plan_outcome(document), form, host_of().environ, terminal)
