import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from remit.core.canonical import JsonObject
from remit.core.live import Era, UnreachableReason
from remit.core.remote_ports import Progress
from remit.upstream.client import MAX_WAITING, RemoteMcpClient
from remit.upstream.faults import Fault
from remit.upstream.http_transport import UpstreamHttp, open_http
from remit.upstream.references import ResolvedHttp, resolve_connection
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.support import SECRET, KeptEvents, alive, client_for, raw_server, server, sources


def http_for(url: str) -> UpstreamHttp:
    endpoint = resolve_connection(server(url), sources()).endpoint
    assert isinstance(endpoint, ResolvedHttp)
    return open_http(endpoint)


async def pid_of(client: RemoteMcpClient) -> int:
    return answer_in(await client.call_tool("echo", {}, timeout=5))["pid"]


def answer_in(result: JsonObject) -> dict[str, Any]:
    return cast("dict[str, Any]", result["structuredContent"])


def test_a_call_sends_the_arguments_as_they_are_and_returns_the_raw_result():
    async def main() -> None:
        client = client_for(raw_server(era="modern"))
        try:
            arguments = {"n": 2**63 + 1, "deep": {"a": [None, 1.5, "ä"]}}
            result = await client.call_tool("echo", arguments, timeout=5)
            assert answer_in(result)["arguments"] == arguments
            assert result["resultType"] == "complete"
        finally:
            await client.close()

    asyncio.run(main())


def test_a_call_never_lists_again_and_never_judges_the_output(tmp_path: Path):
    methods = tmp_path / "methods"
    tool = {"name": "echo", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["x"]}}

    async def main() -> None:
        client = client_for(raw_server(tools=[tool], methods=str(methods)))
        try:
            await client.list_page(timeout=5)
            assert "structuredContent" in await client.call_tool("echo", {}, timeout=5)
            assert "content" in await client.call_tool("never-listed", {}, timeout=5)
        finally:
            await client.close()

    asyncio.run(main())
    assert methods.read_text().split().count("tools/list") == 1


def test_the_events_of_a_call_are_recorded_with_its_progress():
    sink, seen = KeptEvents(), list[Progress]()

    async def main() -> None:
        async def on_progress(progress: Progress) -> None:
            seen.append(progress)

        client = client_for(raw_server(progress=2, call_seconds=0.1), sink=sink)
        await client.call_tool("echo", {"a": 1}, timeout=5, on_progress=on_progress)
        await client.close()

    asyncio.run(main())
    assert seen == [Progress(1.0, 2.0, "working"), Progress(2.0, 2.0, "working")]
    assert sink.sequence()[-5:] == [
        "call sent", "notification received", "notification received", "call received", "close local",
    ]  # fmt: skip


