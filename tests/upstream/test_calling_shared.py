"""One connection for each registration: shared by all callers, replaced with its entry, closed in any order."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from remit.core.live import Era, Unreachable, UnreachableReason
from remit.core.remote_ports import RemoteError, RemoteResult
from tests.servers.http_server import HttpServer
from tests.upstream.calls import a_call, connections, contract_of, fault, lines, recorded, said, tools_of, until
from tests.upstream.support import SERVERS, KeptEvents, alive, raw_server

ROOT = Path(__file__).parents[2]


def test_many_callers_share_one_child_process_and_one_handshake(tmp_path: Path):
    pids, methods = tmp_path / "pids", tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            server = recorded(raw_server(pids=str(pids), methods=str(methods)))
            answers = await asyncio.gather(*(every.of(server).call(a_call(n=n)) for n in range(40)))
            assert [said(answer)["arguments"] for answer in answers] == [{"n": n} for n in range(40)]

    asyncio.run(main())
    started = lines(pids)
    assert (len(started), lines(methods).count("initialize"), alive(int(started[0]))) == (1, 1, False)


def test_a_result_comes_raw_with_the_era_it_came_in():
    async def main() -> None:
        async with connections() as every:
            answer = await every.of(recorded(raw_server(era="modern"))).call(a_call(n=2**63 + 1))
            assert isinstance(answer, RemoteResult)
            assert (answer.era, answer.protocol_version, answer.renewed) == ("modern", "2026-07-28", False)
            assert said(answer)["arguments"] == {"n": 2**63 + 1}

    asyncio.run(main())


def test_the_era_that_worked_before_is_tried_first(tmp_path: Path):
    methods = tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            server = replace(recorded(raw_server(methods=str(methods))), era=Era.LEGACY.value)
            said(await every.of(server).call(a_call()))

    asyncio.run(main())
    assert lines(methods) == ["initialize", "notifications/initialized", "tools/call"]


def test_an_rpc_error_is_an_answer_with_the_servers_own_text():
    async def main() -> None:
        async with connections() as every:
            answer = await every.of(recorded(raw_server(error_on={"tools/call": [-32602, "no such tool"]}))).call(
                a_call()
            )
            assert answer == RemoteError(rpc_code=-32602, message="no such tool")

    asyncio.run(main())


def test_a_changed_entry_gets_a_new_connection_while_calls_of_the_old_one_finish(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        async with connections() as every:
            server = recorded(raw_server(pids=str(pids), call_seconds=0.3))
            slow = asyncio.create_task(every.of(server).call(a_call(n=1)))
            await until(lambda: len(lines(pids)) == 1)
            changed = replace(server, connection=replace(server.connection, env={"MORE": "1"}))
            assert every.of(server) is every.of(replace(server, name="renamed", enabled=False))
            assert every.of(server) is not every.of(changed)
            later = said(await every.of(changed).call(a_call(n=2)))
            assert said(await slow)["arguments"] == {"n": 1}
            assert later["pid"] == int(lines(pids)[1])
            await until(lambda: not alive(int(lines(pids)[0])))
            assert alive(int(lines(pids)[1]))

    asyncio.run(main())
    assert [pid for pid in lines(pids) if alive(int(pid))] == []


def test_a_close_ends_pending_calls_of_replaced_connections_too_and_refuses_later_ones(tmp_path: Path):
    pids, methods = tmp_path / "pids", tmp_path / "methods"

    async def main() -> None:
        async with connections() as every:
            server = recorded(raw_server(silent_on=["tools/call"], pids=str(pids), methods=str(methods)))
            pending = asyncio.create_task(every.of(server).call(a_call()))
            await until(lambda: "tools/call" in lines(methods))
            newer = every.of(replace(server, instance="second"))
            began = time.monotonic()
            await every.close()
            assert time.monotonic() - began < 5
            assert fault(await pending) == ("server_gone", "lost")
            for connection in (newer, every.of(server), every.of(recorded(raw_server(), server_id="third"))):
                assert fault(await connection.call(a_call())) == ("unreachable", "not_sent")
                assert isinstance((await contract_of(connection)).live, Unreachable)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert (len(lines(pids)), [pid for pid in lines(pids) if alive(int(pid))]) == (1, [])


def test_case_c22_connections_opened_by_different_tasks_close_in_any_order(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        with HttpServer() as it:
            async with connections() as every:
                a = every.of(recorded(raw_server(pids=str(pids)), server_id="a"))
                b = every.of(recorded(it.url, server_id="b"))
                for connection in (a, b):
                    assert tools_of(await asyncio.create_task(contract_of(connection))) == ["echo"]
                for connection in (a, b):
                    await asyncio.create_task(connection.close())
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert [pid for pid in lines(pids) if alive(int(pid))] == []


def test_case_c22_a_server_that_is_down_is_named_as_what_it_is():
    with HttpServer() as it:
        url = it.url

    async def main() -> None:
        async with connections() as every:
            connection = every.of(recorded(url))
            contract = await contract_of(connection)
            assert isinstance(contract.live, Unreachable)
            assert contract.live.reason is UnreachableReason.REFUSED
            assert "connection refused" in contract.live.detail
            answer = await connection.call(a_call())
            assert (fault(answer), "connection refused" in str(answer)) == (("unreachable", "not_sent"), True)

    asyncio.run(main())


_PROGRAM = """
import asyncio, signal, sys
from pathlib import Path
from tests.upstream.calls import a_call, connections, recorded
from tests.upstream.support import raw_server

