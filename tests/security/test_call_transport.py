"""Inputs 60 to 62 of the catalogue through the whole runtime: servers that are noisy, die, or answer as no server should."""

import logging
import os
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from remit.core.calls import ActionState
from tests.runtime.live import EFFECT, READ, Live, applied, said
from tests.servers.http_server import Raw
from tests.upstream.support import alive

TOKEN = "dummy-token-value"
NOISE = "a banner line that is no JSON\n"
EVENTS = "text/event-stream"
HANDED_OVER = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "Does one thing.", "inputSchema": {"type": "object"}}


def test_input_60_a_noisy_server_costs_no_call_and_fills_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    noisy = {"say": {"tools/call": NOISE * 2_000}, "bytes": {"tools/call": "fffe806162630a"}, "stderr": "e" * 1_000_000}
    with applied(tmp_path, tools=[tool("echo")], stdio=noisy) as live:
        results, run = live.called(*[("stdio__echo", "{}")] * 3)
        events = live.governance.traces.trace(run.trace_id)
    assert [result.code for result in results] == [None] * 3
    logged = [record for record in caplog.records if record.name.split(".")[0] in ("mcp", "client", "remit", "root")]
    assert len(logged) < 50
    assert "Traceback" not in caplog.text
    assert (len(events) < 500, sum(len(str(event.body)) for event in events) < 200_000) == (True, True)


def test_input_60_a_line_without_an_end_fails_its_call_and_the_next_one_works(tmp_path: Path) -> None:
    tools = [tool("half"), tool("endless"), tool("echo")]
    on_tool = {"half": {"say": {"tools/call": '{"jsonrpc": "2.0", "res\n'}}, "endless": {"endless_on": ["tools/call"]}}
    with applied(tmp_path, tools=tools, envelope=EFFECT, stdio={"on_tool": on_tool}) as live:
        calls = [(f"stdio__{name}", "{}") for name in ("half", "endless", "echo")]
        results, run = live.called(*calls)
        assert [result.code for result in results] == ["result_invalid", "result_too_large", None]
        assert [action.state for action in live.actions(run)] == [
            ActionState.UNKNOWN,
            ActionState.UNKNOWN,
            ActionState.COMPLETED,
        ]
        assert [call["name"] for call in live.calls("stdio")] == ["half", "endless", "echo"]


def test_input_60_a_broken_line_ends_its_session_also_where_the_answer_follows_in_one_piece(tmp_path: Path) -> None:
    answer = '{"jsonrpc": "2.0", "id": {id}, "result": {"content": [{"type": "text", "text": "late"}]}}'
    broken = {"half": {"say": {"tools/call": '{"jsonrpc": "2.0", "res\n' + answer + "\n"}}}
    with applied(tmp_path, tools=[tool("half")], envelope=EFFECT, stdio={"on_tool": broken}) as live:
        (result,), run = live.called(("stdio__half", "{}"))
        assert (result.code, [action.state for action in live.actions(run)]) == (
            "result_invalid",
            [ActionState.UNKNOWN],
        )


DEATHS: Mapping[str, tuple[Mapping[str, Any], str, ActionState]] = {
    "exits at once": (
        {"die_on": {"server/discover": 3, "initialize": 3}},
        "contract_unknown",
        ActionState.FAILED,
    ),
    "is silent": ({"silent_on": ["server/discover", "initialize"]}, "contract_unknown", ActionState.FAILED),
    "dies in mid-call": ({"die_on": {"tools/call": 4}}, "server_gone", ActionState.UNKNOWN),
    "closes stdout": ({"close_on": ["tools/call"]}, "server_gone", ActionState.UNKNOWN),
    "ignores SIGTERM": ({"silent_on": ["tools/call"], "stay": True}, "timeout_idle", ActionState.UNKNOWN),
}


@pytest.mark.parametrize("kind", DEATHS)
def test_input_61_each_way_to_fail_is_one_recorded_end_in_time_and_leaves_no_process(tmp_path: Path, kind: str) -> None:
    options, code, state = DEATHS[kind]
    children = tmp_path / "children"
    family = {} if "close_on" in options else {"children": str(children)}
    limits = {"start_timeout_seconds": 1.0, "timeout_seconds": 1.0}
    with applied(tmp_path, envelope=EFFECT, entries={"stdio": limits}) as live:
        live.stdio(**options, **family)
        began = time.monotonic()
        (result, after), run = live.called(("stdio__echo", '{"q": "x"}'), ("http__echo", '{"q": "x"}'))
        assert (result.code, after.code, time.monotonic() - began < 10) == (code, None, True)
        first = live.actions(run)[0]
        assert (first.state, first.code) == (state, code)
        sent = 0 if code == "contract_unknown" else 1
        assert len(live.calls("stdio")) == sent
        kinds = [kind for kind, _ in live.audit(run)]
        assert kinds[: 1 + sent] == (["call_intent", "call_outcome"] if sent else ["call_denied"])
        assert len(result.content) < 3_000
    family_members = children.read_text("utf-8").split() if children.exists() else []
    assert [pid for pid in family_members if alive(int(pid))] == []


