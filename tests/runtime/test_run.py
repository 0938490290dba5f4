"""A run from its start to its one end, over a real database and a real server."""

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

import remit
from remit.core.calls import RunState
from remit.errors import NoDatabase, UsageError
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.runtime.call_form import MAX_OUTPUT_BYTES
from remit.runtime.run import Run
from remit.runtime.runtime import GovernedRuntime
from tests.cli.workspace import Workspace, tool

Result = TypeVar("Result")

FILE = """\
version: 1
mcp:
  default_envelope: {{surface: {surface}, side_effecting: false}}
  servers:
    - name: up
      command: {{server:up}}
assistants:
  - name: ops
    permissions: []
    tools:
      - server: up
        include: [{tools}]
"""


def applied(folder: Path, *tools: str, surface: str = "locked") -> Workspace:
    """A workspace whose assistant `ops` has these tools of the server `up`."""
    here = Workspace(folder)
    here.serve("up", *(tool(name) for name in tools), methods=str(folder / "methods"))
    here.write(FILE.format(surface=surface, tools=", ".join(tools)))
    ended = here.apply()
    assert ended.code == 0, ended.err
    (folder / "methods").unlink()
    return here


def ran(work: Coroutine[Any, Any, Result]) -> Result:
    """What the work comes to, within a time that no run here needs."""

    async def bounded() -> Result:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(bounded())


def asked(here: Workspace) -> list[str]:
    """The methods that the server was asked, in order."""
    log = here.folder / "methods"
    return log.read_text("utf-8").splitlines() if log.exists() else []


async def called(run: Run, name: str, arguments: str = '{"q": "x"}', **more: Any) -> ToolResultEnvelope:
    """The result of a call that is remit's."""
    result = await run.call(name, arguments, **more)
    assert isinstance(result, ToolResultEnvelope)
    return result


