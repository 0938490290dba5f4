"""Leases of watchers: one holder, an end by the database's time, and writes that an old holder cannot make (fault F4)."""

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from remit.core.leases import Lease, Watcher
from remit.errors import WorkspaceBusy
from remit.store.store import DatabaseStore
from tests.store.samples import NOW, assistant, created_store

FIRST = Watcher(token="token-1", host="here", pid=os.getpid(), since=NOW)
SECOND = replace(FIRST, token="token-2", pid=os.getppid())


def _end(folder: Path, *, seconds: int) -> None:
    """Move the end of every lease, as the passing of time does."""
    with sqlite3.connect(folder / "remit.db") as raw:
        raw.execute(
            "UPDATE watch_leases SET expires_at = strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now', ?)",
            (f"{seconds} seconds",),
        )
    raw.close()


def _applies_under(store: DatabaseStore, lease: Lease) -> None:
    with store.workspace("web", owner="local", lock_timeout=1, lease=lease) as transaction:
        transaction.execute([assistant("ops")])


def test_a_second_watcher_is_refused_and_told_who_watches(tmp_path: Path) -> None:
    leases = created_store(tmp_path).leases()
    assert leases.take("web", FIRST, seconds=15) == Lease(workspace="web", token="token-1", epoch=1)
    with pytest.raises(WorkspaceBusy) as refused:
        leases.take("web", SECOND, seconds=15)
    assert (refused.value.code, refused.value.exit_code) == ("watcher-running", 6)
    assert f"process {os.getpid()} on here, since 2026-11-30 12:00:00 UTC" in refused.value.message


def test_another_workspace_has_a_lease_of_its_own(tmp_path: Path) -> None:
    leases = created_store(tmp_path).leases()
    leases.take("web", FIRST, seconds=15)
    assert leases.take("infra", SECOND, seconds=15).epoch == 1


def test_a_lease_that_nobody_renewed_is_taken_over_with_the_next_epoch(tmp_path: Path) -> None:
    leases = created_store(tmp_path).leases()
    old = leases.take("web", FIRST, seconds=15)
    _end(tmp_path, seconds=-1)
    new = leases.take("web", SECOND, seconds=15)
    assert (new.epoch, leases.renew(old, seconds=15), leases.renew(new, seconds=15)) == (2, False, True)


def test_a_lease_is_renewed_after_its_end_while_nobody_took_it(tmp_path: Path) -> None:
    leases = created_store(tmp_path).leases()
    lease = leases.take("web", FIRST, seconds=15)
    _end(tmp_path, seconds=-60)
    assert leases.renew(lease, seconds=15)
    with pytest.raises(WorkspaceBusy):
        leases.take("web", SECOND, seconds=15)


def test_a_released_lease_is_free_and_its_epoch_is_never_used_again(tmp_path: Path) -> None:
    leases = created_store(tmp_path).leases()
    old = leases.take("web", FIRST, seconds=15)
    leases.release(old)
    assert leases.take("web", SECOND, seconds=15).epoch == 2
    leases.release(old)
    with pytest.raises(WorkspaceBusy):
        leases.take("web", FIRST, seconds=15)


def test_the_lease_of_a_process_that_is_gone_is_free_at_once(tmp_path: Path) -> None:
    leases = created_store(tmp_path).leases()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        from remit.store.instances import host_here

        leases.take("web", replace(FIRST, host=host_here().name, pid=process.pid), seconds=600)
        with pytest.raises(WorkspaceBusy):
            leases.take("web", SECOND, seconds=15)
        process.communicate(b"\n", timeout=10)
    assert leases.take("web", SECOND, seconds=15).epoch == 2


def test_a_lease_that_seems_to_last_for_a_day_as_the_clock_was_set_back_is_no_lease(tmp_path: Path) -> None:
    leases = created_store(tmp_path).leases()
    leases.take("web", FIRST, seconds=15)
    _end(tmp_path, seconds=24 * 3600)
    assert leases.take("web", SECOND, seconds=15).epoch == 2


def test_fault_f4_the_write_of_a_holder_that_was_replaced_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    old = store.leases().take("web", FIRST, seconds=15)
    _applies_under(store, old)
    _end(tmp_path, seconds=-1)
    new = store.leases().take("web", SECOND, seconds=15)
    before = store.recorded()
    with pytest.raises(WorkspaceBusy) as refused:
        _applies_under(store, replace(old))
    assert (refused.value.code, f"process {os.getppid()} on here" in refused.value.message) == (
        "watcher-replaced",
        True,
    )
    assert store.recorded() == before
    _applies_under(store, new)


def test_a_watcher_whose_row_is_gone_writes_nothing(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with pytest.raises(WorkspaceBusy) as refused:
        _applies_under(store, Lease(workspace="web", token="token-1", epoch=1))
    assert refused.value.code == "watcher-replaced"


def test_an_apply_without_a_watcher_needs_no_lease(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    store.leases().take("web", FIRST, seconds=15)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute([assistant("ops")]) == ()
