"""run_query: what is refused with a text to act on, what is answered, and what bounds it."""

import threading
import time
from functools import partial

import anyio
import pytest

from remit_analytics import questions
from remit_analytics.dataset import make_rows
from remit_analytics.guard import Refused
from remit_analytics.results import Cell, QueryResult
from remit_analytics.source import MAX_PARALLEL, Source
from remit_analytics.storage import open_database

HOSTILE = [
    "DROP TABLE store.turns",
    "DROP VIEW turns",
    "DELETE FROM turns",
    "INSERT INTO agents VALUES ('x', 'x', 'x', 'x')",
    "UPDATE turns SET latency_ms = 0",
    "CREATE TABLE t AS SELECT * FROM turns",
    "CREATE MACRO count(x) AS 1",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW turns",
    "SELECT 1 -- harmless\n; DROP VIEW turns",
    "SELECT 1 /* ; */; /* hidden */ DROP VIEW turns /* end */",
    "",
    "-- nothing but a comment",
    "COPY turns TO 'out.csv'",
    "COPY (SELECT * FROM turns) TO '/tmp/out.parquet'",
    "EXPORT DATABASE 'out'",
    "ATTACH 'other.duckdb' AS other",
    "USE store",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "PRAGMA show_tables",
    "SET memory_limit = '64GB'",
    "RESET memory_limit",
    "CALL duckdb_settings()",
    "EXPLAIN ANALYZE SELECT 1",
    "PREPARE p AS SELECT 1",
    "BEGIN",
    "COMMIT",
    "CHECKPOINT",
    "SHOW TABLES",
    "DESCRIBE turns",
    "SUMMARIZE turns",
    "SELECT * FROM (DESCRIBE turns)",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM parquet_scan('x.parquet')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM 'file.csv'",
    "SELECT * FROM 'https://example.com/file.parquet'",
    'SELECT * FROM "/etc/passwd"',
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM pragma_table_info('turns')",
    "SELECT * FROM range(1000000000000)",
    "SELECT * FROM query('DROP VIEW turns')",
    "SELECT * FROM query_table('store.turns')",
    "SELECT * FROM json_execute_serialized_sql('{}')",
    "SELECT unnest(range(1000000000000))",
    "SELECT getenv('HOME')",
    "SELECT current_setting('memory_limit')",
    "SELECT getvariable('x')",
    "SELECT current_user",
    "SELECT user",
    "SELECT now()",
    "SELECT current_date",
    "SELECT random() FROM turns",
    "SELECT repeat('x', 1000000000)",
    "SELECT replace(agent, 'a', 'aaaaaaaaaaaaaaaa') FROM turns",
    "SELECT main.getenv('HOME')",
    "SELECT system.main.count(*) FROM turns",
    "SELECT nextval('s')",
    "SELECT * FROM store.turns",
    "SELECT * FROM memory.store.turns",
    "SELECT * FROM memory.main.turns",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM turns WHERE agent IN (SELECT table_name FROM information_schema.tables)",
    "SELECT (SELECT max(sql) FROM sqlite_master) FROM turns",
    "SELECT * FROM turns LIMIT (SELECT count(*) FROM duckdb_settings())",
    "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM pg_catalog.pg_class)) FROM turns",
    "SELECT agent FROM agents ORDER BY (SELECT max(name) FROM sqlite_master)",
    "SELECT agent FROM agents UNION ALL SELECT table_name FROM information_schema.tables",
    "SELECT agent FROM agents EXCEPT SELECT name FROM duckdb_functions()",
    "WITH turns AS (SELECT * FROM information_schema.tables) SELECT * FROM turns",
    "WITH turns AS (SELECT 1 AS latency_ms) SELECT * FROM turns",
    "WITH sqlite_master AS (SELECT * FROM sqlite_master) SELECT * FROM sqlite_master",
    "WITH RECURSIVE SQLITE_MASTER AS (SELECT name FROM sqlite_master UNION ALL SELECT name FROM sqlite_master) SELECT 1",
    "SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x), pg_class",
    "WITH \"file.csv\" AS (SELECT 1) SELECT * FROM 'file.csv'",
    "WITH x AS NOT MATERIALIZED (SELECT 1) SELECT * FROM x",
    "SELECT * FROM agents, LATERAL (SELECT * FROM read_csv(agents.agent))",
    "FROM turns PIVOT (count(*) FOR status IN ('ok', 'error'))",
    "SELECT * FROM turns AT (VERSION => 1)",
    "SELECT list_transform([1, 2], lambda x: x + 1)",
    "SELECT $1",
    "SELECT ?",
    "SELEC 1",
    "SELECT nope FROM turns",
    "SELECT " + "(" * 300 + "1",
    "SELECT " + "NOT " * 900 + "true",
    "SELECT 1" + " " * 5000,
    "SELECT * FROM turns WHERE agent = '\0'",
    "SELECT * FROM " + ", ".join(f"turns t{n}" for n in range(40)),
    "SELECT *, *, *, *, *, * FROM turns",
    "SELECT string_agg(a.agent || b.agent, ',') FROM turns a, turns b, turns c",
]


