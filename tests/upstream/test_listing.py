import asyncio
import time
from collections.abc import Callable

import pytest

from remit.core.canonical import Json, JsonObject
from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault
from remit.upstream.listing import MAX_BYTES, walk_pages


class Pages:
    """A source whose pages come from a function of the cursor."""

    def __init__(self, page: Callable[[str | None], JsonObject], received: int = 0):
        self.page = page
        self.cursors: list[str | None] = []
        self._per_page = received

    @property
    def received(self) -> int:
        return self._per_page * len(self.cursors)

    async def list_page(self, cursor: str | None = None, *, timeout: float) -> JsonObject:
        assert timeout > 0
        self.cursors.append(cursor)
        return self.page(cursor)


def walk(source: Pages, *, seconds: float = 60, offers_tools: bool = True) -> tuple[Json, ...]:
    return asyncio.run(
        walk_pages(source, deadline=time.monotonic() + seconds, page_seconds=5, offers_tools=offers_tools)
    )


def numbered(count: int) -> list[Json]:
    return [{"name": f"t{number}"} for number in range(count)]


def test_pages_are_joined_in_order_and_cursors_are_sent_back_as_they_came():
    pages: dict[str | None, JsonObject] = {
        None: {"tools": [1], "nextCursor": ""},
        "": {"tools": [], "nextCursor": "ü/=?"},
        "ü/=?": {"tools": [2, 3], "nextCursor": None},
    }
    source = Pages(lambda cursor: pages[cursor])
    assert walk(source) == (1, 2, 3)
    assert source.cursors == [None, "", "ü/=?"]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ({}, UnreachableReason.PROTOCOL),
        ({"tools": "abc"}, UnreachableReason.PROTOCOL),
        ({"tools": [], "nextCursor": 7}, UnreachableReason.PROTOCOL),
        ({"tools": [], "nextCursor": "same"}, UnreachableReason.PAGINATION_LOOP),
        ({"tools": numbered(10_001)}, UnreachableReason.TOO_LARGE),
    ],
)
def test_a_page_that_cannot_be_part_of_a_list_is_a_fault(page: JsonObject, reason: UnreachableReason):
    with pytest.raises(Fault) as caught:
        walk(Pages(lambda _: page))
    assert caught.value.reason is reason


def test_the_same_tools_under_new_cursors_are_a_loop_whatever_limit_they_meet():
    for size in (1, 500):
        source = Pages(lambda cursor, size=size: {"tools": numbered(size), "nextCursor": f"{cursor}x"})
        with pytest.raises(Fault) as caught:
            walk(source)
        assert caught.value.reason is UnreachableReason.PAGINATION_LOOP
        assert len(source.cursors) <= 1_000


def test_more_bytes_than_the_cap_are_too_large():
    source = Pages(
        lambda cursor: {"tools": numbered(1), "nextCursor": f"{cursor}x"} if not cursor else {}, MAX_BYTES + 1
    )
    with pytest.raises(Fault) as caught:
        walk(source)
    assert caught.value.reason is UnreachableReason.TOO_LARGE


def test_a_deadline_that_passed_is_a_timeout():
    with pytest.raises(Fault) as caught:
        walk(Pages(lambda _: {"tools": []}), seconds=0)
    assert caught.value.reason is UnreachableReason.TIMEOUT


def test_a_server_that_announces_no_tools_and_knows_no_list_has_none():
    def unknown(_: str | None) -> JsonObject:
        raise Fault(UnreachableReason.PROTOCOL, "unknown method", code="rpc_error", rpc_code=-32601)

    assert walk(Pages(unknown), offers_tools=False) == ()
    with pytest.raises(Fault):
        walk(Pages(unknown))
