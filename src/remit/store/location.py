"""Where the database is: a URL or the default path, parsed without opening or importing a database driver.

Decides which URLs are supported and never repeats one in a message, as a URL may hold a password. It does not look into
the file; `sqlite.py` does.
"""

from dataclasses import dataclass
from pathlib import Path

from remit.errors import StoreError

__all__ = ["Location", "exists"]

_SUPPORTED = "remit works on SQLite: sqlite:///PATH (relative) or sqlite:////PATH (absolute)"


@dataclass(frozen=True, slots=True)
class Location:
    """A SQLite database file. `str()` is what a message shows: the path, never a URL.

    `embedded` is whether it is the one beside the configuration, which nobody named.
    """

    path: Path
    embedded: bool = False

    @classmethod
    def parse(cls, url: str | None, *, default: Path) -> "Location":
        """The place that REMIT_DATABASE_URL names, or `default` where it is unset or empty.

        `sqlite:///PATH`: everything after the third slash is the path, taken literally (no percent-decoding).
        Raises StoreError `database-unsupported` for every other URL; the text names the scheme only.
        """
        if not url:
            return cls(default, embedded=True)
        scheme, separator, rest = url.partition("://")
        if not separator:
            raise _unsupported("the database URL has no scheme")
        if scheme != "sqlite":
            raise _unsupported(f"databases of the kind {_shown(scheme)} are not supported")
        path = rest.removeprefix("/")
        if not rest.startswith("/") or path in ("", ":memory:") or path.startswith("file:") or "?" in path:
            raise _unsupported("a sqlite URL names one file, without host or options; memory keeps no record")
        if "\0" in path:
            raise _unsupported("a path holds no NUL character")
        return cls(Path(path))

    def __str__(self) -> str:
        return str(self.path)


def exists(location: Location) -> bool:
    """Whether there is anything at the location; whether it can be used is found out by opening it."""
    return location.path.exists()


def _shown(scheme: str) -> str:
    # A URL without a real scheme could carry anything before "://": only a plain word is repeated.
    plain = scheme.replace("+", "").replace("-", "")
    return scheme if plain.isalnum() and len(scheme) <= 32 else "named"


def _unsupported(message: str) -> StoreError:
    return StoreError(
        message,
        code="database-unsupported",
        place="REMIT_DATABASE_URL",
        hint=f"{_SUPPORTED}; PostgreSQL comes with a later version",
    )
