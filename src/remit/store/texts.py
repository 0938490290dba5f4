"""Times, lists and JSON as texts of a column, and which texts a column can hold. No I/O."""

import json
from datetime import UTC, datetime
from typing import cast

from remit.core.canonical import Json
from remit.store.faults import unstorable

__all__ = [
    "any_json",
    "ascii_json",
    "encodes",
    "json_list",
    "json_text",
    "require_storable",
    "shortened",
    "time_from",
    "time_text",
]


_QUOTED = 40

# json.dumps makes an encoder anew each time, which costs as much as encoding a small object.
_STRICT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_LENIENT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


def time_text(moment: datetime) -> str:
    """UTC, with microseconds and offset, always 32 characters: texts sort as times do. Raises ValueError if naive."""
    if moment.tzinfo is UTC:
        return moment.isoformat(timespec="microseconds")
    if moment.utcoffset() is None:
        raise ValueError("a time without a zone cannot be stored")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def time_from(text: str) -> datetime:
    """The moment, in UTC."""
    return datetime.fromisoformat(text)


def require_storable(*texts: str | None, place: str) -> None:
    """Refuse what SQLite and PostgreSQL would answer differently (security.md, input 86). Raises StoreError."""
    together = "".join(filter(None, texts))
    if together.isascii() and "\0" not in together:
        return
    for text in texts:
        if text is not None and ("\0" in text or not encodes(text)):
            raise unstorable(place)


def encodes(text: str) -> bool:
    """Whether a text has bytes in UTF-8; one with a lone surrogate has none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def shortened(value: object) -> str:
    """A value that stands where it should not, as an error may quote it: in ASCII, at most 40 characters."""
    text = ascii(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def ascii_json(value: Json) -> str:
    """Compact JSON. Raises ValueError for NaN and infinities."""
    # ASCII escapes carry NUL and lone surrogates through both engines: what a server says is kept as it said it.
    return _STRICT.encode(value)


def any_json(value: Json) -> str | None:
    """Compact JSON of what a server sent, NaN and infinities as Python spells them; None where it has no JSON at all."""
    try:
        return _LENIENT.encode(value)
    except (ValueError, TypeError, RecursionError):
        return None


def json_list(text: str) -> tuple[str, ...]:
    """A stored list of texts."""
    return tuple(cast("list[str]", json.loads(text)))


def json_text(text: str | None) -> str | None:
    """A stored JSON text that is one text, or none. Raises ValueError or TypeError for anything else."""
    if text is None:
        return None
    value = json.loads(text)
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
