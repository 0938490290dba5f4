"""Each numbered folder of examples/ is a golden test: its steps run in a copy, and every output is the one that is kept.

`REMIT_WRITE_EXAMPLES=1 ./run test tests/examples` writes the outputs anew. What differs from machine to machine (paths, times,
the user, random ids) is replaced by a word.
"""

import getpass
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.workspace import Workspace

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(each.name for each in EXAMPLES.glob("[0-9][0-9]-*"))
WRITE = os.environ.get("REMIT_WRITE_EXAMPLES") == "1"
EXPECTED = "expected"

_EXIT = re.compile(r"# exit (\d+)")
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"), "TIME"),
    (re.compile(r'("lineage": )"[^"]+"'), r'\1"LINEAGE"'),
    (re.compile(r"(lineage )[0-9a-f-]{8,}"), r"\1LINEAGE"),
    (re.compile(r"(remit|python|mcp|sqlite) \d+\.\d+[0-9a-z.]*"), r"\1 VERSION"),
    (re.compile(r"\b\d+\.\d\d s\b"), "SECONDS"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of steps.txt: variables, the words of a command, the exit code that it ends with."""

    number: int
    environ: dict[str, str]
    words: list[str]
    code: int

    @property
    def golden(self) -> str:
        """The file in `expected/` that holds its output."""
        suffix = "json" if "json" in self.words else "txt"
        return f"{self.number:02}-{self.words[1]}.{suffix}"


def steps_of(folder: Path) -> Iterator[Step]:
    lines = (folder / "steps.txt").read_text("utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        words = shlex.split(line, comments=True)
        environ: dict[str, str] = {}
        while words and "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environ[name] = value
        code = _EXIT.search(line)
        yield Step(number, environ, words, int(code[1]) if code else 0)


def told(text: str, here: Path) -> str:
    """An output as it would be on any machine."""
    for varying, word in (
        (str(here.resolve()), "HERE"),
        (str(here), "HERE"),
        (sys.executable, "PYTHON"),
        (f"user:{getpass.getuser()}", "user:NAME"),
    ):
        text = text.replace(varying, word)
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text


def run(step: Step, here: Workspace) -> str:
    """The output of a step, stdout before stderr, JSON alone. Checks its exit code."""
    program, *arguments = step.words
    if program == "cp":
        shutil.copy(here.folder / arguments[0], here.folder / arguments[1])
        return ""
    assert program == "remit", step
    ended = here.run(*arguments, **step.environ)
    assert ended.code == step.code, f"{step}\n{ended.out}{ended.err}"
    beside = f"--- stderr\n{ended.err}" if ended.err and "json" not in step.words else ""
    return told(ended.out + beside, here.folder)


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """The folder of an example, copied beside the server that all of them share."""
    shutil.copy(EXAMPLES / "serve.py", tmp_path / "serve.py")
    folder = tmp_path / request.param
    shutil.copytree(EXAMPLES / request.param, folder, ignore=shutil.ignore_patterns(EXPECTED, ".remit", "*.db*"))
    return Workspace(folder)


@pytest.mark.parametrize("copy", FOLDERS, indirect=True)
def test_an_example_shows_what_it_says(copy: Workspace):
    kept = EXAMPLES / copy.folder.name / EXPECTED
    outputs = {step.golden: run(step, copy) for step in steps_of(copy.folder) if step.words}
    outputs = {name: text for name, text in outputs.items() if text}
    if WRITE:
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for name, text in outputs.items():
            (kept / name).write_text(text, "utf-8")
    assert outputs == {each.name: each.read_text("utf-8") for each in kept.iterdir()}


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_has_a_plan_as_text_and_as_json_and_says_what_it_is_about(name: str):
    folder = EXAMPLES / name
    number = name.partition("-")[0]
    assert (folder / "README.md").read_text("utf-8").startswith(f"# {number}: ")
    plans = [each for each in sorted((folder / EXPECTED).iterdir()) if re.search(r"-plan\.(txt|json)$", each.name)]
    assert {each.suffix for each in plans} == {".txt", ".json"}
    for each in plans:
        if each.suffix == ".json":
            document: dict[str, Any] = json.loads(each.read_text("utf-8"))
            assert document["format_version"] == "1.0"


def test_the_examples_are_numbered_without_a_gap():
    assert [name.partition("-")[0] for name in FOLDERS] == [f"{number:02}" for number in range(1, len(FOLDERS) + 1)]
    assert len(FOLDERS) == 8
