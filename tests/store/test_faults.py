import logging
import re
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, insert, update
from sqlalchemy.exc import IntegrityError

from remit.core.desired import BearerAuth, Connection
from remit.core.diagnostics import Source
from remit.core.identity import RemoteName
from remit.core.live import ListedTool
from remit.core.recorded import Recorded
from remit.errors import StoreError, WorkspaceBusy
from remit.store.codes import CODES
from remit.store.database import Location, open_store
from remit.store.faults import translated
from remit.store.sqlite import SqliteFile, begin_writing
from remit.store.store import DatabaseStore
from remit.store.tables import workspaces
from tests.store.samples import (
    NOW,
    assistant,
    attach,
    created_store,
    definition,
    facts,
    listed,
    numbered,
    opened,
    register,
    server_id,
    tool,
)

CANARY = "dummy-secret-value"


def _limited(path: Path, pages: int) -> DatabaseStore:
    """A store on a disk that holds so many pages."""
    file = SqliteFile(path)

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(file.writer, "connect", limit)
    return DatabaseStore(file, new_id=numbered("limited"), clock=lambda: NOW)


@pytest.mark.parametrize("spare", [0, 1, 3, 10, 40])
def test_a_full_disk_leaves_the_old_state_whole(tmp_path: Path, spare: int) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(tool("ops", "github", "search"))])
    before = store.recorded()
    pages = (tmp_path / "remit.db").stat().st_size // 4096
    many = [attach(tool("ops", "github", f"tool_{number}"), definition("x" * 3000)) for number in range(300)]
    with (
        pytest.raises(StoreError) as refused,
        _limited(tmp_path / "remit.db", pages + spare).workspace("web", owner="local", lock_timeout=1) as transaction,
    ):
        transaction.execute(many)
    assert refused.value.code == "database-full"
    assert store.recorded() == before
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert transaction.execute(many) == ()


