"""Inputs 45 to 52 of the catalogue through the whole runtime: arguments, names and keys that are made to mislead."""

import asyncio
import json
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest
from opentelemetry import baggage, context

from remit.core.calls import ActionState
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.runtime.run import Run
from tests.runtime.live import ECHO, Live, applied, ran, result_of, said
from tests.servers.http_server import Raw

PLANTED = "dummy-planted-value"
STRICT: Mapping[str, Any] = {
    "name": "strict",
    "description": "Takes one text.",
    "inputSchema": {
        "type": "object",
        "properties": {"q": {"type": "string", "x-mcp-header": "Query"}},
        "required": ["q"],
        "additionalProperties": False,
    },
}
PASSING: Mapping[str, Any] = {"name": "passing", "description": "Takes anything.", "inputSchema": {"type": "object"}}
_NODE: Mapping[str, Any] = {"type": "object", "properties": {"c": {"$ref": "#/$defs/node"}}}
DOUBLING: Mapping[str, Any] = {
    "name": "doubling",
    "description": "Takes a tree.",
    "inputSchema": {**_NODE, "$defs": {"node": {"anyOf": [_NODE, {**_NODE, "title": "again"}]}}},
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Live]:
    """One workspace for all tests here, as none of them changes it. Assistant `other` has a tool that `ops` has not."""
    folder = tmp_path_factory.mktemp("arguments")
    mine = ["echo", "strict", "passing", "doubling"]
    assistants = {
        "ops": {"stdio": mine, "http": mine},
        "other": {"http": ["secret"]},
    }
    tools = (ECHO, STRICT, PASSING, DOUBLING, {**PASSING, "name": "secret"})
    entries = {name: {"tools": {"passing": {"unknown_arguments": "pass"}}} for name in ("stdio", "http")}
    with applied(folder, tools=tools, assistants=assistants, entries=entries) as made:
        yield made


@pytest.fixture
def live(shared: Live) -> Live:
    """The workspace with nothing called yet."""
    shared.forget()
    return shared


HOSTILE: Mapping[str, str] = {
    "another type": json.dumps({"q": [PLANTED]}),
    "a value is missing": "{}",
    "one too many": json.dumps({"q": PLANTED, "more": PLANTED}),
    "null": '{"q": null}',
    "a list": json.dumps([PLANTED]),
    "a text": json.dumps(PLANTED),
    "no arguments": "null",
    "nothing": "",
    "no JSON": PLANTED,
    "cut off": '{"q": "' + PLANTED,
    "two objects": json.dumps({"q": PLANTED}) * 2,
    "100,000 deep": '{"q": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "10 MB": json.dumps({"q": PLANTED * 600_000}),
    "NaN": '{"q": NaN}',
    "an infinity": '{"q": 1e999}',
    "half a surrogate pair": '{"q": "' + PLANTED + '\\ud800"}',
    "NUL": '{"q": "' + PLANTED + '\\u0000"}',
    "a key twice": json.dumps({"q": PLANTED})[:-1] + ', "q": "fine"}',
    "a key twice, spelled otherwise": '{"q": "' + PLANTED + '", "\\u0071": "fine"}',
}


def test_input_45_46_47_no_hostile_arguments_reach_a_server_or_are_kept(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"{server}__strict" for server in ("stdio", "http")]
    began = time.monotonic()
    results, run = live.called(*((name, text) for text in HOSTILE.values() for name in names))
    assert time.monotonic() - began < 15
    assert {result.code for result in results} == {"invalid_arguments"}
    assert live.untouched()
    assert [(kind, body["error.type"], body["remit.outcome"]) for kind, body in live.audit(run)] == [
        ("call_denied", "invalid_arguments", "denied")
    ] * len(results)
    assert {(action.state, action.code) for action in live.actions(run)} == {(ActionState.FAILED, "invalid_arguments")}
    assert max(len(result.content) for result in results) < 1_000
    everything = f"{results} {live.audit(run)} {caplog.text}"
    assert (PLANTED in everything, PLANTED.encode() in live.kept()) == (False, False)


