"""A shape of mcp.yaml with holes: what a file may leave out because another one, laid over or under it, says it.

Decides that names and the version are always given, as entries are told apart by the first and files by the second.
"""

from dataclasses import replace

from remit.config.layout import INCLUDED_FILE, MCP_FILE
from remit.config.overlays import NAMED_LISTS
from remit.config.shapes import Field, ListOf, Record, Shape

__all__ = ["OVERLAY_FILE", "is_entry", "relaxed"]

_NAMES = frozenset(NAMED_LISTS.values())
_ALWAYS = _NAMES | {"version"}


def relaxed(shape: Record) -> Record:
    """The record with nothing required but what tells entries and files apart. A variant stays whole."""
    fields = {key: _relaxed_field(key, field) for key, field in shape.fields.items()}
    return replace(shape, fields=fields, either=())


def is_entry(shape: Shape) -> bool:
    """Whether it stands in a list that merges by name; every other list is replaced as a whole."""
    return isinstance(shape, Record) and not _NAMES.isdisjoint(shape.fields)


def _relaxed_field(key: str, field: Field) -> Field:
    return replace(field, shape=_relaxed_shape(field.shape), required=field.required and key in _ALWAYS)


def _relaxed_shape(shape: Shape) -> Shape:
    match shape:
        case Record():
            return relaxed(shape)
        case ListOf(item=Record() as item) if is_entry(item):
            return replace(shape, item=relaxed(item))
        case _:
            return shape


OVERLAY_FILE = replace(
    relaxed(INCLUDED_FILE),
    title="an overlay",
    elsewhere={**MCP_FILE.elsewhere, "include": "an overlay includes nothing; the first file does"},
)
"""envs/NAME.yaml, but for `$delete` and `$new`."""
