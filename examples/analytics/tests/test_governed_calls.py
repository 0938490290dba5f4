"""The agent's executor over a governed run, and what is read out of a trace."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from remit.core.calls import FailureCode
from remit.runtime.abi import HandOff, Principal, ToolCallEnvelope, ToolResultEnvelope, failure
from remit_ops_agent.governed import RunExecutor
from remit_ops_agent.trace_facts import TraceFacts, promises, trace_facts

FINE = ToolResultEnvelope(content="fine")


@dataclass
class OneTool:
    """A run with one tool, `known`; it fails a post for a call that does not wait."""

    waiting: set[str] = field(default_factory=set[str])
    posted: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    called: list[tuple[str, str, str | None]] = field(default_factory=list[tuple[str, str, str | None]])

    async def call(self, name: str, arguments: str, *, tool_call_id: str | None = None) -> ToolResultEnvelope | HandOff:
        self.called.append((name, arguments, tool_call_id))
        if name == "known":
            return FINE
        self.waiting.add(str(tool_call_id))
        call = ToolCallEnvelope(
            name=name,
            arguments=arguments,
            run_id="r",
            thread_id=None,
            assistant_id="ops",
            tool_call_id=str(tool_call_id),
            principal=Principal("assistant:ops"),
            trace_id="t",
        )
        return HandOff(call)

    async def submit_output(self, tool_call_id: str, output: str, *, is_error: bool = False) -> None:
        self.waiting.remove(tool_call_id)
        self.posted.append((tool_call_id, output, is_error))


def test_a_call_goes_to_the_run_as_the_model_wrote_it() -> None:
    run = OneTool()
    assert asyncio.run(RunExecutor(run).execute("known", '{"a": 1, "a": 2}', "call_1")) == FINE
    assert (run.called, run.posted) == ([("known", '{"a": 1, "a": 2}', "call_1")], [])


def test_a_call_that_is_handed_over_is_answered_as_a_consumer_without_tools_does() -> None:
    run = OneTool()
    result = asyncio.run(RunExecutor(run).execute("known_not", "{}", "call_1"))
    words = "there is no tool of this name; use only the tools that you were given"
    assert result == failure(FailureCode.UNKNOWN_TOOL, words)
    assert run.posted == [("call_1", f"unknown_tool: {words}", True)]
    assert run.waiting == set()


def _event(kind: str, direction: str, **body: Any) -> dict[str, Any]:
    return {"connection_id": "c", "server": "analytics", "kind": kind, "direction": direction, "body": body}


def _asked(number: int, method: str, **params: Any) -> dict[str, Any]:
    return _event("call", "sent", id=number, method=method, params=params)


def _answered(number: int, **result: Any) -> dict[str, Any]:
    return _event("call", "received", id=number, result=result)


IDENTITY = {"name": "analytics", "version": "1.0.0"}
MODERN = [_asked(1, "server/discover"), _answered(1, _meta={"io.modelcontextprotocol/serverInfo": IDENTITY})]
LEGACY = [_asked(1, "initialize"), _answered(1, serverInfo=IDENTITY)]
REST = [
    _event("handshake", "local", era="some", protocol_version="2026-07-28"),
    _asked(2, "tools/list"),
    _answered(2, tools=[{"name": "run_query"}, {"name": "list_metrics"}]),
    _asked(3, "tools/call", name="list_metrics"),
    _asked(4, "tools/call", name="run_query"),
    _answered(4, content=[]),
    _answered(3, content=[]),
    _event("close", "local"),
]
FACTS = TraceFacts(
    handshake="some",
    protocol_version="2026-07-28",
    server="analytics 1.0.0",
    tools=("list_metrics", "run_query"),
    called=("list_metrics", "run_query"),
    answered=2,
    closed=True,
)


def _broken(facts: TraceFacts, called: tuple[str, ...] = ("run_query", "list_metrics")) -> list[str]:
    return [promise.words for promise in promises(facts, ["run_query", "list_metrics"], called) if not promise.kept]


@pytest.mark.parametrize("opening", [MODERN, LEGACY], ids=["discover", "initialize"])
def test_the_facts_of_a_trace_are_read_in_both_eras(opening: list[Any]) -> None:
    facts = trace_facts({"events": [*opening, *REST]})
    assert facts == FACTS
    assert _broken(facts) == []


def test_an_empty_trace_keeps_no_promise() -> None:
    assert _broken(trace_facts({"events": []})) == [
        "a handshake",
        "the protocol version",
        "the server's identity",
        "the 2 tools",
        "the agent's calls",
        "the end of the connection",
    ]


def test_a_trace_without_a_call_an_answer_or_a_tool_is_found_out() -> None:
    assert _broken(trace_facts({"events": [*MODERN, *REST[:4], *REST[5:]]})) == ["the agent's calls"]
    assert _broken(trace_facts({"events": [*MODERN, *REST[:6], *REST[7:]]})) == ["an answer to each call"]
    assert _broken(trace_facts({"events": [*MODERN, REST[0], *REST[3:]]})) == ["the 2 tools"]
    assert _broken(FACTS, ("run_query", "run_query")) == ["the agent's calls"]
