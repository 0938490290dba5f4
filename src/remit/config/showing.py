"""A configuration as it came out of its files: as YAML with the place of every value, and as JSON for machines.

Decides how a tree is written down again, so that reading the text gives the same configuration. References stay as written.
"""

import re
from collections.abc import Iterator
from typing import TypedDict, assert_never

from remit.config.nodes import Entry, Kind, ListNode, MapNode, Node, Scalar, Unusable, kind_of
from remit.core.canonical import Json
from remit.core.desired import Desired
from remit.core.diagnostics import Source
from remit.render.escape import escape_terminal
from remit.render.shapes import FORMAT_VERSION, ConfigFileDocument

__all__ = ["OriginDocument", "ShownDocument", "origins_of", "shown_document", "value_of", "yaml_text"]

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*\Z")
_OTHER_READERS = frozenset({"y", "yes", "n", "no", "on", "off"})
"""Texts that YAML 1.1 reads as true or false; quoted for programs that still do."""

_FOLLOWED = frozenset({"include"})
"""What is done when the files are one: the text is a configuration of one file."""

_WIDEST = 60
"""Columns before the comments; longer lines have theirs right behind."""

_Line = tuple[str, Source]


class OriginDocument(TypedDict):
    """Where one value was set; `path` leads to it from the top."""

    path: list[str | int]
    file: str
    line: int
    column: int


class ShownDocument(TypedDict):
    """All files as the one that they come to; `config` has the keys of mcp.yaml, references as written."""

    format_version: str
    workspace: str
    environment: str | None
    files: list[ConfigFileDocument]
    config: Json
    origins: list[OriginDocument]


def shown_document(desired: Desired, tree: MapNode) -> ShownDocument:
    """What `remit config show --format json` prints of the files that `desired` and `tree` were read from."""
    return {
        "format_version": FORMAT_VERSION,
        "workspace": desired.workspace,
        "environment": desired.environment,
        "files": [{"path": each.path, "sha256": each.sha256} for each in desired.files],
        "config": value_of(tree),
        "origins": origins_of(tree),
    }


def yaml_text(tree: MapNode, *, origin: bool) -> str:
    """The tree as YAML that ends with a newline; with `origin` each line names the file and line that set it."""
    lines = list(_mapping(_without_followed(tree), ""))
    if not origin:
        return "".join(f"{text}\n" for text, _ in lines)
    width = min(_WIDEST, max((len(text) for text, _ in lines), default=0))
    return "".join(f"{text:<{width}}  # {escape_terminal(source.file)}:{source.line}\n" for text, source in lines)


def value_of(tree: MapNode) -> Json:
    """The tree as JSON values."""
    return _value(_without_followed(tree))


def origins_of(tree: MapNode) -> list[OriginDocument]:
    """The place of every single value, in the order of the text."""
    return list(_origins(_without_followed(tree), ()))


def _without_followed(tree: MapNode) -> MapNode:
    kept = {key: entry for key, entry in tree.entries.items() if key not in _FOLLOWED}
    return MapNode(tree.file, tree.start, tree.end, kept)


def _mapping(node: MapNode, pad: str) -> Iterator[_Line]:
    for key, entry in node.entries.items():
        yield from _entry(_text(key), entry, pad)


def _entry(key: str, entry: Entry, pad: str) -> Iterator[_Line]:
    match entry.value:
        case MapNode(entries=entries) as below if entries:
            yield f"{pad}{key}:", entry.key.source
            yield from _mapping(below, f"{pad}  ")
        case ListNode(items=items) if items:
            yield f"{pad}{key}:", entry.key.source
            for item in items:
                yield from _item(item, f"{pad}  ")
        case value:
            yield f"{pad}{key}: {_single(value)}", value.source


def _item(node: Node, pad: str) -> Iterator[_Line]:
    match node:
        case MapNode(entries=entries) if entries:
            (first, source), *others = _mapping(node, f"{pad}  ")
            yield f"{pad}- {first.removeprefix(f'{pad}  ')}", source
            yield from others
        case ListNode(items=items) if items:
            yield f"{pad}-", node.source
            for item in items:
                yield from _item(item, f"{pad}  ")
        case _:
            yield f"{pad}- {_single(node)}", node.source


def _single(node: Node) -> str:
    match node:
        case Scalar():
            return _text(node.text) if node.kind is Kind.TEXT else node.text or "null"
        case ListNode():
            return "[]"
        case MapNode() | Unusable():
            return "{}"
        case _:
            assert_never(node)


def _text(text: str) -> str:
    if _PLAIN.match(text) and kind_of(text) is Kind.TEXT and text.lower() not in _OTHER_READERS:
        return text
    return '"' + "".join(_character(each) for each in text) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _value(node: Node) -> Json:
    match node:
        case Scalar():
            return _scalar_value(node)
        case ListNode(items=items):
            return [_value(item) for item in items]
        case MapNode(entries=entries):
            return {key: _value(entry.value) for key, entry in entries.items()}
        case Unusable():
            return None
        case _:
            assert_never(node)


def _scalar_value(node: Scalar) -> Json:
    match node.kind:
        case Kind.NULL:
            return None
        case Kind.FLAG:
            return node.text.lower() == "true"
        case Kind.INTEGER:
            return None if node.number is None else int(node.number)
        case Kind.FLOAT:
            return node.number
        case Kind.TEXT:
            return node.text


def _origins(node: Node, path: tuple[str | int, ...]) -> Iterator[OriginDocument]:
    match node:
        case MapNode(entries=entries) if entries:
            for key, entry in entries.items():
                yield from _origins(entry.value, (*path, key))
        case ListNode(items=items) if items:
            for index, item in enumerate(items):
                yield from _origins(item, (*path, index))
        case _:
            source = node.source
            yield {"path": list(path), "file": source.file, "line": source.line, "column": source.column}
