import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from remit.core.desired import Connection
from remit.core.envelope import Envelope, Surface
from remit.errors import DatabaseUnusable, DatabaseVersion
from remit.store.database import Location, UpgradeOutcome, create_or_upgrade
from remit.store.migrations import REVISIONS
from remit.store.runtime_tables import runs
from remit.store.sqlite import SqliteFile, begin_writing
from remit.store.tables import METADATA
from tests.store.samples import created_store, opened


def _with_revision(path: Path, *revisions: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM alembic_version")
        connection.executemany("INSERT INTO alembic_version VALUES (?)", [(each,) for each in revisions])
    connection.close()


def _made_at(path: Path, revision: str) -> None:
    """A database as the remit of that revision made it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    config = Config()
    config.set_main_option("script_location", "remit.store:migrations")
    with SqliteFile(path).writer.connect() as writer:
        begin_writing(writer, lock_timeout=1, place="test")
        config.attributes["connection"] = writer
        command.upgrade(config, revision)
        writer.commit()


def _upgraded(path: Path) -> object:
    return create_or_upgrade(Location(path))


def _schema(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Columns, foreign keys, unique keys and index conditions, as SQLite sees them."""
    connection = sqlite3.connect(path)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
    found = {
        f"{name}.{kind}": sorted(connection.execute(f"PRAGMA {kind}({name})").fetchall(), key=repr)
        for name in names
        if name != "alembic_version"
        for kind in ("table_info", "foreign_key_list")
    }
    indexes = connection.execute(
        "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1"
    )
    found["indexes"] = indexes.fetchall()
    connection.close()
    return found


def test_upgrading_from_nothing_gives_exactly_the_metadata(tmp_path: Path) -> None:
    created_store(tmp_path)
    create_or_upgrade(Location(tmp_path / "direct.db"))
    with sqlite3.connect(tmp_path / "direct.db") as raw:
        raw.executescript("".join(f"DROP TABLE {table.name};" for table in reversed(runs.metadata.sorted_tables)))
    raw.close()
    with SqliteFile(tmp_path / "direct.db").writer.connect() as connection:
        begin_writing(connection, lock_timeout=1, place="test")
        METADATA.create_all(connection)
        connection.commit()
    assert _schema(tmp_path / "remit.db") == _schema(tmp_path / "direct.db")


def test_alembic_finds_nothing_to_add_to_the_migrations(tmp_path: Path) -> None:
    created_store(tmp_path)
    differences = SqliteFile(tmp_path / "remit.db").read(
        lambda connection: compare_metadata(MigrationContext.configure(connection), METADATA)
    )
    assert differences == []


def test_the_known_revisions_are_those_of_the_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", "remit.store:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert tuple(script.revision for script in reversed(list(scripts.walk_revisions()))) == REVISIONS


@pytest.mark.parametrize("revisions", [("9999",), ("0001", "9999"), ("dummy",)])
def test_a_newer_or_unknown_revision_is_refused_by_reader_and_upgrade(
    tmp_path: Path, revisions: tuple[str, ...]
) -> None:
    created_store(tmp_path)
    _with_revision(tmp_path / "remit.db", *revisions)
    before = (tmp_path / "remit.db").read_bytes()
    for attempt in (opened, _upgraded):
        with pytest.raises(DatabaseVersion) as refused:
            attempt(tmp_path / "remit.db")
        assert refused.value.code == "database-newer"
    assert (tmp_path / "remit.db").read_bytes() == before


def test_an_older_schema_is_refused_until_it_is_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
    connection.close()
    with pytest.raises(DatabaseVersion) as refused:
        opened(path)
    assert (refused.value.code, "remit db upgrade" in (refused.value.hint or "")) == ("database-older", True)
    assert create_or_upgrade(Location(path)) is UpgradeOutcome.UPGRADED
    assert create_or_upgrade(Location(path)) is UpgradeOutcome.UNCHANGED
    assert opened(path).recorded().servers == ()


_ROWS_AT_0001 = """
    INSERT INTO workspaces VALUES ('ops', 'local', 'dummy-lineage', 1, NULL);
    INSERT INTO mcp_server_registrations VALUES (
        'mcp_files', 'local', 'ops', 'files', 'files', 'streamable_http', 'https://files/mcp', NULL, NULL, NULL, 'dummy-key',
        '{"env":{},"headers":{},"auth":null,"tls":null,"protocol":"auto","start_timeout_seconds":60.0,\
"allow_private_network":false}', 30.0, 1, NULL, NULL
    );
    INSERT INTO mcp_server_registrations SELECT
        'mcp_slow', owner, workspace, 'slow', 'slow', transport, 'https://slow/mcp', command, cwd, instance, 'other-key',
        connection, 600.0, enabled, era, '2026-11-30T12:00:00.000000+00:00' FROM mcp_server_registrations;
    INSERT INTO mcp_server_registrations SELECT
        'mcp_edited', owner, workspace, 'edited', 'edited', transport, 'https://edited/mcp', command, cwd, instance,
        'third-key', 'not JSON', 30.0, enabled, era, deleted_at FROM mcp_server_registrations WHERE id = 'mcp_files';
    INSERT INTO assistants VALUES ('id-1', 'local', 'ops', 'helper', '[]', 1);
    INSERT INTO assistant_mcp_tools VALUES (
        'id-2', 'id-1', 'mcp_files', 'ops', 'search', 'mcp.mcp_files.search', 'files__search', 1, '{}', 'd1:a', 'c1:a',
        'f1:a', 'open', 0, 1, NULL, NULL, NULL, NULL, 1
    );
"""


def test_rows_made_at_0001_get_the_strict_values_and_a_limit_of_one_call(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    _made_at(path, "0001")
    with sqlite3.connect(path) as raw:
        raw.executescript(_ROWS_AT_0001)
    raw.close()
    assert create_or_upgrade(Location(path)) is UpgradeOutcome.UPGRADED
    envelope = Envelope(surface=Surface.OPEN, side_effecting=False, reversible=True, required_permission=None)
    with sqlite3.connect(path) as raw:
        policies = raw.execute(
            "SELECT id, surface, side_effecting, row_version, unknown_arguments, record, audit_arguments"
            " FROM assistant_mcp_tools"
        ).fetchall()
        connections = dict(raw.execute("SELECT id, connection FROM mcp_server_registrations").fetchall())
    raw.close()
    assert policies == [("id-2", "open", 0, 1, "reject", "full", "digest")]
    assert connections.pop("mcp_edited") == "not JSON"
    assert {row: json.loads(text)["call_timeout_seconds"] for row, text in connections.items()} == {
        "mcp_files": 300.0,
        "mcp_slow": 600.0,
    }
    with pytest.raises(DatabaseUnusable):
        opened(path).recorded()
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM mcp_server_registrations WHERE id = 'mcp_edited'")
    raw.close()
    recorded = opened(path).recorded()
    assert [(each.server_id, each.connection) for each in recorded.servers] == [("mcp_files", Connection())]
    assert [each.envelope for each in recorded.attachments] == [envelope]


def test_the_files_of_the_last_apply_tell_the_environment_of_a_workspace_from_before(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    _made_at(path, "0008")
    files = {
        "plain": '["mcp.d/a.yaml", "mcp.yaml"]',
        "prod": '["envs/prod.yaml", "mcp.yaml"]',
        "two": '["envs/a.yaml", "envs/b.yaml"]',
        "edited": "not JSON",
        "none": None,
    }
    with sqlite3.connect(path) as raw:
        raw.executemany(
            "INSERT INTO workspaces (name, owner, lineage, serial, files) VALUES (?, 'local', 'line', 1, ?)",
            files.items(),
        )
    raw.close()
    assert create_or_upgrade(Location(path)) is UpgradeOutcome.UPGRADED
    with sqlite3.connect(path) as raw:
        found = dict(raw.execute("SELECT name, environment FROM workspaces").fetchall())
    raw.close()
    assert found == {"plain": "", "prod": "prod", "two": None, "edited": None, "none": None}


def test_the_database_itself_refuses_a_policy_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    _made_at(path, "0001")
    with sqlite3.connect(path) as raw:
        raw.executescript(_ROWS_AT_0001)
    raw.close()
    create_or_upgrade(Location(path))
    for column in ("unknown_arguments", "record", "audit_arguments"):
        for value in ("'anything'", "NULL"):
            with sqlite3.connect(path) as raw, pytest.raises(sqlite3.IntegrityError):
                raw.execute(f"UPDATE assistant_mcp_tools SET {column} = {value}")
            raw.close()


def test_a_schema_that_becomes_newer_is_refused_by_a_store_that_is_open(tmp_path: Path) -> None:
    store = created_store(tmp_path)
    _with_revision(tmp_path / "remit.db", "9999")
    with pytest.raises(DatabaseVersion):
        store.recorded()
    with pytest.raises(DatabaseVersion), store.workspace("ops", owner="local", lock_timeout=1):
        pass


def test_the_database_of_another_program_is_never_given_our_tables(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    before = path.read_bytes()
    for attempt in (opened, _upgraded):
        with pytest.raises(DatabaseUnusable) as refused:
            attempt(path)
        assert refused.value.code == "database-foreign"
    assert _schema(path)["songs.table_info"] == [(0, "title", "TEXT", 0, None, 0)]
    assert len(before) == path.stat().st_size


def test_opening_a_store_to_read_imports_neither_the_orm_nor_alembic(tmp_path: Path) -> None:
    created_store(tmp_path)
    program = (
        "import sys; from pathlib import Path; from datetime import datetime, UTC\n"
        "from remit.store.database import Location, open_store\n"
        "store = open_store(Location(Path(sys.argv[1])), new_id=str, clock=lambda: datetime.fromtimestamp(0, UTC))\n"
        "store.recorded(); store.last_good([])\n"
        "print([name for name in ('sqlalchemy.orm', 'alembic', 'mcp', 'yaml') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "remit.db")],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ran.stdout == "[]\n"


def test_importing_the_package_alone_imports_no_sqlalchemy() -> None:
    program = "import sys, remit.store, remit.store.location; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "False\n"
