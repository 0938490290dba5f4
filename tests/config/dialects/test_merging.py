"""Imported servers go into an mcp.yaml that is there without touching what stands in it."""

import difflib
import json
from pathlib import Path

import pytest

from remit.config.dialects.merging import merged_text
from tests.config.dialects.support import desired_of, imported
from tests.config.reading import EXAMPLE

SOURCE = json.dumps(
    {
        "mcpServers": {
            "new": {"httpUrl": "https://n.example.com/mcp", "includeTools": ["a"], "description": "two\nlines: # x"},
            "other one": {"command": "x"},
        }
    }
)

PLAIN = """\
# top
version: 1   # one
workspace: "acme"

mcp:
  servers:
    # first
    - name: old
      command: [x, "{python}"]   # a comment
      tools:
        a: {surface: locked}

    # behind the last server

# before the assistants
assistants:
  - name: ops
    tools:
      - server: old
        include:
          - a

# end
"""


def merged(folder: Path, text: str, assistant: str | None = None) -> str:
    """The text with the two servers of the source in it; it loads, and so did the text."""
    desired_of(text)
    out = merged_text(text, imported(folder, ".gemini/settings.json", SOURCE).servers, assistant=assistant)
    names = [each.name for each in desired_of(out).servers]
    assert names[-2:] == ["new", "other one"]
    return out


def changes(before: str, after: str) -> list[str]:
    """The lines that were added (`+`) and removed (`-`)."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line.startswith(("+", "-"))]


def test_servers_follow_the_last_one_and_every_other_line_stays(tmp_path: Path) -> None:
    out = merged(tmp_path, PLAIN)
    assert changes(PLAIN, out) == [
        "+     # description: two\\nlines: # x",
        "+     # allowed there: a (`--assistant NAME` makes it a selection)",
        "+     - name: new",
        '+       url: "https://n.example.com/mcp"',
        '+     - name: "other one"',
        "+       namespace: other_one",
        "+       command: [x]",
    ]
    assert out.index("name: new") < out.index("# behind the last server") < out.index("# before the assistants")


def test_selections_follow_those_of_the_assistant_that_is_named(tmp_path: Path) -> None:
    assert changes(PLAIN, merged(tmp_path, PLAIN, "ops"))[-2:] == ["+       - server: new", "+         include: [a]"]
    out = merged(tmp_path, PLAIN, "fresh")
    assert out.endswith(
        "          - a\n  - name: fresh\n    tools:\n      - server: new\n        include: [a]\n\n# end\n"
    )
    assert [each.name for each in desired_of(out).assistants] == ["ops", "fresh"]


GROWING = {
    "without servers": "version: 1\n# nothing yet",
    "without the key servers": "version: 1\nmcp:\n   default_envelope: {surface: locked}\n# end\nowner: me\n",
    "with an indent of its own": "version: 1\nmcp:\n servers:\n  -   name: old\n      command: [old]\n",
    "without an indent": "mcp:\n  servers:\n  - command: [old]\n    name: old\nversion: 1\n",
    "with a block text": "version: 1\nmcp:\n  servers:\n    - name: old\n      command: [old]\n      env:\n        A: |\n          b\n          c\n\nowner: me\n",
    "with an assistant without tools": "version: 1\nassistants:\n  - name: ops\n    permissions: [a]\n",
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_no_line_is_lost_whatever_the_file_looks_like(tmp_path: Path, name: str) -> None:
    out = merged(tmp_path, GROWING[name], "ops")
    assert not [line for line in changes(GROWING[name], out) if line.startswith("-")]
    assert [each.name for each in desired_of(out).assistants] == ["ops"]


IN_BRACKETS = {
    "an empty list": "# top\nversion: 1\nmcp:\n  servers: []  # none\nowner: me\n",
    "a list": "# top\nversion: 1\nmcp:\n  servers: [{name: old, command: [old]}]\nowner: me\n",
    "all of it": "# top\nversion: 1\nmcp: {servers: [{name: old, command: [old]}]}\nowner: me\n",
    "the assistants": "# top\nversion: 1\nassistants: [{name: ops}]\nowner: me\n",
}


@pytest.mark.parametrize("name", IN_BRACKETS)
def test_lists_in_brackets_grow_too_and_comments_stay(tmp_path: Path, name: str) -> None:
    out = merged(tmp_path, IN_BRACKETS[name], "ops")
    assert out.startswith("# top\nversion: 1\n")
    assert "owner: me" in out
    assert "# description: two\\nlines: # x" in out
    assert [each.name for each in desired_of(out).assistants] == ["ops"]
    [selection] = desired_of(out).assistants[0].selections
    assert selection.server == "new"


def test_line_ends_stay_those_of_the_file(tmp_path: Path) -> None:
    out = merged(tmp_path, PLAIN.replace("\n", "\r\n"), "ops")
    assert out.replace("\r\n", "") == out.replace("\r\n", "").replace("\n", "")


def test_what_stood_in_the_file_means_the_same_afterwards(tmp_path: Path) -> None:
    before, after = desired_of(EXAMPLE), desired_of(merged(tmp_path, EXAMPLE, "ops"))
    assert [(each.name, each.endpoint, each.connection, each.envelope) for each in after.servers[:2]] == [
        (each.name, each.endpoint, each.connection, each.envelope) for each in before.servers
    ]
    assert [each.server for each in after.assistants[0].selections] == ["analytics", "new"]


def test_nothing_to_add_changes_nothing() -> None:
    assert merged_text(PLAIN, (), assistant="ops") == PLAIN
