"""The model behind an OpenAI-compatible endpoint, against a real HTTP server on loopback."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from loopback import serve

from remit.core.canonical import JsonObject
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
from remit_ops_agent.openai_compatible import MAX_BODY_BYTES, OpenAICompatible

KEY = "dummy-secret-value"
MESSAGES: Sequence[Message] = (UserMessage(text="Hello"),)
TOOLS: Sequence[JsonObject] = (
    {"type": "function", "function": {"name": "list_metrics", "description": "", "parameters": {"type": "object"}}},
)


def _model(base_url: str, seconds: float = 10, key: str | None = KEY) -> OpenAICompatible:
    return OpenAICompatible.at(base_url, "some-model", {} if key is None else {"OPENAI_API_KEY": key}, seconds=seconds)


def _complete(model: OpenAICompatible, messages: Sequence[Message] = MESSAGES) -> Reply:
    return asyncio.run(model.complete(messages, TOOLS))


def _failure(model: OpenAICompatible) -> str:
    with pytest.raises(ModelFailed) as caught:
        _complete(model)
    return str(caught.value)


def _answer(message: Mapping[str, Any], finish_reason: str = "stop") -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def _asked(name: str = "list_metrics", arguments: Any = "{}", call_id: Any = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


HELLO = _answer({"role": "assistant", "content": "Hello to you."})


def test_a_question_goes_out_with_tools_and_key_and_the_text_comes_back() -> None:
    with serve(HELLO) as endpoint:
        assert _complete(_model(endpoint.base_url + "/")) == TextReply(text="Hello to you.")
    ((path, headers, sent),) = endpoint.requests
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert sent == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": list(TOOLS),
    }


def test_without_a_key_no_authorization_is_sent() -> None:
    with serve(HELLO) as endpoint:
        _complete(_model(endpoint.base_url, key=None))
    assert "Authorization" not in endpoint.requests[0][1]


def test_tool_calls_come_back_with_their_arguments_untouched() -> None:
    odd = '{"last_days": 7, "last_days": 07, '
    calls = [_asked(arguments=odd), _asked("compute_metric", call_id="call_2")]
    with serve(_answer({"content": None, "tool_calls": calls}, "tool_calls")) as endpoint:
        assert _complete(_model(endpoint.base_url)) == ToolCallsReply(
            calls=(
                ToolCall(id="call_1", name="list_metrics", arguments=odd),
                ToolCall(id="call_2", name="compute_metric", arguments="{}"),
            )
        )


def test_a_whole_conversation_is_sent_in_the_format_of_theserve() -> None:
    calls = (ToolCall(id="call_1", name="one", arguments='{"a":1}'), ToolCall(id="call_2", name="two", arguments="{}"))
    messages: Sequence[Message] = (
        SystemMessage(text="Be brief."),
        UserMessage(text="How many?"),
        AssistantMessage(text="", calls=calls),
        ToolMessage(call_id="call_1", name="one", text='{"n": 3}', structured={"n": 3}),
        ToolMessage(call_id="call_2", name="two", text="see there", structured={"n": 4}),
        ToolMessage(call_id="call_3", name="three", text="no such tool", is_error=True),
    )
    with serve(HELLO) as endpoint:
        _complete(_model(endpoint.base_url), messages)
    assert endpoint.requests[0][2]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_asked("one", '{"a":1}', "call_1"), _asked("two", "{}", "call_2")],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"n": 3}'},
        {"role": "tool", "tool_call_id": "call_2", "content": 'see there\n{"n": 4}'},
        {"role": "tool", "tool_call_id": "call_3", "content": "error: no such tool"},
    ]


def test_without_tools_no_empty_list_is_sent() -> None:
    with serve(HELLO) as endpoint:
        asyncio.run(_model(endpoint.base_url).complete(MESSAGES, []))
    assert "tools" not in endpoint.requests[0][2]


def test_a_refusal_of_the_model_is_its_answer() -> None:
    with serve(_answer({"content": None, "refusal": "I will not."})) as endpoint:
        assert _complete(_model(endpoint.base_url)) == TextReply(text="I will not.")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        ({}, "there is no choices"),
        ({"choices": []}, "choices is empty"),
        ({"choices": "none"}, "choices is empty"),
        ({"choices": [7]}, "there is no message"),
        (_answer({}), "neither content nor tool_calls"),
        (_answer({"content": 5}), "neither content nor tool_calls"),
        (_answer({"content": "It was"}, "length"), "cut off"),
        (_answer({"tool_calls": {"id": "x"}}), "tool_calls is no list"),
        (_answer({"tool_calls": ["x"]}), "there is no function"),
        (_answer({"tool_calls": [{"id": "x", "function": {"name": "f"}}]}), "there is no arguments"),
        (_answer({"tool_calls": [_asked(arguments={"a": 1})]}), "arguments of a tool call are no text"),
        (_answer({"tool_calls": [_asked(call_id="")]}), "the id of a tool call"),
        (_answer({"tool_calls": [_asked(name="")]}), "the name of a tool call"),
        (_answer({"tool_calls": [_asked(), _asked()]}), "two tool calls have one id"),
    ],
)
def test_an_answer_of_another_shape_is_refused_in_words(body: object, told: str) -> None:
    with serve(body) as endpoint:
        assert told in _failure(_model(endpoint.base_url))


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (400, {}, "does not take the request. It said: {'wrong': '***'}"),
        (401, {}, "the environment variable OPENAI_API_KEY holds a key that it does not accept"),
        (403, {}, "not allowed"),
        (404, {}, "no such address or model; check --base-url and --model-name some-model"),
        (429, {"Retry-After": "12"}, "too many requests or no quota left; try again in 12 s"),
        (429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, "try again later"),
        (302, {"Location": "/v1/chat/completions"}, "a redirect, which is not followed"),
        (500, {}, "the endpoint failed; try again later. It said: {'wrong': '***'}"),
        (503, {}, "answered 503"),
    ],
)
def test_each_error_status_has_its_words_and_none_holds_the_key(
    status: int, headers: Mapping[str, str], told: str
) -> None:
    with serve(f"{{'wrong':\x1b\n'{KEY}'}}".encode(), status, headers) as endpoint:
        failure = _failure(_model(endpoint.base_url))
    assert told in failure
    assert KEY not in failure
    assert failure.isprintable()
    assert len(endpoint.requests) == 1


def test_a_missing_key_is_named_where_the_endpoint_wants_one() -> None:
    with serve({}, 401) as endpoint:
        assert "the environment variable OPENAI_API_KEY is not set" in _failure(_model(endpoint.base_url, key=None))


def test_an_error_body_is_shown_only_in_its_beginning() -> None:
    with serve(b"x" * 100_000, 500) as endpoint:
        assert len(_failure(_model(endpoint.base_url))) < 500


def test_an_endless_answer_is_given_up_at_the_bound() -> None:
    with serve(b" " * (MAX_BODY_BYTES + 1)) as endpoint:
        assert "larger than 4,000,000 bytes" in _failure(_model(endpoint.base_url))


def test_an_answer_that_stalls_is_given_up_in_time() -> None:
    with serve(HELLO, stalls=True) as endpoint:
        assert "in time" in _failure(_model(endpoint.base_url, seconds=0.3))


def test_an_answer_that_breaks_off_and_a_port_where_nobody_listens_are_told() -> None:
    with serve(b"{}", headers={"Content-Length": "100", "Connection": "close"}) as endpoint:
        broken = _failure(_model(endpoint.base_url))
    assert "cannot talk to http://127.0.0.1:" in broken
    assert "cannot talk to http://127.0.0.1:" in _failure(_model(endpoint.base_url))


def test_the_key_is_in_no_log_and_no_repr(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), serve(HELLO) as endpoint:
        model = _model(endpoint.base_url)
        _complete(model)
    assert caplog.records
    assert KEY not in caplog.text + repr(model)


@pytest.mark.parametrize(
    ("base_url", "told"),
    [
        ("ftp://example.com", "no http(s) address"),
        ("example.com/v1", "no http(s) address"),
        ("http://[::1", "no http(s) address"),
        ("http://example.com/v1", "http to example.com would send the key in clear text"),
        ("http://localhost.example.com/v1", "in clear text"),
        ("https://me:dummy-secret-value@example.com/v1", "a user, a query or a fragment"),
        ("https://example.com/v1?key=dummy-secret-value", "a user, a query or a fragment"),
    ],
)
def test_an_address_that_could_give_the_key_away_is_refused(base_url: str, told: str) -> None:
    with pytest.raises(ModelFailed) as caught:
        _model(base_url)
    assert told in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("base_url", ["https://api.example.com/v1", "http://localhost:1/v1", "http://[::1]:1/v1"])
def test_https_anywhere_and_http_on_loopback_are_fine(base_url: str) -> None:
    assert _model(base_url).url == f"{base_url}/chat/completions"


def test_a_key_that_no_header_can_carry_is_refused_without_being_quoted() -> None:
    with pytest.raises(ModelFailed) as caught:
        _model("http://localhost/v1", key="dummy-secret\r\nvalue")
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "dummy" not in str(caught.value)
