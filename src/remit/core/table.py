"""The decision table of DESIGN.md section 6, as data: which (desired, recorded, live) triple gives which row.

`TOOL_TABLE` is total over its three columns; rows about servers and assistants are named here and decided where their
facts are (core/servers.py, core/assistants.py). Nothing else decides what becomes of a tool. Pure.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from itertools import product

__all__ = ["TOOL_TABLE", "Row", "Seen", "Stored", "Wanted"]


class Wanted(Enum):
    """What the file says of a tool for an assistant."""

    SELECTED = "selected"
    NOT_SELECTED = "not selected"


class Stored(Enum):
    """What the database says of it."""

    ABSENT = "-"
    ATTACHED = "attached by this workspace"


class Seen(Enum):
    """What the server says of it."""

    SAME = "advertised, same definition"
    OTHER = "advertised, other definition"
    MISSING = "gone from a full listing"
    QUARANTINED = "advertised, unusable"
    UNREACHABLE = "no listing"
    DISABLED = "server disabled by the file"


class Row(StrEnum):
    """Every row of the table, by what it does."""

    ATTACH = "attach"
    NOT_ADVERTISED = "problem tool-not-advertised"
    UNUSABLE = "problem tool-quarantined"
    DEFER = "deferred"
    KEEP = "nothing"
    REFRESH = "refresh"
    VANISHED = "drift vanished"
    OUT_OF_SERVICE = "drift quarantined"
    STALE = "kept, stale"
    SWITCHED_OFF = "kept, out of service"
    DETACH = "detach"
    NOTHING = "never was, is not wanted"
    SET_ENVELOPE = "set_envelope"
    RENAME_ALIAS = "rename_alias"
    REGISTER_SERVER = "register_server"
    UPDATE_SERVER = "update_server"
    RENAME_SERVER = "rename_server"
    UNREGISTER_SERVER = "unregister_server"
    CREATE_ASSISTANT = "create_assistant"
    UPDATE_ASSISTANT = "update_assistant"
    DELETE_ASSISTANT = "delete_assistant"
    KEEP_ASSISTANT = "assistant stays for others"
    DATABASE_DRIFT = "refresh, reason database_drift"
    REGISTERED_ELSEWHERE = "problem registered-elsewhere"
    NOT_OWNER = "problem not-owner"
    STILL_USED = "problem still-used"
    UNMANAGED = "untouched, counted as unmanaged"


_SELECTED_ABSENT = {
    Seen.SAME: Row.ATTACH,
    Seen.OTHER: Row.ATTACH,
    Seen.MISSING: Row.NOT_ADVERTISED,
    Seen.QUARANTINED: Row.UNUSABLE,
    Seen.UNREACHABLE: Row.DEFER,
    Seen.DISABLED: Row.DEFER,
}
_SELECTED_ATTACHED = {
    Seen.SAME: Row.KEEP,
    Seen.OTHER: Row.REFRESH,
    Seen.MISSING: Row.VANISHED,
    Seen.QUARANTINED: Row.OUT_OF_SERVICE,
    Seen.UNREACHABLE: Row.STALE,
    Seen.DISABLED: Row.SWITCHED_OFF,
}

TOOL_TABLE: Mapping[tuple[Wanted, Stored, Seen], Row] = {
    **{(Wanted.SELECTED, Stored.ABSENT, seen): row for seen, row in _SELECTED_ABSENT.items()},
    **{(Wanted.SELECTED, Stored.ATTACHED, seen): row for seen, row in _SELECTED_ATTACHED.items()},
    **{(Wanted.NOT_SELECTED, Stored.ATTACHED, seen): Row.DETACH for seen in Seen},
    **{(Wanted.NOT_SELECTED, Stored.ABSENT, seen): Row.NOTHING for seen in Seen},
}
"""An absent attachment has no definition to compare with, so SAME and OTHER are one to it."""

assert set(TOOL_TABLE) == set(product(Wanted, Stored, Seen))  # noqa: S101 (a hole in the table is a defect of the table)
