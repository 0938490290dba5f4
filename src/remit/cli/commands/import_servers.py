"""`remit import`: servers from the configurations of MCP clients, as mcp.yaml."""

import codecs
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from remit.cli.next_steps import file_flag
from remit.cli.options import format_choice, main_file_option
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.core.addresses import nearest
from remit.errors import OutputUnwritable, UsageError
from remit.reconcile.outcome import ExitCode
from remit.reconcile.whole_file import write_whole
from remit.render.layout import counted

if TYPE_CHECKING:
    from remit.config.dialects.model import Dialect, Imports
    from remit.config.dialects.target import Target
    from remit.core.diagnostics import Diagnostic

__all__ = ["command", "tell_variables", "text_of", "usable_target"]


@click.command(name="import")
@click.argument("sources", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@main_file_option
@click.option("--write", is_flag=True, help="Add the servers to the configuration instead of printing them.")
@click.option("--dialect", metavar="NAME", help="What the files are, instead of finding out.")
@click.option("--assistant", metavar="NAME", help="Make the allow-lists of the sources selections of this assistant.")
@format_choice("text", "json")
def command(
    *, sources: tuple[Path, ...], config: Path, write: bool, dialect: str | None, assistant: str | None, form: str
) -> None:
    """Read servers from the FILEs of MCP clients and print them as mcp.yaml, with findings on stderr.

    Starts nothing, connects to nothing, copies no secret: a reference stands in the place of each. Every imported tool has
    the strictest policy, and none is attached before somebody selects it. Exit 1 where a file or an entry has an error; stdout
    stays empty where no server comes out.
    """
    from remit.config.dialects.importing import import_files
    from remit.config.dialects.reporting import import_document
    from remit.config.dialects.target import Target

    terminal = Terminal.of(colour=True)
    target = usable_target(config, terminal) if write else Target(path=config)
    imports = import_files(sources, dialect=_dialect(dialect), beside=target.servers, texts=target.texts)
    text = text_of(target, imports, assistant, terminal)
    written = [server.name for server in imports.servers] if write else []
    if written:
        _write(target, text)
    if form == "json":
        terminal.document(import_document(imports, file=str(config) if write else None, written=written))
    else:
        _show(imports, text, config, terminal, write=write)
    if imports.failed:
        raise click.exceptions.Exit(ExitCode.ERROR)


def usable_target(config: Path, terminal: Terminal) -> "Target":
    """The configuration as it is there. Raises Exit, after showing why, where it has errors already."""
    from remit.config.dialects.target import target_of

    target = target_of(config)
    if isinstance(target, tuple):
        _refuse(target, terminal)
    return target


def text_of(target: "Target", imports: "Imports", assistant: str | None, terminal: Terminal) -> str:
    """The file as it is to be. Raises Exit, after showing why, where it would not load; then nothing may be written."""
    from remit.config.dialects.reporting import told

    text = target.text(imports, assistant=assistant)
    if isinstance(text, tuple):
        terminal.diagnose(told(imports))
        _refuse(text, terminal)
    return text


def _write(target: "Target", text: str) -> None:
    """Write the file whole, through a link, with the permissions that it has. Raises OutputUnwritable."""
    path = target.path.resolve()
    if not target.files:
        write_whole(path, text, mode=0o666, replace=False)
        return
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != target.files[0].file.sha256:
        raise OutputUnwritable(
            "the file was changed while the servers were read",
            place=str(target.path),
            hint="run the same command again",
        )
    mark = "\ufeff" if content.startswith(codecs.BOM_UTF8) else ""
    write_whole(path, mark + text, mode=path.stat().st_mode & 0o777)


def tell_variables(imports: "Imports", terminal: Terminal) -> None:
    """Name the variables that have to be set."""
    if imports.variables:
        names = ", ".join(variable.name for variable in imports.variables)
        terminal.note(f"set before remit connects: {names}")


def _refuse(diagnostics: "Sequence[Diagnostic]", terminal: Terminal) -> NoReturn:
    terminal.diagnose(diagnostics)
    terminal.note("nothing was written")
    raise click.exceptions.Exit(ExitCode.ERROR)


def _dialect(name: str | None) -> "Dialect | None":
    """The dialect of this name. Raises UsageError."""
    from remit.config.dialects.table import DIALECTS

    if name is None or name in DIALECTS:
        return DIALECTS[name] if name else None
    near = nearest(name, DIALECTS)
    hint = f"did you mean {near}?" if near else f"one of {', '.join(DIALECTS)}"
    raise UsageError(f"no dialect is called {name!r}", place="--dialect", hint=hint)


def _show(imports: "Imports", text: str, config: Path, terminal: Terminal, *, write: bool) -> None:
    from remit.config.dialects.reporting import told

    terminal.diagnose(told(imports))
    if not write and imports.servers:
        terminal.result(text)
    elif not write:
        # A file without a server would only look like one that was meant.
        terminal.note("no server came out: nothing is printed")
    elif imports.servers:
        terminal.result(f"{config}: {counted(len(imports.servers), 'server')} added")
    else:
        terminal.result(f"{config}: nothing was added")
    tell_variables(imports, terminal)
    if write and imports.servers:
        flag = file_flag(FileSet(main=config))
        terminal.note(
            f"next: read {config}; `remit discover{flag}` lists the tools; select some under `assistants`; then "
            f"`remit validate{flag}`, `remit plan{flag}`"
        )
