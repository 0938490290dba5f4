"""Statements compiled once, and a transaction on the driver's own cursor: what the hot path of a governed call can afford.

Decides how a Core statement becomes the driver's text and parameters. SQLAlchemy builds every statement, so the dialect is
its business; it is only left out of executing them, where it costs ten times what SQLite does. Knows no table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeAlias, cast

from sqlalchemy import ColumnElement, Connection, Dialect, Table, Text, insert, literal_column
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement, Executable

from remit.store.sqlite import as_they_are

__all__ = ["Row", "Session", "Statement", "driver_of", "inserting", "session_of", "word"]

_ROWS_AT_ONCE = (32, 16, 8, 4, 2, 1)
"""32 rows of any table here stay under the 999 parameters that every SQLite takes."""

Row: TypeAlias = tuple[Any, ...]
"""A row in the order that its statement selects, or the parameters in the order that `Statement.names` says."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The driver's text, its parameters in order, and the values of those that the statement itself brings."""

    text: str
    names: tuple[str, ...]
    constants: Mapping[str, Any]
    pick: Callable[[Mapping[str, Any]], Sequence[Any]]
    """Takes the parameters out of values that have them all."""
    texts: dict[int, str] = field(default_factory=dict[int, str])

    def rows_text(self, count: int) -> str:
        """An INSERT of one row made into one of so many."""
        if (known := self.texts.get(count)) is None:
            head, values, row = self.text.rpartition(" VALUES ")
            known = self.texts[count] = head + values + ", ".join([row] * count)
        return known

    def parameters(self, values: Mapping[str, Any]) -> Sequence[Any]:
        if not self.constants:
            return self.pick(values)
        constants = self.constants
        return [constants[name] if name in constants else values[name] for name in self.names]


class Statement:
    """A Core statement with named bind parameters, compiled at its first use for each dialect."""

    def __init__(self, construct: Executable, columns: Sequence[str] | None = None):
        self._construct = construct
        self._columns = columns
        self._compiled: dict[str, _Compiled] = {}

    def compiled(self, dialect: Dialect) -> _Compiled:
        """What the driver is given. Raises KeyError from `parameters` where a value is missing."""
        if (known := self._compiled.get(dialect.name)) is None:
            compiled = cast("ClauseElement", self._construct).compile(dialect=dialect, column_keys=self._columns)
            assert isinstance(compiled, SQLCompiler)  # noqa: S101 (for the type checker; nothing else compiles to SQL)
            constants = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
            names = tuple(compiled.positiontup or ())
            known = _Compiled(str(compiled), names, constants, _picker(names))
            self._compiled[dialect.name] = known
        return known


def _picker(names: Sequence[str]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    # itemgetter gives a tuple for several names only.
    return itemgetter(*names) if len(names) > 1 else lambda values: [values[name] for name in names]


def word(text: str) -> ColumnElement[str]:
    """A word of ours as a literal: a partial index is used only where its condition stands in the statement."""
    if not text.replace("_", "").isalpha():
        raise ValueError("not a plain word")
    return literal_column(f"'{text}'", Text)


def inserting(table: Table, *columns: str) -> Statement:
    """An INSERT of these columns, all of the table where none is named."""
    return Statement(insert(table), columns or [column.name for column in table.columns])


class Session:
    """One transaction's cursor. Begin, commit and rollback belong to whoever made it."""

    def __init__(self, driver: DBAPIConnection, dialect: Dialect):
        self._dialect = dialect
        self._driver = driver
        self._cursor = driver.cursor()

    def run(self, statement: Statement, values: Mapping[str, Any]) -> int:
        """Execute; the number of rows that it touched."""
        compiled = statement.compiled(self._dialect)
        self._cursor.execute(compiled.text, compiled.parameters(values))
        return self._cursor.rowcount

    def run_each(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> int:
        """Execute once a row; the number of rows that all of it touched."""
        compiled = statement.compiled(self._dialect)
        self._cursor.executemany(compiled.text, [compiled.parameters(row) for row in rows])
        return self._cursor.rowcount

    def insert(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, many with one execution: each gives the interpreter to another thread and has to get it back."""
        compiled = statement.compiled(self._dialect)
        done = 0
        while done < len(rows):
            # Few different sizes, as the driver keeps few statements.
            size = next(each for each in _ROWS_AT_ONCE if each <= len(rows) - done)
            part = [value for row in rows[done : done + size] for value in compiled.parameters(row)]
            self._cursor.execute(compiled.rows_text(size), part)
            done += size

    def rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Row]:
        """Every row of a query."""
        compiled = statement.compiled(self._dialect)
        self._cursor.execute(compiled.text, compiled.parameters(values))
        return cast("Sequence[Row]", self._cursor.fetchall())

    def rows_as_they_are(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Row]:
        """Every row of a query whose rows somebody may have edited: texts that are no UTF-8 have surrogates in them."""
        with as_they_are(self._driver):
            return self.rows(statement, values)

    def row(self, statement: Statement, values: Mapping[str, Any]) -> Row | None:
        """The first row of a query, None where there is none."""
        found = self.rows(statement, values)
        return found[0] if found else None

    def plain(self, text: str) -> None:
        """Execute words that need no compiling, such as SAVEPOINT."""
        self._cursor.execute(text, [])

    def close(self) -> None:
        """Give the cursor back; SQLite keeps a closed connection's lock for as long as one of its cursors lives."""
        self._cursor.close()


def session_of(connection: Connection) -> Session:
    """A session inside the transaction that a SQLAlchemy connection has begun."""
    return Session(driver_of(connection), connection.dialect)


def driver_of(connection: Connection) -> DBAPIConnection:
    """The driver's own connection under a SQLAlchemy one."""
    return cast("DBAPIConnection", connection.connection.driver_connection)
