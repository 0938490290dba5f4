"""A model that needs no network: it answers "which agent had the worst or best METRIC" from the rows it is given.

Decides each reply from the messages alone and keeps nothing between them: no result yet, ask for the metrics; the metrics,
pick the one that the question names and compute it for every agent in one call; the rows, say what they show. It holds no
figure of its own, except where it is told to make one up.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from remit.core.canonical import Json, JsonObject
from remit_ops_agent.model import Message, Reply, TextReply, ToolCall, ToolCallsReply, ToolMessage, UserMessage

__all__ = ["ScriptedModel"]

_LIST, _COMPUTE = "list_metrics", "compute_metric"
_LAST_DAYS = re.compile(r"last (\d{1,3}) days")
_WORDS = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A stand-in for a language model. With `made_up` its answer ends with a figure that no tool returned."""

    made_up: bool = False

    async def complete(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> Reply:
        """The reply that follows from the question and the results so far."""
        question = next(message.text for message in messages if isinstance(message, UserMessage))
        results = [message for message in messages if isinstance(message, ToolMessage)]
        if not results:
            return _call(tools, _LIST, {}, number=1)
        last = results[-1]
        if last.is_error or not isinstance(last.structured, Mapping):
            return TextReply(text=f"I cannot answer: {last.name} said: {last.text}")
        if "rows" in last.structured:
            return TextReply(text=_answer(question, last.structured, made_up=self.made_up))
        return _compute(question, last.structured, tools, number=len(results) + 1)


def _call(tools: Sequence[JsonObject], tool: str, arguments: JsonObject, number: int) -> Reply:
    name = _name_of(tools, tool)
    if name is None:
        return TextReply(text=f"I cannot answer: I was given no tool {tool}.")
    return ToolCallsReply(calls=(ToolCall(id=f"call_{number}", name=name, arguments=json.dumps(arguments)),))


def _name_of(tools: Sequence[JsonObject], ending: str) -> str | None:
    """The name under which a tool was offered: the namespace before it is the configuration's affair."""
    names = [cast("str", cast("JsonObject", tool["function"])["name"]) for tool in tools]
    return next((name for name in names if name == ending or name.endswith(f"__{ending}")), None)


def _compute(question: str, listing: JsonObject, tools: Sequence[JsonObject], number: int) -> Reply:
    asked = frozenset(_WORDS.findall(question.casefold()))
    metrics = [cast("str", metric["name"]) for metric in _objects(listing.get("metrics"))]
    metric = next((name for name in metrics if asked.issuperset(name.split("_"))), None)
    if metric is None:
        return TextReply(
            text=f"I cannot answer: none of the metrics is in the question. They are {', '.join(metrics)}."
        )
    days = _LAST_DAYS.search(question)
    window: JsonObject = {"last_days": int(days[1])} if days else {}
    return _call(tools, _COMPUTE, {"metric": metric, "group_by": "agent", **window}, number)


def _answer(question: str, result: JsonObject, *, made_up: bool) -> str:
    """The extreme row first, then every row as it came, highest value first."""
    rows = [(cast("str", row["group"]), _exact(row["value"]), row["turns"]) for row in _objects(result["rows"])]
    if not rows:
        return "There were no turns in that time."
    title = cast("str", result["metric"]).replace("_", " ")
    unit = cast("str", result["unit"])
    word = "best" if "best" in question.casefold() else "worst"
    lowest = (word == "best") == (result["better"] == "lower")
    group, value, turns = (min if lowest else max)(rows, key=lambda row: row[1])
    window = cast("JsonObject", result["window"])
    lines = [
        f"{group} had the {word} {title} from {window['first_day']} to {window['last_day']}: "
        f"{value:,} {unit} over {turns} turns.",
        f"All agents, with their {title}:",
        *(f"- {name}: {figure:,} {unit} ({count} turns)" for name, figure, count in rows),
    ]
    if made_up:
        lines.append(f"In the week before, {group} was at {_figure_of_nobody([row[1] for row in rows]):,} {unit}.")
    return "\n".join(lines)


def _figure_of_nobody(values: Sequence[Decimal]) -> Decimal:
    """A likely looking figure between the lowest and the highest value that equals none of them."""
    figure = ((min(values) + max(values)) / 2).quantize(Decimal("0.1"))
    while any(abs(figure - value) <= Decimal("0.1") for value in values):
        figure += Decimal("0.3")
    return figure


def _exact(value: Json) -> Decimal:
    return Decimal(str(value))


def _objects(value: Json) -> Sequence[JsonObject]:
    return cast("Sequence[JsonObject]", value)
