"""Which SQL run_query accepts: exactly one SELECT over the curated views, decided on DuckDB's own parse tree.

Everything is an allow-list: statement type, kinds of syntax, relations, functions. A kind that a later DuckDB adds is
refused until somebody lists it here. Decides only; the connection's own locks (storage.py) hold where this page errs.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import duckdb

from remit_analytics.catalog import VIEWS
from remit_analytics.dataset import LAST_DAY

__all__ = ["FUNCTIONS", "MAX_RELATIONS", "MAX_SQL_CHARACTERS", "Refused", "check", "first_lines"]

MAX_SQL_CHARACTERS = 4_000

MAX_RELATIONS = 16
"""DuckDB plans joins without looking at an interrupt; a join of hundreds would outlive its deadline by seconds."""

_VIEW_NAMES = tuple(view.name for view in VIEWS)
_VIEWS_SENTENCE = f"The views are {', '.join(_VIEW_NAMES)}; describe_view tells their columns."
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EXPRESSIONS = _words("""
    BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION OPERATOR POSITIONAL_REFERENCE STAR
    SUBQUERY TYPE WINDOW
""")
_NODES = _words("""
    SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE BASE_TABLE JOIN SUBQUERY EMPTY EXPRESSION_LIST ORDER_MODIFIER
    LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER DISTINCT_MODIFIER ORDER_DEFAULT ASCENDING DESCENDING
""")

# No function here reads a file, a setting or the catalog, or answers differently tomorrow (now, random), or makes long
# values out of short ones: `replace` looks harmless, but a dozen of them, nested, take gigabytes that DuckDB's memory
# limit does not count and its interrupt does not stop.
_OPERATORS = _words("+ - * / // % ** ^ || ~~ !~~ ~~* !~~* ~~~")
_AGGREGATES = _words("""
    any_value approx_count_distinct arg_max arg_min array_agg avg bool_and bool_or corr count count_if count_star
    covar_pop covar_samp entropy first fsum kurtosis last list mad max max_by mean median min min_by mode product
    quantile quantile_cont quantile_disc regr_intercept regr_r2 regr_slope skewness stddev stddev_pop stddev_samp
    string_agg sum var_pop var_samp variance
""")
_WINDOW_FUNCTIONS = _words("""
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
""")
_NUMBER_FUNCTIONS = _words("""
    abs ceil ceiling exp floor greatest isfinite isnan least ln log log10 log2 mod pow power round sign sqrt trunc
""")
_TEXT_FUNCTIONS = _words("""
    concat contains ends_with ilike_escape instr left length like_escape lower ltrim not_ilike_escape
    not_like_escape position prefix regexp_extract regexp_full_match regexp_matches reverse right rtrim
    split_part starts_with strlen strpos substr substring suffix trim upper
""")
_DATE_FUNCTIONS = _words("""
    date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek
    dayofyear epoch epoch_ms hour isodow last_day make_date minute month monthname quarter second strftime strptime
    to_days to_hours to_milliseconds to_minutes to_months to_seconds to_weeks to_years week weekday weekofyear year
""")
_VALUE_FUNCTIONS = _words("""
    array_extract coalesce if ifnull len list_extract list_value nullif
""")
FUNCTIONS = (
    _OPERATORS
    | _AGGREGATES
    | _WINDOW_FUNCTIONS
    | _NUMBER_FUNCTIONS
    | _TEXT_FUNCTIONS
    | _DATE_FUNCTIONS
    | _VALUE_FUNCTIONS
)
"""Every function that a query may call, by the name that DuckDB's parser gives it."""

_VALUE_WORDS = _words("""
    current_catalog current_database current_date current_role current_schema current_time current_timestamp current_user
    localtime localtimestamp session_user user
""")
_TIME_FUNCTIONS = _words("current_date current_timestamp get_current_time localtimestamp now today")


