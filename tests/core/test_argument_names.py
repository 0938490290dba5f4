"""Which arguments a schema names: what is unknown is found at any depth, and what any branch knows is known."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from remit.core.argument_names import ArgumentNames, UnknownArgument
from remit.core.canonical import Json, JsonObject

OBJECT: JsonObject = {"type": "object"}
TEXT: JsonObject = {"type": "string"}


def taking(**properties: Json) -> dict[str, Json]:
    """A schema of an object with these properties and no word about others."""
    return {"type": "object", "properties": properties}


def unknown_in(schema: JsonObject, arguments: JsonObject) -> list[UnknownArgument]:
    return list(ArgumentNames(schema).unknown(arguments))


REFUSED: Mapping[str, tuple[JsonObject, JsonObject, tuple[str | int, ...], str, set[str]]] = {
    "at the root": (taking(a=TEXT), {"a": 1, "b": 2}, (), "b", {"a"}),
    "of a tool without arguments": (taking(), {"b": 1}, (), "b", set()),
    "in an object": (taking(a=taking(x=TEXT)), {"a": {"y": 1}}, ("a",), "y", {"x"}),
    "in an item": (taking(a={"items": taking(x=TEXT)}), {"a": [{"x": 1}, {"y": 2}]}, ("a", 1), "y", {"x"}),
    "in an item of a tuple": (taking(a={"prefixItems": [TEXT, taking(x=TEXT)]}), {"a": [1, {"y": 2}]}, ("a", 1), "y", {"x"}),
    "behind a reference": (
        {**taking(q={"$ref": "#/$defs/Q"}), "$defs": {"Q": taking(n=TEXT)}}, {"q": {"m": 1}}, ("q",), "m", {"n"},
    ),
    "in a tree": (
        {"$ref": "#/$defs/node", "$defs": {"node": taking(next={"$ref": "#/$defs/node"})}},
        {"next": {"next": {"nxt": {}}}}, ("next", "next"), "nxt", {"next"},
    ),
    "in a value of a map": (
        taking(m={"type": "object", "additionalProperties": taking(x=TEXT)}), {"m": {"k": {"y": 1}}}, ("m", "k"), "y", {"x"},
    ),
    "in no branch": ({"anyOf": [taking(a=TEXT), taking(b=TEXT)]}, {"a": 1, "b": 2, "c": 3}, (), "c", {"a", "b"}),
    "in an optional object": (taking(q={"anyOf": [taking(x=TEXT), {"type": "null"}]}), {"q": {"z": 1}}, ("q",), "z", {"x"}),
    "beside branches that only require": (
        {**taking(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"c": 1}, (), "c", {"a", "b"},
    ),
    "of parts": ({"allOf": [taking(a=TEXT), taking(b=TEXT), OBJECT]}, {"c": 1}, (), "c", {"a", "b"}),
    "beside a condition": ({**taking(a=TEXT), "if": {"required": ["a"]}, "then": taking(b=TEXT)}, {"c": 1}, (), "c", {"a", "b"}),
    "beside values": (taking(q={"oneOf": [taking(x=TEXT), {"enum": ["all", 1]}]}), {"q": {"z": 1}}, ("q",), "z", {"x"}),
    "where the schema says so itself": ({**taking(a=TEXT), "additionalProperties": False}, {"b": 1}, (), "b", {"a"}),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "arguments", "path", "name", "known"), REFUSED.values(), ids=REFUSED)
def test_an_unknown_argument_is_found(
    schema: JsonObject, arguments: JsonObject, path: tuple[str | int, ...], name: str, known: set[str]
):
    assert unknown_in(schema, arguments) == [UnknownArgument(path, name, frozenset(known))]


PASSED: Mapping[str, tuple[JsonObject, JsonObject]] = {
    "every name": (taking(a=TEXT, self=TEXT, __class__=TEXT), {"a": 1, "self": 2, "__class__": 3}),
    "an object without properties": (OBJECT, {"b": 1}),
    "a nested object without properties": (
        taking(a=OBJECT, b={}, c=taking()),
        {"a": {"x": 1}, "b": {"y": 1}, "c": {"z": 1}},
    ),
    "additionalProperties true": ({**taking(a=TEXT), "additionalProperties": True}, {"b": 1}),
    "additionalProperties of a kind": ({**taking(a=TEXT), "additionalProperties": TEXT}, {"b": "x"}),
    "unevaluatedProperties": ({**taking(a=TEXT), "unevaluatedProperties": {}}, {"b": 1}),
    "patternProperties": ({**taking(a=TEXT), "patternProperties": {"^x-": {}}}, {"x-b": 1}),
    "propertyNames": ({**taking(a=TEXT), "propertyNames": {"pattern": "^[a-z]$"}}, {"b": 1}),
    "an open branch": ({"oneOf": [taking(a=TEXT), {**taking(b=TEXT), "additionalProperties": True}]}, {"c": 1}),
    "a branch that takes any object": (taking(q={"anyOf": [taking(x=TEXT), OBJECT]}), {"q": {"z": 1}}),
    "a branch that takes anything": (taking(q={"anyOf": [taking(x=TEXT), True]}), {"q": {"z": 1}}),
    "names that are only required": (
        {**taking(a=TEXT), "required": ["b"], "dependentRequired": {"c": ["d"]}},
        {"b": 1, "c": 1, "d": 1},
    ),
    "names of a condition": (
        {**taking(a=TEXT), "if": taking(b=TEXT), "then": taking(c=TEXT), "else": taking(d=TEXT)},
        {"b": 1, "c": 1, "d": 1},
    ),
    "nothing but a condition": ({"type": "object", "if": taking(a=TEXT), "then": taking(b=TEXT)}, {"z": 1}),
    "names of a dependent schema": ({**taking(a=TEXT), "dependentSchemas": {"a": taking(b=TEXT)}}, {"a": 1, "b": 1}),
    "names of a draft-07 dependency": (
        {**taking(a=TEXT), "dependencies": {"a": ["b"], "c": taking(d=TEXT)}},
        {"b": 1, "c": 1, "d": 1},
    ),
    "names of an exact object": (taking(q={"oneOf": [taking(x=TEXT), {"const": {"y": 1}}]}), {"q": {"y": 1}}),
    "a reference to an anchor": ({**taking(a=TEXT), "$ref": "#other"}, {"b": 1}),
    "a dynamic reference": ({**taking(a=TEXT), "$dynamicRef": "#node"}, {"b": 1}),
    "a part with an id of its own": (taking(q={**taking(a=TEXT), "$id": "https://it.example/q"}), {"q": {"b": 1}}),
    "values of another type": (taking(a=taking(x=TEXT), b={"items": taking(x=TEXT)}), {"a": [{"y": 1}], "b": {"y": 1}}),
}


@pytest.mark.parametrize(("schema", "arguments"), PASSED.values(), ids=PASSED)
def test_what_the_schema_knows_or_leaves_open_passes(schema: JsonObject, arguments: JsonObject):
    assert unknown_in(schema, arguments) == []


def test_every_unknown_argument_is_found_outer_ones_first():
    schema = taking(a=taking(x=TEXT))
    found = unknown_in(schema, {"a": {"y": 1, "z": 2}, "b": 3})
    assert [(each.path, each.name) for each in found] == [((), "b"), (("a",), "y"), (("a",), "z")]


def test_the_names_at_a_place_are_those_of_every_schema_for_it():
    names = ArgumentNames(taking(rows={"items": {"anyOf": [taking(a=TEXT), taking(b=TEXT)]}}))
    assert names.known_at(["rows", 7]) == {"a", "b"}
    assert names.known_at([]) == {"rows"}
    assert names.known_at(["rows", 7, "a", "deeper"]) == frozenset()


@pytest.mark.parametrize(
    "cycle", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}]
)
def test_input_40_a_schema_that_refers_to_itself_in_place_ends(cycle: dict[str, Any]):
    assert unknown_in({**taking(a=TEXT), **cycle}, {"b": 1}) == []


def test_input_41_doubling_references_end_as_an_open_schema():
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {**taking(a=TEXT), "$ref": "#/$defs/d0", "$defs": {**definitions, "d40": {}}}
    assert unknown_in(schema, {"b": 1}) == []


def test_input_41_alternatives_that_share_references_cost_no_more_with_every_level():
    def below(target: int) -> dict[str, Any]:
        return {"type": "object", "properties": {"c": {"$ref": f"#/$defs/n{target}"}}}

    levels = {f"n{at}": {"anyOf": [below(at + 1), below(at + 1), below(at + 1)]} for at in range(60)}
    value: Any = {"d": {}}
    for _ in range(60):
        value = {"c": value}
    began = time.monotonic()
    names = ArgumentNames({**below(0), "$defs": {**levels, "n60": below(60)}})
    assert [(len(each.path), each.name) for each in names.unknown(value)] == [(60, "d")]
    assert time.monotonic() - began < 2
