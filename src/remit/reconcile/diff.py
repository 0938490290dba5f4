"""The changed paths between two definitions of a tool, each with its class.

deepdiff finds the paths, part by part; core/changes.py says what they mean. What deepdiff cannot tell apart or does not
report (the order of a set, 1 against 1.0) is found by a plain walk, so that two definitions with different digests never
come out equal. Pure, and bounded: a part with more than 500 differences is one change.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, TypeAlias, cast

from remit.core.canonical import Json, JsonObject, canonical_json
from remit.core.changes import classify, holds_a_set, unexplained
from remit.core.definition import Definition, DefinitionContent
from remit.core.operations import Change
from remit.core.schema_bounds import plain_numbers

if TYPE_CHECKING:
    from deepdiff.model import DiffLevel

__all__ = ["MOST_DIFFERENCES", "definition_diff"]

MOST_DIFFERENCES = 500
"""Differences in one part of a definition that are still told one by one."""

_Path: TypeAlias = tuple[str | int, ...]
_ListsAt: TypeAlias = Callable[[_Path], tuple[Json, Json, bool]]
_ABSENT = object()


def definition_diff(before: Definition, after: Definition) -> tuple[Change, ...]:
    """The changes from one definition to another, sorted by path; empty exactly where the definition digests are equal.

    Paths start with title, description, inputSchema, outputSchema or annotations. An element of a required, enum or type
    list is `added` or `removed` under the path of the list. Implements `core.ports.DefinitionDiff`.
    """
    if before.definition_digest == after.definition_digest:
        return ()
    parts = zip(_parts(before.content()), _parts(after.content()), strict=True)
    found = [change for (name, old), (_, new) in parts for change in _part_changes(name, old, new)]
    changes = classify(before, after, found)
    return tuple(sorted((*changes, *unexplained(before, after, changes)), key=_sort_key))


def _parts(content: DefinitionContent) -> tuple[tuple[str, Json], ...]:
    return (
        ("title", content.title),
        ("description", content.description),
        ("inputSchema", content.input_schema),
        ("outputSchema", content.output_schema),
        ("annotations", content.annotations),
    )


def _part_changes(name: str, old: Json, new: Json) -> Iterable[Change]:
    if old is None or new is None:
        absent = Change(path=(name,), before=old, after=new, added=old is None, removed=new is None)
        return () if old is new else (absent,)
    plain = tuple(islice(_walk((name,), old, new), MOST_DIFFERENCES + 1))
    if len(plain) > MOST_DIFFERENCES:
        return (Change(path=(name,), before=old, after=new),)
    deep = _deep_changes(name, old, new) if plain else ()
    return deep if 0 < len(deep) <= MOST_DIFFERENCES else plain


def _deep_changes(name: str, old: Json, new: Json) -> tuple[Change, ...]:
    # Imported here: 0.1 s that only a changed tool costs.
    from deepdiff import DeepDiff  # noqa: PLC0415

    @cache
    def lists_at(holder: _Path) -> tuple[Json, Json, bool]:
        before, after = _value_at(old, holder[1:]), _value_at(new, holder[1:])
        return before, after, _scalars(before) and _scalars(after)

    def unordered(level: "DiffLevel") -> bool:
        path = _path(name, level)
        return holds_a_set(path) and lists_at(path)[2]

    # Numbers are made plain beforehand: ignore_numeric_type_changes compares 12 digits and takes True for 1. Private names
    # and sharply different objects are looked into, and lists are paired by index, as a path names an index.
    tree = cast(
        "Mapping[str, Iterable[DiffLevel]]",
        DeepDiff(
            plain_numbers(old),
            plain_numbers(new),
            view="tree",
            ignore_order_func=unordered,
            ignore_private_variables=False,
            threshold_to_diff_deeper=0,
            cutoff_intersection_for_pairs=0,
            zip_ordered_iterables=True,
        ),
    )
    found = (
        change
        for kind, levels in tree.items()
        for level in levels
        for change in _at_level(_path(name, level), kind, level, lists_at)
    )
    return tuple({_sort_key(change): change for change in found}.values())


def _path(name: str, level: "DiffLevel") -> _Path:
    return (name, *cast("list[str | int]", level.path(output_format="list")))


def _at_level(path: _Path, kind: str, level: "DiffLevel", lists_at: _ListsAt) -> Iterator[Change]:
    added, removed = kind.endswith("_added"), kind.endswith("_removed")
    before, after = None if added else cast("Json", level.t1), None if removed else cast("Json", level.t2)
    holder = next((path[:at] for at in range(2, len(path)) if holds_a_set(path[:at])), None)
    if holder is None:
        yield Change(path=path, before=before, after=after, added=added, removed=removed)
        return
    old, new, can_be_paired = lists_at(holder)
    if not can_be_paired:
        # An enum of objects has no elements that could be paired: it changed as a whole.
        yield Change(path=holder, before=old, after=new)
        return
    if not added:
        yield Change(path=holder, before=before, removed=True)
    if not removed:
        yield Change(path=holder, after=after, added=True)


def _value_at(node: Json, path: _Path) -> Json:
    for key in path:
        node = cast("Mapping[str | int, Json]", node)[key]
    return node


def _walk(path: _Path, old: Json, new: Json) -> Iterator[Change]:
    """Every difference of the canonical texts, index by index; a set that differs is one difference."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        before, after = cast("JsonObject", old), cast("JsonObject", new)
        for key in sorted({**before, **after}):
            yield from _walk_entry((*path, key), before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif _is_list(old) and _is_list(new) and not holds_a_set(path):
        pairs = zip_longest(cast("Sequence[Json]", old), cast("Sequence[Json]", new), fillvalue=_ABSENT)
        for index, (one, other) in enumerate(pairs):
            yield from _walk_entry((*path, index), one, other)
    elif canonical_json(old) != canonical_json(new):
        yield Change(path=path, before=old, after=new)


def _walk_entry(path: _Path, old: object, new: object) -> Iterator[Change]:
    if old is _ABSENT:
        yield Change(path=path, after=cast("Json", new), added=True)
    elif new is _ABSENT:
        yield Change(path=path, before=cast("Json", old), removed=True)
    else:
        yield from _walk(path, cast("Json", old), cast("Json", new))


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _scalars(value: object) -> bool:
    return _is_list(value) and all(
        entry is None or isinstance(entry, str | bool | int | float) for entry in cast("Sequence[Json]", value)
    )


def _sort_key(change: Change) -> tuple[tuple[tuple[bool, int, str], ...], bool, str]:
    """By path, names after indices, what goes before what comes, then by value."""
    keys = tuple((False, key, "") if isinstance(key, int) else (True, 0, key) for key in change.path)
    return keys, change.added, canonical_json([change.before, change.after])
