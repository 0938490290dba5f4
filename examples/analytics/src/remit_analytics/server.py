"""The MCP server: five read-only tools and a manifest, thin over questions.py.

The texts here are read by a model: docstrings are the tool descriptions, field descriptions explain the parameters.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

import duckdb
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from remit_analytics import __version__, questions
from remit_analytics.catalog import GROUPINGS, METRICS, VIEWS, GroupBy
from remit_analytics.dataset import DATASET_VERSION, DAYS, LAST_DAY
from remit_analytics.guard import MAX_SQL_CHARACTERS, Refused
from remit_analytics.results import AgentList, MetricEntry, MetricList, MetricResult, QueryResult, ViewDescription
from remit_analytics.source import Source

__all__ = ["INSTRUCTIONS", "READ_ONLY", "build_server"]

READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

INSTRUCTIONS = f"""\
Read-only analytics over the turns of several AI agents: latency, errors, tokens and tool calls.
Start with list_metrics. compute_metric answers most questions in one call: it computes a metric for every agent at once,
so never loop over agents. Use run_query only for what no metric covers, and describe_view before you write SQL.
The data is {DAYS} days ending on {LAST_DAY}; "last N days" counts back from that day, not from today, and every answer
states its window. Quote figures exactly as returned."""

Answer = TypeVar("Answer")

MetricName = Annotated[
    str,
    Field(
        description="Name of a metric, as list_metrics gives it.",
        json_schema_extra={"enum": [metric.name for metric in METRICS]},
    ),
]
ViewName = Annotated[
    str,
    Field(
        description="Name of a curated view, as list_metrics gives it.",
        json_schema_extra={"enum": [view.name for view in VIEWS]},
    ),
]
Grouping = Annotated[
    GroupBy,
    Field(description="One value for each agent, for each day, for each channel, or one for all turns together."),
]
LastDays = Annotated[
    int,
    Field(ge=1, le=DAYS, description=f"How many days to cover, counted back from the end of the data, {LAST_DAY}."),
]
AgentFilter = Annotated[
    str | None,
    Field(description="Only the turns of this agent, as list_agents names it. Leave out to cover every agent."),
]
Sql = Annotated[
    str,
    Field(
        max_length=MAX_SQL_CHARACTERS,
        description="One SELECT, or WITH ... SELECT, in DuckDB SQL, over the views only. Example: "
        "SELECT agent, count(*) AS turns FROM turns GROUP BY agent ORDER BY turns DESC",
    ),
]


def build_server(source: Source) -> MCPServer:
    """The server, ready to `run("stdio")` or to be handed to an in-memory client."""
    server = MCPServer(
        name="analytics", title="Agent analytics", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    _add_discovery_tools(server, source)
    _add_answering_tools(server, source)

    @server.resource("source://manifest", mime_type="application/json")
    def manifest() -> str:  # pyright: ignore[reportUnusedFunction] - registered by its decorator
        """The data set, the views with their columns, the metrics and the limits, as JSON."""
        return json.dumps(_manifest(source), indent=2)

    return server


def _add_discovery_tools(server: MCPServer, source: Source) -> None:
    async def list_metrics() -> MetricList:
        """List every metric that compute_metric can compute, with unit and meaning, and the views. Call this first."""
        return _metric_list()

    async def describe_view(view: ViewName) -> ViewDescription:
        """Describe one curated view: what a row is, its columns with types and units, and how many rows it has."""
        return await _answer(source, partial(questions.describe, name=view))

    async def list_agents() -> AgentList:
        """List every agent with its team, model, purpose and number of turns."""
        return await _answer(source, questions.agents)

    server.tool(title="List metrics", annotations=READ_ONLY)(list_metrics)
    server.tool(title="Describe a view", annotations=READ_ONLY)(describe_view)
    server.tool(title="List agents", annotations=READ_ONLY)(list_agents)


def _add_answering_tools(server: MCPServer, source: Source) -> None:
    async def compute_metric(
        metric: MetricName,
        group_by: Grouping = "agent",
        last_days: LastDays = 7,
        agent: AgentFilter = None,
    ) -> MetricResult:
        """Compute ONE metric for every agent (or day, or channel) in a single step.

        Rows come with the highest value first, so for a metric where lower is better the first row is the worst; days
        come in order of time. The result states the window that it covers.
        """
        ask = partial(questions.metric, name=metric, group_by=group_by, last_days=last_days, agent=agent)
        return await _answer(source, ask)

    async def run_query(sql: Sql) -> QueryResult:
        """Run ONE read-only SELECT over the curated views (DuckDB SQL). Rows are capped.

        Reads agents, turns, tool_calls and agent_days; joins, CTEs, window functions and ordinary functions work.
        Everything else is refused with the reason. At most 200 rows come back, with `truncated` true if there are more:
        aggregate in SQL rather than fetching rows.
        """
        return await _answer(source, partial(questions.query, sql=sql, catalog=source.database.catalog))

    server.tool(title="Compute a metric", annotations=READ_ONLY)(compute_metric)
    server.tool(title="Run a read-only query", annotations=READ_ONLY)(run_query)


async def _answer(source: Source, question: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
    """The answer, computed off the event loop; a refusal becomes the text that the model reads."""
    try:
        return await source.ask(question)
    except Refused as refusal:
        raise ToolError(str(refusal)) from refusal


def _metric_list() -> MetricList:
    return MetricList(
        metrics=[
            MetricEntry(name=m.name, title=m.title, description=m.description, unit=m.unit, better=m.better)
            for m in METRICS
        ],
        group_by=list(GROUPINGS),
        views=[view.name for view in VIEWS],
        data_window=questions.window(),
    )


def _manifest(source: Source) -> dict[str, object]:
    return {
        "name": "analytics",
        "version": __version__,
        "dataset": {"version": DATASET_VERSION, **questions.window().model_dump(mode="json")},
        "storage": source.database.kind,
        "views": [
            {
                "name": view.name,
                "description": view.description,
                "columns": [{"name": c.name, "type": c.type, "unit": c.unit} for c in view.columns],
            }
            for view in VIEWS
        ],
        "metrics": [{"name": m.name, "unit": m.unit, "better": m.better} for m in METRICS],
        "limits": {
            "rows": questions.MAX_ROWS,
            "columns": questions.MAX_COLUMNS,
            "cell_characters": questions.MAX_CELL_CHARACTERS,
            "sql_characters": MAX_SQL_CHARACTERS,
            "seconds": source.seconds,
        },
    }
