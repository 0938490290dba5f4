import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from remit.core.desired import ProtocolPin
from remit.core.identity import StdioEndpoint
from remit.core.live import Era, Listed, Quarantine, QuarantineReason, ServerIdentity, Unreachable, UnreachableReason
from tests.upstream.support import NOON, SECRET, KeptEvents, alive, listing_of, names, raw_server

PAGES = ["page sent", "page received"]
LEGACY = ["handshake sent", "handshake received", "handshake sent", "handshake local"]
TOOLS = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(5)]


def test_a_modern_server_is_listed_page_by_page_in_the_documented_sequence():
    sink = KeptEvents()
    listed = asyncio.run(listing_of(raw_server(era="modern", tools=TOOLS, page_size=2), sink=sink))
    assert names(listed) == ["tool_0", "tool_1", "tool_2", "tool_3", "tool_4"]
    assert isinstance(listed, Listed)
    assert (listed.era, listed.protocol_version, listed.observed_at) == (Era.MODERN, "2026-07-28", NOON)
    assert (listed.server_info, listed.instructions) == (ServerIdentity(name="raw", version="1.0"), "Be kind.")
    assert listed.capabilities == {"tools": {}}
    assert sink.sequence() == [
        "open local", "probe sent", "probe received", "handshake local", *PAGES * 3, "close local",
    ]  # fmt: skip
    assert [event.sequence for event in sink.events] == list(range(1, 12))
    assert {event.connection_id for event in sink.events} == {"connection-1"}


def test_a_legacy_server_that_refuses_the_probe_is_initialised_on_the_same_process(tmp_path: Path):
    sink, pids = KeptEvents(), tmp_path / "pids"
    listed = asyncio.run(listing_of(raw_server(pids=str(pids)), sink=sink))
    assert isinstance(listed, Listed)
    assert (names(listed), listed.era, listed.protocol_version) == (["echo"], Era.LEGACY, "2025-11-25")
    assert sink.sequence() == [
        "open local", "probe sent", "probe received", "fallback local", *LEGACY, *PAGES, "close local",
    ]  # fmt: skip
    assert len(pids.read_text().split()) == 1


def test_a_server_that_dies_on_the_probe_is_restarted_and_initialised(tmp_path: Path):
    sink, pids = KeptEvents(), tmp_path / "pids"
    listed = asyncio.run(listing_of(raw_server(pids=str(pids), die_on={"server/discover": 3}), sink=sink))
    assert names(listed) == ["echo"]
    assert sink.sequence() == [
        "open local", "probe sent", "fallback local", "open local", *LEGACY, *PAGES, "close local",
    ]  # fmt: skip
    assert "exited with code 3" in str(sink.events[2].body["because"])
    assert len(pids.read_text().split()) == 2


def test_a_server_that_ignores_the_probe_costs_a_third_of_its_start_time():
    sink, began = KeptEvents(), time.monotonic()
    listed = asyncio.run(listing_of(raw_server(silent_on=["server/discover"]), sink=sink, start_timeout_seconds=4.5))
    assert names(listed) == ["echo"]
    assert sink.sequence()[:5] == ["open local", "probe sent", "fallback local", "open local", "handshake sent"]
    assert time.monotonic() - began < 4.5


def test_the_remembered_era_is_tried_first():
    legacy, modern = KeptEvents(), KeptEvents()
    assert names(asyncio.run(listing_of(raw_server(era="both"), sink=legacy, remembered=Era.LEGACY))) == ["echo"]
    assert legacy.sequence() == ["open local", *LEGACY, *PAGES, "close local"]
    assert names(asyncio.run(listing_of(raw_server(era="both"), sink=modern, remembered=Era.MODERN))) == ["echo"]
    assert modern.sequence()[:4] == ["open local", "probe sent", "probe received", "handshake local"]


def test_a_remembered_era_that_is_gone_falls_back_to_the_other():
    sink = KeptEvents()
    listed = asyncio.run(listing_of(raw_server(era="modern"), sink=sink, remembered=Era.LEGACY))
    assert isinstance(listed, Listed)
    assert listed.era is Era.MODERN
    assert sink.sequence()[:4] == ["open local", "handshake sent", "handshake received", "fallback local"]


def test_a_pinned_protocol_never_falls_back():
    legacy = asyncio.run(listing_of(raw_server(era="both"), protocol=ProtocolPin.LEGACY))
    assert isinstance(legacy, Listed)
    assert legacy.era is Era.LEGACY
    modern = asyncio.run(listing_of(raw_server(era="legacy"), protocol=ProtocolPin.MODERN))
    assert modern == Unreachable(
        reason=UnreachableReason.PROTOCOL,
        detail="server/discover was answered with error -32601: unknown method server/discover; mcp.yaml pins"
        " `protocol: 2026-07-28` for this server, so no other era was tried: take the line out, or write `protocol: auto`",
    )


