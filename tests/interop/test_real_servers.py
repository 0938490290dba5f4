import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.workspace import Workspace
from tests.interop.cases import CASES, Case, connected
from tests.interop.install import Registry
from tests.interop.page import Row

# The first test that needs a registry's servers installs them.
pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(900)]

MARK = "WORKSPACE_UNDER_TEST"


def configured(case: Case, connection: dict[str, Any]) -> dict[str, Any]:
    """A file in which `named` selects one tool by name and `globbed` everything."""
    selections = {"named": [case.chosen], "globbed": ["*"]}
    return {
        "version": 1,
        "workspace": "interop",
        "mcp": {"servers": [{"name": "real", **connection}]},
        "assistants": [
            {"name": name, "tools": [{"server": "real", "include": include}]} for name, include in selections.items()
        ],
    }


def processes_with(mark: str) -> list[str]:
    """The processes that have a text in their environment; none where the system does not show it."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in entry.read_bytes():
                found.append(entry.parent.name)
        except OSError:
            continue
    return found


def digests(status: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What each assistant holds: digests by remote name."""
    return {
        assistant["name"]: {tool["remote_name"]: tool["definition_digest"] for tool in assistant["tools"]}
        for assistant in status["assistants"]
    }


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_real_server_is_discovered_applied_and_planned_empty(
    case: Case, here: Workspace, programs: Callable[[Registry], Path], rows: list[Row]
):
    if case.repository:
        subprocess.run(["git", "init", "--quiet", str(here.folder / "repository")], check=True, timeout=20)
    with connected(case, programs(case.registry), here.folder) as connection:
        if "command" in connection:
            connection["env"][MARK] = str(here.folder)
        here.write(json.dumps(configured(case, connection)))

        began = time.monotonic()
        discovered = here.run("discover", "--format", "json")
        seconds = time.monotonic() - began
        assert discovered.code == 0, discovered.err
        [server] = discovered.document["servers"]
        advertised = {tool["remote_name"]: tool["definition_digest"] for tool in server["tools"]}
        assert tuple(advertised) == case.tools
        assert tuple(each["remote_name"] for each in server["quarantined"]) == case.quarantined
        assert (server["era"], server["protocol_version"]) == (case.era, case.protocol)

        plan = here.plan()
        assert plan.code == 0, plan.err
        held = plan.document["held"]
        assert plan.done == {"register_server": 1, "create_assistant": 2, "attach": 1, "held": len(case.tools)}
        assert {(each["assistant"], *each["held_because"]) for each in held} == {("globbed", "live_not_accepted")}

        applied = here.apply()
        assert applied.code == 0, applied.err
        assert [each["op"] for each in applied.document["done"]] == [each["op"] for each in plan.document["operations"]]

        accept = [f"--accept={each['address']}@{each['after']['definition_digest']}" for each in held]
        accepted = here.apply(*accept)
        assert accepted.code == 0, accepted.err
        assert [each["op"] for each in accepted.document["done"]] == ["attach"] * len(case.tools)

        second = here.run("plan", "--format", "json", "--detailed-exitcode")
        assert (second.code, second.done) == (0, {"unchanged": len(case.tools) + 1})
        assert second.document["operations"] == second.document["held"] == second.document["problems"] == []
        status = here.run("status", "--format", "json").document
        assert digests(status) == {"globbed": advertised, "named": {case.chosen: advertised[case.chosen]}}
        assert processes_with(f"{MARK}={here.folder}") == []
    rows.append(
        Row(
            server=case.name,
            package=case.package,
            version=case.version,
            transport=case.transport,
            era=server["era"],
            protocol=server["protocol_version"],
            tools=len(server["tools"]),
            unusable=len(server["quarantined"]),
            seconds=seconds,
            date=server["observed_at"][:10],
        )
    )
