"""Who watches a workspace: one row each, which ends by the database's time unless its holder renews it.

Decides who holds a lease and what a write needs of one. A lease only says who is meant to act: its epoch, compared inside
the apply's own transaction, is what keeps a holder that slept past its end from acting all the same (fault F4 of the
reference). The holder's process is looked at where it ran on this boot of this machine, so that a watcher that was killed
keeps nobody waiting.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sqlalchemy import Connection, func, insert, select, update

from remit.core.leases import Lease, Watcher
from remit.errors import WorkspaceBusy
from remit.store.access import Access
from remit.store.instances import host_here, pid_start
from remit.store.runtime_tables import watch_leases
from remit.store.texts import require_storable, time_from, time_text

__all__ = ["REPLACED", "RUNNING", "Leases", "require_lease"]

RUNNING = "watcher-running"
REPLACED = "watcher-replaced"
_ROW = watch_leases.c


class Leases:
    """The LeaseDesk of core/watch_ports.py. Made by `DatabaseStore.leases`. A busy database is waited for `patience` seconds."""

    def __init__(self, access: Access, *, patience: float):
        self._access = access
        self._patience = patience

    def take(self, workspace: str, watcher: Watcher, *, seconds: float) -> Lease:
        """A lease for so long. Raises WorkspaceBusy where another watcher holds it."""
        require_storable(workspace, watcher.host, place=f"workspace.{workspace}")
        with self._access.writing(lock_timeout=self._patience, place=f"workspace.{workspace}") as connection:
            now = _database_time(connection)
            row = _row_of(connection, workspace)
            if row is not None and _is_held(row, now, seconds):
                raise _held_by(row, workspace, code=RUNNING, told="another `remit watch` watches this workspace")
            epoch = 1 if row is None else int(row["epoch"]) + 1
            values = _values(watcher, epoch, now + timedelta(seconds=seconds))
            if row is None:
                connection.execute(insert(watch_leases).values(workspace=workspace, **values))
            else:
                connection.execute(update(watch_leases).where(_ROW.workspace == workspace).values(values))
            connection.commit()
        return Lease(workspace=workspace, token=watcher.token, epoch=epoch)

    def renew(self, lease: Lease, *, seconds: float) -> bool:
        """Prolong a lease. False where another watcher took it, or its row is gone."""
        with self._access.writing(lock_timeout=self._patience, place=f"workspace.{lease.workspace}") as connection:
            until = _database_time(connection) + timedelta(seconds=seconds)
            renewed = connection.execute(_mine(lease).values(expires_at=time_text(until))).rowcount == 1
            connection.commit()
        return renewed

    def release(self, lease: Lease) -> None:
        """Let a lease end now; its row stays, so that the next epoch is another one."""
        with self._access.writing(lock_timeout=self._patience, place=f"workspace.{lease.workspace}") as connection:
            connection.execute(_mine(lease).values(expires_at=time_text(_database_time(connection))))
            connection.commit()


def require_lease(connection: Connection, lease: Lease) -> None:
    """Refuse a write of a watcher that was replaced. Raises WorkspaceBusy, naming who watches now."""
    row = _row_of(connection, lease.workspace)
    if row is None or (row["token"], row["epoch"]) != (lease.token, lease.epoch):
        raise replaced(row, lease.workspace)


def replaced(row: dict[str, Any] | None, workspace: str) -> WorkspaceBusy:
    """The error of a watcher whose lease ended while it did not look, and that another one took."""
    told = "another `remit watch` took this workspace over, as this one did not renew its lease in time"
    if row is None:
        return WorkspaceBusy(
            "the lease of this `remit watch` is gone from the database",
            code=REPLACED,
            place=f"workspace.{workspace}",
            hint="start it again",
        )
    return _held_by(row, workspace, code=REPLACED, told=told)


def _held_by(row: dict[str, Any], workspace: str, *, code: str, told: str) -> WorkspaceBusy:
    since = time_from(row["since"]).strftime("%Y-%m-%d %H:%M:%S UTC")
    return WorkspaceBusy(
        f"{told}: process {row['pid']} on {row['host']}, since {since}",
        code=code,
        place=f"workspace.{workspace}",
        hint="end that one first, or leave the watching to it; a lease that nobody renews ends by itself",
    )


def _mine(lease: Lease) -> Any:
    mine = (_ROW.workspace == lease.workspace, _ROW.token == lease.token, _ROW.epoch == lease.epoch)
    return update(watch_leases).where(*mine)


def _row_of(connection: Connection, workspace: str) -> dict[str, Any] | None:
    row = connection.execute(select(watch_leases).where(_ROW.workspace == workspace)).mappings().first()
    return None if row is None else dict(row)


def _values(watcher: Watcher, epoch: int, until: datetime) -> dict[str, str | int]:
    return {
        "token": watcher.token,
        "epoch": epoch,
        "host": watcher.host,
        "boot": host_here().boot,
        "pid": watcher.pid,
        "pid_start": pid_start(watcher.pid) or "",
        "since": time_text(watcher.since),
        "expires_at": time_text(until),
    }


def _is_held(row: dict[str, Any], now: datetime, seconds: float) -> bool:
    left = (time_from(row["expires_at"]) - now).total_seconds()
    # More than a whole lease is left where the clock was set back: then only the process says whether it is held.
    here = host_here()
    if (row["host"], row["boot"]) == (here.name, here.boot) and here.boot:
        return left > 0 and pid_start(row["pid"]) == row["pid_start"]
    return 0 < left <= 2 * seconds


def _database_time(connection: Connection) -> datetime:
    moment = cast("datetime | str", connection.execute(select(func.current_timestamp())).scalar_one())
    found = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
