"""The circuit breaker: growing pauses, then refusals, then one probe (fault F16)."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

from remit.core.identity import StdioEndpoint
from remit.core.live import Listed
from remit.core.remote_ports import RemoteFault
from remit.upstream.circuit import PAUSES, TRIPS_AFTER, Circuit
from tests.servers.http_server import HttpServer, Raw
from tests.upstream.calls import a_call, connections, contract_of, fault, lines, recorded, said
from tests.upstream.support import SERVERS, raw_server


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def tripped(clock: Clock) -> Circuit:
    circuit = Circuit(clock=clock)
    for _ in range(TRIPS_AFTER):
        clock.seconds += 100
        circuit.failed()
    return circuit


def test_fault_f16_before_the_fifth_failure_requests_wait_for_a_growing_pause():
    clock = Clock()
    circuit, pauses = Circuit(clock=clock), list[float]()
    for _ in range(TRIPS_AFTER - 1):
        circuit.failed()
        pauses.append(circuit.due_in())
        assert circuit.refusal(object()) is None
    assert pauses == list(PAUSES[:4])


def test_fault_f16_from_the_fifth_failure_on_requests_are_refused_until_the_pause_is_over():
    clock = Clock()
    circuit = tripped(clock)
    assert circuit.refusal(object()) == "5 failures in a row; the next attempt is due in 5.0 s"
    clock.seconds += 4.9
    assert circuit.refusal(object()) is not None


def test_fault_f16_one_probe_goes_through_while_the_others_are_refused():
    clock = Clock()
    circuit, probe, other = tripped(clock), object(), object()
    clock.seconds += 5
    assert circuit.refusal(probe) is None
    assert circuit.refusal(other) == "5 failures in a row; an attempt is under way"
    circuit.left(other)
    assert circuit.refusal(other) is not None
    circuit.left(probe)
    assert circuit.refusal(other) is None


def test_fault_f16_a_probe_that_fails_opens_the_circuit_for_longer_and_one_that_is_answered_closes_it():
    clock = Clock()
    circuit, probe = tripped(clock), object()
    clock.seconds += 5
    assert circuit.refusal(probe) is None
    circuit.failed()
    circuit.left(probe)
    assert circuit.due_in() == 10.0
    clock.seconds += 10
    assert circuit.refusal(probe) is None
    circuit.answered()
    assert (circuit.refusal(object()), circuit.due_in()) == (None, 0.0)


def test_fault_f16_one_death_counts_once_however_many_requests_it_failed():
    clock = Clock()
    circuit = Circuit(clock=clock)
    for _ in range(50):
        circuit.failed(began=clock.seconds - 1)
    assert circuit.refusal(object()) is None
    assert circuit.due_in() == PAUSES[0]


def test_fault_f16_after_a_call_that_broke_the_connection_only_an_answered_call_closes_the_circuit():
    circuit = tripped(clock := Clock())
    circuit.call_broke()
    clock.seconds += 100
    circuit.answered(call=False)
    assert (circuit.refusal(object()), circuit.refusal(object()) is None) == (None, False)
    circuit.answered()
    assert (circuit.refusal(object()), circuit.refusal(object())) == (None, None)


def test_fault_f16_a_server_that_lists_well_and_dies_at_each_call_is_left_alone_too(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        async with connections(pauses=(0.0, 0.0, 0.0, 0.0, 60.0)) as every:
            connection = every.of(recorded(raw_server(pids=str(pids), die_on={"tools/call": 9})))
            for _ in range(TRIPS_AFTER):
                session = (await contract_of(connection)).session
                assert fault(await connection.call(replace(a_call(), session=session))) == ("server_gone", "lost")
            assert not isinstance((await contract_of(connection)).live, Listed)
            assert fault(await connection.call(a_call())) == ("circuit_open", "not_sent")

    asyncio.run(main())
    assert len(lines(pids)) == TRIPS_AFTER


def test_fault_f16_a_server_that_dies_at_each_call_is_left_alone_and_taken_back_when_it_is_well(tmp_path: Path):
    pids, options = tmp_path / "pids", tmp_path / "options"
    sick = {"pids": str(pids), "die_on": {"tools/call": 9}}

    async def main() -> None:
        options.write_text(json.dumps(sick))
        async with connections(pauses=(0.0, 0.0, 0.0, 0.0, 0.6, 0.6)) as every:
            connection = every.of(recorded(StdioEndpoint(("{python}", str(SERVERS / "raw_stdio.py"), f"@{options}"))))
            for _ in range(TRIPS_AFTER):
                assert fault(await connection.call(a_call())) == ("server_gone", "lost")
            began = time.monotonic()
            answers = await asyncio.gather(*(connection.call(a_call()) for _ in range(10)))
            assert {fault(answer) for answer in answers} == {("circuit_open", "not_sent")}
            assert ("the next attempt is due in" in str(answers[0]), time.monotonic() - began < 0.2) == (True, True)
            assert len(lines(pids)) == TRIPS_AFTER
            options.write_text(json.dumps({"pids": str(pids), "call_seconds": 0.1}))
            await asyncio.sleep(0.7)
            answers = await asyncio.gather(*(connection.call(a_call(n=n)) for n in range(10)))
            assert [isinstance(answer, RemoteFault) for answer in answers] == [False, *[True] * 9]
            assert said(answers[0])["arguments"] == {"n": 0}
            assert {fault(answer) for answer in answers[1:]} == {("circuit_open", "not_sent")}
            for answer in await asyncio.gather(*(connection.call(a_call(n=1)) for _ in range(10))):
                assert said(answer)["arguments"] == {"n": 1}

    asyncio.run(main())
    assert len(lines(pids)) == TRIPS_AFTER + 1


def test_fault_f16_a_server_that_cannot_be_started_trips_the_circuit_too_and_who_waits_is_told(tmp_path: Path):
    pids = tmp_path / "pids"

    async def main() -> None:
        async with connections(pauses=(0.0, 0.0, 0.0, 0.0, 60.0)) as every:
            dying = {"server/discover": 1, "initialize": 1}
            connection = every.of(recorded(raw_server(pids=str(pids), die_on=dying)))
            outcomes = [fault(await connection.call(a_call())) for _ in range(7)]
            assert outcomes == [("unreachable", "not_sent")] * 5 + [("circuit_open", "not_sent")] * 2

    asyncio.run(main())


def test_fault_f16_over_http_refused_connections_trip_the_circuit_of_an_open_session():
    async def main() -> None:
        async with connections(pauses=(0.0, 0.0, 0.0, 0.0, 0.3)) as every:
            with HttpServer(era="modern") as it:
                connection = every.of(recorded(it.url))
                assert not isinstance(await connection.call(a_call()), RemoteFault)
                port = it.port
            outcomes = [fault(await connection.call(a_call()))[0] for _ in range(7)]
            assert (set(outcomes[:5]) <= {"unreachable", "server_gone"}, outcomes[5:]) == (True, ["circuit_open"] * 2)
            with HttpServer(era="modern", port=port):
                await asyncio.sleep(0.35)
                assert not isinstance(await connection.call(a_call()), RemoteFault)

    asyncio.run(main())


def test_a_server_that_refuses_call_after_call_is_well_and_is_neither_left_alone_nor_listed_again():
    async def main() -> None:
        with HttpServer(era="modern", answer_on={"tools/call": Raw(429)}) as it:
            async with connections() as every:
                connection = every.of(recorded(it.url))
                for _ in range(TRIPS_AFTER + 2):
                    await contract_of(connection)
                    assert fault(await connection.call(a_call())) == ("unreachable", "not_sent")
                assert it.methods().count("tools/list") == 1

    asyncio.run(main())
