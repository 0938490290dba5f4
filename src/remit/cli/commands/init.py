"""`remit init`: a first mcp.yaml, its schema for the editor, and the embedded database."""

import json
import shlex
import sys
from pathlib import Path

import click

from remit.app import host_of
from remit.cli.commands.import_servers import tell_variables, text_of
from remit.cli.next_steps import file_flag
from remit.cli.options import main_file_option
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.json_schema import mcp_schema
from remit.config.starter import schema_lines, starter_text
from remit.errors import UsageError
from remit.reconcile.outcome import ExitCode
from remit.reconcile.whole_file import write_whole, writing
from remit.render.layout import counted

__all__ = ["command"]


@click.command(name="init")
@main_file_option
@click.option("--scan", is_flag=True, help="List the MCP configurations of this machine's clients; write nothing.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Begin with the servers of a client's configuration, as `remit import` reads it. Repeatable.",
)
def command(*, config: Path, scan: bool, sources: tuple[Path, ...]) -> None:
    """Write a commented mcp.yaml, schemas/mcp.schema.json beside it, and create the database.

    Overwrites no configuration. The database stays out of version control, by a .gitignore of its own.
    """
    terminal = Terminal.of(colour=False)
    if scan:
        _scan(terminal)
        return
    if config.exists():
        raise UsageError(
            "the file exists already", code="file-exists", place=str(config), hint="edit it, or name another with -f"
        )
    folder = config.absolute().parent
    text, failed = _imported(sources, config, terminal) if sources else (starter_text(folder.name), False)
    database = host_of().database(folder)
    schema = folder / "schemas" / "mcp.schema.json"
    with writing(schema):
        schema.parent.mkdir(parents=True, exist_ok=True)
    write_whole(schema, json.dumps(mcp_schema(), indent=2) + "\n", mode=0o666)
    outcome = database.create_or_upgrade()
    # Last, as a file that is there stops the next `init`: one that was cut off can be run again.
    write_whole(config, text, mode=0o666, replace=False)
    flag = file_flag(FileSet(main=config))
    terminal.result(f"{config}: written\n{config.parent / schema.relative_to(folder)}: written\n{database}: {outcome}")
    terminal.note(f"next: edit {config}, then `remit validate{flag}`, `remit plan{flag}`, `remit apply{flag}`")
    if failed:
        raise click.exceptions.Exit(ExitCode.ERROR)


def _imported(sources: tuple[Path, ...], config: Path, terminal: Terminal) -> tuple[str, bool]:
    """The file with the servers of the sources, and whether one of them had an error. Raises Exit where there is no server."""
    from remit.config.dialects.importing import import_files
    from remit.config.dialects.reporting import told
    from remit.config.dialects.target import Target

    imports = import_files(sources)
    text = text_of(Target(path=config), imports, None, terminal)
    terminal.diagnose(told(imports))
    if not imports.servers:
        terminal.note("nothing was written")
        raise click.exceptions.Exit(ExitCode.ERROR)
    tell_variables(imports, terminal)
    return schema_lines() + text, imports.failed


def _scan(terminal: Terminal) -> None:
    """List the configurations that clients of this machine have in their places, and how to read each."""
    from remit.config.dialects.places import found_on

    found = found_on(sys.platform, Path.home(), Path.cwd())
    if not found:
        terminal.result("no client of this machine has MCP servers in a place that remit knows")
        return
    widest = max(len(each.dialect) for each in found)
    for each in found:
        count = "cannot be read" if each.servers is None else counted(each.servers, "server")
        terminal.result(f"{each.dialect:<{widest}}  {count:<14}  {each.path}")
    terminal.result("")
    for each in found:
        terminal.result(f"remit import {shlex.quote(str(each.path))}")
    terminal.note(
        "nothing was written; --write adds the servers to mcp.yaml, `remit init --from FILE` begins one with them"
    )