def test_input_61_a_server_started_for_a_call_has_nothing_of_ours(tmp_path: Path) -> None:
    environ = {"REMIT_TOKEN": TOKEN, "OPENAI_API_KEY": TOKEN, "OTHER": TOKEN}
    entries = {"stdio": {"env": {"DECLARED": "${env:OTHER}"}}}
    with applied(tmp_path, stdio={"environ": True}, entries=entries, environ=environ) as live:
        with (tmp_path / "ours").open("w") as ours:
            os.set_inheritable(ours.fileno(), True)
            (result,), _ = live.called(("stdio__echo", "{}"), **environ)
        answer = said(result)
        assert set(answer["environ"]) - HANDED_OVER == {"DECLARED"}
        # Its three pipes, and what it opened itself: the folder that it lists, its own log.
        theirs = {"log", "pids", "fd"}
        files = [leads for leads in answer["files"].values() if not leads.startswith("pipe:")]
        assert [leads for leads in files if Path(leads).name not in theirs and leads != "closed by now"] == []
        assert TOKEN not in f"{result} {live.messages('stdio')}"
        started = live.lines("pids")
        assert len(started) == 1


ANSWERS: Mapping[str, tuple[Raw, str, str]] = {
    "401": (Raw(401, b"who are you"), "unreachable", "not_sent"),
    "403": (Raw(403), "unreachable", "not_sent"),
    "409": (Raw(409), "unreachable", "lost"),
    "429": (Raw(429, headers={"retry-after": "1000000000"}), "unreachable", "not_sent"),
    "500": (Raw(500, b"<h1>oops</h1>", "text/html"), "unreachable", "lost"),
    "503": (Raw(503, headers={"retry-after": "1000000000"}), "unreachable", "lost"),
    "html": (Raw(200, b"<h1>log in</h1>", "text/html"), "result_invalid", "lost"),
    "type": (Raw(200, b"hello", "text/plain"), "result_invalid", "lost"),
    "cut": (Raw(200, b'{"jsonrpc', claimed=500), "server_gone", "lost"),
    "stream": (Raw(200, b"event: message\n", EVENTS, claimed=-1), "server_gone", "lost"),
    "headers": (Raw(200, b"{}", headers={f"x-{n}": "y" for n in range(10_000)}), "result_invalid", "lost"),
    "elsewhere": (Raw(302, headers={"location": "http://127.0.0.2/"}), "result_invalid", "lost"),
    "other_tenant": (Raw(307, headers={"location": "/other-tenant"}), "result_invalid", "lost"),
    "round_trip": (Raw(308, headers={"location": "/mcp"}), "result_invalid", "lost"),
    "error_in_name_only": (Raw(503, b'{"error":{"code":503,"message":"busy"}}'), "unreachable", "lost"),
}


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Generator[Live]:
    """A workspace whose HTTP server answers each tool in another wrong way; tools called `read_...` only read."""
    folder = tmp_path_factory.mktemp("answers")
    names = [*ANSWERS, *(f"read_{name}" for name in ANSWERS), "fine"]
    entries = {"http": {"tools": {f"read_{name}": READ for name in ANSWERS}}}
    wanted = {"ops": {"http": names}}
    tools = [tool(name) for name in names]
    with applied(folder, tools=tools, envelope=EFFECT, entries=entries, assistants=wanted) as made:
        raws = {name: raw for name, (raw, _, _) in ANSWERS.items()}
        made.http.on_tool |= raws | {f"read_{name}": raw for name, raw in raws.items()}
        yield made


@pytest.mark.parametrize("kind", ANSWERS)
def test_input_62_each_wrong_answer_has_its_code_and_a_call_with_effects_is_never_sent_again(
    answering: Live, kind: str
) -> None:
    live = answering
    live.forget()
    _, code, transport = ANSWERS[kind]
    began = time.monotonic()
    (result, after), run = live.called((f"http__{kind}", "{}"), ("http__fine", "{}"))
    assert time.monotonic() - began < 5
    assert (result.code, after.code) == (code, None)
    assert [call["name"] for call in live.calls("http")] == [kind, "fine"]
    lost = transport == "lost"
    assert result.metadata.get("outcome") == ("unknown" if lost else None)
    action = live.actions(run)[0]
    assert (action.state, action.code) == (ActionState.UNKNOWN if lost else ActionState.FAILED, code)
    outcome = next(body for name, body in live.audit(run) if name == "call_outcome")
    assert (outcome["remit.transport"], outcome["remit.attempts"]) == (transport, 1)


@pytest.mark.parametrize("kind", ANSWERS)
def test_input_62_a_call_that_only_reads_is_sent_twice_at_most_and_waits_for_no_server(
    answering: Live, kind: str
) -> None:
    live = answering
    live.forget()
    began = time.monotonic()
    (result,), run = live.called((f"http__read_{kind}", "{}"))
    assert time.monotonic() - began < 5
    repeated = ANSWERS[kind][1] != "result_invalid"
    assert (result.code, len(live.calls("http"))) == (ANSWERS[kind][1], 2 if repeated else 1)
    # The last word is the server's, not what became of the connection after it.
    assert "session is gone" not in result.content
    assert [action.state for action in live.actions(run)] == [ActionState.FAILED]
