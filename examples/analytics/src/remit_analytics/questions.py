"""The questions that the tools ask: plain functions from a read-only cursor to a typed result. Blocking; see source.py."""

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import duckdb

from remit_analytics.catalog import GROUPINGS, METRICS, VIEWS, GroupBy, Metric
from remit_analytics.dataset import DAYS, FIRST_DAY, LAST_DAY
from remit_analytics.guard import Refused, check, first_lines
from remit_analytics.results import (
    AgentEntry,
    AgentList,
    Cell,
    ColumnEntry,
    MetricGroup,
    MetricResult,
    QueryResult,
    ResultColumn,
    ViewDescription,
    Window,
)

__all__ = [
    "MAX_CELL_CHARACTERS",
    "MAX_COLUMNS",
    "MAX_RESULT_CHARACTERS",
    "MAX_ROWS",
    "agents",
    "describe",
    "metric",
    "query",
    "window",
]

MAX_ROWS = 200
MAX_COLUMNS = 50
MAX_CELL_CHARACTERS = 500
MAX_RESULT_CHARACTERS = 200_000

# Types whose values are short whatever a query does; every other type is cut as text.
_SHORT_TYPE_NAMES = """
    BIGINT BOOLEAN DATE DECIMAL DOUBLE FLOAT HUGEINT INTEGER INTERVAL SMALLINT TIME TIMESTAMP TINYINT UBIGINT UHUGEINT
    UINTEGER USMALLINT UTINYINT UUID
"""
_SHORT_TYPES = frozenset(_SHORT_TYPE_NAMES.split())
_EXACT_IN_JSON = 2**53 - 1


def window(last_days: int = DAYS) -> Window:
    """The last `last_days` days of the data set, counted back from its own end."""
    if not 1 <= last_days <= DAYS:
        raise Refused(
            f"Refused: last_days {last_days}. The data has {DAYS} days, {FIRST_DAY} to {LAST_DAY}: pass 1 to {DAYS}."
        )
    return Window(first_day=LAST_DAY - timedelta(days=last_days - 1), last_day=LAST_DAY, days=last_days)


def agents(cursor: duckdb.DuckDBPyConnection) -> AgentList:
    """Every agent with its number of turns."""
    rows = cursor.execute(
        "SELECT a.agent, a.team, a.model, a.purpose, count(t.turn_id) FROM agents a LEFT JOIN turns t USING (agent)"
        " GROUP BY ALL ORDER BY a.agent"
    ).fetchall()
    entries = [AgentEntry(agent=a, team=t, model=m, purpose=p, turns=n) for a, t, m, p, n in rows]
    return AgentList(agents=entries, data_window=window())


def describe(cursor: duckdb.DuckDBPyConnection, name: str) -> ViewDescription:
    """One view with its columns and number of rows."""
    view = next((view for view in VIEWS if view.name == name), None)
    if view is None:
        raise Refused(f"There is no view {name[:80]!r}. The views are {', '.join(view.name for view in VIEWS)}.")
    row = cursor.execute(f"SELECT count(*) FROM main.{view.name}").fetchone()
    columns = [ColumnEntry(name=c.name, type=c.type, unit=c.unit, description=c.description) for c in view.columns]
    count = int(row[0]) if row else 0
    return ViewDescription(view=view.name, description=view.description, row_count=count, columns=columns)


def metric(
    cursor: duckdb.DuckDBPyConnection, *, name: str, group_by: GroupBy, last_days: int, agent: str | None
) -> MetricResult:
    """One metric for every group of turns in the window, in a single statement."""
    found = _metric_named(name)
    span = window(last_days)
    if agent is not None:
        _check_agent(cursor, agent)
    order = "1" if group_by == "day" else "2 DESC, 1"
    rows = cursor.execute(
        f"SELECT {GROUPINGS[group_by]} AS part, {found.expression} AS figure, count(*) FROM main.turns"
        " WHERE day BETWEEN $first AND $last AND ($agent IS NULL OR agent = $agent)"
        f" GROUP BY part HAVING count(*) > 0 ORDER BY {order}",
        {"first": span.first_day, "last": span.last_day, "agent": agent},
    ).fetchall()
    return MetricResult(
        metric=found.name,
        unit=found.unit,
        better=found.better,
        group_by=group_by,
        agent=agent,
        window=span,
        rows=[MetricGroup(group=part, value=round(float(figure), 4), turns=turns) for part, figure, turns in rows],
    )


