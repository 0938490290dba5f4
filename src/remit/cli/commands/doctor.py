"""`remit doctor`: everything that can be wrong around a workspace, looked at in one go. Repairs nothing."""

import click

from remit.app import host_of
from remit.cli.doctor_run import check_all
from remit.cli.logs import configure_logging
from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.core.checkup import Checkup
from remit.core.diagnostics import Severity
from remit.core.live import Unreachable
from remit.reconcile.outcome import ExitCode
from remit.render.doctor_text import doctor_document, doctor_text

__all__ = ["command"]


@click.command(name="doctor")
@click.option("--offline", is_flag=True, help="Ask no server.")
@file_option
@format_option
@no_color_option
def command(*, offline: bool, config: FileSet, form: str, no_color: bool) -> None:
    """Look for what is wrong: versions, files, lock, database, secrets, servers, tools, open calls; say what to do.

    Writes nothing. Exit codes: 0 nothing is broken, 1 something is, 4 a server was not reached.
    """
    configure_logging()
    terminal = Terminal.of(colour=not no_color)
    checkup = check_all(config, host_of(), terminal, offline=offline)
    if form == "json":
        terminal.document(doctor_document(checkup))
    else:
        terminal.result(doctor_text(checkup, colour=terminal.colour))
    raise click.exceptions.Exit(_code(checkup))


def _code(checkup: Checkup) -> ExitCode:
    if any(each.severity is Severity.ERROR for check in checkup.checks for each in check.findings):
        return ExitCode.ERROR
    reached = not any(isinstance(each.line.observation, Unreachable) for each in checkup.servers)
    return ExitCode.OK if reached else ExitCode.INCOMPLETE
