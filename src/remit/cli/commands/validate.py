"""`remit validate`: check the configuration without network, secrets or database."""

import click

from remit.app import host_of
from remit.cli.links import refuse_links_in_pipelines
from remit.cli.lock_files import lock_and_faults
from remit.cli.options import file_option, format_choice, no_color_option
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.config.loader import Loaded, load
from remit.core.desired import LockUse
from remit.core.diagnostics import Diagnostic
from remit.reconcile.outcome import ExitCode
from remit.render.diagnostics import diagnostics_document, diagnostics_text
from remit.render.layout import counted

__all__ = ["command"]


@click.command(name="validate")
@file_option
@format_choice("text", "json", "github")
@no_color_option
def command(*, config: FileSet, form: str, no_color: bool) -> None:
    """Report every mistake in mcp.yaml, and in its lock, at once, with file, line and column. Exit 1 if there is an error."""
    terminal = Terminal.of(colour=not no_color)
    refuse_links_in_pipelines(config, host_of().environ)
    result = load(config)
    diagnostics: tuple[Diagnostic, ...] = result.warnings if isinstance(result, Loaded) else result.diagnostics
    lock_faults = (
        lock_and_faults(config)[1] if isinstance(result, Loaded) and result.desired.lock is LockUse.FILE else ()
    )
    diagnostics += lock_faults
    if form == "json":
        terminal.document(diagnostics_document(diagnostics))
    elif form == "github":
        terminal.diagnose(diagnostics)
        terminal.annotate(diagnostics)
    elif diagnostics:
        terminal.result(diagnostics_text(diagnostics, colour=terminal.colour))
    if not isinstance(result, Loaded) or lock_faults:
        raise click.exceptions.Exit(ExitCode.ERROR)
    if form == "text":
        desired = result.desired
        selections = sum(len(each.selections) for each in desired.assistants)
        more = f" and {counted(len(desired.files) - 1, 'more file')}" if len(desired.files) > 1 else ""
        environment = "" if desired.environment is None else f" for environment {desired.environment}"
        terminal.result(
            f"{config}{more}{environment}: valid. workspace {desired.workspace}, {counted(len(desired.servers), 'server')}, "
            f"{counted(len(desired.assistants), 'assistant')}, {counted(selections, 'selection')}"
        )