PINNED: Mapping[str, tuple[dict[str, Any], ProtocolPin, bool]] = {
    "it knows no initialize": ({"era": "modern"}, ProtocolPin.LEGACY, True),
    "it dies at the probe": ({"die_on": {"server/discover": 3}}, ProtocolPin.MODERN, True),
    "it never answers the probe": ({"silent_on": ["server/discover"]}, ProtocolPin.MODERN, True),
    "nothing is pinned": ({"era": "neither"}, ProtocolPin.AUTO, False),
    "it does not start": ({"start": "no"}, ProtocolPin.LEGACY, False),
}


@pytest.mark.parametrize(("options", "pin", "named"), PINNED.values(), ids=PINNED)
def test_a_pin_is_named_with_the_way_out_where_it_may_be_why_a_server_cannot_be_reached(
    options: dict[str, Any], pin: ProtocolPin, named: bool
):
    endpoint = StdioEndpoint(("/nowhere/at/all",)) if "start" in options else raw_server(**options)
    found = asyncio.run(listing_of(endpoint, protocol=pin, start_timeout_seconds=1.0))
    assert isinstance(found, Unreachable)
    way_out = f"mcp.yaml pins `protocol: {pin.value}` for this server, so no other era was tried: take the line out"
    assert (way_out in found.detail) == named, found.detail


def test_one_bad_tool_is_quarantined_and_the_others_are_listed():
    tools = [
        *TOOLS,
        {"name": "bad", "inputSchema": "none"},
        {"name": "odd", "inputSchema": {"type": "object"}, "title": 7},
    ]
    listed = asyncio.run(listing_of(raw_server(tools=tools, page_size=3)))
    assert names(listed) == ["tool_0", "tool_1", "tool_2", "tool_3", "tool_4"]
    assert isinstance(listed, Listed)
    assert listed.quarantined == (
        Quarantine(remote_name="bad", reason=QuarantineReason.ROOT_NOT_OBJECT, detail="inputSchema is no object"),
        Quarantine(remote_name="odd", reason=QuarantineReason.MALFORMED, detail="title is no text"),
    )


def test_lone_surrogates_huge_integers_and_nan_cost_only_their_own_tool():
    tools = [
        {"name": "half", "description": "\ud800", "inputSchema": {"type": "object"}},
        {"name": "nan", "inputSchema": {"type": "object", "default": float("nan")}},
        {"name": "wide", "inputSchema": {"type": "object", "properties": {"n": {"maximum": 2**63 + 1}}}},
    ]
    listed = asyncio.run(listing_of(raw_server(tools=tools)))
    assert isinstance(listed, Listed)
    assert [(bad.remote_name, bad.reason) for bad in listed.quarantined] == [
        ("half", QuarantineReason.MALFORMED),
        ("nan", QuarantineReason.MALFORMED),
    ]
    assert str(2**63 + 1) in listed.tools[0].definition.text


def test_banner_lines_are_skipped_counted_and_noted():
    sink = KeptEvents()
    banner = "".join(f"starting, step {number}\n" for number in range(7)) + '{"level": "info"}\n'
    listed = asyncio.run(listing_of(raw_server(say={"": banner}), sink=sink))
    assert isinstance(listed, Listed)
    assert listed.notes == (
        "8 lines on stdout were no messages and were skipped",
        *(f"starting, step {number}" for number in range(5)),
    )
    assert sink.sequence().count("noise local") == 5


def test_a_line_that_mixes_text_with_a_message_is_an_error_that_quotes_its_start():
    found = asyncio.run(listing_of(raw_server(say={"tools/list": "loading... "})))
    assert isinstance(found, Unreachable)
    assert found.reason is UnreachableReason.PROTOCOL
    assert found.detail.startswith('a line on stdout mixes text with a message: loading... {"jsonrpc"')


def test_bytes_that_are_no_utf8_are_replaced():
    listed = asyncio.run(
        listing_of(
            raw_server(say={"": "caf\udce9\n"}),
            environ={"PYTHONIOENCODING": "utf-8:surrogateescape"},
            env={"PYTHONIOENCODING": "utf-8:surrogateescape"},
        )
    )
    assert isinstance(listed, Listed)
    assert listed.notes[1] == "caf\ufffd"


