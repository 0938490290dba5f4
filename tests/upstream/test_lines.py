import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse

from remit.upstream.events_stream import EventCutter
from remit.upstream.lines import Broken, LineSplitter, Noise, read_line
from remit.upstream.overlong import Overlong


@given(st.lists(st.binary(max_size=20)))
def test_lines_are_the_same_however_the_bytes_arrive(chunks: list[bytes]):
    splitter, whole = LineSplitter(), b"".join(chunks)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert [*lines, splitter.rest] == whole.split(b"\n")


def test_a_line_over_the_cap_is_discarded_and_the_next_one_is_read():
    splitter = LineSplitter(limit=10)
    assert list(splitter.feed(b'0123456789\n{"id": 7, "re')) == [b"0123456789"]
    assert list(splitter.feed(b'sult": {"id": 8}}\n{}\n')) == [
        Overlong(size=30, limit=10, members={"id": 7, "result": None}),
        b"{}",
    ]
    assert (splitter.lost, splitter.rest) == (None, b"")


@pytest.mark.parametrize(
    ("line", "size"),
    [(b"abcdefghijk", 11), (b'{"id": 7, "result": {"a": "', 20)],
    ids=["no object", "over the ceiling"],
)
def test_a_line_whose_reader_is_unknown_or_that_may_never_end_is_lost_before_it_is_complete(line: bytes, size: int):
    splitter = LineSplitter(limit=10, ceiling=19)
    assert [found for at in range(len(line)) for found in splitter.feed(line[at : at + 1])] == []
    assert splitter.lost == Overlong(size=size, limit=10, whole=False)
    assert list(splitter.feed(b"\n{}\n")) == []


@given(
    st.lists(st.sampled_from([b"data: a\n\n", b"id: 1\r\ndata: b\r\n\r\n", b"data: c\r\r", b": ping\n\n"])), st.data()
)
def test_events_are_the_same_however_the_bytes_arrive(events: list[bytes], data: st.DataObject):
    whole, cutter, cut = b"".join(events), EventCutter(1_000), list[bytes | Overlong]()
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        cut.extend(cutter.feed(whole[:size]))
        whole = whole[size:]
    assert cut == events


def test_a_message_a_banner_and_a_broken_line_are_told_apart():
    message = read_line(b'{"jsonrpc": "2.0", "id": 1, "result": {"a": "\\ud800"}}\r')
    assert isinstance(message, SessionMessage)
    assert message.message == JSONRPCResponse(jsonrpc="2.0", id=1, result={"a": "\ud800"})
    assert read_line(b"") == Noise("")
    assert read_line(b"Listening on stdio") == Noise("Listening on stdio")
    assert read_line(b"[1, 2]") == Noise("[1, 2]")
    assert read_line(b'{"level": "info"}') == Noise('{"level": "info"}')
    assert read_line(b'ok {"jsonrpc": "2.0"}') == Broken('ok {"jsonrpc": "2.0"}', "mixes text with a message")
    assert read_line(b'{"jsonrpc": "2.0", ') == Broken('{"jsonrpc": "2.0",', "is cut off or not valid JSON")
    deep = b'{"jsonrpc": "2.0", "id": 1, "result": ' + b"[" * 100_000
    assert isinstance(read_line(deep), Broken)


def test_an_answer_that_is_no_valid_message_becomes_an_error_for_its_request():
    message = read_line(b'{"jsonrpc": "2.0", "id": 7, "result": [1]}')
    assert isinstance(message, SessionMessage)
    assert isinstance(message.message, JSONRPCError)
    assert (message.message.id, message.message.error.code) == (7, -32700)
