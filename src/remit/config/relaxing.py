"""A shape of mcp.yaml with holes: what a file may leave out because another one, laid over or under it, says it.

Decides that names and the version are always given, as entries are told apart by the first and files by the second.
"""

from dataclasses import replace

from remit.config.layout import INCLUDED_FILE, MCP_FILE
from remit.config.shapes import Field, ListOf, Record, Shape

__all__ = ["OVERLAY_FILE", "relaxed"]

_ALWAYS = frozenset({"name", "server", "version"})


def relaxed(shape: Record) -> Record:
    """The record with nothing required but what tells entries and files apart. A variant stays whole."""
    fields = {key: _relaxed_field(key, field) for key, field in shape.fields.items()}
    return replace(shape, fields=fields, either=())


def _relaxed_field(key: str, field: Field) -> Field:
    return replace(field, shape=_relaxed_shape(field.shape), required=field.required and key in _ALWAYS)


def _relaxed_shape(shape: Shape) -> Shape:
    match shape:
        case Record():
            return relaxed(shape)
        case ListOf(item=Record() as item):
            return replace(shape, item=relaxed(item))
        case _:
            return shape


OVERLAY_FILE = replace(
    relaxed(INCLUDED_FILE),
    title="an overlay",
    elsewhere={**MCP_FILE.elsewhere, "include": "an overlay includes nothing; the first file does"},
)
"""envs/NAME.yaml, but for `$delete` and `$new`."""