def test_a_run_offers_what_is_attached_and_calls_it_by_its_alias(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")

    async def work() -> tuple[list[str], ToolResultEnvelope]:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
            return await names_of(run), await called(run, "up__search")

    names, result = ran(work())

    assert names == ["up__search"]
    assert (result.is_error, json.loads(result.content)["arguments"]) == (False, {"q": "x"})
    assert asked(here)[-1] == "tools/call"


def test_a_name_that_is_not_bound_is_the_consumers_and_the_run_waits_for_its_output(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")
    written = '{"city":"Graz",  "days": 2}'

    async def work() -> tuple[object, RunState, RunState]:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
            handed = await run.call("get_weather", written, tool_call_id="call-1")
            waiting = await run.state()
            await run.submit_output("call-1", "sunny")
            return handed, waiting, await run.state()

    handed, waiting, after = ran(work())

    assert isinstance(handed, HandOff)
    assert (handed.call.name, handed.call.arguments) == ("get_weather", written)
    assert (waiting, after) == (RunState.REQUIRES_ACTION, RunState.IN_PROGRESS)


def test_an_output_that_nobody_waits_for_is_refused(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")

    async def work() -> None:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
            await run.call("get_weather", "{}", tool_call_id="call-1")
            await run.submit_output("call-1", "sunny")
            await run.submit_output("call-1", "rainy")

    with pytest.raises(UsageError) as refused:
        ran(work())

    assert refused.value.code == "no-waiting-call"


def test_an_output_that_cannot_be_kept_is_refused_and_its_call_waits_on(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")
    outputs = ["x" * (MAX_OUTPUT_BYTES + 1), "half \ud800", cast("str", b"x")]

    async def work() -> tuple[list[str], RunState]:
        refused: list[str] = []
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
            await run.call("get_weather", "{}", tool_call_id="call-1")
            for output in outputs:
                with pytest.raises(UsageError) as caught:
                    await run.submit_output("call-1", output)
                refused.append(f"{caught.value.code}: {caught.value.message}")
            await run.submit_output("call-1", "x" * MAX_OUTPUT_BYTES)
            return refused, await run.state()

    assert ran(work()) == (
        [
            "output-invalid: the output has 4,194,305 bytes, more than 4,194,304",
            "output-invalid: the output holds half of a surrogate pair",
            "output-invalid: the output must be a text, not bytes",
        ],
        RunState.IN_PROGRESS,
    )


async def names_of(run: Run) -> list[str]:
    """The names of the functions that a model would be shown."""
    return [cast("dict[str, Any]", each)["function"]["name"] for each in await run.tools()]


def states_of(here: Workspace) -> list[str]:
    """The states of all runs, newest first."""
    return [each["state"] for each in here.run("runs", "list", "--format", "json").document["runs"]]


def test_a_run_ends_as_its_block_does(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")

    async def work() -> None:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime:
            async with runtime.run("ops"):
                pass
            with pytest.raises(ZeroDivisionError):
                async with runtime.run("ops"):
                    raise ZeroDivisionError
            async with runtime.run("ops") as waiting:
                await waiting.call("get_weather", "{}")
            started = asyncio.Event()
            task = asyncio.create_task(forever(runtime, started))
            await started.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def forever(runtime: GovernedRuntime, started: asyncio.Event) -> None:
        async with runtime.run("ops"):
            started.set()
            await asyncio.Event().wait()

    ran(work())

    assert states_of(here) == ["cancelled", "requires_action", "failed", "completed"]


def test_a_cancelled_run_takes_no_further_call(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")

    async def work() -> tuple[RunState, str | None, str | None]:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
            state = await run.cancel()
            handed = await run.call("get_weather", "{}")
            assert isinstance(handed, ToolResultEnvelope)
            return state, (await called(run, "up__search")).code, handed.code

    assert ran(work()) == (RunState.CANCELLED, "run_over", "run_over")
    assert "tools/call" not in asked(here)


def test_an_unknown_assistant_gets_no_run(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")

    async def work() -> None:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("opps"):
            pass

    with pytest.raises(UsageError) as refused:
        ran(work())

    assert (refused.value.code, refused.value.place) == ("unknown-assistant", "assistant.opps")
    assert asked(here) == []


def test_without_a_database_there_is_no_runtime(tmp_path: Path) -> None:
    async def work() -> None:
        async with remit.Runtime.open(tmp_path / "mcp.yaml"):
            pass

    with pytest.raises(NoDatabase):
        ran(work())


def test_an_apply_during_a_run_counts_from_the_next_call_on(tmp_path: Path) -> None:
    here = applied(tmp_path, "search", "fetch")

    async def work() -> list[str | None]:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
            codes = [(await called(run, "up__fetch")).code]
            here.write(FILE.format(surface="locked", tools="search"))
            assert (await asyncio.to_thread(here.apply, "--allow-detach", "1")).code == 0
            codes.append((await called(run, "up__fetch")).code)
            codes.append((await called(run, "up__search")).code)
            return [*codes, *await names_of(run)]

    assert ran(work()) == [None, "unknown_tool", None, "up__search"]


def test_a_tool_attached_during_a_run_is_the_next_runs(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")

    async def work() -> tuple[bool, bool]:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime:
            async with runtime.run("ops") as run:
                here.serve("up", tool("search"), tool("fetch"), methods=str(here.folder / "methods"))
                here.write(FILE.format(surface="locked", tools="search, fetch"))
                assert (await asyncio.to_thread(here.apply)).code == 0
                now = isinstance(await run.call("up__fetch", '{"q": "x"}'), HandOff)
            async with runtime.run("ops") as run:
                names = await names_of(run)
            return now, names == ["up__fetch", "up__search"]

    assert ran(work()) == (True, True)


def test_a_callers_permissions_narrow_the_assistants_and_never_widen_them(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")
    text = FILE.format(surface="locked", tools="search")
    text = text.replace("permissions: []", "permissions: [read]")
    here.write(text.replace("side_effecting: false", "side_effecting: false, required_permission: read"))
    assert here.apply().code == 0

    async def work() -> list[str | None]:
        codes: list[str | None] = []
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime:
            for permissions in (None, ["read"], [], ["write"]):
                async with runtime.run("ops", permissions=permissions) as run:
                    codes.append((await called(run, "up__search")).code)
        return codes

    assert ran(work()) == [None, None, "permission_denied", "permission_denied"]


def test_a_broken_file_stops_no_call_of_what_was_applied(tmp_path: Path) -> None:
    here = applied(tmp_path, "search")
    (here.folder / "mcp.yaml").write_text("version: 1\nmcp: [half", "utf-8")

    async def work() -> ToolResultEnvelope:
        async with remit.Runtime.open(here.folder / "mcp.yaml") as runtime, runtime.run("ops") as run:
            return await called(run, "up__search")

    assert not ran(work()).is_error
