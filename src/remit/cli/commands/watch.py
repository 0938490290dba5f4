"""`remit watch`: plan whenever the files, a server or the database changed; with --apply, apply what the file asks for."""

import asyncio
import contextlib
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import click

from remit.app import NoSink, host_of
from remit.cli.logs import configure_logging
from remit.cli.options import file_option, finite, format_choice, no_color_option
from remit.cli.session import PlanFlags
from remit.cli.terminal import Terminal
from remit.cli.watch_desk import Desk
from remit.cli.watch_lines import JsonLines
from remit.cli.watch_view import TextLines
from remit.config.file_set import FileSet
from remit.config.loader import load
from remit.config.watched_files import WatchedFiles
from remit.errors import NoDatabase, UsageError
from remit.reconcile.watch import WatchView, watch
from remit.reconcile.watch_files import FileWatch, file_events, no_events
from remit.reconcile.watch_pace import WatchPace

if TYPE_CHECKING:
    from remit.app import Host

__all__ = ["command"]

_DAY = 24 * 3600.0


@click.command(name="watch")
@format_choice("text", "json")
@file_option
@click.option("--apply", "applies", is_flag=True, help="Apply what the file asks for; what servers said stays held.")
@click.option("--create-db", is_flag=True, help="Create the database if there is none; for --apply.")
@click.option(
    "--poll",
    type=click.FloatRange(min=0.1, max=_DAY),
    callback=finite,
    default=WatchPace().poll,
    show_default=True,
    metavar="SECONDS",
    help="Between two listings of a server that cannot say that its tools changed.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1, max=_DAY),
    callback=finite,
    metavar="SECONDS",
    help="List every server and plan this often, whatever happens in between: a controller.",
)
@click.option(
    "--no-watch-files", is_flag=True, help="Read the files again only at each --interval, not whenever they change."
)
@no_color_option
def command(
    *,
    form: str,
    config: FileSet,
    applies: bool,
    create_db: bool,
    poll: float,
    interval: float | None,
    no_watch_files: bool,
    no_color: bool,
) -> None:
    """Plan whenever the files, a server or the database changed, until Ctrl-C.

    With --apply what the file asks for is applied, as `remit apply --auto-approve` does; what servers say is held until
    somebody accepts it. A file that is not valid, a server or a database that is out of reach is told and looked at again.
    Exit codes: 130 ended by Ctrl-C, 143 by SIGTERM, 6 another watch has this workspace, 1 error, 64 usage.
    """
    if no_watch_files and interval is None:
        raise UsageError(
            "without watching files there is nothing to look at them",
            place="--no-watch-files",
            hint="give an --interval too",
        )
    if create_db and not applies:
        raise UsageError(
            "a watch that applies nothing creates no database",
            place="--create-db",
            hint="give --apply too, or leave it out",
        )
    configure_logging()
    host, terminal = host_of(), Terminal.of(colour=not no_color)
    _require_database(host, config, applies=applies, create_db=create_db)
    pace = WatchPace(poll=poll, interval=interval)
    flags = PlanFlags.of(refresh="live", servers=(), accept=(), allow_detach=None, allow_empty=())
    desk = Desk(
        config=config, host=host, terminal=terminal, flags=flags, pace=pace, watcher=host.watcher(), required=applies
    )
    files = WatchedFiles(config)
    with _view(form, terminal, host, applies=applies) as view:

        async def run() -> None:
            events = no_events if no_watch_files else file_events
            readings = FileWatch(files, lambda: load(config), pace, events=events, ticks=not no_watch_files)
            factory = host.watchers(config.folder, NoSink())
            await watch(desk, readings, lambda _: factory, view, pace, applies=applies)

        asyncio.run(run())


def _require_database(host: "Host", config: FileSet, *, applies: bool, create_db: bool) -> None:
    database = host.database(config.folder)
    if not applies or database.exists():
        return
    if not create_db:
        raise NoDatabase(
            "there is no database",
            place=str(database),
            hint="create it with `remit db upgrade` or --create-db, or set REMIT_DATABASE_URL to the right one",
        )
    database.create_or_upgrade()


@contextlib.contextmanager
def _view(form: str, terminal: Terminal, host: "Host", *, applies: bool) -> Generator[WatchView]:
    if form == "json":
        yield JsonLines(terminal, host.clock)
    elif sys.stdout.isatty() and terminal.colour:
        from remit.cli.watch_live import live_panel

        with live_panel(terminal, host.clock, applies=applies) as panel:
            yield panel
    else:
        yield TextLines(terminal, host.clock, applies=applies)