def test_input_45_arguments_that_multiply_with_the_alternatives_of_a_schema_hold_nobody_up(live: Live) -> None:
    text = '{"c": ' * 60 + '"x"' + "}" * 60

    async def work() -> tuple[str | None, str | None]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            refused = await run.call("http__doubling", text)
            return result_of(refused).code, result_of(await run.call("http__strict", '{"q": "x"}')).code

    assert ran(work(), seconds=10) == ("invalid_arguments", None)
    assert len(live.calls("http")) == 1


def test_input_45_after_refusals_the_same_run_calls(live: Live) -> None:
    results, run = live.called(("stdio__strict", "{}"), ("stdio__strict", '{"q": "x"}'), ("http__strict", '{"q": "x"}'))
    assert [result.code for result in results] == ["invalid_arguments", None, None]
    assert (len(live.calls("stdio")), len(live.calls("http"))) == (1, 1)
    assert [kind for kind, _ in live.audit(run)] == ["call_denied", *["call_intent", "call_outcome"] * 2]


def test_input_46_numbers_arrive_digit_by_digit(live: Live) -> None:
    numbers = (2**53 + 1, -(2**63) - 1, 10**300, 0.1, 1e308, -0.0)
    texts = [json.dumps({"n": number}) for number in numbers]
    live.called(*((f"{server}__echo", text) for text in texts for server in ("stdio", "http")))
    sent = [repr(number) for number in numbers]
    assert [repr(call["arguments"]["n"]) for call in live.calls("http")] == sent
    lines = [line for line in live.lines("log") if '"tools/call"' in line]
    assert [number in line for number, line in zip(sent, lines, strict=True)] == [True] * len(numbers)


def test_input_47_what_a_person_would_approve_is_what_runs(live: Live) -> None:
    # One text, one reading: what stands in the audit as its digest is the canonical form of what the server gets.
    (first, second), run = live.called(
        ("stdio__echo", '{"q": "a", "n": 1}'), ("stdio__echo", ' {"n":1,\n"\\u0071":"\\u0061"} ')
    )
    assert said(first)["arguments"] == said(second)["arguments"] == {"q": "a", "n": 1}
    digests = [body["remit.arguments_digest"] for kind, body in live.audit(run) if kind == "call_intent"]
    assert len(set(digests)) == 1


TRAVERSALS = (
    "../../admin",
    "a\r\nx-evil: 1\r\n\r\nGET /admin",
    "%2e%2e%2fadmin",
    "?x=1&y=2#z",
    "; touch evil #",
    "$(touch evil)",
    "--config=/etc/passwd",
    "ünïcode \u202e",
)


def test_input_48_whatever_arguments_say_they_stay_data(live: Live) -> None:
    texts = [json.dumps({"q": value}) for value in TRAVERSALS]
    live.called(*((f"{server}__strict", text) for text in texts for server in ("stdio", "http")))
    for server in ("stdio", "http"):
        assert [call["arguments"]["q"] for call in live.calls(server)] == list(TRAVERSALS)
    assert {(seen.verb, seen.path) for seen in live.http.seen} == {("POST", "/mcp")}
    # The tool's own mark has its argument sent in a header too: encoded where it could be read as more than a value.
    sent = [seen.headers for seen in live.http.seen if seen.method == "tools/call"]
    assert {name for headers in sent for name in headers if "evil" in name} == set()
    assert all("mcp-param-query" in headers and headers["mcp-param-query"].isascii() for headers in sent)
    assert not (live.here.folder / "evil").exists()
    assert len(live.lines("pids")) == 1


NOT_BOUND = (
    "strict",
    "http__secret",
    "secret",
    "HTTP__STRICT",
    "Http__strict",
    "http__strict ",
    " http__strict",
    "http__strict\n",
    "http__strict\u200b",
    "http_strict",
    "http__",
    "",
)


def test_input_49_only_the_exact_name_of_a_tool_of_this_assistant_is_bound(live: Live) -> None:
    async def work() -> tuple[Sequence[ToolResultEnvelope | HandOff], Run]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            given = [await run.call(name, json.dumps({"q": PLANTED})) for name in NOT_BOUND]
            await run.cancel()
            return given, run

    given, run = ran(work())
    # The consumer may have tools of these names; remit has none, and asks no server.
    assert [handed.call.name for handed in given if isinstance(handed, HandOff)] == list(NOT_BOUND)
    assert live.untouched()
    assert [(kind, body["gen_ai.tool.name"]) for kind, body in live.audit(run)] == [
        ("call_handed_off", name) for name in NOT_BOUND
    ]
    assert PLANTED not in str(live.audit(run))