def test_an_endless_line_is_too_large():
    found = asyncio.run(listing_of(raw_server(flood={"tools/list": 5_000_000})))
    assert isinstance(found, Unreachable)
    assert found.reason is UnreachableReason.TOO_LARGE
    assert re.fullmatch(r"a line on stdout has at least 4[12]\d{5} bytes; the limit is 4194304", found.detail)


def test_a_command_that_does_not_exist_is_start_failed():
    found = asyncio.run(listing_of(StdioEndpoint(("no-such-command-here",))))
    assert found == Unreachable(
        reason=UnreachableReason.START_FAILED,
        detail="no-such-command-here cannot be started: No such file or directory",
    )


def test_a_server_that_exits_at_once_is_start_failed_with_its_code_and_stderr():
    command = ("{python}", "-c", "import sys; sys.stderr.write('no database'); sys.exit(5)")
    found = asyncio.run(listing_of(StdioEndpoint(command)))
    assert isinstance(found, Unreachable)
    assert found.reason is UnreachableReason.START_FAILED
    assert found.detail.endswith("it exited with code 5; stderr ends with: no database")


def test_a_server_that_closes_its_stdout_and_stays_is_start_failed():
    command = ("{python}", "-c", "import os, time; os.close(1); time.sleep(60)")
    began = time.monotonic()
    found = asyncio.run(listing_of(StdioEndpoint(command)))
    assert isinstance(found, Unreachable)
    assert found.reason is UnreachableReason.START_FAILED
    assert found.detail.endswith("it closed its stdout")
    assert time.monotonic() - began < 5


def test_a_flood_of_noise_and_stderr_costs_neither_the_listing_nor_the_memory():
    sink = KeptEvents()
    endpoint = raw_server(stderr="e" * 70_000, say={"tools/list": "n\n" * 10_000})
    listed = asyncio.run(listing_of(endpoint, sink=sink))
    assert isinstance(listed, Listed)
    assert listed.notes[0] == "10000 lines on stdout were no messages and were skipped"
    assert sink.sequence().count("noise local") == 5
    assert sink.events[-1].body == {"exit_code": 0, "skipped_lines": 10_000, "stderr": "e" * 2_000}


def test_a_silent_server_is_a_timeout_within_its_start_time_and_leaves_no_process(tmp_path: Path):
    pids, began = tmp_path / "pids", time.monotonic()
    endpoint = raw_server(silent_on=["server/discover", "initialize"], pids=str(pids))
    found = asyncio.run(listing_of(endpoint, start_timeout_seconds=1.0))
    assert isinstance(found, Unreachable)
    assert (found.reason, found.detail.partition(" within 0")[0]) == (
        UnreachableReason.TIMEOUT,
        "did not answer within start_timeout_seconds: 1 (no answer to initialize",
    )
    assert time.monotonic() - began < 3
    assert [pid for pid in pids.read_text().split() if alive(int(pid))] == []


def test_a_server_that_does_not_come_up_in_time_is_named_with_what_it_said_on_stderr():
    endpoint = raw_server(silent_on=["initialize"], stderr=f"waiting for the package with {SECRET}\n")
    found = asyncio.run(
        listing_of(
            endpoint,
            start_timeout_seconds=1.0,
            protocol=ProtocolPin.LEGACY,
            env={"IT": "${env:IT}"},
            environ={"IT": SECRET},
        )
    )
    assert isinstance(found, Unreachable)
    assert (found.reason, found.detail.partition("`protocol: auto`; ")[2]) == (
        UnreachableReason.TIMEOUT,
        "stderr ends with: waiting for the package with ***)",
    )


def test_a_listing_that_is_never_answered_is_a_timeout():
    found = asyncio.run(listing_of(raw_server(silent_on=["tools/list"]), timeout_seconds=0.3))
    assert found == Unreachable(
        reason=UnreachableReason.TIMEOUT,
        detail="did not answer within timeout_seconds: 0.3 (tools/list took longer than 0.3 s)",
    )


def test_a_server_that_dies_while_it_lists_is_a_protocol_fault():
    found = asyncio.run(listing_of(raw_server(die_on={"tools/list": 7})))
    assert found == Unreachable(
        reason=UnreachableReason.PROTOCOL, detail="the server ended during tools/list: it exited with code 7"
    )


def test_a_fault_on_the_second_page_leaves_no_partial_list():
    found = asyncio.run(listing_of(raw_server(tools=TOOLS, page_size=2, error_on_page=2)))
    assert found == Unreachable(reason=UnreachableReason.PROTOCOL, detail="a page of tools/list has no list of tools")


