"""The loop between model and tools, and the scripted model that needs no network."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import TextContent

from remit.core.calls import FailureCode
from remit.core.canonical import JsonObject
from remit.errors import NoDatabase
from remit.runtime.abi import ToolResultEnvelope, failure
from remit_analytics.server import build_server
from remit_analytics.source import Source
from remit_analytics.storage import open_database
from remit_ops_agent.agent import MAX_CALLS_AT_ONCE, Ending, Turn, take_turn
from remit_ops_agent.figures import check_figures
from remit_ops_agent.model import (
    AssistantMessage,
    Message,
    ModelFailed,
    Reply,
    SystemMessage,
    TextReply,
    ToolCall,
    ToolCallsReply,
    ToolMessage,
    UserMessage,
)
from remit_ops_agent.scripted import ScriptedModel

QUESTION = "Which agent had the worst p95 turn latency in the last 7 days?"
TOOLS: list[JsonObject] = [
    {"type": "function", "function": {"name": f"analytics__{name}", "description": "", "parameters": {}}}
    for name in ("compute_metric", "list_metrics")
]


@dataclass
class Replies:
    """A model that gives these replies in turn, the last one for ever, and keeps what it was told."""

    replies: Sequence[Reply]
    told: list[Sequence[Message]] = field(default_factory=list[Sequence[Message]])

    async def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Reply:
        self.told.append(tuple(messages))
        return self.replies[min(len(self.told), len(self.replies)) - 1]


@dataclass
class Answers:
    """An executor that answers every call alike, once `together` of them are under way at the same time."""

    answer: ToolResultEnvelope
    together: int = 1
    calls: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    all_here: asyncio.Event = field(default_factory=asyncio.Event)

    async def execute(self, name: str, arguments_text: str, tool_call_id: str) -> ToolResultEnvelope:
        self.calls.append((name, arguments_text, tool_call_id))
        if len(self.calls) >= self.together:
            self.all_here.set()
        await asyncio.wait_for(self.all_here.wait(), 5)
        return self.answer


@dataclass
class Direct:
    """An executor straight on an in-memory client of the analytics server, with nothing governed."""

    client: Client
    calls: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    async def execute(self, name: str, arguments_text: str, tool_call_id: str) -> ToolResultEnvelope:
        self.calls.append((name, arguments_text, tool_call_id))
        result = await self.client.call_tool(name.removeprefix("analytics__"), json.loads(arguments_text))
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        structured: Any = result.structured_content
        return ToolResultEnvelope(content=text, structured_content=structured, is_error=bool(result.is_error))


def _calls(*names: str) -> ToolCallsReply:
    calls = tuple(ToolCall(id=f"call_{n}", name=name, arguments='{"a": 1, "a": 2}') for n, name in enumerate(names))
    return ToolCallsReply(calls=calls, text="I look it up.")


def _turn(model: Replies, executor: Answers, max_steps: int = 8) -> Turn:
    return asyncio.run(take_turn(model, executor, TOOLS, QUESTION, max_steps))


def _on_the_server(question: str, *, made_up: bool = False) -> tuple[Turn, list[tuple[str, str, str]]]:
    async def scenario() -> tuple[Turn, list[tuple[str, str, str]]]:
        async with asyncio.timeout(30), Client(build_server(Source(open_database(None)))) as client:
            executor = Direct(client)
            return await take_turn(ScriptedModel(made_up=made_up), executor, TOOLS, question), executor.calls

    return asyncio.run(scenario())


def test_results_go_back_to_the_model_with_text_and_structure_in_the_order_of_the_calls() -> None:
    model = Replies([_calls("one", "two"), TextReply(text="Done.")])
    executor = Answers(ToolResultEnvelope(content="text", structured_content={"n": 1}), together=2)
    turn = _turn(model, executor)
    results = tuple(
        ToolMessage(call_id=f"call_{n}", name=name, text="text", structured={"n": 1})
        for n, name in enumerate(("one", "two"))
    )
    assert turn == Turn(question=QUESTION, answer="Done.", ending=Ending.ANSWERED, steps=2, results=results)
    system, user, assistant, *tool_messages = model.told[1]
    assert isinstance(system, SystemMessage)
    assert user == UserMessage(text=QUESTION)
    assert assistant == AssistantMessage(text="I look it up.", calls=_calls("one", "two").calls)
    assert tuple(tool_messages) == results


def test_arguments_reach_the_executor_as_the_model_wrote_them() -> None:
    executor = Answers(ToolResultEnvelope(content=""))
    _turn(Replies([_calls("one"), TextReply(text="Done.")]), executor)
    assert executor.calls == [("one", '{"a": 1, "a": 2}', "call_0")]


def test_the_calls_of_one_reply_run_at_the_same_time() -> None:
    executor = Answers(ToolResultEnvelope(content=""), together=5)
    assert _turn(Replies([_calls(*"abcde"), TextReply(text="Done.")]), executor).ending == Ending.ANSWERED


def test_a_reply_with_too_many_calls_has_the_surplus_answered_with_an_error() -> None:
    executor = Answers(ToolResultEnvelope(content="fine"))
    turn = _turn(Replies([_calls(*"abcdefghijklmnopqr"), TextReply(text="Done.")]), executor)
    assert len(executor.calls) == MAX_CALLS_AT_ONCE
    assert [result.is_error for result in turn.results] == [False] * 16 + [True] * 2


def test_a_failed_call_goes_back_to_the_model_as_an_error() -> None:
    model = Replies([_calls("one"), TextReply(text="It failed.")])
    turn = _turn(model, Answers(failure(FailureCode.SERVER_GONE, "the server has gone away")))
    assert turn.answer == "It failed."
    assert turn.results == (
        ToolMessage(call_id="call_0", name="one", text="server_gone: the server has gone away", is_error=True),
    )


def test_a_model_that_never_answers_is_stopped_at_the_bound_and_the_user_is_told() -> None:
    executor = Answers(ToolResultEnvelope(content=""))
    turn = _turn(Replies([_calls("one")]), executor, max_steps=3)
    assert (turn.ending, turn.steps, len(executor.calls)) == (Ending.TOO_MANY_STEPS, 3, 2)
    assert turn.answer.startswith("I stopped after 3 steps without an answer")


def test_a_call_that_waits_for_a_person_ends_the_turn_and_the_user_is_told_what_to_do() -> None:
    model = Replies([_calls("one")])
    executor = Answers(failure(FailureCode.APPROVAL_REQUIRED, "a person must approve", approval_id="ap_1"))
    turn = _turn(model, executor)
    assert (turn.ending, len(model.told), len(executor.calls)) == (Ending.WAITS_FOR_APPROVAL, 1, 1)
    assert "one: look at it with `remit approvals show ap_1`" in turn.answer


def test_what_the_executor_raises_ends_the_turn_as_it_is() -> None:
    class Raising:
        async def execute(self, name: str, arguments_text: str, tool_call_id: str) -> ToolResultEnvelope:
            raise NoDatabase("the database is gone")

    with pytest.raises(NoDatabase, match="the database is gone"):
        asyncio.run(take_turn(Replies([_calls("one", "two")]), Raising(), TOOLS, QUESTION))


def test_a_failing_model_ends_the_turn_with_its_words() -> None:
    class Broken:
        async def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Reply:
            raise ModelFailed("no answer in time")

    with pytest.raises(ModelFailed, match="no answer in time"):
        asyncio.run(take_turn(Broken(), Answers(ToolResultEnvelope(content="")), TOOLS, QUESTION))


def test_asked_for_the_worst_p95_it_lists_the_metrics_and_computes_one_per_agent_in_a_single_call() -> None:
    turn, calls = _on_the_server(QUESTION)
    assert calls == [
        ("analytics__list_metrics", "{}", "call_1"),
        (
            "analytics__compute_metric",
            '{"metric": "p95_turn_latency", "group_by": "agent", "last_days": 7}',
            "call_2",
        ),
    ]
    assert turn.answer.splitlines()[0] == (
        "dispatch had the worst p95 turn latency from 2026-06-24 to 2026-06-30: 18,263.5 ms over 235 turns."
    )
    check = check_figures(turn.answer, QUESTION, turn.results)
    assert check.unfound == ()
    assert len(check.found) == 14


def test_the_scripted_model_answers_from_the_rows_it_is_given() -> None:
    assert "research had the worst p95" in _on_the_server(QUESTION.replace("last 7", "last 30"))[0].answer
    assert "onboarding had the best p50" in _on_the_server("Which agent had the best p50 turn latency?")[0].answer
    assert "travel had the worst error rate" in _on_the_server("Who has the worst error rate?")[0].answer


def test_a_made_up_figure_is_the_only_one_that_the_check_flags() -> None:
    turn, _ = _on_the_server(QUESTION, made_up=True)
    check = check_figures(turn.answer, QUESTION, turn.results)
    (made_up,) = check.unfound
    assert f"In the week before, dispatch was at {made_up.text}." in turn.answer
    assert len(check.found) == 14


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is the weather?", "I cannot answer: none of the metrics is in the question. They are p50_turn_latency,"),
        (QUESTION.replace("last 7", "last 99"), "I cannot answer: analytics__compute_metric said:"),
    ],
)
def test_the_scripted_model_says_what_it_cannot_answer(question: str, told: str) -> None:
    turn, _ = _on_the_server(question)
    assert turn.answer.startswith(told)


def test_without_its_tools_the_scripted_model_says_so() -> None:
    turn = asyncio.run(take_turn(ScriptedModel(), Answers(ToolResultEnvelope(content="")), [], QUESTION))
    assert turn.answer == "I cannot answer: I was given no tool list_metrics."
