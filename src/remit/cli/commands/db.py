"""`remit db`: the database itself."""

import click

from remit.app import host_of
from remit.cli.options import file_option
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet

__all__ = ["command"]


@click.group(name="db")
def command() -> None:
    """Create or upgrade the database."""


@command.command(name="upgrade")
@file_option
def upgrade(*, config: FileSet) -> None:
    """Create the database where there is none, or bring its schema to this version of remit.

    The database is the one of REMIT_DATABASE_URL, else .remit/remit.db beside the configuration.
    """
    database = host_of().database(config.folder)
    outcome = database.create_or_upgrade()
    Terminal.of(colour=False).result(f"{database}: {outcome}")
