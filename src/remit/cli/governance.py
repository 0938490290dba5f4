"""The steps that the commands around governed calls share: the database beside the file, and on whose behalf they act.

Decides that a broken mcp.yaml stops none of them: an emergency suspension must not wait for a half-edited file. Whose owner
counts then is app.py's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from remit.app import Database, Host, host_of, owner_of
from remit.cli.logs import configure_logging
from remit.cli.next_steps import file_flag
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.core.addresses import nearest
from remit.core.recorded import Recorded
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.store.governance import Governance

__all__ = ["Owned", "Reading", "open_owned", "open_reading", "unknown_id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A database that is open for the readings that belong to no owner. `config` is where the user said the file is."""

    host: Host
    terminal: Terminal
    config: FileSet
    database: Database
    desks: "Governance"

    @property
    def file_flag(self) -> str:
        """` -f FILE` for a command that is told to the user; nothing for the file that is read anyway."""
        return file_flag(self.config)

    def now(self) -> datetime:
        """The time of the host."""
        return self.host.clock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned(Reading):
    """The same for one owner. `workspace` and `trace_days` are the file's; None where the file is not valid."""

    owner: str
    workspace: str | None
    trace_days: int | None

    def recorded(self) -> Recorded:
        """The recorded state of all owners."""
        return self.database.recorded()[1]


def open_reading(config: FileSet, *, colour: bool) -> Reading:
    """Open the database that belongs to a file, without reading the file. Raises NoDatabase where there is none."""
    configure_logging()
    host = host_of()
    database = host.database(config.folder)
    return Reading(
        host=host,
        terminal=Terminal.of(colour=colour),
        config=config,
        database=database,
        desks=database.governance(),
    )


def open_owned(config: FileSet, *, colour: bool) -> Owned:
    """Open the database and find out the owner. Raises NoDatabase, and ConfigError where nobody can say who the owner is."""
    reading = open_reading(config, colour=colour)
    owner = owner_of(config, reading.database)
    if owner.loaded is None:
        reading.terminal.note(f"note: {_what_is_wrong(reading)}; acting for the one owner that the database records")
    return Owned(
        host=reading.host,
        terminal=reading.terminal,
        config=config,
        database=reading.database,
        desks=reading.desks,
        owner=owner.name,
        workspace=None if owner.loaded is None else owner.loaded.desired.workspace,
        trace_days=owner.trace_days,
    )


def _what_is_wrong(reading: Reading) -> str:
    if not reading.config.main.exists():
        return f"{reading.config} is missing (-f FILE names another)"
    return f"{reading.config} is not valid (`remit validate{reading.file_flag}` says why)"


def unknown_id(what: str, wanted: str, known: Iterable[str], *, listed_by: str) -> UsageError:
    """The error for an id that is nobody's, with the id that was probably meant."""
    ids = sorted(known)
    begun = [each for each in ids if len(wanted) >= 4 and each.startswith(wanted)]
    near = begun[0] if len(begun) == 1 else nearest(wanted, ids)
    return UsageError(
        f"no {what} is called {wanted!r}", hint=f"did you mean {near}?" if near else f"`{listed_by}` lists them"
    )
