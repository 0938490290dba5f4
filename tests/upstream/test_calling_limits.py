"""Limits of a call, its progress and its cancellation: every waiter ends by its deadline, and the server is told."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.core.remote_ports import Progress, RemoteAnswer, RemoteFault
from remit.upstream.client import MAX_WAITING
from tests.servers.http_server import HttpServer
from tests.upstream.calls import (
    a_call,
    connections,
    contract_of,
    fault,
    limited,
    lines,
    recorded,
    said,
    server_from,
    tools_of,
    until,
)
from tests.upstream.support import KeptEvents, alive, raw_server

OnProgress = Callable[[Progress], Awaitable[None]]


def kept(into: list[Progress]) -> OnProgress:
    async def keep(progress: Progress) -> None:
        into.append(progress)

    return keep


def progress_frame(token: object, progress: object) -> dict[str, Any]:
    params = {"progressToken": token, "progress": progress, "message": "frame"}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def test_case_c20_progress_extends_the_silence_and_reaches_the_caller_and_the_trace():
    sink, seen = KeptEvents(), list[Progress]()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(progress=6, progress_every=0.3)))
            await contract_of(connection)
            began = time.monotonic()
            answer = await connection.call(replace(limited(0.9, 10), on_progress=kept(seen)))
            assert (said(answer)["arguments"], time.monotonic() - began > 1.7) == ({}, True)

    asyncio.run(main())
    expected = [Progress(float(n), 6.0, "working") for n in range(1, 7)]
    recorded_ones = [event for event in sink.events if event.body.get("method") == "notifications/progress"]
    assert (seen, len(recorded_ones), {event.trace_id for event in recorded_ones}) == (expected, 6, {"trace-call"})


def test_case_c20_a_token_is_sent_also_where_nobody_listens_and_progress_counts_all_the_same():
    sink = KeptEvents()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(progress=4, progress_every=0.3)))
            await contract_of(connection)
            said(await connection.call(limited(0.9, 10)))

    asyncio.run(main())
    (sent,) = [event.body for event in sink.events if event.body.get("method") == "tools/call"]
    assert sent["params"] == {"name": "echo", "arguments": {}, "_meta": {"progressToken": sent["id"]}}


def test_case_c20_progress_never_extends_the_absolute_limit():
    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(progress=20, progress_every=0.1)))
            await contract_of(connection)
            began = time.monotonic()
            answer = await connection.call(limited(1, 0.5))
            assert (fault(answer), time.monotonic() - began < 0.9) == (("timeout_absolute", "lost"), True)
            assert "server 'it', tool 'echo': no answer within 0.5 s" in str(answer)

    asyncio.run(main())


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_case_c21_a_limit_names_server_tool_and_limit_and_the_server_is_told(tmp_path: Path, era: str):
    methods = tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(era=era, silent_on=["tools/call"], methods=str(methods))))
            await contract_of(connection)
            began = time.monotonic()
            answer = await connection.call(limited(0.3, 10))
            assert (fault(answer), time.monotonic() - began < 0.8) == (("timeout_idle", "lost"), True)
            words = "server 'it', tool 'echo': no answer and no progress for 0.3 s, the limit of one silence"
            assert isinstance(answer, RemoteFault)
            assert answer.message == words
            await until(lambda: lines(methods)[-1] == "notifications/cancelled")

    asyncio.run(main())


def test_case_c21_a_cancelled_call_returns_at_once_and_the_server_is_told(tmp_path: Path):
    methods = tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(silent_on=["tools/call"], methods=str(methods))))
            call = asyncio.create_task(connection.call(a_call()))
            await until(lambda: "tools/call" in lines(methods))
            began = time.monotonic()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert time.monotonic() - began < 0.1
            await until(lambda: lines(methods)[-1] == "notifications/cancelled")

    asyncio.run(main())


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_case_c21_over_http_a_cancelled_call_is_told_as_its_era_says(era: str):
    async def main() -> None:
        with HttpServer(era=era, stall_on=["tools/call"]) as it:
            async with connections() as every:
                call = asyncio.create_task(every.of(recorded(it.url)).call(a_call()))
                await until(lambda: "tools/call" in it.methods())
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
                if era == "modern":
                    await until(lambda: it.hung_up == ["tools/call"])
                else:
                    await until(lambda: it.methods()[-1] == "notifications/cancelled")

    asyncio.run(main())


def test_case_c21_fault_f9_a_server_killed_in_mid_call_fails_it_within_a_second_and_the_next_call_reconnects(
    tmp_path: Path,
):
    pids, methods = tmp_path / "pids", tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            files = {"pids": str(pids), "methods": str(methods)}
            server = recorded(server_from(tmp_path / "options", silent_on=["tools/call"], **files))
            pending = [asyncio.create_task(every.of(server).call(a_call(n=n))) for n in range(3)]
            await until(lambda: lines(methods).count("tools/call") == 3)
            server_from(tmp_path / "options", **files)
            os.kill(int(lines(pids)[0]), signal.SIGKILL)
            began = time.monotonic()
            answers = await asyncio.gather(*pending)
            assert time.monotonic() - began < 1
            assert {fault(answer) for answer in answers} == {("server_gone", "lost")}
            assert "server 'it', tool 'echo'" in str(answers[0])
            assert said(await every.of(server).call(a_call()))["pid"] == int(lines(pids)[1])

    asyncio.run(main())
    assert [pid for pid in lines(pids) if alive(int(pid))] == []


def test_input_58_of_progress_only_finite_growing_numbers_of_a_waiting_call_count():
    seen = list[Progress]()
    frames = [
        progress_frame("{id}", 5),
        progress_frame("{id}", 4),
        progress_frame("{id}", float("nan")),
        progress_frame("{id}", float("inf")),
        progress_frame("{id}", 10**400),
        progress_frame("{id}", "6"),
        progress_frame("{id}", True),
        progress_frame(7, 8),
        progress_frame(["{id}"], 9),
        {"jsonrpc": "2.0", "method": "notifications/progress"},
    ]

    async def main() -> RemoteAnswer:
        async with connections() as every:
            connection = every.of(recorded(raw_server(frames={"tools/call": frames})))
            answer = await connection.call(replace(a_call(), on_progress=kept(seen)))
            said(await connection.call(replace(a_call(), on_progress=kept(seen))))
            await asyncio.sleep(0.1)
            return answer

    assert said(asyncio.run(main()))["arguments"] == {}
    assert seen == [Progress(5.0, None, "frame")] * 2


@pytest.mark.parametrize("wrong", [{"progress_step": -1}, {"progress_token": "foreign"}, {"progress_token": True}])
def test_input_58_falling_progress_and_that_of_others_extend_no_silence(wrong: dict[str, Any]):
    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(progress=8, progress_every=0.15, **wrong)))
            await contract_of(connection)
            began = time.monotonic()
            assert fault(await connection.call(limited(0.5, 10))) == ("timeout_idle", "lost")
            assert time.monotonic() - began < 1

    asyncio.run(main())


def test_input_58_progress_after_the_end_is_nobodys(tmp_path: Path):
    seen = list[Progress]()
    first, late = progress_frame(101, 1), progress_frame(101, 2)

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(frames={"tools/call": [first], "tools/list": [late]})))
            said(await connection.call(replace(a_call(), on_progress=kept(seen))))
            await contract_of(connection)
            await asyncio.sleep(0.1)

    asyncio.run(main())
    assert seen == [Progress(1.0, None, "frame")]


def test_input_58_a_flood_of_progress_costs_twenty_callbacks_a_second_and_extends_no_absolute_limit():
    sink, seen = KeptEvents(), list[Progress]()

    async def main() -> None:
        async with connections(sink=sink) as every:
            connection = every.of(recorded(raw_server(progress_flood=3)))
            await contract_of(connection)
            began = time.monotonic()
            answer = await connection.call(replace(limited(0.5, 1.0), on_progress=kept(seen)))
            assert (fault(answer), time.monotonic() - began < 1.6) == (("timeout_absolute", "lost"), True)

    asyncio.run(main())
    assert 2 <= len(seen) <= 24
    recorded_ones = [event for event in sink.events if event.body.get("method") == "notifications/progress"]
    (left_out,) = [event.body for event in sink.events if "left_out" in event.body]
    assert (len(recorded_ones), int(str(left_out["left_out"])) > 1_000) == (1_000, True)


def test_input_58_the_last_progress_is_delivered_after_a_flood():
    seen = list[Progress]()

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(progress=2000)))
            said(await connection.call(replace(a_call(), on_progress=kept(seen))))
            await until(lambda: bool(seen) and seen[-1].progress == 2000)

    asyncio.run(main())
    assert len(seen) < 30


def test_a_callback_that_is_slow_or_raises_neither_delays_nor_fails_the_call():
    told = 0

    async def slow(_: Progress) -> None:
        nonlocal told
        told += 1
        await asyncio.sleep(60)

    async def raising(_: Progress) -> None:
        nonlocal told
        told += 1
        raise RuntimeError("a defect of the caller")

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(progress=2)))
            await contract_of(connection)
            began = time.monotonic()
            for callback in (slow, raising):
                said(await connection.call(replace(a_call(), on_progress=callback)))
            assert time.monotonic() - began < 1
            await until(lambda: told == 3)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_fault_f10_every_call_of_a_stopped_server_ends_by_its_limit(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(pids=str(pids))))
            await contract_of(connection)
            os.kill(int(lines(pids)[0]), signal.SIGSTOP)
            began = time.monotonic()
            large = {"text": "x" * 200_000}
            answers = await asyncio.gather(*(connection.call(limited(0.3, 5, **large)) for _ in range(20)))
            assert time.monotonic() - began < 1.5
            # What waits for a pipe that nobody reads may be on its way for all anybody knows.
            assert {fault(answer) for answer in answers} == {("timeout_idle", "lost")}
            os.kill(int(lines(pids)[0]), signal.SIGCONT)

    asyncio.run(main())
    assert [pid for pid in lines(pids) if alive(int(pid))] == []


def test_fault_f10_a_full_queue_refuses_at_once():
    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(silent_on=["tools/call"])))
            await contract_of(connection)
            waiting = [asyncio.create_task(connection.call(a_call())) for _ in range(MAX_WAITING)]
            await asyncio.sleep(0)
            began = time.monotonic()
            assert fault(await connection.call(a_call())) == ("queue_full", "not_sent")
            assert time.monotonic() - began < 0.5
            for call in waiting:
                call.cancel()
            await asyncio.wait(waiting, timeout=5)

    asyncio.run(main())


def test_fault_f10_calls_end_when_the_owner_of_their_session_does_and_the_next_call_has_another(tmp_path: Path):
    pids, methods = tmp_path / "pids", tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(call_seconds=3, pids=str(pids), methods=str(methods))))
            calls = [asyncio.create_task(connection.call(a_call())) for _ in range(3)]
            await until(lambda: "tools/call" in lines(methods))
            (owner,) = (task for task in asyncio.all_tasks() if task.get_name() == "remit-upstream-it")
            owner.cancel()
            began = time.monotonic()
            answers = await asyncio.gather(*calls)
            assert time.monotonic() - began < 2
            assert {fault(answer) for answer in answers} == {("server_gone", "lost")}
            await asyncio.wait({owner}, timeout=5)
            assert tools_of(await contract_of(connection)) == ["echo"]

    asyncio.run(main())
    assert (len(lines(pids)), [pid for pid in lines(pids) if alive(int(pid))]) == (2, [])


def test_fault_f11_a_call_cancelled_while_it_waits_for_the_opening_is_never_sent(tmp_path: Path):
    methods = tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server(methods=str(methods))))
            first = asyncio.create_task(connection.call(a_call(n=1)))
            second = asyncio.create_task(connection.call(a_call(n=2)))
            await asyncio.sleep(0)
            second.cancel()
            assert said(await first)["arguments"] == {"n": 1}
            with pytest.raises(asyncio.CancelledError):
                await second
            said(await connection.call(a_call(n=3)))

    asyncio.run(main())
    assert (lines(methods).count("tools/call"), "notifications/cancelled" in lines(methods)) == (2, False)


def test_fault_f11_calls_cancelled_at_any_moment_leave_no_waiter_and_a_working_connection():
    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(raw_server()))
            await contract_of(connection)
            for hops in range(60):
                call = asyncio.create_task(connection.call(a_call(n=hops)))
                for _ in range(hops):
                    await asyncio.sleep(0.0002)
                if not call.cancel():
                    assert said(call.result())["arguments"] == {"n": hops}
                    continue
                with pytest.raises(asyncio.CancelledError):
                    await call
            assert said(await connection.call(a_call(n=-1)))["arguments"] == {"n": -1}
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_call_that_waits_for_a_slow_opening_ends_by_its_absolute_limit_and_was_not_sent():
    async def main() -> None:
        async with connections() as every:
            silent = raw_server(silent_on=["server/discover", "initialize"])
            answer = await every.of(recorded(silent)).call(limited(0.1, 0.4))
            assert fault(answer) == ("timeout_absolute", "not_sent")

    asyncio.run(main())
