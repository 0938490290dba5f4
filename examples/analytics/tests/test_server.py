"""The server as a client sees it: in memory, and over stdio as a process of its own."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, TextContent, TextResourceContents

from remit_analytics.catalog import METRICS, VIEWS
from remit_analytics.dataset import FIRST_DAY, LAST_DAY, Turn, make_rows
from remit_analytics.server import READ_ONLY, build_server
from remit_analytics.source import Source
from remit_analytics.storage import open_database

TOOLS = ["compute_metric", "describe_view", "list_agents", "list_metrics", "run_query"]

Answer = TypeVar("Answer")


def _with_client(work: Callable[[Client], Awaitable[Answer]]) -> Answer:
    async def scenario() -> Answer:
        async with Client(build_server(Source(open_database(None)))) as client:
            with anyio.fail_after(20):
                return await work(client)

    return anyio.run(scenario)


def _call(name: str, **arguments: object) -> CallToolResult:
    return _with_client(lambda client: client.call_tool(name, arguments))


def _structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, _text(result)
    return cast("dict[str, Any]", result.structured_content)


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _quantile(values: list[int], share: float) -> float:
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


FIGURES: dict[str, Callable[[list[Turn]], float]] = {
    "p50_turn_latency": lambda turns: _quantile([turn.latency_ms for turn in turns], 0.5),
    "p95_turn_latency": lambda turns: _quantile([turn.latency_ms for turn in turns], 0.95),
    "mean_turn_latency": lambda turns: sum(turn.latency_ms for turn in turns) / len(turns),
    "turn_count": len,
    "error_rate": lambda turns: sum(turn.status == "error" for turn in turns) / len(turns),
    "input_tokens": lambda turns: sum(turn.input_tokens for turn in turns),
    "output_tokens": lambda turns: sum(turn.output_tokens for turn in turns),
    "total_tokens": lambda turns: sum(turn.input_tokens + turn.output_tokens for turn in turns),
    "tool_calls": lambda turns: sum(turn.tool_calls for turn in turns),
    "tool_calls_per_turn": lambda turns: sum(turn.tool_calls for turn in turns) / len(turns),
}

GROUPS: dict[str, Callable[[Turn], str]] = {
    "agent": lambda turn: turn.agent,
    "day": lambda turn: turn.started_at.date().isoformat(),
    "channel": lambda turn: turn.channel,
    "all": lambda _: "all",
}


def _expected(
    metric: str, group_by: str = "agent", last_days: int = 7, agent: str | None = None
) -> dict[str, tuple[object, int]]:
    """Each group's figure and number of turns, from the generated rows alone."""
    groups: dict[str, list[Turn]] = {}
    for turn in make_rows()[0]:
        age = (LAST_DAY - turn.started_at.date()).days
        if age < last_days and agent in (None, turn.agent):
            groups.setdefault(GROUPS[group_by](turn), []).append(turn)
    return {group: (pytest.approx(FIGURES[metric](turns), abs=1e-3), len(turns)) for group, turns in groups.items()}


def _figures(answer: dict[str, Any]) -> dict[str, tuple[object, int]]:
    return {row["group"]: (row["value"], row["turns"]) for row in answer["rows"]}


def test_the_server_says_who_it_is_and_how_to_use_it() -> None:
    async def work(client: Client) -> tuple[str | None, str | None]:
        return client.server_info.name if client.server_info else None, client.instructions

    name, instructions = _with_client(work)
    assert name == "analytics"
    assert instructions is not None
    assert "compute_metric" in instructions
    assert str(LAST_DAY) in instructions


def test_it_offers_five_read_only_tools_with_described_parameters_and_typed_results() -> None:
    tools = {tool.name: tool for tool in _with_client(lambda client: client.list_tools()).tools}
    assert sorted(tools) == TOOLS
    for tool in tools.values():
        assert tool.annotations is not None
        assert tool.annotations.model_dump(exclude_none=True) == READ_ONLY.model_dump(exclude_none=True)
        assert tool.description is not None
        assert len(tool.description) > 40
        assert all(schema.get("description") for schema in tool.input_schema.get("properties", {}).values())
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert tool.output_schema["properties"]


def test_the_schema_of_compute_metric_names_its_choices_and_bounds() -> None:
    tools = {tool.name: tool for tool in _with_client(lambda client: client.list_tools()).tools}
    properties = tools["compute_metric"].input_schema["properties"]
    assert properties["metric"]["enum"] == [metric.name for metric in METRICS]
    assert properties["group_by"]["enum"] == ["agent", "day", "channel", "all"]
    assert (properties["last_days"]["minimum"], properties["last_days"]["maximum"]) == (1, 30)
    assert tools["compute_metric"].input_schema["required"] == ["metric"]


def test_the_manifest_tells_views_metrics_window_and_limits() -> None:
    result = _with_client(lambda client: client.read_resource("source://manifest"))
    (content,) = result.contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "application/json"
    manifest = json.loads(content.text)
    assert [view["name"] for view in manifest["views"]] == [view.name for view in VIEWS]
    assert [metric["name"] for metric in manifest["metrics"]] == [metric.name for metric in METRICS]
    assert manifest["dataset"] == {
        "version": "1",
        "first_day": FIRST_DAY.isoformat(),
        "last_day": LAST_DAY.isoformat(),
        "days": 30,
    }
    assert manifest["limits"]["rows"] == 200