async def main():
    async with connections() as every:
        server = recorded(raw_server(silent_on=["tools/call"], pids=sys.argv[1], methods=sys.argv[2]))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: loop.create_task(every.close()))
        answer = await every.of(server).call(a_call())
        print(answer.code, answer.delivery)

asyncio.run(main())
sys.exit(3)
"""


def test_case_c22_fault_f19_a_close_from_a_signal_handler_leaves_no_traceback_and_no_process(tmp_path: Path):
    pids, methods = tmp_path / "pids", tmp_path / "methods"
    program = subprocess.Popen(
        [sys.executable, "-W", "default", "-c", _PROGRAM, str(pids), str(methods)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        asyncio.run(until(lambda: "tools/call" in lines(methods), 20))
        program.send_signal(signal.SIGTERM)
        out, err = program.communicate(timeout=10)
    finally:
        program.kill()
        program.wait()
    assert (out, err, program.returncode) == ("server_gone lost\n", "", 3)
    assert [pid for pid in lines(pids) if alive(int(pid))] == []


def test_a_secret_is_masked_in_results_and_read_again_at_each_opening(tmp_path: Path):
    secret, sink = tmp_path / "secret", KeptEvents()
    secret.write_text("dummy-secret-one\n")
    options = {"env_in": "TOKEN", "pids": str(tmp_path / "pids")}

    async def main() -> None:
        async with connections(sink=sink, base_dir=SERVERS, environ={"REMIT_SECRET_DIRS": str(tmp_path)}) as every:
            server = recorded(raw_server(**options), env={"TOKEN": f"${{file:{secret}}}"})
            connection = every.of(server)
            assert said(await connection.call(a_call(text="dummy-secret-one")))["arguments"] == {"text": "***"}
            secret.write_text("dummy-secret-two\n")
            os.kill(int(lines(tmp_path / "pids")[0]), signal.SIGKILL)
            await until(lambda: "close local" in sink.sequence())
            answer = said(await connection.call(a_call(old="dummy-secret-one", new="dummy-secret-two")))
            assert answer["arguments"] == {"old": "dummy-secret-one", "new": "***"}

    asyncio.run(main())
    assert "dummy-secret-two" not in sink.text()


def test_a_secret_without_a_value_is_named_by_its_variable_and_nothing_is_started(tmp_path: Path):
    pids, environ = tmp_path / "pids", {"PATH": os.environ["PATH"]}

    async def main() -> None:
        async with connections(environ=environ) as every:
            connection = every.of(recorded(raw_server(pids=str(pids)), env={"TOKEN": "${env:ABSENT_TOKEN}"}))
            for _ in range(7):
                answer = await connection.call(a_call())
                assert fault(answer) == ("unreachable", "not_sent")
                assert "ABSENT_TOKEN" in str(answer)
            contract = await contract_of(connection)
            assert isinstance(contract.live, Unreachable)
            assert contract.live.reason is UnreachableReason.SECRET_UNRESOLVED

    asyncio.run(main())
    assert lines(pids) == []