def test_a_second_writer_is_told_within_its_timeout_that_the_workspace_is_busy(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    second = opened(tmp_path / "remit.db", prefix="second")
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
        started = time.monotonic()
        with pytest.raises(WorkspaceBusy) as refused, second.workspace("web", owner="local", lock_timeout=0.3):
            pass
        waited = time.monotonic() - started
    assert 0.3 <= waited < 3
    assert (refused.value.exit_code, refused.value.code) == (6, "workspace-busy")
    assert refused.value.place == "workspace.web"
    with second.workspace("web", owner="local", lock_timeout=1) as transaction:
        assert [each.name for each in transaction.recorded().servers] == ["github"]


def test_a_second_writer_that_waits_gets_the_lock_when_the_first_is_done(tmp_path: Path) -> None:
    created_store(tmp_path)
    program = _CHILD + (
        "with store.workspace('web', owner='local', lock_timeout=5) as transaction:\n"
        "    transaction.execute([register('first')])\n"
        "    print('locked', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    first = _start(program, tmp_path / "remit.db")
    assert first.stdout is not None
    assert first.stdout.readline() == "locked\n"
    second = _start(program.replace("'first'", "'second'"), tmp_path / "remit.db")
    first.communicate("go\n", timeout=20)
    assert second.stdout is not None
    assert second.stdout.readline() == "locked\n"
    second.communicate("go\n", timeout=20)
    assert [each.name for each in opened(tmp_path / "remit.db").recorded().servers] == ["first", "second"]


_CHILD = (
    "import sys, os, signal; from pathlib import Path\n"
    "from tests.store.samples import *\n"
    "store = opened(Path(sys.argv[1]), prefix=f'child-{os.getpid()}')\n"
)


def _start(program: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.parametrize(
    "moment",
    [
        "",
        "transaction.execute([register('mirror')])",
        "transaction.execute([register('mirror'), *many])",
        "transaction.execute([register('mirror'), *many]); transaction.keep_listing(server_id('mirror'), listed(a=definition()))",
    ],
)
def test_kill_9_inside_the_transaction_leaves_the_old_state_and_no_lock(tmp_path: Path, moment: str) -> None:
    store = created_store(tmp_path)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(tool("ops", "github", "search"))])
    before = store.recorded()
    program = _CHILD + (
        "many = [attach(tool('ops', 'github', f't{n}'), definition('x' * 3000)) for n in range(2000)]\n"
        "with store.workspace('web', owner='local', lock_timeout=5) as transaction:\n"
        f"    {moment or 'pass'}\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = _start(program, tmp_path / "remit.db")
    child.communicate(timeout=30)
    assert child.returncode == -signal.SIGKILL
    assert store.recorded() == before
    with store.workspace("web", owner="local", lock_timeout=0) as transaction:
        assert transaction.recorded() == before


def test_no_error_shows_sql_or_a_parameter(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    created_store(tmp_path)
    row = {"name": CANARY, "owner": CANARY, "lineage": CANARY, "serial": 0}
    statements = (insert(workspaces).values(row), update(workspaces).values(serial=CANARY * 9, name=None))
    caplog.set_level(logging.INFO)
    with SqliteFile(tmp_path / "remit.db").writer.connect() as connection:
        begin_writing(connection, lock_timeout=1, place="test")
        connection.execute(statements[0])
        for statement in statements:
            with pytest.raises(StoreError) as refused, translated("remit.db"):
                connection.execute(statement)
            shown = "".join(traceback.format_exception(refused.value))
            assert refused.value.code == "database-constraint"
            assert isinstance(refused.value.__cause__, IntegrityError)
            assert CANARY not in shown
            assert "INSERT" not in str(refused.value)
    assert CANARY not in caplog.text


@pytest.mark.parametrize("bad", [f"{CANARY}\0", f"{CANARY}\ud800"])
def test_a_text_that_no_engine_keeps_is_refused_without_being_shown(tmp_path: Path, bad: str) -> None:
    store = created_store(tmp_path)
    good = attach(tool("ops", "github", "search"))
    for operation in (
        assistant(bad),
        replace(good, tool=replace(good.tool, remote_name=RemoteName(bad))),
        replace(good, source=Source(bad, 1, 1)),
        replace(good, envelope=replace(good.envelope, required_permission=bad)),
        replace(register("mirror"), facts=replace(facts("mirror"), name=bad)),
    ):
        with pytest.raises(StoreError) as refused, store.workspace("web", owner="local", lock_timeout=1) as transaction:
            transaction.execute([register("github"), assistant("ops"), operation])
        assert (refused.value.code, refused.value.__cause__) == ("text-not-storable", None)
        assert CANARY not in refused.value.message
    assert store.recorded() == Recorded()


def test_a_surrogate_that_only_the_driver_notices_is_the_same_error(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    name = RemoteName(f"{CANARY}\ud800")
    bad = replace(listed(), tools=(ListedTool(remote_name=name, definition=definition()),))
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github")])
    before = store.recorded()
    with pytest.raises(StoreError) as refused, store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.keep_listing(server_id("github"), bad)
    assert refused.value.code == "text-not-storable"
    assert CANARY not in "".join(traceback.format_exception(refused.value))
    assert refused.value.__suppress_context__, "the driver's error object carries the text"
    assert store.recorded() == before


def test_only_references_reach_the_file(tmp_path: Path) -> None:
    """The store is handed references; that it keeps them as written is what keeps values out of the file."""
    store = created_store(tmp_path)
    connection = Connection(auth=BearerAuth(token="${env:TOKEN}"), env={"KEY": "${file:/run/secrets/key}"})
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github", connection=connection)])
    assert b"${env:TOKEN}" in (tmp_path / "remit.db").read_bytes()
    assert store.recorded().servers[0].connection == connection


def test_a_database_that_goes_away_while_a_store_is_open_is_reported(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    assert store.recorded() == Recorded()
    (tmp_path / "remit.db").write_bytes(b"")
    with pytest.raises(StoreError) as refused:
        store.recorded()
    assert refused.value.code == "database-empty"


def test_every_code_of_the_store_is_explained() -> None:
    sources = Path(sys.modules["remit.store"].__path__[0]).glob("*.py")
    text = "".join(path.read_text() for path in sources if path.name != "codes.py")
    raised = set(
        re.findall(
            r'"((?:approval|audit|database|server|workspace|text|journal|run|action|state|watcher)-[a-z-]+)"', text
        )
    ) | {
        "approver-refused",
        "no-database",
        "workspace-busy",
    }
    assert raised == set(CODES)


def test_ids_come_from_the_factory_alone(tmp_path: Path) -> None:
    created_store(tmp_path)
    given: list[str] = []

    def new_id() -> str:
        given.append(f"made-{len(given)}")
        return given[-1]

    store = open_store(Location(tmp_path / "remit.db"), new_id=new_id, clock=lambda: NOW)
    with store.workspace("web", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(tool("ops", "github", "search"))])
    assert store.recorded().workspaces["web"].lineage == "made-0"
    assert given == ["made-0", "made-1", "made-2"]
