"""The numbers that tools returned, each with its unit as far as that is known, and where it stands.

Decides what counts as a returned number: every JSON number of the structured content, and a text that is a number and
nothing else (integers beyond 2^53 come that way). A result without structured content is read as JSON if its text is
that, else number by number. A failed call returned nothing. Pure.

The unit of a number is the `unit` of the object around it where it is called `value`, else what the end of its name says
(`latency_ms`). The other numbers beside a `unit` are counts of something else and are neither times nor shares.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import cast

from remit.core.canonical import Json, JsonObject
from remit_ops_agent.model import ToolMessage

__all__ = ["Returned", "Unit", "returned_numbers"]

MAX_DEPTH = 40
"""Deeper values are not looked at: a figure from there is not found, which errs on the safe side."""


class Unit(StrEnum):
    """What is known of a number's unit."""

    MS = "ms"
    SECONDS = "s"
    SHARE = "share"
    PERCENT = "percent"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """One returned number; `place` is the tool and the path, such as `analytics__compute_metric rows[0].value`."""

    value: Decimal
    unit: Unit
    place: str


_UNITS: Mapping[str, Unit] = {
    "ms": Unit.MS,
    "milliseconds": Unit.MS,
    "s": Unit.SECONDS,
    "seconds": Unit.SECONDS,
    "share": Unit.SHARE,
    "percent": Unit.PERCENT,
    "%": Unit.PERCENT,
}
_WHOLE_NUMBER = re.compile(r"-?\d{1,60}(?:\.\d{1,60})?")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]{0,60}(?:\.\d{1,60})?")


def returned_numbers(results: Iterable[ToolMessage]) -> Iterator[Returned]:
    """Every number of every result that is no failure, in order."""
    for result in results:
        if not result.is_error:
            yield from _of_result(result)


def _of_result(result: ToolMessage) -> Iterator[Returned]:
    if result.structured is not None:
        yield from _walk(result.structured, result.name, "", Unit.UNKNOWN, 0)
        return
    try:
        parsed = cast("Json", json.loads(result.text))
    except (ValueError, RecursionError):
        for index, match in enumerate(_NUMBER.finditer(result.text)):
            value = Decimal(match.group().replace(",", ""))
            yield Returned(value=value, unit=Unit.UNKNOWN, place=f"{result.name} text, number {index + 1}")
    else:
        yield from _walk(parsed, result.name, "", Unit.UNKNOWN, 0)


def _walk(value: Json, tool: str, path: str, unit: Unit, depth: int, around: Unit | None = None) -> Iterator[Returned]:
    """The numbers below a value; `unit` is the value's own, `around` the one that the objects around it state."""
    if depth > MAX_DEPTH:
        return
    match value:
        case None | bool():
            return
        case int() | float() | str():
            if (number := _number(value)) is not None:
                yield Returned(value=number, unit=unit, place=f"{tool} {path}".rstrip())
        case Mapping():
            stated = _stated_unit(value) or around
            for key, inner in value.items():
                columns = _column_units(value) if key == "rows" else None
                if columns is not None:
                    yield from _table(inner, tool, _join(path, key), columns, depth)
                else:
                    yield from _walk(inner, tool, _join(path, key), _unit_of(key, stated), depth + 1, stated)
        case Sequence():
            for index, inner in enumerate(value):
                yield from _walk(inner, tool, f"{path}[{index}]", unit, depth + 1, around)


def _table(rows: Json, tool: str, path: str, columns: Sequence[Unit], depth: int) -> Iterator[Returned]:
    """Rows of cells under named columns, as run_query returns them."""
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return
    for index, row in enumerate(rows):
        cells: Sequence[Json] = row if isinstance(row, Sequence) and not isinstance(row, str) else [row]
        for column, cell in enumerate(cells):
            unit = columns[column] if column < len(columns) else Unit.UNKNOWN
            yield from _walk(cell, tool, f"{path}[{index}][{column}]", unit, depth + 2)


def _column_units(table: JsonObject) -> Sequence[Unit] | None:
    """The unit of each column of a table, by its name; None where the object has no columns."""
    columns = table.get("columns")
    if not isinstance(columns, Sequence) or isinstance(columns, str):
        return None
    names = [column.get("name") if isinstance(column, Mapping) else column for column in columns]
    return [_unit_of(name if isinstance(name, str) else "", None) for name in names]


def _stated_unit(value: JsonObject) -> Unit | None:
    unit = value.get("unit")
    return _UNITS.get(unit, Unit.OTHER) if isinstance(unit, str) and unit else None


def _unit_of(key: str, stated: Unit | None) -> Unit:
    if stated is not None and key == "value":
        return stated
    if "_" in key and (ending := _UNITS.get(key.rsplit("_", 1)[1])) is not None:
        return ending
    return Unit.UNKNOWN if stated is None else Unit.OTHER


def _number(value: float | str) -> Decimal | None:
    if isinstance(value, str):
        return Decimal(value) if _WHOLE_NUMBER.fullmatch(value) else None
    return Decimal(str(value)) if math.isfinite(value) else None


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