def _ask(sql: str, *, source: Source | None = None) -> QueryResult:
    asked = source or Source(open_database(None))
    return anyio.run(asked.ask, partial(questions.query, sql=sql, catalog=asked.database.catalog))


@pytest.fixture(scope="module", name="source")
def _source() -> Source:
    return Source(open_database(None))


@pytest.mark.parametrize("sql", HOSTILE)
def test_hostile_sql_is_refused_in_words(source: Source, sql: str) -> None:
    with pytest.raises(Refused) as refusal:
        _ask(sql, source=source)
    words = str(refusal.value)
    assert 20 < len(words) < 700
    assert "\n" not in words


def test_after_every_hostile_input_the_data_is_untouched(source: Source) -> None:
    assert _ask("SELECT count(*) FROM turns", source=source).rows == [[len(make_rows()[0])]]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT * FROM information_schema.tables", "'information_schema.tables' is not one of the curated views"),
        ("DROP VIEW turns", "a statement of the kind DROP"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT getenv('HOME')", "the function 'getenv'"),
        ("SELECT now()", "count from DATE '2026-06-30'"),
        ("SHOW TABLES", "use list_metrics and describe_view"),
        ("WITH turns AS (SELECT 1) SELECT * FROM turns", "Give the CTE another name"),
        ("WITH sqlite_master AS (SELECT * FROM sqlite_master) SELECT 1 FROM sqlite_master", "hides the relation"),
        ("SELECT ?", "Write the values into the SQL"),
        ("SELECT nope FROM turns", 'column "nope" not found'),
    ],
)
def test_a_refusal_says_what_and_what_instead(source: Source, sql: str, told: str) -> None:
    with pytest.raises(Refused) as refusal:
        _ask(sql, source=source)
    assert told in str(refusal.value)


@pytest.mark.parametrize("sql", ["SELECT * FROM nowhere", "DROP VIEW turns", "SELECT * FROM range(3)"])
def test_a_refused_relation_or_statement_names_the_views_there_are(source: Source, sql: str) -> None:
    with pytest.raises(Refused, match="The views are agents, turns, tool_calls, agent_days"):
        _ask(sql, source=source)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1 AS x; -- a comment; and more", [[1]]),
        ("SELECT ';' AS x, 'DROP TABLE turns' AS y", [[";", "DROP TABLE turns"]]),
        ("VALUES (1, 'a'), (2, NULL)", [[1, "a"], [2, None]]),
        ("FROM agents SELECT agent ORDER BY agent LIMIT 2", [["billing"], ["dispatch"]]),
        ("SELECT count(*) FROM main.agents", [[6]]),
        ("SELECT COUNT(*) FROM AGENTS", [[6]]),
        ("SELECT DATE '2026-06-30' - INTERVAL 6 DAY", [["2026-06-24T00:00:00"]]),
        ("SELECT true, 1.5, 12345678901234567890, 'nan'::DOUBLE", [[True, 1.5, "12345678901234567890", "nan"]]),
        ("SELECT [1, 2], TIMESTAMP '2026-06-30 10:00:00'", [["[1, 2]", "2026-06-30T10:00:00"]]),
        ("SELECT a.agent FROM agents a LEFT JOIN turns t ON t.agent = a.agent AND t.latency_ms < 0 GROUP BY 1 ORDER BY 1"
         " LIMIT 1", [["billing"]]),
        ("WITH t AS (SELECT agent, latency_ms FROM turns), u AS (SELECT count(*) AS n FROM t) SELECT n > 5000 FROM u",
         [[True]]),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT sum(n) FROM r", [[10]]),
        ("SELECT status, count(*) > 0 FROM turns GROUP BY ALL ORDER BY 1", [["error", True], ["ok", True]]),
        ("SELECT agent, row_number() OVER (ORDER BY agent DESC) AS place FROM agents QUALIFY place <= 2 ORDER BY place",
         [["travel", 1], ["support", 2]]),
        ("SELECT agent FROM agents WHERE EXISTS (SELECT 1 FROM tool_calls c WHERE c.agent = agents.agent) ORDER BY 1"
         " DESC LIMIT 1", [["travel"]]),
        ("SELECT agent FROM agents UNION SELECT channel FROM turns ORDER BY 1 LIMIT 3",
         [["billing"], ["chat"], ["dispatch"]]),
        ("SELECT CASE WHEN model LIKE 'atlas-%' THEN upper(left(agent, 1)) ELSE '' END FROM agents ORDER BY agent LIMIT 1",
         [["B"]]),
        ("SELECT sum(turns) = (SELECT count(*) FROM turns) FROM agent_days", [[True]]),
        ("SELECT date_part('day', day), strftime(day, '%d.%m.'), date_trunc('week', day) FROM agent_days ORDER BY day"
         " LIMIT 1", [[1, "01.06.", "2026-06-01T00:00:00"]]),
    ],
)  # fmt: skip
def test_ordinary_queries_are_answered(source: Source, sql: str, rows: list[list[Cell]]) -> None:
    assert _ask(sql, source=source).rows == rows


