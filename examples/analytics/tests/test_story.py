"""The story as a user runs it: a process of its own, with the whole of remit between the agent and the server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopback import serve

KEY = "dummy-secret-value"


def _story(folder: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    finished = subprocess.run(
        [sys.executable, "-m", "remit_ops_agent", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=55,
        check=False,
    )
    return finished.returncode, finished.stdout, finished.stderr


def _lines(text: str, after: str) -> list[str]:
    """The lines of one part of the output, without their indent."""
    return [line.strip() for line in text.split(f"\n{after}\n", 1)[1].split("\n\n", 1)[0].splitlines()]


def test_the_story_holds_and_shows_handshake_version_identity_tools_calls_and_figures(tmp_path: Path) -> None:
    code, output, errors = _story(tmp_path, REMIT_DATABASE_URL="sqlite:////nowhere/at/all.db")
    assert (code, "FAILED" in errors) == (0, False)
    assert _lines(output, "The trace holds") == [
        "yes  a handshake: era modern",
        "yes  the protocol version: 2026-07-28",
        "yes  the server's identity: analytics 1.0.0",
        "yes  the 5 tools: compute_metric, describe_view, list_agents, list_metrics, run_query",
        "yes  the agent's calls: list_metrics, compute_metric",
        "yes  an answer to each call: 2",
        "yes  the end of the connection: closed",
    ]
    assert _lines(output, "Answer")[0] == (
        "dispatch had the worst p95 turn latency from 2026-06-24 to 2026-06-30: 18,263.5 ms over 235 turns."
    )
    figures = _lines(output, "Its figures")
    assert figures[0] == "18,263.5 ms  found in analytics__compute_metric rows[0].value = 18263.5"
    assert figures[-1] == "14 of 14 figures found in the returned rows"
    assert output.index("server/discover") < output.index("to tools/list  5 tools") < output.index("tools/call")
    assert list(tmp_path.iterdir()) == []


def test_a_made_up_figure_is_flagged_explained_and_ends_with_exit_code_1(tmp_path: Path) -> None:
    code, output, errors = _story(tmp_path, "--made-up")
    assert (code, "FAILED" in errors) == (1, False)
    figures = _lines(output, "Its figures")
    assert [line for line in figures if "NOT FOUND" in line] == ["10,160.5 ms  NOT FOUND in any returned row"]
    assert figures[-1] == "14 of 15 figures found in the returned rows"
    assert output.rstrip().endswith(
        "story: 10,160.5 ms was made up on purpose (--made-up) and is flagged; that is why this ends with exit code 1."
    )


def test_a_model_behind_an_endpoint_tells_the_same_story(tmp_path: Path) -> None:
    def reply(request: Any) -> Any:
        names = [tool["function"]["name"] for tool in request["tools"]]
        results = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        if not results:
            calls = [("a", "analytics__list_metrics", "{}"), ("b", "no_such_tool", "{}"), ("c", names[0], "not JSON")]
        elif len(results) == 3:
            calls = [("d", "analytics__compute_metric", '{"metric": "p95_turn_latency"}')]
        else:
            first = json.loads(results[-1])["rows"][0]
            return _message(content=f"It was {first['group']} with {first['value'] / 1000:.1f} s.")
        return _message(
            tool_calls=[
                {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}
                for number, name, arguments in calls
            ]
        )

    with serve(reply) as endpoint:
        arguments = ("--model", "openai", "--base-url", endpoint.base_url, "--model-name", "some-model")
        code, output, errors = _story(tmp_path, *arguments, OPENAI_API_KEY=KEY)
    assert (code, "FAILED" in errors) == (0, False)
    assert _lines(output, "Answer") == ["It was dispatch with 18.3 s."]
    assert _lines(output, "Its figures") == [
        "18.3 s  found in analytics__compute_metric rows[0].value = 18263.5",
        "1 of 1 figures found in the returned rows",
    ]
    told = [message["content"] for message in endpoint.requests[1][2]["messages"] if message["role"] == "tool"]
    assert told[1].startswith("error: unknown_tool: ")
    assert told[2].startswith("error: invalid_arguments: ")
    assert KEY not in output


def test_a_model_that_cannot_be_reached_is_told_in_one_line(tmp_path: Path) -> None:
    with serve({}) as endpoint:
        gone = endpoint.base_url
    code, _, errors = _story(tmp_path, "--model", "openai", "--base-url", gone, "--model-name", "m", OPENAI_API_KEY=KEY)
    assert code == 1
    assert errors.splitlines()[-1].startswith("story: FAILED: cannot talk to http://127.0.0.1:")
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    "arguments",
    [["--model", "openai"], ["--model", "openai", "--base-url", "http://localhost/v1"], ["--model", "other"]],
)
def test_a_wrong_command_line_says_what_is_missing(tmp_path: Path, arguments: list[str]) -> None:
    code, output, errors = _story(tmp_path, *arguments)
    assert (code, output) == (2, "")
    assert "usage: ./run story" in errors


def _message(**message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, **message}}]}
