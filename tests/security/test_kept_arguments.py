"""A secret that a model puts into its arguments: the server that it calls gets it, the audit trail does not."""

import base64
import json
from pathlib import Path

from remit.core.calls import arguments_digest
from remit.runtime.run import Run
from tests.runtime.live import ECHO, READ, Live, applied, ran, result_of

TOKEN = "dummy-secret-token"
OTHER = "dummy-other-secret"
TOOL = dict(ECHO, inputSchema={"type": "object", "properties": {"n": {"type": "number"}}})
SENT = {"a": f"use {TOKEN}", "b": [{TOKEN: base64.b64encode(TOKEN.encode()).decode()}], "c": OTHER}
"""Holds the token of the HTTP server in three shapes, and the other server's."""


def kept(live: Live, run: Run) -> list[tuple[str, object]]:
    """What the trail has of the arguments of each event that has any."""
    return [
        (kind, json.loads(body["gen_ai.tool.call.arguments"]))
        for kind, body in live.audit(run)
        if "gen_ai.tool.call.arguments" in body
    ]


def test_a_secret_of_the_called_server_and_of_every_open_connection_is_masked_in_the_audit(tmp_path: Path) -> None:
    policy = {**READ, "surface": "open", "audit_arguments": "values", "unknown_arguments": "pass"}
    environ = {"LIVE_TOKEN": TOKEN, "LIVE_OTHER": OTHER}
    entries = {
        "http": {"headers": {"Authorization": "Bearer ${env:LIVE_TOKEN}"}},
        "stdio": {"env": {"TOKEN": "${env:LIVE_OTHER}"}},
    }
    with applied(tmp_path, envelope=policy, tools=[TOOL], entries=entries, environ=environ) as live:

        async def work() -> Run:
            async with live.runtime(**environ) as runtime, runtime.run("ops") as run:
                # Refused before anything was opened; then sent before the other server is; then to the other one.
                for name, arguments in (
                    ("http__echo", {"n": TOKEN}),
                    ("http__echo", SENT),
                    ("stdio__echo", SENT),
                ):
                    result_of(await run.call(name, json.dumps(arguments)))
                return run

        run = ran(work())
        assert kept(live, run) == [
            ("call_denied", {"n": "***"}),
            ("call_intent", {"a": "use ***", "b": [{"***": "***"}], "c": OTHER}),
            ("call_intent", {"a": "use ***", "b": [{"***": "***"}], "c": "***"}),
        ]
        # What was sent is what the model wrote, and its digest is that of what was sent.
        assert [call["arguments"] for server in ("http", "stdio") for call in live.calls(server)] == [SENT, SENT]
        digests = [body["remit.arguments_digest"] for kind, body in live.audit(run) if kind == "call_intent"]
        assert digests == [arguments_digest(SENT)] * 2
