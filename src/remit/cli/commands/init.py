"""`remit init`: a first mcp.yaml, its schema for the editor, and the embedded database."""

import json
from pathlib import Path

import click

from remit.app import host_of
from remit.cli.next_steps import file_flag
from remit.cli.options import main_file_option
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.json_schema import mcp_schema
from remit.config.starter import starter_text
from remit.errors import UsageError
from remit.reconcile.whole_file import write_whole, writing

__all__ = ["command"]


@click.command(name="init")
@main_file_option
def command(*, config: Path) -> None:
    """Write a commented mcp.yaml, schemas/mcp.schema.json beside it, and create the database.

    Overwrites no configuration. The database stays out of version control: .remit/ gets a .gitignore of its own.
    """
    if config.exists():
        raise UsageError(
            "the file exists already", code="file-exists", place=str(config), hint="edit it, or name another with -f"
        )
    terminal = Terminal.of(colour=False)
    folder = config.absolute().parent
    database = host_of().database(folder)
    schema = folder / "schemas" / "mcp.schema.json"
    with writing(schema):
        schema.parent.mkdir(parents=True, exist_ok=True)
    write_whole(schema, json.dumps(mcp_schema(), indent=2) + "\n", mode=0o666)
    outcome = database.create_or_upgrade()
    _ignore(folder / ".remit")
    # Last, as a file that is there stops the next `init`: one that was cut off can be run again.
    write_whole(config, starter_text(folder.name), mode=0o666, replace=False)
    flag = file_flag(FileSet(main=config))
    terminal.result(f"{config}: written\n{config.parent / schema.relative_to(folder)}: written\n{database}: {outcome}")
    terminal.note(f"next: edit {config}, then `remit validate{flag}`, `remit plan{flag}`, `remit apply{flag}`")


def _ignore(folder: Path) -> None:
    ignore = folder / ".gitignore"
    if folder.is_dir() and not ignore.exists():
        write_whole(ignore, "*\n", mode=0o666)
