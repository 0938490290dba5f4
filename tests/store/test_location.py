from pathlib import Path

import pytest

from remit.errors import StoreError
from remit.store.location import Location, exists

DEFAULT = Path("project/.remit/remit.db")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (None, DEFAULT),
        ("", DEFAULT),
        ("sqlite:///state/remit.db", Path("state/remit.db")),
        ("sqlite:////var/lib/remit.db", Path("/var/lib/remit.db")),
        ("sqlite:///a%20b#c.db", Path("a%20b#c.db")),
    ],
)
def test_a_sqlite_url_names_a_file_and_nothing_else_the_default(url: str | None, path: Path) -> None:
    assert Location.parse(url, default=DEFAULT) == Location(path, embedded=path == DEFAULT)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://remit:dummy-secret-value@db.example/remit",
        "postgresql+psycopg://remit:dummy-secret-value@db.example/remit",
        "dummy-secret-value:x@y://z",
        "sqlite+aiosqlite:///dummy-secret-value",
        "sqlite://dummy-secret-value@host/remit.db",
        "sqlite:///remit.db?key=dummy-secret-value",
        "sqlite:///:memory:",
        "sqlite://",
        "sqlite:///file:dummy-secret-value",
        "sqlite:///nul\0dummy-secret-value",
        "dummy-secret-value",
    ],
)
def test_an_unsupported_url_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(StoreError) as refused:
        Location.parse(url, default=DEFAULT)
    shown = f"{refused.value} {refused.value.hint}"
    assert refused.value.code == "database-unsupported"
    assert "PostgreSQL comes with a later version" in shown
    assert "dummy-secret-value" not in shown


def test_a_location_exists_once_something_is_there(tmp_path: Path) -> None:
    location = Location(tmp_path / "remit.db")
    assert not exists(location)
    location.path.touch()
    assert exists(location)