def test_the_same_cursor_again_is_a_pagination_loop():
    found = asyncio.run(listing_of(raw_server(tools=TOOLS, page_size=2, cursor="same")))
    assert found == Unreachable(
        reason=UnreachableReason.PAGINATION_LOOP, detail="page 2 names a cursor that was used before"
    )


def test_endless_cursors_are_a_pagination_loop():
    found = asyncio.run(listing_of(raw_server(tools=TOOLS, page_size=2, cursor="endless", era="modern")))
    assert found == Unreachable(reason=UnreachableReason.PAGINATION_LOOP, detail="page 1000 still names a next one")


def test_an_unset_variable_starts_no_process(tmp_path: Path):
    sink, pids = KeptEvents(), tmp_path / "pids"
    found = asyncio.run(listing_of(raw_server(pids=str(pids)), sink=sink, env={"TOKEN": "${env:NOT_THERE}"}))
    assert found == Unreachable(
        reason=UnreachableReason.SECRET_UNRESOLVED,
        detail="env.TOKEN: the environment variable NOT_THERE is not set",
    )
    assert (sink.events, pids.exists()) == ([], False)


def test_a_secret_that_a_server_echoes_is_masked_everywhere():
    sink = KeptEvents()
    endpoint = raw_server(
        env_in="TOKEN", stderr=f"using {SECRET}\n", say={"": f"token {SECRET} accepted\n"}, error_on={}, era="modern"
    )
    listed = asyncio.run(listing_of(endpoint, sink=sink, environ={"IT": SECRET}, env={"TOKEN": "${env:IT}"}))
    assert isinstance(listed, Listed)
    assert listed.tools[0].definition.content().description == "Echo ***"
    assert (listed.server_info, listed.instructions) == (ServerIdentity(name="raw ***", version="1.0"), "Be kind. ***")
    assert listed.notes[1] == "token *** accepted"
    assert SECRET not in repr(listed) + sink.text()


def test_a_secret_in_an_error_or_on_stderr_is_masked_in_the_detail():
    refused = raw_server(error_on={"tools/list": [-32000, f"bad token {SECRET}"]})
    found = asyncio.run(listing_of(refused, environ={"IT": SECRET}, env={"TOKEN": "${env:IT}"}))
    assert found == Unreachable(
        reason=UnreachableReason.PROTOCOL, detail="tools/list was answered with error -32000: bad token ***"
    )
    dying = raw_server(stderr=f"bad token {SECRET}", die_on={"server/discover": 1, "initialize": 1})
    found = asyncio.run(listing_of(dying, environ={"IT": SECRET}, env={"TOKEN": "${env:IT}"}))
    assert isinstance(found, Unreachable)
    assert found.detail.endswith("stderr ends with: bad token ***")


def test_the_child_sees_the_allow_list_and_what_the_file_declares_and_nothing_else():
    code = "import os,sys,json; sys.stderr.write(json.dumps(dict(os.environ)))"
    environ = {"HOME": "/home/it", "REMIT_DATABASE_URL": "x", "OTHER": "y", "IT": "from-it"}
    endpoint = StdioEndpoint(("{python}", "-E", "-c", code))
    found = asyncio.run(listing_of(endpoint, environ=environ, env={"DECLARED": "${env:IT}"}))
    assert isinstance(found, Unreachable)
    seen = json.loads(found.detail.rpartition("stderr ends with: ")[2])
    seen.pop("LC_CTYPE", None)
    assert seen == {"HOME": "/home/it", "PATH": os.environ["PATH"], "DECLARED": "from-it"}


def test_children_are_ended_with_the_server_in_the_same_and_in_another_session(tmp_path: Path):
    children = tmp_path / "children"
    assert names(asyncio.run(listing_of(raw_server(children=str(children))))) == ["echo"]
    pids = [int(pid) for pid in children.read_text().split()]
    assert (len(pids), [pid for pid in pids if alive(pid)]) == (2, [])


def test_a_listing_leaves_no_task_and_no_thread_of_its_own():
    async def tasks_after() -> int:
        await listing_of(raw_server())
        return len(asyncio.all_tasks())

    assert asyncio.run(tasks_after()) == 1


def test_a_cancelled_listing_leaves_no_process(tmp_path: Path):
    pids = tmp_path / "pids"

    async def cancel_it() -> None:
        task = asyncio.create_task(listing_of(raw_server(pids=str(pids), silent_on=["server/discover"])))
        async with asyncio.timeout(5):
            while not pids.exists() or not pids.read_text():  # noqa: ASYNC110 (another process makes the file)
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task}, timeout=5)
        assert task.cancelled()

    asyncio.run(cancel_it())
    assert [pid for pid in pids.read_text().split() if alive(int(pid))] == []
