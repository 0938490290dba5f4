"""A server of 2026-07-28 that changes a tool between two calls of one run: the second is decided on the new contract."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.live import ASK, ECHO, READ, applied, ran, result_of
from tests.upstream.support import SERVERS
from tests.upstream.test_watching import Changing

NARROWER: Mapping[str, Any] = {**ECHO, "inputSchema": {**ECHO["inputSchema"], "required": ["q"]}}


@pytest.mark.parametrize(
    ("envelope", "first"), [(READ, None), (ASK, "approval_required")], ids=["locked", "human_controlled"]
)
def test_a_tool_that_its_server_says_it_changed_is_compared_anew_at_the_next_call(
    envelope: Mapping[str, Any], first: str | None, tmp_path: Path
) -> None:
    changing = Changing(tmp_path, era="modern", tools=[ECHO])
    command = [sys.executable, str(SERVERS / "changing_stdio.py"), f"@{changing.file}"]
    with applied(tmp_path, envelope=envelope, entries={"stdio": {"command": command}}) as live:
        applied_with = changing.listings()

        async def work() -> Sequence[str | None]:
            async with live.runtime() as runtime, runtime.run("ops") as run:

                async def code(text: str) -> str | None:
                    return result_of(await run.call("stdio__echo", text)).code

                before = await code('{"q": "a"}')
                # The second listing is the one that the beginning of the subscription asks for.
                async with asyncio.timeout(5):
                    while changing.listings() < applied_with + 2:
                        assert await code('{"q": "b"}') == before
                changing.set(tools=[NARROWER])
                async with asyncio.timeout(5):
                    while (after := await code('{"q": "c"}')) == before:
                        pass
                return before, after

        assert ran(work()) == (first, "definition_drifted")