def query(cursor: duckdb.DuckDBPyConnection, sql: str, *, catalog: frozenset[str]) -> QueryResult:
    """The rows of one SELECT that the guard accepts, within the limits above."""
    checked = check(cursor, sql, catalog=catalog)
    try:
        columns = _columns(cursor, checked)
        fetched = cursor.execute(_limited(checked, columns)).fetchall()
    except duckdb.InterruptException:
        raise
    except duckdb.OutOfMemoryException as error:
        raise Refused(
            "Stopped: the query needs more memory than it may use. Aggregate earlier or filter more."
        ) from error
    except duckdb.Error as error:
        raise Refused(f"DuckDB cannot run this: {first_lines(error)}") from error
    return _bounded(columns, fetched)


def _columns(cursor: duckdb.DuckDBPyConnection, checked: str) -> list[ResultColumn]:
    described = cursor.execute(f"DESCRIBE {checked}").fetchall()
    if len(described) > MAX_COLUMNS:
        raise Refused(f"Refused: {len(described)} columns. Name the ones you need, at most {MAX_COLUMNS}.")
    return [ResultColumn(name=str(name)[:200], type=str(kind)[:200]) for name, kind, *_ in described]


def _limited(checked: str, columns: list[ResultColumn]) -> str:
    """The query inside one that cuts rows and cells.

    The cutting is DuckDB's work: a long value repeated over many rows takes no room there, and gigabytes once each row is
    a Python string. DuckDB keeps the order of the inner query.
    """
    picked = ", ".join(_limited_column(f"c{index}", column.type) for index, column in enumerate(columns))
    names = ", ".join(f"c{index}" for index in range(len(columns)))
    return f"SELECT {picked} FROM ({checked}) AS q({names}) LIMIT {MAX_ROWS + 1}"


def _limited_column(name: str, kind: str) -> str:
    if kind.split("(", 1)[0] in _SHORT_TYPES and not kind.endswith("]"):
        return name
    return f"left(CAST({name} AS VARCHAR), {MAX_CELL_CHARACTERS + 1})"


def _metric_named(name: str) -> Metric:
    for known in METRICS:
        if known.name == name:
            return known
    raise Refused(f"There is no metric {name[:80]!r}. The metrics are {', '.join(known.name for known in METRICS)}.")


def _check_agent(cursor: duckdb.DuckDBPyConnection, agent: str) -> None:
    names = [str(name) for (name,) in cursor.execute("SELECT agent FROM main.agents ORDER BY agent").fetchall()]
    if agent not in names:
        raise Refused(f"There is no agent {agent[:80]!r}. The agents are {', '.join(names)}.")


def _bounded(columns: list[ResultColumn], fetched: list[tuple[object, ...]]) -> QueryResult:
    rows: list[list[Cell]] = []
    shortened = budget = 0
    for values in fetched[:MAX_ROWS]:
        full = [_cell(value) for value in values]
        row = [_cut(cell) for cell in full]
        budget += sum(len(str(cell)) for cell in row)
        if rows and budget > MAX_RESULT_CHARACTERS:
            break
        shortened += sum(before != after for before, after in zip(full, row, strict=True))
        rows.append(row)
    truncated = len(rows) < len(fetched)
    return QueryResult(
        columns=columns,
        rows=rows,
        row_count=len(rows),
        truncated=truncated,
        total_rows=None if truncated else len(rows),
        shortened_cells=shortened,
    )


def _cell(value: object) -> Cell:
    """A value that JSON can carry without changing it."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _EXACT_IN_JSON else str(value)
        case float() | Decimal():
            return float(value) if math.isfinite(value) else str(value)
        case date() | datetime() | time():
            return value.isoformat()
        case _:
            return str(value)


def _cut(cell: Cell) -> Cell:
    if isinstance(cell, str) and len(cell) > MAX_CELL_CHARACTERS:
        return cell[: MAX_CELL_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return cell
