import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from remit.errors import DatabaseUnusable, NoDatabase, StoreError
from remit.store.database import Location, UpgradeOutcome, create_or_upgrade
from remit.store.sqlite import SqliteFile, begin_writing
from tests.ordinary_user import ordinary_user
from tests.store.samples import assistant, attach, created_store, opened, register, tool


def _tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every name below a folder with its size, time and content, the folder itself included."""
    found = {".": (0, folder.stat().st_mtime_ns, b"")}
    for path in folder.iterdir():
        found[path.name] = (path.stat().st_size, path.stat().st_mtime_ns, path.read_bytes())
    return found


@pytest.fixture
def shared_folder() -> Generator[Path]:
    """A folder that another user can reach, as pytest's own cannot be."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_new_database_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "project" / ".remit" / "remit.db"
    assert create_or_upgrade(Location(path)) is UpgradeOutcome.CREATED
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["remit.db"]


def test_creating_keeps_the_folder_that_is_there_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o750)
    create_or_upgrade(Location(folder / "remit.db"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750


def test_a_database_that_cannot_be_created_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as refused:
        create_or_upgrade(Location(tmp_path / "file" / "remit.db"))
    assert refused.value.code == "database-not-created"


def test_a_new_database_is_in_wal_mode_and_writers_keep_every_rule_on(tmp_path: Path) -> None:
    created_store(tmp_path)
    names = ("journal_mode", "foreign_keys", "recursive_triggers", "trusted_schema")
    with SqliteFile(tmp_path / "remit.db").writer.connect() as connection:
        begin_writing(connection, lock_timeout=1, place="test")
        assert [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names] == ["wal", 1, 1, 0]


def test_a_missing_database_is_not_created_by_reading_or_by_writing(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    (tmp_path / "remit.db").unlink()
    before = _tree(tmp_path)
    with pytest.raises(NoDatabase) as refused:
        opened(tmp_path / "remit.db")
    with pytest.raises(NoDatabase):
        store.recorded()
    with pytest.raises(NoDatabase), store.workspace("ops", owner="local", lock_timeout=1):
        pass
    assert all(way in (refused.value.hint or "") for way in ("remit init", "remit db upgrade", "--create-db"))
    assert _tree(tmp_path) == before


def test_a_missing_folder_is_not_created_by_reading(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase):
        opened(tmp_path / ".remit" / "remit.db")
    assert list(tmp_path.iterdir()) == []


def test_reading_leaves_file_and_folder_exactly_as_they_were(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        transaction.execute([register("github"), assistant("ops"), attach(tool("ops", "github", "search"))])
    before = _tree(tmp_path)
    reader = opened(tmp_path / "remit.db")
    reader.recorded()
    reader.last_good([])
    reader.history("ops", limit=5)
    reader.tool_configs(owner="local", assistant="ops")
    assert _tree(tmp_path) == before
    assert sorted(before) == [".", "remit.db"]


def test_reading_while_a_writer_has_the_file_open_sees_the_last_commit_only(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        transaction.execute([assistant("ops")])
        during = opened(tmp_path / "remit.db").recorded()
    after = opened(tmp_path / "remit.db").recorded()
    assert [each.name for each in during.assistants] == []
    assert [each.name for each in after.assistants] == ["ops"]


def test_a_reading_that_a_writer_overtook_is_done_again(tmp_path: Path) -> None:
    """A file read as immutable has no lock; what was read from a file that changed meanwhile must not count."""
    store = created_store(tmp_path)
    readings: list[int] = []

    def write_behind(_: object) -> int:
        readings.append(len(readings))
        if len(readings) == 1:
            with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
                transaction.execute([assistant("ops")])
        return len(readings)

    assert SqliteFile(tmp_path / "remit.db").read(write_behind) == 2
    assert readings == [0, 1]


def test_a_database_that_goes_in_the_middle_of_a_reading_is_no_database(tmp_path: Path) -> None:
    created_store(tmp_path)

    def reading(connection: object) -> None:
        (tmp_path / "remit.db").unlink()

    with pytest.raises(NoDatabase):
        SqliteFile(tmp_path / "remit.db").read(reading)


def test_a_read_only_folder_can_be_read_and_not_written(shared_folder: Path) -> None:
    store = created_store(shared_folder)
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        transaction.execute([assistant("ops")])
    (shared_folder / "remit.db").chmod(0o444)
    shared_folder.chmod(0o555)
    before = _tree(shared_folder)
    with ordinary_user():
        assert [each.name for each in opened(shared_folder / "remit.db").recorded().assistants] == ["ops"]
        with pytest.raises(StoreError) as refused, store.workspace("ops", owner="local", lock_timeout=1):
            pass
    assert refused.value.code == "database-read-only"
    assert _tree(shared_folder) == before


def test_what_a_crashed_writer_committed_is_read_from_a_read_only_folder_too(shared_folder: Path) -> None:
    store = created_store(shared_folder)
    # A copy taken while a connection is open is what a crash leaves: the commit is in the log, not in the file.
    keeper = sqlite3.connect(shared_folder / "remit.db")
    keeper.execute("SELECT count(*) FROM applies").fetchall()
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        transaction.execute([assistant("late")])
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(shared_folder / f"remit.db{suffix}", shared_folder / f"left.db{suffix}")
        (shared_folder / f"left.db{suffix}").chmod(0o444)
    keeper.close()
    shared_folder.chmod(0o555)
    with ordinary_user():
        recorded = opened(shared_folder / "left.db").recorded()
    assert [each.name for each in recorded.assistants] == ["late"]


def test_a_log_that_cannot_be_read_is_refused_instead_of_left_out(shared_folder: Path) -> None:
    store = created_store(shared_folder)
    keeper = sqlite3.connect(shared_folder / "remit.db")
    keeper.execute("SELECT count(*) FROM applies").fetchall()
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        transaction.execute([assistant("late")])
    for suffix in ("", "-wal"):
        shutil.copy(shared_folder / f"remit.db{suffix}", shared_folder / f"left.db{suffix}")
        (shared_folder / f"left.db{suffix}").chmod(0o444)
    keeper.close()
    shared_folder.chmod(0o555)
    with ordinary_user(), pytest.raises(DatabaseUnusable) as refused:
        opened(shared_folder / "left.db")
    assert refused.value.code == "database-unusable"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "database-empty"),
        (b"SQLite", "database-not-sqlite"),
        (b"version: 1\nworkspace: acme-ops\n", "database-not-sqlite"),
        (b"SQLite format 3\0" + b"\xff" * 8176, "database-not-sqlite"),
    ],
)
def test_what_is_not_a_database_is_refused_and_never_replaced(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "remit.db"
    path.write_bytes(content)
    path.chmod(0o600)
    before = _tree(tmp_path)
    with pytest.raises(DatabaseUnusable) as read:
        opened(path)
    with pytest.raises(DatabaseUnusable) as upgraded:
        create_or_upgrade(Location(path))
    assert (read.value.code, upgraded.value.code) == (code, code)
    assert _tree(tmp_path) == before


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "remit.db").mkdir()
    with pytest.raises(DatabaseUnusable) as refused:
        opened(tmp_path / "remit.db")
    assert refused.value.code == "database-not-sqlite"


def test_a_damaged_page_is_reported_and_not_read_around(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    with store.workspace("ops", owner="local", lock_timeout=1) as transaction:
        operations = [attach(tool("ops", "github", f"tool_{number}")) for number in range(200)]
        transaction.execute([register("github"), assistant("ops"), *operations])
    path = tmp_path / "remit.db"
    content = path.read_bytes()
    path.write_bytes(content[:16384] + b"\xa5" * (len(content) - 16384))
    with pytest.raises(DatabaseUnusable) as refused:
        opened(path).recorded()
    assert refused.value.code == "database-corrupt"


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o602, 0o700), (0o600, 0o777)])
def test_a_database_that_every_user_may_write_is_refused(tmp_path: Path, file_mode: int, folder_mode: int) -> None:
    created_store(tmp_path / "state")
    (tmp_path / "state" / "remit.db").chmod(file_mode)
    (tmp_path / "state").chmod(folder_mode)
    with pytest.raises(DatabaseUnusable) as refused:
        opened(tmp_path / "state" / "remit.db")
    assert refused.value.code == "database-exposed"


def test_two_creators_at_once_leave_one_whole_database(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    program = (
        "import sys; from pathlib import Path; from remit.store.database import Location, create_or_upgrade\n"
        "print(create_or_upgrade(Location(Path(sys.argv[1]))))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = sorted(each.communicate(timeout=30)[0].strip() for each in started)
    assert answers == ["created", "unchanged"]
    assert [each.name for each in tmp_path.iterdir()] == ["remit.db"]
    assert opened(path).recorded().servers == ()
