"""What the tools answer: these models become the outputSchema of each tool. No behaviour."""

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AgentEntry",
    "AgentList",
    "Cell",
    "ColumnEntry",
    "MetricEntry",
    "MetricGroup",
    "MetricList",
    "MetricResult",
    "QueryResult",
    "ResultColumn",
    "ViewDescription",
    "Window",
]

Cell = str | int | float | bool | None
"""One value of a query result. Dates are ISO text; lists and other compound values are text as DuckDB writes them."""


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Window(_Result):
    """The days that an answer covers, both ends included, in UTC."""

    first_day: Annotated[date, Field(description="First day covered.")]
    last_day: Annotated[date, Field(description="Last day covered: always the end of the data set, not today.")]
    days: Annotated[int, Field(description="How many days that is.")]


class MetricEntry(_Result):
    """One metric that compute_metric knows."""

    name: Annotated[str, Field(description="Pass this as `metric` to compute_metric.")]
    title: str
    description: str
    unit: str
    better: Annotated[
        Literal["lower", "higher", "neither"], Field(description="Which direction is good; the worst is the other end.")
    ]


class MetricList(_Result):
    """Every metric, every grouping, every view, and the days of data there are."""

    metrics: list[MetricEntry]
    group_by: Annotated[list[str], Field(description="The values that compute_metric takes as `group_by`.")]
    views: Annotated[list[str], Field(description="The views that run_query reads; describe_view tells their columns.")]
    data_window: Window


class ColumnEntry(_Result):
    """One column of a view."""

    name: str
    type: Annotated[str, Field(description="DuckDB type.")]
    unit: Annotated[str, Field(description="Empty where the column has no unit.")]
    description: str


class ViewDescription(_Result):
    """One curated view."""

    view: str
    description: str
    row_count: int
    columns: list[ColumnEntry]


class AgentEntry(_Result):
    """One agent and how much of it the data holds."""

    agent: Annotated[str, Field(description="Pass this as `agent` to compute_metric.")]
    team: str
    model: str
    purpose: str
    turns: Annotated[int, Field(description="Turns over the whole data set.")]


class AgentList(_Result):
    """Every agent, by name."""

    agents: list[AgentEntry]
    data_window: Window


class MetricGroup(_Result):
    """The metric of one group."""

    group: Annotated[str, Field(description="The agent, the day (ISO date), the channel, or `all`.")]
    value: Annotated[float, Field(description="The metric, in the unit of the result, rounded to 4 decimals.")]
    turns: Annotated[int, Field(description="How many turns the value rests on.")]


class MetricResult(_Result):
    """One metric for every group. Days are in order of time; other groups have the highest value first."""

    metric: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    group_by: str
    agent: Annotated[
        str | None, Field(description="The agent that the turns were narrowed to, or null for all agents.")
    ]
    window: Window
    rows: Annotated[list[MetricGroup], Field(description="Groups without turns in the window are absent.")]


class ResultColumn(_Result):
    """One column of a query result."""

    name: str
    type: Annotated[str, Field(description="DuckDB type.")]


class QueryResult(_Result):
    """The rows of a query, as far as the limits allow."""

    columns: list[ResultColumn]
    rows: Annotated[list[list[Cell]], Field(description="Each row has one value for each column, in that order.")]
    row_count: Annotated[int, Field(description="How many rows are in this answer.")]
    truncated: Annotated[bool, Field(description="True where the query has more rows than this answer.")]
    total_rows: Annotated[
        int | None, Field(description="All rows of the query; null where truncated, as the rest was not counted.")
    ]
    shortened_cells: Annotated[int, Field(description="How many long values were cut; those end in an ellipsis.")]