def test_input_49_a_name_that_no_database_keeps_is_a_failure_and_no_exception(live: Live) -> None:
    (first, second, third), run = live.called(
        ("http__strict\0", '{"q": "x"}'), ("\ud800", '{"q": "x"}'), ("http__strict", '{"q": "x"}')
    )
    assert [first.code, second.code, third.code] == ["invalid_arguments", "invalid_arguments", None]
    assert [kind for kind, _ in live.audit(run)] == ["call_denied", "call_denied", "call_intent", "call_outcome"]
    assert len(live.calls("http")) == 1


def test_input_50_what_a_request_says_in_its_headers_it_says_in_its_body(live: Live) -> None:
    live.called(("http__strict", '{"q": "x"}'))
    posts = [seen for seen in live.http.seen if seen.verb == "POST"]
    version = "io.modelcontextprotocol/protocolVersion"
    assert [(seen.headers["mcp-method"], seen.headers["mcp-protocol-version"]) for seen in posts] == [
        (seen.method, seen.message["params"]["_meta"][version]) for seen in posts
    ]
    assert [(seen.headers["mcp-name"], seen.headers["mcp-param-query"]) for seen in posts[-1:]] == [("strict", "x")]


MISSPELT = {
    "capitals": b'{"JSONRPC": "2.0", "ID": 102, "RESULT": {"content": []}}',
    "one capital": b'{"jsonrpc": "2.0", "id": 102, "Result": {"content": []}}',
    "a batch": b'[{"jsonrpc": "2.0", "id": 102, "result": {"content": []}}]',
    "both": b'{"jsonrpc": "2.0", "id": 102, "result": {"content": []}, "error": {"code": 1, "message": "no"}}',
}


@pytest.mark.parametrize("kind", MISSPELT)
def test_input_50_an_answer_that_readers_could_read_differently_is_no_success(live: Live, kind: str) -> None:
    live.http.on_tool["echo"] = Raw(body=MISSPELT[kind])
    try:
        (result,), run = live.called(("http__echo", "{}"))
    finally:
        live.http.on_tool.clear()
    code, transport = ("rpc_error", "answered") if kind == "both" else ("result_invalid", "lost")
    assert (result.is_error, result.code) == (True, code)
    outcome = live.audit(run)[-1][1]
    assert (outcome["remit.transport"], outcome["remit.tool"], outcome["remit.outcome"]) == (transport, "none", "error")


def test_input_51_a_key_stands_for_one_call_of_one_principal(live: Live) -> None:
    async def work() -> tuple[list[ToolResultEnvelope], list[ToolResultEnvelope], Run]:
        async with live.runtime() as runtime:
            async with runtime.run("ops") as run:
                mine = [
                    result_of(await run.call(name, text, idempotency_key="dummy-key"))
                    for name, text in (
                        ("http__echo", '{"q": "a", "n": 1}'),
                        ("http__echo", '{"n":1,"q":"a"}'),
                        ("http__echo", '{"q": "a", "n": 1.0}'),
                        ("stdio__echo", '{"q": "a", "n": 1}'),
                    )
                ]
            async with runtime.run("ops", principal="user:eve") as other:
                theirs = [result_of(await other.call("http__echo", '{"q": "b"}', idempotency_key="dummy-key"))]
            return mine, theirs, run

    mine, theirs, run = ran(work())
    assert [result.code for result in mine + theirs] == [
        None,
        None,
        "idempotency_conflict",
        "idempotency_conflict",
        None,
    ]
    assert (mine[0].content, mine[1].metadata["replayed"]) == (mine[1].content, True)
    assert [call["arguments"] for call in live.calls("http")] == [{"q": "a", "n": 1}, {"q": "b"}]
    assert live.calls("stdio") == []
    assert [kind for kind, _ in live.audit(run)] == [
        "call_intent",
        "call_outcome",
        "call_replayed",
        "call_denied",
        "call_denied",
    ]


