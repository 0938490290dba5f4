"""Where the database lives: memory, a file made once, and what is never overwritten."""

import errno
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from remit_analytics.storage import DatabaseUnusable, create_file, open_database


def _turns(path: Path | None) -> tuple[str, int]:
    database = open_database(path)
    with database.connection as connection:
        row = connection.execute("SELECT count(*) FROM turns").fetchone()
        assert row is not None
        return database.kind, int(row[0])


def test_a_missing_file_is_made_with_the_rows_that_memory_has(tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "analytics.duckdb"
    _, expected = _turns(None)
    assert _turns(path) == ("file", expected)
    assert _turns(path) == ("file", expected)
    assert [entry.name for entry in path.parent.iterdir()] == ["analytics.duckdb"]


def test_processes_that_start_at_once_all_open_a_whole_database(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from remit_analytics.storage import open_database;"
        "print(open_database(pathlib.Path(sys.argv[1])).connection.execute('SELECT count(*) FROM turns').fetchone()[0])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "shared.duckdb")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=30)[0].strip() for process in processes]
    assert outputs == [str(_turns(None)[1])] * 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["shared.duckdb"]


def test_a_place_that_cannot_be_written_falls_back_to_memory(tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    assert open_database(tmp_path / "analytics.duckdb", create=refuse).kind == "memory"


def test_a_full_disk_is_an_error_and_not_a_silent_fallback(tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with pytest.raises(DatabaseUnusable, match="No space left"):
        open_database(tmp_path / "analytics.duckdb", create=refuse)


def test_a_file_that_is_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database")
    with pytest.raises(DatabaseUnusable, match="not an analytics database"):
        open_database(path)
    assert path.read_text() == "not a database"


def test_a_database_of_another_data_set_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "analytics.duckdb"
    create_file(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE store.dataset SET version = '0'")
    with pytest.raises(DatabaseUnusable, match="another version"):
        open_database(path)


@pytest.mark.parametrize("in_file", [True, False])
@pytest.mark.parametrize(
    "statement",
    [
        "SET enable_external_access = true",
        "SET memory_limit = '8GB'",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('pyproject.toml')",
        "SELECT * FROM 'pyproject.toml'",
    ],
)
def test_the_connection_itself_refuses_what_the_guard_would_have_caught(
    tmp_path: Path, statement: str, in_file: bool
) -> None:
    database = open_database(tmp_path / "analytics.duckdb" if in_file else None)
    with database.connection as connection, pytest.raises(duckdb.Error):
        connection.execute(statement)
    assert not (tmp_path / "out.csv").exists()
