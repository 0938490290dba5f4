"""What the documentation tells people to type exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

from remit.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/ci.md", "docs/lock.md", "docs/looking.md", "docs/runtime.md")
CONTEXT = click.Context(cli)


def commands_in(text: str) -> Iterator[tuple[click.Command, list[str]]]:
    """Each `remit COMMAND ...` of a text with its long flags, up to the end of the line or the code span."""
    for found in re.finditer(r"(?:^|[`$(\s\[])remit ([a-z]+)((?: +[^\s`|>#)\]]+)*)", text, re.MULTILINE):
        command = cli.get_command(CONTEXT, found[1])
        if isinstance(command, click.Group):
            [word] = re.findall(r"^ +([a-z]+)", found[2]) or [""]
            assert not word or word in command.commands, found[0]
            command = command.commands.get(word, command)
        if command is not None:
            yield command, re.findall(r"--[a-z-]+", found[2])


@pytest.mark.parametrize("page", PAGES)
def test_every_flag_that_is_shown_belongs_to_its_command(page: str):
    shown = list(commands_in((ROOT / page).read_text("utf-8")))
    assert len(shown) > 10
    for command, flags in shown:
        known = {flag for parameter in command.params for flag in parameter.opts}
        assert set(flags) <= known, command.name


def test_the_readme_lists_every_command():
    listed = set(re.findall(r"^\| `remit ([a-z]+)", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE))
    assert listed == set(cli.list_commands(CONTEXT))


def test_the_variables_that_a_stdio_server_gets_are_those_of_the_sdk():
    text = (ROOT / "docs/configuration.md").read_text("utf-8")
    [named] = re.findall(r"allow-list of the MCP SDK[^(]*\(([^)]*)\)", text)
    assert re.findall(r"`(\w+)`", named) == list(DEFAULT_INHERITED_ENV_VARS)


def test_the_recipes_are_yaml_with_jobs_that_run_remit():
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/ci.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    github, gitlab, hooks = map(yaml.safe_load, blocks)
    whole = {
        name: yaml.safe_load((ROOT / "examples" / "ci" / f"{name}.yml").read_text("utf-8"))
        for name in ("github-actions", "gitlab-ci")
    }
    for workflow in (github, whole["github-actions"]):
        used = {
            job: [step["with"] for step in each["steps"] if step.get("uses") == "OWNER/remit@COMMIT"]
            for job, each in workflow["jobs"].items()
        }
        assert used == {job: [{"command": job}] for job in ("plan", "apply", "drift")}
    for pipeline in (gitlab, whole["gitlab-ci"]):
        assert {job: [line for line in pipeline[job]["script"] if line.startswith("remit")] for job in gitlab} == {
            "plan": [
                'remit plan --untrusted --out "$out/plan.json" --summary "$out/summary.json" || code=$?',
                "remit lock --check",
            ],
            "apply": ["remit apply --auto-approve --summary summary.json"],
            "drift": ["remit drift --summary summary.json"],
        }
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [each["id"] for each in hooks["repos"][0]["hooks"]] == [each["id"] for each in offered]
    for hook in offered:
        [(command, flags)] = commands_in(hook["entry"])
        assert set(flags) <= {flag for parameter in command.params for flag in parameter.opts}