def test_a_window_over_days_agrees_with_plain_python(source: Source) -> None:
    answer = _ask(
        "SELECT day, sum(turns) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM agent_days"
        " WHERE agent = 'support' ORDER BY day",
        source=source,
    )
    days = sorted(turn.started_at.date().isoformat() for turn in make_rows()[0] if turn.agent == "support")
    names = sorted(set(days))
    assert answer.rows == [
        [name, sum(days.count(other) for other in names[max(0, index - 6) : index + 1])]
        for index, name in enumerate(names)
    ]


def test_rows_are_capped_in_the_order_of_the_query_and_the_answer_says_so(source: Source) -> None:
    answer = _ask("SELECT turn_id, latency_ms FROM turns ORDER BY latency_ms DESC, turn_id", source=source)
    slowest = sorted(make_rows()[0], key=lambda turn: (-turn.latency_ms, turn.turn_id))
    assert answer.rows == [[turn.turn_id, turn.latency_ms] for turn in slowest[: questions.MAX_ROWS]]
    assert (answer.row_count, answer.truncated, answer.total_rows) == (questions.MAX_ROWS, True, None)


def test_exactly_as_many_rows_as_the_cap_are_not_called_truncated(source: Source) -> None:
    answer = _ask(f"SELECT turn_id FROM turns LIMIT {questions.MAX_ROWS}", source=source)
    assert (answer.row_count, answer.truncated, answer.total_rows) == (questions.MAX_ROWS, False, questions.MAX_ROWS)


def test_long_cells_are_cut_and_counted(source: Source) -> None:
    answer = _ask(
        "SELECT string_agg(agent, ' ') AS names, list(turn_id) AS ids, 'short' AS s FROM turns", source=source
    )
    lengths = [len(str(cell)) for cell in answer.rows[0]]
    assert lengths == [questions.MAX_CELL_CHARACTERS, questions.MAX_CELL_CHARACTERS, len("short")]
    assert answer.shortened_cells == 2


def test_a_whole_answer_is_bounded_too(source: Source) -> None:
    wide = ", ".join(f"string_agg(agent, '{n}') OVER () AS c{n}" for n in range(9))
    answer = _ask(f"SELECT {wide} FROM turns WHERE turn_id <= 300", source=source)
    assert sum(len(str(cell)) for row in answer.rows for cell in row) <= questions.MAX_RESULT_CHARACTERS
    assert answer.truncated


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM turns a JOIN turns b ON a.latency_ms < b.latency_ms JOIN turns c ON b.latency_ms < c.latency_ms",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    ],
)
def test_an_endless_query_is_stopped_at_its_deadline_and_leaves_no_thread_at_work(sql: str) -> None:
    source = Source(open_database(None), seconds=0.4)
    began, threads = time.monotonic(), threading.active_count()
    with pytest.raises(Refused, match=r"longer than 0\.4 seconds"):
        _ask(sql, source=source)
    assert time.monotonic() - began < 3
    assert threading.active_count() <= threads + 1
    assert _ask("SELECT 1", source=source).rows == [[1]]


def test_a_cancelled_call_interrupts_its_query_and_frees_its_place() -> None:
    source = Source(open_database(None), seconds=30)
    endless = "SELECT count(*) FROM turns a JOIN turns b ON a.latency_ms < b.latency_ms JOIN turns c ON b.latency_ms < c.latency_ms"

    async def scenario() -> QueryResult:
        ask = partial(questions.query, catalog=source.database.catalog)
        for _ in range(MAX_PARALLEL + 1):
            with anyio.move_on_after(0.1):
                await source.ask(partial(ask, sql=endless))
        with anyio.fail_after(3):
            return await source.ask(partial(ask, sql="SELECT 1"))

    assert anyio.run(scenario).rows == [[1]]


def test_the_event_loop_stays_free_while_a_query_runs() -> None:
    source = Source(open_database(None), seconds=0.5)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    async def scenario() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            sql = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
            with pytest.raises(Refused):
                await source.ask(partial(questions.query, sql=sql, catalog=source.database.catalog))
            group.cancel_scope.cancel()

    anyio.run(scenario)
    assert ticks >= 10