def test_a_server_killed_in_the_middle_of_calls_fails_them_all_at_once_and_the_next_call_reconnects(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        client = client_for(raw_server(silent_on=["tools/call"], pids=str(pids)), pauses=(0.0,))
        try:
            await client.connect()
            waiting = [asyncio.create_task(client.call_tool("echo", {}, timeout=20)) for _ in range(3)]
            await asyncio.sleep(0.1)
            os.kill(int(pids.read_text()), signal.SIGKILL)
            began = time.monotonic()
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
            assert time.monotonic() - began < 1
            assert [getattr(outcome, "code", outcome) for outcome in outcomes] == ["server_gone"] * 3
            assert "exited with code -9" in str(outcomes[0])
            assert (await client.list_page(timeout=5))["tools"]
        finally:
            await client.close()

    asyncio.run(main())
    started = pids.read_text().split()
    assert (len(started), [pid for pid in started if alive(int(pid))]) == (2, [])


def test_a_killed_server_whose_children_hold_its_stdout_is_gone_at_once_and_so_are_they(tmp_path: Path):
    pids, children = tmp_path / "pids", tmp_path / "children"

    async def main() -> None:
        client = client_for(raw_server(silent_on=["tools/call"], pids=str(pids), children=str(children)))
        await client.connect()
        call = asyncio.create_task(client.call_tool("echo", {}, timeout=20))
        await asyncio.sleep(0.1)
        os.kill(int(pids.read_text()), signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(Fault) as caught:
            await call
        assert (caught.value.code, time.monotonic() - began < 1.5) == ("server_gone", True)
        await client.close()

    asyncio.run(main())
    started = [int(pid) for pid in children.read_text().split()]
    assert (len(started), [pid for pid in started if alive(pid)]) == (2, [])


def test_the_pauses_between_openings_grow(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> list[float]:
        client = client_for(raw_server(pids=str(pids), die_on={"tools/call": 9}), pauses=(0.0, 0.2, 0.4))
        times: list[float] = []
        for _ in range(4):
            began = time.monotonic()
            with pytest.raises(Fault) as caught:
                await client.call_tool("echo", {}, timeout=5)
            assert caught.value.code == "server_gone"
            times.append(time.monotonic() - began)
        await client.close()
        return times

    times = asyncio.run(main())
    assert len(pids.read_text().split()) == 4
    assert times[1] < 0.2 <= times[2] < 0.4 <= times[3]


def test_a_call_ends_by_its_deadline_also_while_the_server_is_stopped():
    async def main() -> None:
        client = client_for(raw_server())
        try:
            stopped = await pid_of(client)
            os.kill(stopped, signal.SIGSTOP)
            began = time.monotonic()
            with pytest.raises(Fault) as caught:
                await client.call_tool("echo", {"text": "x" * 1_000_000}, timeout=0.3)
            assert (caught.value.code, time.monotonic() - began < 1) == ("timeout", True)
            os.kill(stopped, signal.SIGCONT)
        finally:
            await client.close()

    asyncio.run(main())


def test_a_timed_out_call_is_cancelled_on_the_wire_and_the_session_stays():
    sink = KeptEvents()

    async def main() -> None:
        client = client_for(raw_server(silent_on=["tools/call"]), sink=sink)
        try:
            # Opened first: on a busy machine a start alone may take longer than the call is given.
            assert (await client.list_page(timeout=5))["tools"]
            with pytest.raises(Fault):
                await client.call_tool("echo", {}, timeout=0.2)
            assert (await client.list_page(timeout=5))["tools"]
        finally:
            await client.close()

    asyncio.run(main())
    assert [str(event.body.get("method")) for event in sink.events].count("notifications/cancelled") == 1
    assert sink.sequence().count("open local") == 1


def test_clients_are_opened_and_closed_by_any_task_in_any_order(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        with HttpServer() as it:
            http = http_for(it.url)
            clients = [
                client_for(raw_server(pids=str(pids))),
                client_for(it.url, http=http),
                client_for(raw_server(pids=str(pids))),
            ]
            for client in clients:
                await asyncio.create_task(client.connect())
            for client in (clients[0], clients[2], clients[1]):
                await asyncio.create_task(client.close())
            await http.aclose()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert [pid for pid in pids.read_text().split() if alive(int(pid))] == []


def test_fifty_callers_share_one_session():
    async def main() -> None:
        with HttpServer(era="modern") as it:
            http = http_for(it.url)
            client = client_for(it.url, http=http)
            results = await asyncio.gather(*(client.call_tool("echo", {"n": n}, timeout=10) for n in range(50)))
            assert [result["content"] for result in results] == [
                [{"type": "text", "text": f'{{"n": {n}}}'}] for n in range(50)
            ]
            await client.close()
            await http.aclose()
            assert it.methods().count("server/discover") == 1

    asyncio.run(main())


def test_the_http_client_stays_the_callers():
    async def main() -> None:
        with HttpServer() as it:
            http = httpx2.AsyncClient()
            client = client_for(it.url, http=http)
            await client.connect()
            await client.close()
            assert not http.is_closed
            assert (await http.get(f"http://127.0.0.1:{it.port}/other")).status_code == 405
            await http.aclose()

    asyncio.run(main())


def test_one_failed_post_costs_the_other_requests_nothing():
    async def main() -> None:
        with HttpServer(era="modern", stall_on=["tools/list"]) as it:
            it.answer_on["tools/call"] = Raw(200, b"{", claimed=100)
            http = http_for(it.url)
            client = client_for(it.url, http=http)
            slow = asyncio.create_task(client.list_page(timeout=5))
            await asyncio.sleep(0.1)
            with pytest.raises(Fault) as caught:
                await client.call_tool("echo", {}, timeout=5)
            assert (caught.value.code, caught.value.reason) == ("server_gone", UnreachableReason.PROTOCOL)
            del it.answer_on["tools/call"]
            assert "content" in await client.call_tool("echo", {}, timeout=5)
            it.go_on.set()
            assert (await slow)["tools"]
            await client.close()
            await http.aclose()

    asyncio.run(main())


def test_a_forgotten_session_is_renewed_once_for_all_and_each_call_is_repeated_once():
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True) as it:
            http = http_for(it.url)
            client = client_for(it.url, http=http)
            await client.connect()
            it.known.clear()
            results = await asyncio.gather(*(client.call_tool("echo", {"n": n}, timeout=5) for n in range(5)))
            assert len(results) == 5
            assert it.methods().count("initialize") == 2
            await client.close()
            await http.aclose()

    asyncio.run(main())


def test_a_session_that_is_forgotten_again_and_again_ends_in_a_fault():
    async def main() -> None:
        with HttpServer(era="legacy", sessions=True) as it:
            it.answer_on["tools/call"] = Raw(404)
            http = http_for(it.url)
            client = client_for(it.url, http=http)
            with pytest.raises(Fault) as caught:
                await client.call_tool("echo", {}, timeout=5)
            assert caught.value.code == "session_lost"
            assert it.methods().count("tools/call") == 2
            await client.close()
            await http.aclose()

    asyncio.run(main())


def test_a_server_that_comes_back_is_reached_again_on_the_same_client():
    async def main() -> None:
        with HttpServer(era="modern") as it:
            http = http_for(it.url)
            client = client_for(it.url, http=http, pauses=(0.0,))
            assert (await client.connect()).era is Era.MODERN
            it.answer_on["tools/call"] = Raw(503, b"down", "text/plain")
            with pytest.raises(Fault) as caught:
                await client.call_tool("echo", {}, timeout=5)
            assert caught.value.reason is UnreachableReason.REFUSED
            it.answer_on.clear()
            assert "content" in await client.call_tool("echo", {}, timeout=5)
            await client.close()
            await http.aclose()

    asyncio.run(main())


def test_a_full_queue_refuses_the_next_request_at_once():
    async def main() -> None:
        client = client_for(raw_server(silent_on=["tools/list"]))
        await client.connect()
        waiting = [asyncio.create_task(client.list_page(timeout=10)) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Fault) as caught:
            await client.list_page(timeout=10)
        assert caught.value.code == "queue_full"
        await client.close()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert {getattr(outcome, "code", None) for outcome in outcomes} == {"closed"}

    asyncio.run(main())


def test_what_must_happen_before_a_request_happens_before_each_and_its_failure_is_the_requests():
    asked: list[int] = []

    async def before() -> None:
        asked.append(1)
        if len(asked) > 2:
            raise Fault(UnreachableReason.AUTH, "no token")

    async def main() -> None:
        client = client_for(raw_server(), ready=before)
        await client.connect()
        await client.list_page(timeout=5)
        with pytest.raises(Fault, match="no token"):
            await client.list_page(timeout=5)
        await client.close()

    asyncio.run(main())
    assert len(asked) == 3


def test_a_close_ends_pending_calls_and_refuses_later_ones():
    async def main() -> None:
        client = client_for(raw_server(silent_on=["tools/call"]))
        await client.connect()
        pending = asyncio.create_task(client.call_tool("echo", {}, timeout=20))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await client.close()
        assert time.monotonic() - began < 2
        for outcome in await asyncio.gather(pending, client.list_page(timeout=1), return_exceptions=True):
            assert isinstance(outcome, Fault)
            assert outcome.code == "closed"
        await client.close()

    asyncio.run(main())


def test_a_close_during_the_handshake_is_quick_and_leaves_no_process(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        client = client_for(raw_server(silent_on=["server/discover", "initialize"], pids=str(pids)))
        opening = asyncio.create_task(client.connect())
        async with asyncio.timeout(5):
            while not pids.exists() or not pids.read_text():  # noqa: ASYNC110 (another process makes the file)
                await asyncio.sleep(0.01)
        began = time.monotonic()
        await client.close()
        assert time.monotonic() - began < 2
        with pytest.raises(Fault) as caught:
            await opening
        assert caught.value.code == "closed"

    asyncio.run(main())
    assert [pid for pid in pids.read_text().split() if alive(int(pid))] == []


def test_a_server_that_ignores_every_polite_word_is_killed(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> float:
        client = client_for(raw_server(stay=True, pids=str(pids)))
        await client.connect()
        began = time.monotonic()
        await client.close()
        return time.monotonic() - began

    assert asyncio.run(main()) < 6
    assert [pid for pid in pids.read_text().split() if alive(int(pid))] == []


def test_a_secret_in_a_result_is_masked():
    async def main() -> None:
        client = client_for(raw_server(), environ={"IT": SECRET}, env={"TOKEN": "${env:IT}"})
        result = await client.call_tool("echo", {"said": SECRET}, timeout=5)
        assert answer_in(result)["arguments"] == {"said": "***"}
        await client.close()

    asyncio.run(main())
