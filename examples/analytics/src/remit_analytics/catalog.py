"""What the server offers to be asked about: the curated views with their columns, and the metrics.

Decides names, meanings, units and the SQL behind each; the storage builds the views from here and the tools describe
them from here, so that the two cannot differ. Holds no connection.
"""

from dataclasses import dataclass
from typing import Literal

from remit_analytics.dataset import DAYS, FIRST_DAY, LAST_DAY

__all__ = ["GROUPINGS", "METRICS", "VIEWS", "Column", "GroupBy", "Metric", "View"]

GroupBy = Literal["agent", "day", "channel", "all"]
"""How compute_metric may cut the turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a view; `type` is the DuckDB type, `unit` is empty where there is none."""

    name: str
    type: str
    description: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A curated view: the only kind of relation that run_query reads. `body` is its SELECT over the stored tables."""

    name: str
    description: str
    columns: tuple[Column, ...]
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure over a set of turns; `expression` is its SQL aggregate over the columns of `turns`."""

    name: str
    title: str
    description: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    expression: str


_DAY = Column(name="day", type="DATE", description=f"Calendar day in UTC, {FIRST_DAY} to {LAST_DAY}.")
_AGENT = Column(name="agent", type="VARCHAR", description="Name of the agent; joins with agents.agent.")

VIEWS = (
    View(
        name="agents",
        description="One row for each agent.",
        columns=(
            Column(name="agent", type="VARCHAR", description="Name of the agent, unique."),
            Column(name="team", type="VARCHAR", description="Team that owns the agent."),
            Column(name="model", type="VARCHAR", description="Model that the agent runs on."),
            Column(name="purpose", type="VARCHAR", description="What the agent does, in one sentence."),
        ),
        body="SELECT agent, team, model, purpose FROM store.agents",
    ),
    View(
        name="turns",
        description=f"One row for each turn (one answer of one agent) of the {DAYS} days {FIRST_DAY} to {LAST_DAY}.",
        columns=(
            Column(name="turn_id", type="INTEGER", description="Number of the turn, unique, in order of time."),
            _AGENT,
            _DAY,
            Column(name="started_at", type="TIMESTAMP", description="When the turn started, in UTC."),
            Column(name="channel", type="VARCHAR", description="chat, email or voice."),
            Column(name="status", type="VARCHAR", description="ok or error."),
            Column(
                name="error_kind",
                type="VARCHAR",
                description="timeout, tool_failed or refused; NULL where status is ok.",
            ),
            Column(name="latency_ms", type="INTEGER", description="From question to full answer.", unit="ms"),
            Column(name="input_tokens", type="INTEGER", description="Tokens read by the model.", unit="tokens"),
            Column(name="output_tokens", type="INTEGER", description="Tokens written by the model.", unit="tokens"),
            Column(name="tool_calls", type="INTEGER", description="How many tool calls the turn made.", unit="calls"),
        ),
        body=(
            "SELECT turn_id, agent, CAST(started_at AS DATE) AS day, started_at, channel, status, error_kind,"
            " latency_ms, input_tokens, output_tokens, tool_calls FROM store.turns"
        ),
    ),
    View(
        name="tool_calls",
        description="One row for each tool call inside a turn.",
        columns=(
            Column(name="call_id", type="INTEGER", description="Number of the call, unique."),
            Column(
                name="turn_id", type="INTEGER", description="The turn that made the call; joins with turns.turn_id."
            ),
            _AGENT,
            _DAY,
            Column(name="tool", type="VARCHAR", description="Name of the tool that was called."),
            Column(name="status", type="VARCHAR", description="ok or error."),
            Column(name="duration_ms", type="INTEGER", description="How long the call took.", unit="ms"),
        ),
        body=(
            "SELECT c.call_id, c.turn_id, t.agent, CAST(t.started_at AS DATE) AS day, c.tool, c.status, c.duration_ms"
            " FROM store.tool_calls c JOIN store.turns t USING (turn_id)"
        ),
    ),
    View(
        name="agent_days",
        description="One row for each agent and day, with that day's totals.",
        columns=(
            _AGENT,
            _DAY,
            Column(name="turns", type="BIGINT", description="How many turns.", unit="turns"),
            Column(name="errors", type="BIGINT", description="How many of them ended in an error.", unit="turns"),
            Column(
                name="p95_latency_ms",
                type="DOUBLE",
                description="95th percentile of that day's turn latency. Never average it over days: compute it from turns.",
                unit="ms",
            ),
            Column(
                name="total_tokens",
                type="BIGINT",
                description="Tokens read and written together.",
                unit="tokens",
            ),
        ),
        body=(
            "SELECT agent, CAST(started_at AS DATE) AS day, count(*) AS turns,"
            " count(*) FILTER (WHERE status = 'error') AS errors, quantile_cont(latency_ms, 0.95) AS p95_latency_ms,"
            " CAST(sum(input_tokens + output_tokens) AS BIGINT) AS total_tokens"
            " FROM store.turns GROUP BY agent, CAST(started_at AS DATE)"
        ),
    ),
)

METRICS = (
    Metric(
        name="p50_turn_latency",
        title="Median turn latency",
        description="Half of the turns are answered at least this fast (linear interpolation between turns).",
        unit="ms",
        better="lower",
        expression="quantile_cont(latency_ms, 0.5)",
    ),
    Metric(
        name="p95_turn_latency",
        title="95th percentile of turn latency",
        description="One turn in twenty takes longer than this (linear interpolation between turns).",
        unit="ms",
        better="lower",
        expression="quantile_cont(latency_ms, 0.95)",
    ),
    Metric(
        name="mean_turn_latency",
        title="Mean turn latency",
        description="Average time from question to full answer.",
        unit="ms",
        better="lower",
        expression="avg(latency_ms)",
    ),
    Metric(
        name="turn_count",
        title="Turns",
        description="How many turns there were.",
        unit="turns",
        better="neither",
        expression="count(*)",
    ),
    Metric(
        name="error_rate",
        title="Error rate",
        description="Share of turns that ended in an error, from 0 to 1.",
        unit="share",
        better="lower",
        expression="avg(CASE WHEN status = 'error' THEN 1.0 ELSE 0.0 END)",
    ),
    Metric(
        name="input_tokens",
        title="Input tokens",
        description="Sum of the tokens read by the model.",
        unit="tokens",
        better="lower",
        expression="sum(input_tokens)",
    ),
    Metric(
        name="output_tokens",
        title="Output tokens",
        description="Sum of the tokens written by the model.",
        unit="tokens",
        better="lower",
        expression="sum(output_tokens)",
    ),
    Metric(
        name="total_tokens",
        title="Total tokens",
        description="Sum of the tokens read and written.",
        unit="tokens",
        better="lower",
        expression="sum(input_tokens + output_tokens)",
    ),
    Metric(
        name="tool_calls",
        title="Tool calls",
        description="How many tool calls the turns made, together.",
        unit="calls",
        better="neither",
        expression="sum(tool_calls)",
    ),
    Metric(
        name="tool_calls_per_turn",
        title="Tool calls per turn",
        description="Average number of tool calls in a turn.",
        unit="calls per turn",
        better="neither",
        expression="avg(tool_calls)",
    ),
)

GROUPINGS: dict[GroupBy, str] = {
    "agent": "agent",
    "day": "CAST(day AS VARCHAR)",
    "channel": "channel",
    "all": "'all'",
}
"""The SQL expression, over the columns of `turns`, that names each group."""
