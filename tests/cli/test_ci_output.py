"""What a pipeline reads of a run: files, annotations and exit codes, and no word in them that a server put there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from remit.render.plan_schema import summary_schema
from tests.cli.workspace import Ended, Workspace, tool
from tests.render.reading import commands_in, structure_of

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
        include: [a, "g*"]
"""
FORGED = (
    "\n::error file=x,line=1::forged\r\n::add-mask::a\n##[error]forged\n##vso[task.setvariable variable=a]b\u2028"
    "::stop-commands::x\n```\n</details>\n<!-- remit plan other --> @octocat #1 ![x](https://evil.example.com) `x\x1b[31m"
)
HOSTILE: dict[str, Any] = {
    "say": {"": f"not json {FORGED}\n"},
    "stderr": FORGED,
}


def hostile_tools() -> list[dict[str, Any]]:
    return [
        tool("a", FORGED, title=FORGED, annotations={"title": FORGED}),
        tool("g1", FORGED),
        tool("::error::x"),
        tool("b\n::error::x"),
        {"name": "g2", "inputSchema": {"type": FORGED}},
    ]


@pytest.fixture
def planned(here: Workspace) -> Workspace:
    here.serve("issues", tool("a"), tool("g1"))
    here.write(CONFIG)
    return here


@pytest.fixture
def attacked(planned: Workspace) -> Workspace:
    """Applied while the server was kind; now it forges whatever it can."""
    assert planned.apply().code == 0
    planned.serve("issues", *hostile_tools(), **HOSTILE)
    return planned


