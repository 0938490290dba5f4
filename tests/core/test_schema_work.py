"""When a schema applies to one value over and over, and when it only looks like it."""

import time
from typing import Any

import pytest

from remit.core.canonical import Json, JsonObject
from remit.core.schema_work import multiplies, weight_of


def nested(depth: int, leaf: Json = None) -> Json:
    value = leaf
    for _ in range(depth):
        value = {"c": value}
    return value


def below(target: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"c": {"$ref": f"#/$defs/{target}"}}}


def twice(keyword: str) -> JsonObject:
    return {**below("n"), "$defs": {"n": {keyword: [below("n"), below("n")]}}}


CHAIN: JsonObject = {
    **below("n0"),
    "$defs": {**{f"n{at}": {"anyOf": [below(f"n{at + 1}")] * 2} for at in range(60)}, "n60": {}},
}
FILTER: JsonObject = {
    "$ref": "#/$defs/filter",
    "$defs": {
        "filter": {
            "anyOf": [
                {"properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}, "required": ["and"]},
                {"properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}, "required": ["or"]},
                {"properties": {"not": {"$ref": "#/$defs/filter"}}, "required": ["not"]},
                {"properties": {"field": {"type": "string"}}, "required": ["field"]},
            ]
        }
    },
}


@pytest.mark.parametrize(
    "schema", [twice("anyOf"), twice("oneOf"), twice("allOf"), CHAIN], ids=["any", "one", "all", "chain"]
)
@pytest.mark.parametrize("depth", [12, 30, 60])
def test_alternatives_that_share_a_reference_multiply_with_the_depth(schema: JsonObject, depth: int) -> None:
    began = time.monotonic()
    assert multiplies(schema, nested(depth))
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize("schema", [twice("anyOf"), CHAIN], ids=["any", "chain"])
def test_a_flat_value_has_its_problems_listed(schema: JsonObject) -> None:
    assert not multiplies(schema, nested(4))


def test_a_tree_of_filters_does_not_multiply_as_each_of_its_objects_fits_one_alternative() -> None:
    tree: Json = {"field": 1}
    for _ in range(4):
        tree = {"and": [tree, {"or": [{"field": "a"}, tree]}]}
    assert not multiplies(FILTER, tree)


def test_a_long_list_is_long_and_multiplies_nothing() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"rows": {"items": {"$ref": "#/$defs/row"}}},
        "$defs": {"row": {}},
    }
    assert not multiplies(schema, {"rows": [{"n": number} for number in range(5_000)]})


def test_a_reference_that_comes_back_without_going_deeper_never_ends() -> None:
    assert multiplies({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}, {})


def test_what_takes_too_long_to_count_counts_as_too_much() -> None:
    assert multiplies(FILTER, {"and": [{"field": str(number)} for number in range(50_000)]})


@pytest.mark.parametrize(
    ("schema", "expected"), [(FILTER, True), ({"type": "object", "properties": {"a": {"items": {}}}}, False)]
)
def test_whether_anything_refers_is_told(schema: JsonObject, expected: bool) -> None:
    assert (weight_of(schema).referring is not None) == expected
