"""What the protocol trace of a run holds: handshake, protocol version, identity, tools, calls.

Reads the document of `remit trace show --format json` and decides which promises of the story it keeps. Pure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from remit.core.canonical import Json, JsonObject

__all__ = ["Promise", "TraceFacts", "promises", "trace_facts"]

_IDENTITY = "io.modelcontextprotocol/serverInfo"
"""Where an answer to server/discover carries the server's name; an answer to initialize has it as `serverInfo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFacts:
    """The facts of a trace; empty text or nothing where it does not hold them. `answered` are the calls with an answer."""

    handshake: str
    protocol_version: str
    server: str
    tools: tuple[str, ...]
    called: tuple[str, ...]
    answered: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that the trace has to hold, with what it holds."""

    words: str
    found: str
    kept: bool


def trace_facts(document: JsonObject) -> TraceFacts:
    """The facts of one trace document."""
    events = [_object(event) for event in cast("Sequence[Json]", document["events"])]
    bodies = [_object(event["body"]) for event in events]
    methods = {_request_key(event): str(_object(event["body"]).get("method")) for event in events if _asks(event)}
    answers = [
        (methods.get(_request_key(event), ""), _object(body.get("result")))
        for event, body in zip(events, bodies, strict=True)
        if event["direction"] == "received" and "result" in body
    ]
    noticed = _object(next((body for event, body in zip(events, bodies, strict=True) if _shook_hands(event)), None))
    return TraceFacts(
        handshake=_text(noticed, "era"),
        protocol_version=_text(noticed, "protocol_version"),
        server=next(filter(None, (_identity(result) for _, result in answers)), ""),
        tools=tuple(sorted({name for method, result in answers if method == "tools/list" for name in _names(result)})),
        called=tuple(
            _text(_object(body.get("params")), "name") for body in bodies if body.get("method") == "tools/call"
        ),
        answered=sum(method == "tools/call" for method, _ in answers),
        closed=any(event["kind"] == "close" for event in events),
    )


def promises(facts: TraceFacts, tools: Sequence[str], called: Sequence[str]) -> Sequence[Promise]:
    """What the trace has to hold where these tools are offered and these calls succeeded.

    It may hold more calls: of those that failed some went out and some were refused before.
    """
    return (
        Promise("a handshake", f"era {facts.handshake}" if facts.handshake else "", bool(facts.handshake)),
        Promise("the protocol version", facts.protocol_version, bool(facts.protocol_version)),
        Promise("the server's identity", facts.server, bool(facts.server)),
        Promise(f"the {len(tools)} tools", ", ".join(facts.tools), facts.tools == tuple(sorted(tools))),
        Promise(
            "the agent's calls", ", ".join(facts.called), bool(called) and Counter(called) <= Counter(facts.called)
        ),
        Promise("an answer to each call", f"{facts.answered}", facts.answered == len(facts.called)),
        Promise("the end of the connection", "closed" if facts.closed else "", facts.closed),
    )


def _asks(event: JsonObject) -> bool:
    body = _object(event["body"])
    return event["direction"] == "sent" and "method" in body and "id" in body


def _request_key(event: JsonObject) -> tuple[Json, str]:
    return event["connection_id"], str(_object(event["body"]).get("id"))


def _shook_hands(event: JsonObject) -> bool:
    return event["kind"] == "handshake" and event["direction"] == "local"


def _identity(result: JsonObject) -> str:
    stated = _object(result.get("serverInfo")) or _object(_object(result.get("_meta")).get(_IDENTITY))
    return " ".join(filter(None, (_text(stated, "name"), _text(stated, "version"))))


def _names(result: JsonObject) -> Iterator[str]:
    for tool in cast("Sequence[Json]", result.get("tools") or ()):
        yield _text(_object(tool), "name")


def _text(value: JsonObject, key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, Mapping) else {}