def outputs_in(path: Path) -> dict[str, str]:
    """What the runner reads from GITHUB_OUTPUT."""
    values: dict[str, str] = {}
    lines = iter(path.read_text("utf-8").splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        values[name] = "\n".join(iter(lambda: next(lines), delimiter))
    return values


def on_github(here: Workspace, *arguments: str) -> tuple[Ended, str, dict[str, str]]:
    """Run a command as a step: how it ended, the job summary and the outputs."""
    summary, output = here.folder / "step-summary.md", here.folder / "step-output"
    for path in (summary, output):
        path.unlink(missing_ok=True)
        path.touch()
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    ended = here.run(*arguments, **environ)
    return ended, summary.read_text("utf-8"), outputs_in(output)


# -- GitHub ------------------------------------------------------------------------------------------------------------


def test_a_plan_is_annotated_summarised_and_put_out(planned: Workspace):
    planned.run("db", "upgrade")
    ended, summary, outputs = on_github(planned, "plan", "--format", "github")
    document = planned.plan().document
    assert (ended.code, ended.err) == (0, "")
    (held,) = commands_in(ended.out)
    assert (held.name, held.properties) == (
        "warning",
        {"file": "mcp.yaml", "line": "11", "col": "22", "title": "held attach assistant.ops/issues__g1"},
    )
    assert summary == planned.run("plan", "--format", "markdown").out
    assert {name: outputs[name] for name in ("has_changes", "held", "incomplete", "digest", "attach")} == {
        "has_changes": "true",
        "held": "1",
        "incomplete": "false",
        "digest": document["digest"],
        "attach": "1",
    }
    assert json.loads(outputs["counts"]) == document["summary"]


def test_without_a_job_summary_the_plan_is_on_stderr_all_the_same(planned: Workspace):
    planned.run("db", "upgrade")
    ended = planned.run("plan", "--format", "github")
    assert ended.err == planned.run("plan").out
    assert len(commands_in(ended.out)) == 1


def test_an_apply_says_what_it_did_and_has_changes_only_where_it_did_something(planned: Workspace):
    planned.run("db", "upgrade")
    ended, summary, outputs = on_github(planned, "apply", "--auto-approve", "--format", "github")
    assert (ended.code, outputs["has_changes"], outputs["attach"]) == (0, "true", "1")
    assert summary.startswith("<!-- remit apply demo -->\n")
    assert "- `Applied: 1 attach, 1 register server, 1 create assistant. Serial 1.`\n" in summary
    assert [each.name for each in commands_in(ended.out)] == ["warning"]
    again, _, outputs = on_github(planned, "apply", "--auto-approve", "--format", "github")
    assert (again.code, outputs["has_changes"], outputs["held"]) == (0, "false", "1")


def test_an_apply_that_a_safeguard_refused_is_an_error_and_changed_nothing(planned: Workspace):
    assert planned.apply().code == 0
    planned.write(CONFIG.replace('[a, "g*"]', '["x*"]'))
    ended, summary, outputs = on_github(planned, "apply", "--auto-approve", "--format", "github")
    assert (ended.code, outputs["has_changes"]) == (3, "false")
    assert ("error", "veto assistant-emptied") in [
        (each.name, each.properties.get("title")) for each in commands_in(ended.out)
    ]
    assert "**Refused by a safeguard:** assistant-emptied." in summary


def test_an_incomplete_plan_that_is_refused_for_it_is_put_out_too(planned: Workspace):
    assert planned.apply().code == 0
    planned.serve("issues", die_on={"tools/list": 1})
    ended, _, outputs = on_github(planned, "apply", "--auto-approve", "--require-complete", "--format", "github")
    assert (ended.code, outputs["incomplete"], outputs["has_changes"]) == (4, "true", "false")


def test_a_saved_plan_is_shown_in_every_form(planned: Workspace):
    assert planned.run("plan", "--out", "p.json").code == 0
    for form in ("text", "markdown", "github"):
        shown, of_plan = planned.run("show", "p.json", "--format", form), planned.run("plan", "--format", form)
        assert (shown.code, shown.out) == (0, of_plan.out)
    assert planned.run("show", "p.json", "--format", "json").document == planned.plan().document


def test_mistakes_in_the_file_are_annotated_at_their_lines(here: Workspace):
    (here.folder / "mcp.yaml").write_text("version: 1\nworkspace: demo\nmcp: {servres: []}\n", "utf-8")
    for arguments in (("validate",), ("plan",), ("apply", "--create-db"), ("drift",)):
        ended = here.run(*arguments, "--format", "github")
        assert ended.code == 1
        assert [(each.name, each.properties) for each in commands_in(ended.out)] == [
            ("error", {"file": "mcp.yaml", "line": "3", "col": "7", "title": "unknown-key"})
        ]
        assert "mcp.yaml:3:7: error unknown-key" in ended.err


def test_a_full_job_summary_is_left_as_it_is(planned: Workspace):
    full = planned.folder / "full.md"
    full.write_text("x" * 899_000, "utf-8")
    ended = planned.run("plan", "--format", "github", GITHUB_STEP_SUMMARY=str(full))
    assert (ended.code, full.stat().st_size) == (0, 899_000)
    assert "GITHUB_STEP_SUMMARY is full: nothing was added" in ended.err


def test_a_job_summary_that_cannot_be_written_is_an_error_with_its_code(planned: Workspace):
    ended = planned.run("plan", "--format", "github", GITHUB_STEP_SUMMARY=str(planned.folder / "no" / "such"))
    assert (ended.code, "error output-unwritable: " in ended.err) == (1, True)


# -- any CI ------------------------------------------------------------------------------------------------------------


def test_a_summary_file_has_five_keys_for_any_pipeline(planned: Workspace):
    assert planned.run("plan", "--summary", "s.json").code == 0
    document, summary = planned.plan().document, json.loads((planned.folder / "s.json").read_text("utf-8"))
    assert summary == {
        "format_version": "1.0",
        "has_changes": True,
        "held": 1,
        "incomplete": False,
        "digest": document["digest"],
        "counts": document["summary"],
    }
    assert jsonschema_rs.validator_for(summary_schema()).is_valid(summary)


def test_an_apply_writes_what_it_did_into_its_summary_file(planned: Workspace):
    assert planned.apply("--summary", "s.json").code == 0
    assert json.loads((planned.folder / "s.json").read_text("utf-8"))["has_changes"] is True
    assert planned.apply("--summary", "s.json").code == 0
    assert json.loads((planned.folder / "s.json").read_text("utf-8"))["has_changes"] is False


@pytest.mark.parametrize("command", ["plan", "apply", "drift"])
def test_a_run_that_fails_leaves_no_summary_of_an_earlier_one(planned: Workspace, command: str):
    (planned.folder / "s.json").write_text('{"has_changes": false}', "utf-8")
    (planned.folder / "mcp.yaml").write_text("version: 2\n", "utf-8")
    assert planned.run(command, "--summary", "s.json").code == 1
    assert not (planned.folder / "s.json").exists()


def test_a_summary_file_that_cannot_be_written_is_an_error_with_its_code(planned: Workspace):
    ended = planned.run("plan", "--summary", "no/such/s.json")
    assert (ended.code, "error output-unwritable: no/such/s.json: " in ended.err) == (1, True)


# -- nothing can be forged ---------------------------------------------------------------------------------------------

PLAIN = (
    ("plan",), ("plan", "--format", "json"), ("plan", "--format", "markdown"), ("discover",),
    ("discover", "--format", "json"), ("drift",), ("drift", "--format", "json"), ("drift", "--format", "markdown"),
    ("status",), ("history",), ("history", "1"), ("apply", "--auto-approve"), ("validate",),
)  # fmt: skip


@pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
def test_no_output_on_ci_holds_a_command_that_a_server_wrote(attacked: Workspace, arguments: tuple[str, ...]):
    ended = attacked.run(*arguments, GITHUB_ACTIONS="true", CI="true")
    assert ended.code in (0, 2, 4)
    assert (commands_in(ended.out), commands_in(ended.err)) == ([], [])
    assert "\x1b" not in ended.out + ended.err


def test_a_server_that_cannot_be_listed_forges_nothing_with_its_error(attacked: Workspace):
    for options in ({"error_on": {"tools/list": [-1, FORGED]}}, {"error_on": {"initialize": [-1, FORGED]}}):
        attacked.serve("issues", tool("a"), **HOSTILE, **options)
        for command in ("plan", "discover", "drift"):
            ended = attacked.run(command, GITHUB_ACTIONS="true")
            assert ended.code == 4
            assert commands_in(ended.out + ended.err) == []


def test_a_hostile_file_forges_nothing_in_its_own_diagnostics(here: Workspace):
    (here.folder / "mcp.yaml").write_text(
        'version: 1\n"::error::x": 1\n"##[error]x": 2\nworkspace: "::error::x"\n', "utf-8"
    )
    for command in ("validate", "plan"):
        ended = here.run(command, GITHUB_ACTIONS="true")
        assert (ended.code, commands_in(ended.out + ended.err)) == (1, [])


@pytest.mark.parametrize("command", ["plan", "drift", "apply"])
def test_annotations_outputs_and_job_summary_hold_no_words_of_a_server_but_quoted(attacked: Workspace, command: str):
    approve = ("--auto-approve",) if command == "apply" else ()
    ended, summary, outputs = on_github(attacked, command, *approve, "--format", "github")
    commands = commands_in(ended.out)
    assert {each.name for each in commands} <= {"error", "warning", "notice"}
    assert len(commands) == len(ended.out.splitlines())
    assert {key for each in commands for key in each.properties} <= {"file", "line", "col", "title"}
    assert commands_in(ended.err) == []
    assert all("forged" not in value and "octocat" not in value for value in outputs.values())
    assert summary.count("<!--") == 1
    assert not [content for kind, _, content in structure_of(summary) if "octocat" in content and kind != "fence"]


def test_json_in_a_log_is_still_the_same_json(attacked: Workspace):
    described = [each["after"]["definition"]["description"] for each in attacked.plan().document["held"]]
    assert FORGED in described


def test_a_warning_of_our_own_that_quotes_a_server_is_one_line(attacked: Workspace):
    script = (
        "import logging\nfrom remit.cli.logs import configure_logging\nconfigure_logging()\n"
        "logging.getLogger('remit.test').warning('it said %s', '\\n::error::x\\x1b[31m')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True, env={**os.environ}
    )
    assert ended.stderr == "remit: warning: it said \\n::error::x\\x1b[31m\n"