class Refused(Exception):
    """A request that is not carried out; the message says what was refused and what to do instead, for a model to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one pass over the tree found."""

    relations: tuple[tuple[str, ...], ...]
    functions: tuple[tuple[str, ...], ...]
    cte_names: tuple[str, ...]


def check(connection: duckdb.DuckDBPyConnection, sql: str, *, catalog: frozenset[str]) -> str:
    """The one SELECT of `sql`, written back by DuckDB from the very tree that was checked, or `Refused`.

    The text that comes back has no comments and no semicolon, so it can stand inside another SELECT. `catalog` holds the
    lower-case names of everything the database knows as a table or a view, its system views included.
    """
    _check_one_select(connection, sql)
    serialised = _tree(connection, sql)
    found = _walk(json.loads(serialised))
    for name in found.cte_names:
        _check_cte_name(name, catalog)
    if len(found.relations) > MAX_RELATIONS:
        raise Refused(f"Refused: {len(found.relations)} relations in one query; at most {MAX_RELATIONS} are joined.")
    ctes = {name.lower() for name in found.cte_names}
    for path in found.relations:
        _check_relation(path, ctes)
    for path in found.functions:
        _check_function(path)
    return _one_text(connection, "SELECT json_deserialize_sql(CAST(? AS JSON))", serialised)


def _check_one_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    if len(sql) > MAX_SQL_CHARACTERS:
        raise Refused(f"Refused: the SQL has {len(sql)} characters; at most {MAX_SQL_CHARACTERS} are read.")
    if "\0" in sql:
        raise Refused("Refused: the SQL holds a NUL character.")
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise Refused(f"This is not valid DuckDB SQL: {first_lines(error)}") from error
    if len(statements) != 1:
        raise Refused(f"Refused: {len(statements)} statements. Send exactly one SELECT. {_VIEWS_SENTENCE}")
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = statements[0].type.name.replace("_", " ")
        raise Refused(
            f"Refused: a statement of the kind {kind}. Only one read-only SELECT runs here. {_VIEWS_SENTENCE}"
        )