def test_input_51_while_a_call_is_under_way_its_key_and_its_id_are_taken(live: Live) -> None:
    live.http.stall_on.add("tools/call")

    async def work() -> tuple[list[str | None], str | None]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            first = asyncio.create_task(run.call("http__echo", "{}", tool_call_id="c1", idempotency_key="k2"))
            while not live.calls("http"):  # noqa: ASYNC110 (a thread of the server makes it so)
                await asyncio.sleep(0.01)
            again = [
                result_of(await run.call("http__echo", "{}", idempotency_key="k2")).code,
                result_of(await run.call("http__echo", "{}", tool_call_id="c1")).code,
            ]
            live.http.go_on.set()
            return again, result_of(await first).code

    try:
        assert ran(work()) == (["call_in_flight", "call_in_flight"], None)
    finally:
        live.http.stall_on.clear()
        live.http.go_on.clear()
    assert len(live.calls("http")) == 1


def test_a_tool_call_id_is_one_call_and_one_that_never_went_out_may_be_corrected(live: Live) -> None:
    async def work() -> tuple[list[str | None], Run]:
        async with live.runtime() as runtime, runtime.run("ops") as run:

            async def code(name: str, text: str) -> str | None:
                answer = await run.call(name, text, tool_call_id="c1")
                return "handed over" if isinstance(answer, HandOff) else answer.code

            codes = [
                await code("http__strict", "{}"),
                await code("http__strict", '{"q": "x"}'),
                await code("http__strict", '{"q": "x"}'),
                await code("stdio__strict", '{"q": "y"}'),
                await code("get_weather", "{}"),
            ]
            return codes, run

    codes, run = ran(work())
    conflict = "idempotency_conflict"
    assert codes == ["invalid_arguments", None, conflict, conflict, conflict]
    assert (len(live.calls("http")), live.calls("stdio")) == (1, [])
    assert [(action.provider_name, action.state) for action in live.actions(run)] == [
        ("http__strict", ActionState.COMPLETED)
    ]


OURS = {
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
}
SMUGGLED: Mapping[str, Any] = {
    "progressToken": "dummy-theirs",
    "traceparent": "00-nonsense",
    "io.modelcontextprotocol/clientInfo": {"name": PLANTED},
}


def test_input_52_what_goes_out_beside_the_arguments_is_remits_alone(live: Live) -> None:
    live.http.on_tool["passing"] = {"result": {"content": [], "resultType": "complete", "_meta": SMUGGLED}}
    text = json.dumps({"_meta": SMUGGLED})
    results, _ = live.called(
        ("http__passing", text), ("stdio__passing", text), ("http__passing", "{}"), ("stdio__echo", text)
    )
    live.http.on_tool.clear()
    assert [result.code for result in results] == [None, None, None, "invalid_arguments"]
    calls = [*live.calls("http"), *live.calls("stdio")]
    assert [set(call) for call in calls] == [{"name", "arguments", "_meta"}] * 3
    # A host that traces its own work has its span named beside ours.
    assert {key for call in calls for key in call["_meta"]} - {"traceparent"} == OURS
    assert "00-nonsense" not in str([call["_meta"] for call in calls])
    assert all(isinstance(call["_meta"]["progressToken"], int) for call in calls)
    # What a caller calls _meta is an argument; what a server says of itself is handed on and comes back to nobody.
    assert [call["arguments"] for call in calls] == [{"_meta": SMUGGLED}, {}, {"_meta": SMUGGLED}]
    assert results[2].metadata["mcp_meta"] == SMUGGLED


def test_input_52_the_baggage_of_the_host_stays_with_the_host(live: Live) -> None:
    token = context.attach(baggage.set_baggage("tenant", PLANTED))
    try:
        results, _ = live.called(("http__echo", "{}"), ("stdio__echo", "{}"))
    finally:
        context.detach(token)
    assert [result.code for result in results] == [None, None]
    assert PLANTED not in f"{live.messages('http')} {live.messages('stdio')} {live.http.seen}"


def test_input_52_progress_under_a_token_that_is_not_the_calls_reaches_nobody(live: Live) -> None:
    live.stdio(progress=3, progress_token="dummy-theirs")
    heard = list[object]()

    async def work() -> ToolResultEnvelope:
        async def on_progress(progress: object) -> None:
            heard.append(progress)

        async with live.runtime() as runtime, runtime.run("ops") as run:
            return result_of(await run.call("stdio__echo", "{}", on_progress=on_progress))

    try:
        result = ran(work())
    finally:
        live.stdio()
    assert (result.code, heard) == (None, [])
