"""A caller whose reading of the grants is old, beside one whose reading is new."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.runtime.live import applied, ran, result_of


def test_a_caller_that_has_not_heard_of_an_apply_replaces_nobodys_connection(tmp_path: Path) -> None:
    both = {"ops": {"stdio": ["echo"]}, "dev": {"stdio": ["echo"]}}
    limit = {"stdio": {"call_timeout_seconds": 100}}

    with applied(tmp_path, assistants=both, entries=limit) as live:

        async def work() -> Sequence[str | None]:
            async with live.runtime() as runtime, runtime.run("ops") as old, runtime.run("dev") as new:
                first = [result_of(await run.call("stdio__echo", '{"q": "x"}')) for run in (old, new)]
                live.config.write_text(live.config.read_text("utf-8").replace("100", "101"), "utf-8")
                assert (await asyncio.to_thread(live.here.apply)).code == 0
                live.forget()
                then = [result_of(await run.call("stdio__echo", '{"q": "y"}')) for run in (new, old, new)]
                return [result.code for result in (*first, *then)]

        assert ran(work()) == [None] * 5
        # One connection under the new entry, and none of the old one beside it.
        assert len(live.lines("pids")) == 1
