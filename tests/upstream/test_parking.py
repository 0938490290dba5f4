"""Answers that are carried past the SDK: whatever became of earlier ones, the next one is carried too."""

import json
from typing import Any

import pytest
from mcp_types import JSONRPCResponse

from remit.upstream.parking import Parking

DEEP = b"[" * 300 + b"]" * 300


def an_answer(parking: Parking) -> JSONRPCResponse:
    """An answer that the SDK cannot parse, as it comes out of the SDK."""
    body = parking.passable(b'{"jsonrpc": "2.0", "id": 1, "result": {"deep": ' + DEEP + b"}}")
    return JSONRPCResponse(**json.loads(body))


def restored(parking: Parking, message: JSONRPCResponse) -> Any:
    parking.restore(message)
    return message.result


def test_answers_that_nobody_came_for_take_no_room_for_ever():
    now = [0.0]
    parking = Parking(lambda: now[0])
    for _ in range(16):
        an_answer(parking)
    # No room: it stays as it is, and the request fails as one whose answer nobody can parse.
    assert "deep" in an_answer(parking).result
    now[0] = 61.0
    assert restored(parking, an_answer(parking)) == {"deep": json.loads(DEEP)}


@pytest.mark.parametrize("forged", [[], {}, "1", None, 99, 1.0])
def test_a_forged_stub_gets_nothing(forged: Any):
    parking = Parking()
    real = an_answer(parking)
    forgery = JSONRPCResponse(jsonrpc="2.0", id=2, result={"remit/parked": forged})
    assert restored(parking, forgery) == {"remit/parked": forged}
    assert restored(parking, real) == {"deep": json.loads(DEEP)}
