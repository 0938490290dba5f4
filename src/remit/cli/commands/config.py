"""`remit config`: the configuration as it comes out of its files."""

import click

from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.session import load_or_exit
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.showing import shown_document, yaml_text
from remit.render.escape import escape_terminal

__all__ = ["command"]


@click.group(name="config")
def command() -> None:
    """Look at the configuration itself."""


@command.command(name="show")
@click.option("--origin", is_flag=True, help="Name the file and line that set each value, behind it.")
@file_option
@format_option
@no_color_option
def show(*, origin: bool, config: FileSet, form: str, no_color: bool) -> None:
    """Print all files and the overlay of --env as the one file that they come to.

    References are shown as written, never resolved. Reads the files and nothing else.
    """
    terminal = Terminal.of(colour=not no_color)
    loaded = load_or_exit(config, terminal)
    desired = loaded.desired
    if form == "json":
        terminal.document(shown_document(desired, loaded.tree))
        return
    files = ", ".join(escape_terminal(each.path) for each in desired.files)
    environment = "" if desired.environment is None else f" for environment {desired.environment}"
    terminal.result(f"# {files}{environment}\n{yaml_text(loaded.tree, origin=origin)}".rstrip("\n"))
