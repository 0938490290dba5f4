"""`remit lock`: write down what every selected tool is now, so that a pull request can be the approval."""

import click

from remit.app import host_of
from remit.cli.links import refuse_links_in_pipelines
from remit.cli.lock_run import Asked, check_locked, write_lock
from remit.cli.options import allow_empty_option, file_option, format_choice, no_color_option, server_option
from remit.config.file_set import FileSet

__all__ = ["command"]


@click.command(name="lock")
@file_option
@server_option
@allow_empty_option
@click.option("--yes", "--auto-approve", "yes", is_flag=True, help="Write without asking; for scripts.")
@click.option("--check", is_flag=True, help="Write nothing: exit 2 if the lock is not what `remit lock` would write.")
@click.option("--live", is_flag=True, help="With --check: compare with what the servers offer now, too.")
@format_choice("text", "json", "github")
@no_color_option
def command(
    *,
    config: FileSet,
    servers: tuple[str, ...],
    allow_empty: tuple[str, ...],
    yes: bool,
    check: bool,
    live: bool,
    form: str,
    no_color: bool,
) -> None:
    """Ask the servers and write mcp.lock (mcp.NAME.lock with --env NAME): alias, digests and definition of every selected
    tool, globs spelled out. Where there is a lock, plan and apply let in what it has and nothing else.

    Shows what changes and asks. A server that cannot be listed keeps its entries (exit 4). With --check no server is asked:
    every name that the file selects has an entry, every entry is selected. Exit codes: 0 fine, 1 error, 2 differences
    (--check), 4 a server was not listed or a selection stayed unresolved (the rest was written).
    """
    if live and not check:
        raise click.UsageError("--live goes with --check; `remit lock` asks the servers anyway")
    if check and (yes or ((servers or allow_empty) and not live)):
        raise click.UsageError(
            "--check writes nothing and looks at the whole lock; leave out --yes, --server and --allow-empty"
        )
    if form == "github" and not check:
        raise click.UsageError("--format github annotates what --check finds; give --check too")
    asked = Asked(servers=servers, allow_empty=allow_empty)
    if check and not live:
        refuse_links_in_pipelines(config, host_of().environ)
    if check:
        code = check_locked(config, asked, live=live, form=form, colour=not no_color)
    else:
        code = write_lock(config, asked, yes=yes, form=form, colour=not no_color)
    raise click.exceptions.Exit(code)