def _tree(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """DuckDB's parse tree of `sql` as JSON, proven to hold exactly one statement."""
    serialised = _one_text(connection, "SELECT json_serialize_sql(CAST(? AS VARCHAR))", sql)
    try:
        tree = cast("dict[str, object]", json.loads(serialised))
    except RecursionError as error:
        raise Refused("Refused: the SQL is nested too deeply to be checked. Write it flatter.") from error
    statements = tree.get("statements")
    if tree.get("error") is not False or not isinstance(statements, list) or len(cast("list[object]", statements)) != 1:
        raise Refused(f"Refused: this is not one plain SELECT. {_VIEWS_SENTENCE}")
    return serialised


def _one_text(connection: duckdb.DuckDBPyConnection, statement: str, argument: str) -> str:
    try:
        row = connection.execute(statement, [argument]).fetchone()
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise Refused(f"Refused: DuckDB cannot take this SQL apart: {first_lines(error)}") from error
    return str(row[0]) if row else ""


def _walk(tree: object) -> _Found:
    relations: list[tuple[str, ...]] = []
    functions: list[tuple[str, ...]] = []
    cte_names: list[str] = []
    for node in _objects(tree):
        _check_kind(node)
        if node.get("type") == "BASE_TABLE":
            relations.append(_path(node))
        if "function_name" in node:
            functions.append(_path(node))
        if isinstance(node.get("map"), list):
            entries = cast("list[dict[str, object]]", node["map"])
            cte_names.extend(str(entry["key"]) for entry in entries if "key" in entry)
    return _Found(relations=tuple(relations), functions=tuple(functions), cte_names=tuple(cte_names))


def _objects(tree: object) -> Iterator[dict[str, object]]:
    """Every JSON object of the tree; a stack and not recursion, as a caller chooses the depth."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            found = cast("dict[str, object]", node)
            pending.extend(found.values())
            yield found
        elif isinstance(node, list):
            pending.extend(cast("list[object]", node))


def _check_kind(node: dict[str, object]) -> None:
    kind = node.get("type")
    if "class" in node:
        if node["class"] not in _EXPRESSIONS:
            raise Refused(
                f"Refused: the expression kind {node['class']} is not available here. {_advice(node)}".strip()
            )
    elif isinstance(kind, str) and kind not in _NODES:
        raise Refused(f"Refused: {_KIND_WORDS.get(kind, kind)}. {_VIEWS_SENTENCE}")
    if node.get("at_clause") is not None:
        raise Refused(f"Refused: AT (time travel) is not available here. {_VIEWS_SENTENCE}")
    if node.get("materialized") == "CTE_MATERIALIZE_NEVER":
        raise Refused("Refused: NOT MATERIALIZED. Leave it out.")
    if node.get("class") == "COLUMN_REF":
        _check_column(cast("list[str]", node.get("column_names")))


def _check_column(names: list[str]) -> None:
    # DuckDB reads these bare words as calls where no column has the name.
    if len(names) == 1 and names[0].lower() in _VALUE_WORDS:
        raise Refused(
            f"Refused: {names[0]}, which asks about the session or the clock. The data ends on {LAST_DAY}; count from"
            f" DATE '{LAST_DAY}' instead."
        )


_KIND_WORDS = {
    "TABLE_FUNCTION": "functions in FROM (such as read_csv, glob, range or duckdb_settings) cannot be read",
    "SHOW_REF": "SHOW, DESCRIBE and SUMMARIZE do not run here, use list_metrics and describe_view",
    "PIVOT": "PIVOT and UNPIVOT do not run here, use GROUP BY with CASE",
}


def _advice(node: dict[str, object]) -> str:
    return "Write the values into the SQL." if node["class"] == "PARAMETER" else ""


def _path(node: dict[str, object]) -> tuple[str, ...]:
    """The qualified name of a relation or function; an unknown shape is refused, never guessed at."""
    name = node.get("qualified_name")
    path = cast("dict[str, object]", name).get("path") if isinstance(name, dict) else None
    if not isinstance(path, list) or not path:
        raise Refused(f"Refused: a name in the SQL could not be read. {_VIEWS_SENTENCE}")
    return tuple(str(part) for part in cast("list[object]", path))


def _check_cte_name(name: str, catalog: frozenset[str]) -> None:
    # A name that no relation of the catalog has can mean nothing but the CTE, wherever it stands. So the scopes of CTEs
    # need no tracking here: `WITH sqlite_master AS (SELECT * FROM sqlite_master)` reads the catalog in its own body.
    if not _PLAIN_NAME.fullmatch(name):
        raise Refused(f"Refused: the CTE name {name[:80]!r}. Use letters, digits and underscores.")
    if name.lower() in catalog:
        raise Refused(f"Refused: a CTE named {name!r} hides the relation of that name. Give the CTE another name.")


def _check_relation(path: tuple[str, ...], ctes: set[str]) -> None:
    folded = tuple(part.lower() for part in path)
    if folded[-1] in _VIEW_NAMES and folded[:-1] in {(), ("main",)}:
        return
    if len(folded) == 1 and folded[0] in ctes:
        return
    shown = ".".join(path)[:120]
    raise Refused(f"Refused: {shown!r} is not one of the curated views. {_VIEWS_SENTENCE}")


def _check_function(path: tuple[str, ...]) -> None:
    name = ".".join(path).lower()[:120]
    if name in FUNCTIONS:
        return
    if name in _TIME_FUNCTIONS:
        raise Refused(f"Refused: {name}(). The data ends on {LAST_DAY}; count from DATE '{LAST_DAY}' instead.")
    raise Refused(
        f"Refused: the function {name!r}. Ordinary aggregate, window, number, text and date functions are available;"
        " those that read files, settings or the catalog, or build rows or long values, are not."
    )


def first_lines(error: duckdb.Error) -> str:
    """What DuckDB says, without the quoted statement: its text up to the first empty line, bounded."""
    return str(error).split("\n\n", 1)[0].replace("\n", " ")[:400]
