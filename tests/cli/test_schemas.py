"""Every JSON document that a command prints has a schema, in the repository and from `remit schema`, and fits it.

`Workspace` holds the output of every command line in these tests that asks for JSON against its schema; the tests here see
to it that no command is left out.
"""

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import click
import jsonschema_rs
import pytest

from remit.cli.commands.schema import NAMES
from remit.cli.main import cli
from remit.cli.schemas import COMMANDS, schema_named
from remit.cli.terminal import Terminal
from remit.cli.watch_lines import WATCH_LINES, JsonLines
from remit.config.file_set import FileSet
from remit.config.loader import Loaded, Rejected, load
from remit.core.live import Listed, Unreachable, UnreachableReason
from remit.core.watch_ports import Attention
from remit.errors import StoreError
from remit.reconcile.applying import Applied, Failure
from remit.reconcile.watch import Cause, WatchView
from remit.reconcile.watch_servers import ServerState
from remit.render.document import plan_document
from tests.cli.documents import assert_fits
from tests.cli.governed import Rows
from tests.cli.workspace import Workspace
from tests.render.examples import PLAN, REPORT

SCHEMAS = Path(__file__).parents[2] / "schemas"
NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def json_commands(group: click.Command, name: str = "") -> Iterator[str]:
    """Every command with a form in JSON."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for each in group.list_commands(context):
            command = group.get_command(context, each)
            assert command is not None
            yield from json_commands(command, f"{name} {each}".strip())
    elif any("json" in getattr(each.type, "choices", ()) for each in group.params if each.name == "form"):
        yield name


def test_each_command_with_a_form_in_json_has_a_schema():
    assert sorted(json_commands(cli)) == sorted(COMMANDS)
    assert set(COMMANDS.values()) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_in_the_repository_is_the_one_that_the_code_gives(name: str):
    written = (SCHEMAS / f"{name}.schema.json").read_text("utf-8")
    assert jsonschema_rs.meta.is_valid(json.loads(written))
    assert written == json.dumps(schema_named(name), indent=2) + "\n", "write it anew: ./run schemas"


def test_there_is_no_schema_in_the_repository_that_no_command_prints():
    assert sorted(each.name.removesuffix(".schema.json") for each in SCHEMAS.iterdir()) == sorted(NAMES)


def test_a_document_with_a_foreign_key_or_without_one_of_its_own_does_not_fit(here: Workspace, rows: Rows):
    document = here.run("status", "--format", "json").document
    assert_fits("status", document)
    for spoiled in ({**document, "more": 1}, {key: value for key, value in document.items() if key != "applies"}):
        with pytest.raises(AssertionError):
            assert_fits("status", spoiled)


def test_what_each_looking_command_prints_fits_its_schema(here: Workspace, rows: Rows):
    run_id = rows.start()
    rows.call(run_id, {"q": "one"}, output="found")
    asked = rows.ask({"q": "two"})
    here.run("suspend", "server.issues", "--format", "json")
    (here.folder / ".mcp.json").write_text('{"mcpServers": {"a": {"url": "https://a.example.com/mcp"}}}')
    words = ["state list", "state show server.issues", "state show assistant.ops", "state show tool.issues/search"]
    words += ["state show assistant.ops/issues__search", "graph", "blame issues__search", "doctor", "doctor --offline"]
    words += ["status", "discover", "runs list", f"runs show {run_id}", "approvals list", f"approvals show {asked}"]
    words += ["audit tail", "audit verify", "trace list", "history", "history 1", "validate", "config show --origin"]
    words += ["suspend --list", "resume server.issues", "import .mcp.json", "plan", "drift"]
    for line in words:
        ended = here.run(*line.split(), "--format", "json")
        assert ended.code == 0, (line, ended.err)
        assert ended.document["format_version"] == "1.0", line


def test_each_line_of_an_exported_audit_trail_fits_its_schema(here: Workspace, rows: Rows):
    rows.call(rows.start(), {"q": "one"}, output="found")
    lines = [json.loads(line) for line in here.run("audit", "export").out.splitlines()]
    assert {each["type"] for each in lines} == {"event", "heads"}
    for line in lines:
        assert_fits("audit-line", line)


# --- watch -------------------------------------------------------------------------------------------------------------


def told(here: Workspace) -> list[dict[str, Any]]:
    """One line of every kind that a watch can tell, and both sides of those that have two."""
    here.write("version: 1\nmcp: {servers: [{name: a, command: [a]}]}\n")
    loaded = load(FileSet(main=here.folder / "mcp.yaml"))
    here.write("version: 2\n")
    rejected = load(FileSet(main=here.folder / "mcp.yaml"))
    assert isinstance(loaded, Loaded)
    assert isinstance(rejected, Rejected)
    listed = next(each.observation for each in REPORT.discovery if isinstance(each.observation, Listed))
    lost = Unreachable(reason=UnreachableReason.TIMEOUT, detail="30 s")
    document = plan_document(REPORT)
    applied = Applied(plan=PLAN, done=(), vetoes=PLAN.problems, failures=(Failure(assistant="ops", message="no"),))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        view = JsonLines(Terminal.of(colour=False), lambda: NOW)
        view.files(loaded)
        view.rejected(rejected)
        for attention in Attention:
            state = ServerState(server="a", observation=listed, attention=attention, next_in=1.5)
            view.server(state)
            view.server(replace(state, observation=lost, next_in=None))
        for cause in Cause:
            view.plan(document, cause, is_news=cause is Cause.START)
        view.applied(applied, document)
        view.trouble(StoreError("the database is locked", code="database-locked", place="remit.db", hint="wait"))
        view.mended()
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_every_kind_of_line_that_a_watch_emits_fits_the_schema_of_watch(here: Workspace):
    lines = told(here)
    kinds = {name for name in vars(WatchView) if not name.startswith("_")}
    assert {each["event"] for each in lines} == kinds
    for line in lines:
        assert_fits("watch", line)


def test_the_kinds_of_lines_of_a_watch_are_a_closed_set(here: Workspace):
    named = {get_args(each.__annotations__["event"])[0] for each in WATCH_LINES}
    assert named == {name for name in vars(WatchView) if not name.startswith("_")}
    for line in told(here):
        for other in ({**line, "event": "other"}, {**line, "more": None}):
            with pytest.raises(AssertionError):
                assert_fits("watch", other)
