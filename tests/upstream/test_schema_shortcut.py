"""Most schemas are judged by counting in their text; these tests hold that shortcut to the look at every value."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.upstream.schema_check import MAX_DEPTH, MAX_PATTERN, MAX_PATTERNS, Objection, SchemaChecker

MANY_BRACKETS: list[Any] = [[]] * (MAX_DEPTH + 1)
"""Under a keyword that means nothing, so many brackets say nothing about a schema and rule out the shortcut."""


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


EDGES: dict[str, dict[str, Any]] = {
    "as deep as may be": {"type": "object", **nested(MAX_DEPTH - 1)},
    "one level too deep": nested(MAX_DEPTH + 1),
    "longest pattern": {"type": "object", "pattern": "a" * MAX_PATTERN},
    "pattern one too long": {"type": "object", "pattern": "a" * (MAX_PATTERN + 1)},
    "pattern too long, all quotes": {"type": "object", "pattern": '"' * (MAX_PATTERN + 1)},
    "pattern too long, all backslashes": {"type": "object", "pattern": "\\\\" * MAX_PATTERN},
    "too many patterns in one bracket": {"patternProperties": {f"^{n}$": True for n in range(MAX_PATTERNS + 1)}},
    "too many values in one bracket": {"enum": [0] * 140_000},
    "remote reference": {"type": "object", "$ref": "https://example.com/schema"},
    "reference to itself": {"type": "object", "$ref": "#"},
    "NaN": {"type": "object", "maximum": math.nan},
    "surrogate": {"type": "object", "description": "\ud800"},
    "surrogate in a key": {"type": "object", "properties": {"\ud800": {}}},
    "no object": {"type": "array"},
    "no schema": {"type": "object", "properties": {"a": {"type": 7}}},
}


def verdict(schema: dict[str, Any]) -> Objection | None:
    return SchemaChecker().check(schema, needs_object=True)


@pytest.mark.parametrize("schema", EDGES.values(), ids=EDGES)
def test_a_verdict_by_the_text_is_the_one_by_every_value(schema: dict[str, Any]):
    assert verdict(schema) == verdict({**schema, "x-brackets": MANY_BRACKETS})


NAMES = st.sampled_from(
    ["$defs", "$ref", "$dynamicRef", "pattern", "patternProperties", "properties", "items", "enum", "type", "not", "a"]
)
SCALARS = st.sampled_from(["object", "#", "#/x", "x:y", "(", '"', "\\", "\ud800", True, None, 7, 1.5, math.inf])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


@settings(max_examples=300)
@given(schema=st.dictionaries(NAMES, VALUES, max_size=5))
def test_whatever_a_schema_holds_both_ways_say_the_same(schema: dict[str, Any]):
    by_text = verdict(schema)
    by_value = verdict({**schema, "x-brackets": MANY_BRACKETS})
    assert (by_text and by_text.reason) == (by_value and by_value.reason)
