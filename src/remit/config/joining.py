"""Several files of one workspace as one tree.

Decides that lists are joined in the order of the files and that anything else stands in one file only: with two values,
which one holds would be a matter of names of files. Two entries of one name are found where names are compared.
"""

from collections.abc import Sequence

from remit.config.credentials import is_showable
from remit.config.findings import Findings, line_of
from remit.config.nodes import Entry, ListNode, MapNode

__all__ = ["joined"]

_IN_EVERY_FILE = frozenset({"version", "include"})
"""`version` is each file's own; `include` beyond the first file is reported by the check of shapes."""

_JOINED_INSIDE = frozenset({"mcp"})
"""Mappings that are only there to group; every other one is one value."""


def joined(roots: Sequence[MapNode], findings: Findings) -> MapNode:
    """The trees as one, which keeps every node's own place. `roots` is not empty."""
    first, *others = roots
    for other in others:
        first = _join(first, other, findings)
    return first


def _join(first: MapNode, other: MapNode, findings: Findings) -> MapNode:
    entries = dict(first.entries)
    for key, entry in other.entries.items():
        known = entries.get(key)
        if known is None:
            entries[key] = entry
        elif key not in _IN_EVERY_FILE:
            entries[key] = _both(key, known, entry, findings)
    return MapNode(first.file, first.start, first.end, entries)


def _both(key: str, known: Entry, entry: Entry, findings: Findings) -> Entry:
    match known.value, entry.value:
        case ListNode(items=before) as place, ListNode(items=after):
            return Entry(known.key, ListNode(place.file, place.start, place.end, [*before, *after]))
        case MapNode() as before, MapNode() as after if key in _JOINED_INSIDE:
            return Entry(known.key, _join(before, after, findings))
        case _:
            shown = f"`{key}`" if is_showable(key) else "this key"
            message = f"{shown} is given in {line_of(known.key.source, entry.key.source)} already"
            findings.add("key-in-two-files", entry.key.source, message, hint="keep one of the two")
            return known
