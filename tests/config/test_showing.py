"""The configuration written down again: reading it gives the same, and every line says where it came from."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.config.findings import Findings
from remit.config.nodes import MapNode
from remit.config.showing import origins_of, value_of, yaml_text
from remit.config.yaml_nodes import parse_yaml
from remit.core.canonical import Json
from tests.config.reading import EXAMPLE
from tests.config.test_overlays import laid_over

# JSON writes anything beyond the first plane as a surrogate pair, which is no YAML.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), max_size=12)
WORDS = [
    "no",
    "On",
    "null",
    "~",
    "",
    "1e3",
    "0x1F",
    "0o7",
    "12:30",
    "- a",
    "a: b",
    "#",
    "a #b",
    "{python}",
    "${env:X}",
    "\x85",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS | st.sampled_from(WORDS),
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(TEXTS.filter(lambda key: key != "<<"), below, max_size=4)
    ),
    max_leaves=20,
)


def tree_of(text: str) -> MapNode:
    findings = Findings({"f": text})
    node = parse_yaml(text, "f", findings)
    assert isinstance(node, MapNode), findings.diagnostics()
    return node


@given(VALUES)
def test_reading_what_was_written_gives_the_same_values(value: Json) -> None:
    text = yaml_text(tree_of(json.dumps({"key": value})), origin=False)
    assert value_of(tree_of(text)) == {"key": value}
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize("word", WORDS)
def test_a_text_that_looks_like_something_else_is_quoted(word: str) -> None:
    text = yaml_text(tree_of(json.dumps({"key": word})), origin=False)
    assert text.startswith('key: "')


def test_each_line_names_the_file_that_set_it() -> None:
    loaded = laid_over(
        "mcp:\n  servers:\n    - {name: tickets, url: https://prod.example.com/mcp}\n"
        "assistants:\n  - name: ops\n    permissions: [query_analytics]\n",
        EXAMPLE.replace("version: 1", "version: 1\ninclude: []"),
    )
    shown = yaml_text(loaded.tree, origin=True).splitlines()
    assert all("  # mcp.yaml:" in line or "  # envs/prod.yaml:" in line for line in shown)
    told = {line.split("#")[0].strip(): line.split("# ")[-1] for line in shown}
    assert told['url: "https://prod.example.com/mcp"'] == "envs/prod.yaml:4"
    assert told['Authorization: "Bearer ${env:TICKETS_TOKEN}"'] == "mcp.yaml:24"
    assert told["- query_analytics"] == "envs/prod.yaml:7"
    assert told["- name: tickets"] == "mcp.yaml:22"
    assert not any("include: []" in line for line in shown)


def test_every_single_value_has_its_place_in_the_document() -> None:
    loaded = laid_over("trace_days: 3\n", EXAMPLE)
    value: Any = value_of(loaded.tree)
    for origin in origins_of(loaded.tree):
        below = value
        for step in origin["path"]:
            below = below[step]
        assert not below or not isinstance(below, dict | list)
    assert origins_of(loaded.tree)[-1] == {"path": ["trace_days"], "file": "envs/prod.yaml", "line": 2, "column": 13}
