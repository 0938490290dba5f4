"""The watch over runs whose calls are under way."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from remit.core.calls import RunState
from remit.errors import StoreError
from remit.runtime.watch import RunWatch


@pytest.mark.parametrize("trouble", [StoreError("down", code="database-io"), RuntimeError("can't start new thread")])
def test_a_look_that_fails_is_not_the_last_one(trouble: Exception) -> None:
    looks: list[Exception | None] = [trouble, None]

    def states(run_ids: Sequence[str]) -> Mapping[str, RunState]:
        failed = looks.pop(0)
        if failed is not None:
            raise failed
        return dict.fromkeys(run_ids, RunState.CANCELLED)

    async def main() -> bool:
        watch = RunWatch(states, threads, poll_seconds=0.01)
        with watch.watching("run") as watched, pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(5):
                await asyncio.get_running_loop().create_future()
        by_run = watched.only_by_run()
        await watch.close()
        return by_run

    with ThreadPoolExecutor(1) as threads:
        assert asyncio.run(main())
    assert looks == []
