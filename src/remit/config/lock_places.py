"""Where in a lock file something stands, found only once something is wrong with it.

Decides nothing about the content: a walk over the tokens of a JSON text, as Python's parser keeps no places.
"""

import json
import re
from collections.abc import Iterator

__all__ = ["duplicate_key", "line_of_path"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_COLON = re.compile(r"\s*:")


def line_of_path(text: str, *path: str) -> int:
    """The line of the deepest key of a path that is there, counted from 1; items of lists are no part of a path."""
    line, deepest = 1, 0
    for keys, at in _keys(text):
        depth = len(keys)
        if depth > deepest and keys == path[:depth]:
            line, deepest = _line(text, at), depth
    return line


def duplicate_key(text: str) -> tuple[str, int]:
    """The first key that stands twice in one object, and the line of its second place."""
    seen: list[set[str]] = []
    for depth, key, at in _walk(text):
        del seen[depth:]
        while len(seen) < depth:
            seen.append(set())
        if key is not None and key in seen[-1]:
            return key, _line(text, at)
        if key is not None:
            seen[-1].add(key)
    return "", 1


def _keys(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The path of every key, without those of lists, and where it begins."""
    path: list[str] = []
    for depth, key, at in _walk(text):
        del path[depth - 1 :]
        if key is not None:
            path += [""] * (depth - 1 - len(path)) + [key]
            yield tuple(path), at


def _walk(text: str) -> Iterator[tuple[int, str | None, int]]:
    """Depth, key and place of every key; a bracket comes without a key, with the depth that it leads to."""
    depth = 0
    for match in _TOKEN.finditer(text):
        mark = match.group()
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            yield depth, None, match.start()
        elif _COLON.match(text, match.end()):
            yield depth, str(json.loads(mark, strict=False)), match.start()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
