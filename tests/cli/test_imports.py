"""Start-up stays cheap: which libraries each command loads is pinned (DESIGN.md section 14)."""

import subprocess
import sys

import pytest

from tests.cli.workspace import Workspace, clean_environment, tool

HEAVY = {
    "alembic", "anyio", "asyncio", "cryptography", "deepdiff", "httpx2", "jsonschema_rs", "mcp", "mcp_types", "pydantic",
    "remit.reconcile.diff", "remit.upstream.discovery", "rich", "sqlalchemy", "sqlalchemy.orm", "starlette", "uvicorn",
    "watchfiles", "yaml",
}  # fmt: skip

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a]
"""


def loaded(here: Workspace, *arguments: str) -> set[str]:
    """The heavy libraries in memory when the command is over."""
    script = (
        "import sys\nfrom remit.cli.main import run\n"
        f"code = run({list(arguments)!r})\n"
        f"print('LOADED', *sorted({sorted(HEAVY)!r} & sys.modules.keys()))\nassert code == 0, code\n"
    ).replace(f"{sorted(HEAVY)!r} &", f"set({sorted(HEAVY)!r}) &")
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=here.folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(ended.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)], ids=" ".join)
def test_help_loads_the_command_line_library_only(here: Workspace, arguments: tuple[str, ...]):
    assert loaded(here, *arguments) == set()


def test_the_help_of_a_command_loads_nothing_that_connects_or_stores(here: Workspace):
    assert loaded(here, "plan", "--help") <= {"asyncio", "yaml"}


def test_validate_loads_yaml_and_neither_network_nor_database(here: Workspace):
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    assert loaded(here, "validate") == {"yaml"}


def test_a_cached_plan_without_changes_loads_no_protocol_no_diff_and_no_orm(here: Workspace):
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    assert here.apply().code == 0
    assert loaded(here, "plan", "--refresh", "cached") <= {"asyncio", "sqlalchemy", "yaml"}


def test_a_cached_drift_loads_no_protocol_and_no_diff(here: Workspace):
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    assert here.apply().code == 0
    assert loaded(here, "drift", "--refresh", "cached") <= {"asyncio", "sqlalchemy", "yaml"}
    assert loaded(here, "history") <= {"asyncio", "sqlalchemy", "yaml"}


READINGS = [
    ("audit", "tail"), ("audit", "verify"), ("audit", "export"), ("trace", "list"),
]  # fmt: skip
EMERGENCIES = [
    ("suspend", "server.issues"), ("suspend", "--list"), ("resume", "server.issues"), ("approvals", "list"), ("runs", "list"),
]  # fmt: skip


def test_readings_and_emergencies_load_the_database_without_orm_and_of_the_file_only_what_reads_it(here: Workspace):
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    assert here.apply().code == 0
    for command in READINGS:
        assert loaded(here, *command) <= {"asyncio", "sqlalchemy"}, command
    for command in EMERGENCIES:
        assert loaded(here, *command) <= {"asyncio", "sqlalchemy", "yaml"}, command


def test_the_completion_script_loads_the_command_line_library_only(here: Workspace):
    assert loaded(here, "completion", "bash") == set()


@pytest.mark.parametrize("form", ["markdown", "github"])
def test_no_form_of_output_loads_a_library_of_its_own(here: Workspace, form: str):
    here.serve("issues", tool("a"))
    here.write(CONFIG)
    assert here.apply().code == 0
    assert loaded(here, "plan", "--refresh", "cached", "--format", form) <= {"asyncio", "sqlalchemy", "yaml"}