def test_list_metrics_gives_the_names_that_the_other_tools_take() -> None:
    answer = _structured(_call("list_metrics"))
    assert [metric["name"] for metric in answer["metrics"]] == list(FIGURES)
    assert answer["group_by"] == list(GROUPS)
    assert answer["views"] == [view.name for view in VIEWS]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_describe_view_agrees_with_the_view_itself(view: Any) -> None:
    described = _structured(_call("describe_view", view=view.name))
    answer = _structured(_call("run_query", sql=f"SELECT * FROM {view.name} LIMIT 1"))
    counted = _structured(_call("run_query", sql=f"SELECT count(*) FROM {view.name}"))
    assert [(column["name"], column["type"]) for column in described["columns"]] == [
        (column["name"], column["type"]) for column in answer["columns"]
    ]
    assert [[described["row_count"]]] == counted["rows"]


def test_list_agents_counts_the_turns_of_each() -> None:
    answer = _structured(_call("list_agents"))
    turns = [turn.agent for turn in make_rows()[0]]
    assert {entry["agent"]: entry["turns"] for entry in answer["agents"]} == {
        agent: turns.count(agent) for agent in sorted(set(turns))
    }


@pytest.mark.parametrize("metric", FIGURES)
@pytest.mark.parametrize("group_by", GROUPS)
def test_every_metric_agrees_with_plain_python(metric: str, group_by: str) -> None:
    answer = _structured(_call("compute_metric", metric=metric, group_by=group_by, last_days=11))
    assert _figures(answer) == _expected(metric, group_by, 11)


def test_a_metric_can_be_narrowed_to_one_agent() -> None:
    answer = _structured(_call("compute_metric", metric="error_rate", group_by="day", last_days=3, agent="travel"))
    assert _figures(answer) == _expected("error_rate", "day", 3, "travel")
    assert [row["group"] for row in answer["rows"]] == ["2026-06-28", "2026-06-29", "2026-06-30"]


def test_the_worst_p95_of_the_last_seven_days_is_dispatch_and_of_thirty_days_research() -> None:
    week = _structured(_call("compute_metric", metric="p95_turn_latency"))
    month = _structured(_call("compute_metric", metric="p95_turn_latency", last_days=30))
    assert (week["rows"][0]["group"], month["rows"][0]["group"]) == ("dispatch", "research")
    assert week["rows"][0]["value"] > 1.3 * week["rows"][1]["value"]
    assert month["rows"][0]["value"] > 1.3 * month["rows"][1]["value"]
    assert week["window"] == {"first_day": "2026-06-24", "last_day": "2026-06-30", "days": 7}


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("compute_metric", {"metric": "p99"}, "The metrics are p50_turn_latency, p95_turn_latency"),
        ("compute_metric", {"metric": "turn_count", "agent": "nobody"}, "The agents are billing, dispatch"),
        ("compute_metric", {"metric": "turn_count", "last_days": 31}, "last_days"),
        ("compute_metric", {"metric": "turn_count", "group_by": "view"}, "group_by"),
        ("describe_view", {"view": "sqlite_master"}, "The views are agents, turns"),
        ("run_query", {"sql": "DROP VIEW turns"}, "Only one read-only SELECT"),
    ],
)
def test_a_refusal_is_a_result_that_a_model_can_read(tool: str, arguments: dict[str, object], told: str) -> None:
    result = _call(tool, **arguments)
    assert result.is_error
    assert told in _text(result)


def test_parallel_calls_each_get_their_own_answer() -> None:
    agents = ["billing", "dispatch", "onboarding", "research", "support", "travel"] * 4

    async def work(client: Client) -> list[tuple[str, object]]:
        answers: list[tuple[str, object]] = []

        async def one(agent: str) -> None:
            sql = f"SELECT agent, count(*) FROM turns WHERE agent = '{agent}' GROUP BY agent"
            answer = _structured(await client.call_tool("run_query", {"sql": sql}))
            answers.append((agent, answer["rows"]))

        async with anyio.create_task_group() as group:
            for agent in agents:
                group.start_soon(one, agent)
        return answers

    turns = [turn.agent for turn in make_rows()[0]]
    assert sorted(_with_client(work), key=str) == sorted(
        ((agent, [[agent, turns.count(agent)]]) for agent in agents), key=str
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("name", ["", "analytics.duckdb"])
def test_it_serves_over_stdio_in_both_eras_from_memory_and_from_a_file(tmp_path: Path, mode: Any, name: str) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "remit_analytics"],
        env={"ANALYTICS_DB": str(tmp_path / name) if name else "", "PATH": os.environ.get("PATH", "")},
        cwd=tmp_path,
    )

    async def scenario() -> tuple[list[str], dict[str, Any]]:
        with anyio.fail_after(30):
            async with Client(parameters, mode=mode) as client:
                tools = sorted(tool.name for tool in (await client.list_tools()).tools)
                answer = await client.call_tool("compute_metric", {"metric": "p95_turn_latency"})
                return tools, _structured(answer)

    tools, answer = anyio.run(scenario)
    assert tools == TOOLS
    assert _figures(answer) == _expected("p95_turn_latency")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ([name] if name else [])


def test_an_unusable_database_file_ends_the_process_with_words_on_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database")

    async def scenario() -> tuple[int, bytes, bytes]:
        environment = {"ANALYTICS_DB": str(path), "PATH": os.environ.get("PATH", "")}
        with anyio.fail_after(20):
            ended = await anyio.run_process(
                [sys.executable, "-m", "remit_analytics"], env=environment, check=False, input=b""
            )
        return ended.returncode, ended.stdout, ended.stderr

    code, output, words = anyio.run(scenario)
    assert (code, output) == (2, b"")
    assert b"not an analytics database" in words
