"""Every edit of the table is judged in both directions; random schemas are judged by a real validator."""

from collections.abc import Mapping
from typing import TypeAlias, cast

import jsonschema_rs
import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.core.canonical import Json, JsonObject
from remit.core.changes import classes_of, classify, holds_a_set, unexplained
from remit.core.definition import Definition
from remit.core.operations import Change, ChangeClass
from remit.reconcile.diff import definition_diff

T, C, B, K = ChangeClass.TEXT, ChangeClass.COMPATIBLE, ChangeClass.BREAKING, ChangeClass.CLAIMS
Classes: TypeAlias = frozenset[ChangeClass]

Row: TypeAlias = tuple[str, JsonObject | None, JsonObject | None, set[ChangeClass], set[ChangeClass]]

INT64 = 9223372036854775807
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def arguments(properties: JsonObject, **keywords: Json) -> JsonObject:
    return {"type": "object", "properties": properties, **keywords}


def argument(schema: Json, **keywords: Json) -> JsonObject:
    return arguments({"a": schema}, **keywords)


def taking(schema: JsonObject) -> Definition:
    return Definition.of(input_schema=schema)


def giving(schema: JsonObject | None) -> Definition:
    return Definition.of(input_schema={"type": "object"}, output_schema=schema)


def listing(**keywords: Json) -> JsonObject:
    return argument({"type": "array", **keywords})


def referring(name: str, target: Json, use: str = "#/$defs/{}") -> JsonObject:
    return argument({"$ref": use.format(name)}, **{"$defs": {name: target}})


TEXT_AND_ORDER: list[Row] = [
    ("a description", argument({"description": "x"}), argument({"description": "y"}), {T}, {T}),
    ("a description comes", argument({}), argument({"description": "y"}), {T}, {T}),
    ("a title", argument({}, title="x"), argument({}, title="y"), {T}, {T}),
    ("a comment", argument({}, **{"$comment": "x"}), argument({}), {T}, {T}),
    ("examples", argument({"examples": [1]}), argument({"examples": [2, 3]}), {T}, {T}),
    (
        "prose under oneOf",
        argument({"oneOf": [{"const": 1}]}),
        argument({"oneOf": [{"const": 1, "title": "one"}]}),
        {T},
        {T},
    ),
    (
        "a property called description",
        arguments({"description": {"type": "string"}}),
        arguments({"description": {"type": "integer"}}),
        {B},
        {B},
    ),
    ("a property called title comes", arguments({}), arguments({"title": {"type": "string"}}), {C}, {B}),
    (
        "text inside a default",
        argument({"default": {"description": "x"}}),
        argument({"default": {"description": "y"}}),
        {C},
        {C},
    ),
    ("text inside a const", argument({"const": {"title": "x"}}), argument({"const": {"title": "y"}}), {B}, {B}),
    ("order of required", argument({}, required=["a", "b"]), argument({}, required=["b", "a"]), {C}, {C}),
    ("order of an enum", argument({"enum": [1, 2]}), argument({"enum": [2, 1]}), {C}, {C}),
    ("order of types", argument({"type": ["null", "string"]}), argument({"type": ["string", "null"]}), {C}, {C}),
    ("order of an enum of objects", argument({"enum": [{"x": 1}, 2]}), argument({"enum": [2, {"x": 1}]}), {C}, {C}),
    ("order under oneOf", argument({"oneOf": [{"enum": [1, 2]}]}), argument({"oneOf": [{"enum": [2, 1]}]}), {C}, {C}),
    (
        "a description at depth",
        argument({"anyOf": [{"type": "array", "items": argument({"not": {"description": "x", "const": 1}})}]}),
        argument({"anyOf": [{"type": "array", "items": argument({"not": {"description": "y", "const": 1}})}]}),
        {T},
        {T},
    ),
    ("1 and 1.0", argument({"minimum": 1}), argument({"minimum": 1.0}), {C}, {C}),
    ("1 and true", argument({"const": 1}), argument({"const": True}), {B}, {B}),
]

VALUES: list[Row] = [
    ("integer to number", argument({"type": "integer"}), argument({"type": "number"}), {C}, {B}),
    ("one type to two", argument({"type": "string"}), argument({"type": ["string", "null"]}), {C}, {B}),
    ("a type joins", argument({"type": ["string"]}), argument({"type": ["string", "null"]}), {C}, {B}),
    ("a type is swapped", argument({"type": "string"}), argument({"type": "integer"}), {B}, {B}),
    ("a type goes", argument({"type": "string"}), argument({}), {C}, {B}),
    ("an unknown type", argument({"type": "strng"}), argument({"type": "string"}), {B}, {B}),
    ("an enum grows", argument({"enum": ["x"]}), argument({"enum": ["x", "y"]}), {C}, {B}),
    ("an enum element is swapped", argument({"enum": ["x", "y"]}), argument({"enum": ["x", "z"]}), {C, B}, {C, B}),
    ("an enum goes", argument({"enum": ["x"]}), argument({}), {C}, {B}),
    ("const to enum", argument({"const": "x"}), argument({"enum": ["x", "y"]}), {C}, {C, B}),
    ("const changes", argument({"const": 1}), argument({"const": 2}), {B}, {B}),
    ("const goes", argument({"const": 1}), argument({}), {C}, {B}),
    ("boolean spelled out", argument({"type": "boolean"}), argument({"enum": [True, False]}), {C}, {C}),
    ("minimum falls", argument({"minimum": 2}), argument({"minimum": 1}), {C}, {B}),
    ("minimum comes", argument({}), argument({"minimum": 1}), {B}, {C}),
    ("int64 maximum by one", argument({"maximum": INT64 - 1}), argument({"maximum": INT64}), {C}, {B}),
    ("int64 maximum as a float", argument({"maximum": INT64}), argument({"maximum": float(INT64)}), {C}, {B}),
    ("a float's last digit", argument({"maximum": 0.3}), argument({"maximum": 0.30000000000000004}), {C}, {B}),
    ("a float in another spelling", argument({"maximum": 1e2}), argument({"maximum": 100}), {C}, {C}),
    ("minus zero", argument({"minimum": -0.0}), argument({"minimum": 0}), {C}, {C}),
    ("multipleOf of floats", argument({"multipleOf": 0.01}), argument({"multipleOf": 0.1}), {B}, {B}),
    ("maximum falls", argument({"maximum": 2}), argument({"maximum": 1}), {B}, {C}),
    ("exclusive to inclusive", argument({"exclusiveMinimum": 1}), argument({"minimum": 1}), {C}, {C, B}),
    ("exclusiveMaximum", argument({"exclusiveMaximum": 2}), argument({"exclusiveMaximum": 3}), {C}, {B}),
    ("multipleOf", argument({"multipleOf": 6}), argument({"multipleOf": 3}), {C}, {B}),
    ("minLength", argument({"minLength": 2}), argument({"minLength": 1}), {C}, {B}),
    ("minLength of nothing", argument({}), argument({"minLength": 0}), {C}, {C}),
    ("maxLength", argument({"maxLength": 2}), argument({"maxLength": 3}), {C}, {B}),
    ("maxLength comes", argument({}), argument({"maxLength": 3}), {B}, {C}),
    ("pattern changes", argument({"pattern": "^a"}), argument({"pattern": "^b"}), {B}, {B}),
    ("pattern goes", argument({"pattern": "^a"}), argument({}), {C}, {B}),
    ("format", argument({"format": "date"}), argument({"format": "date-time"}), {C}, {C}),
    ("default", argument({"default": 1}), argument({"default": 2}), {C}, {C}),
    ("deprecated", argument({}), argument({"deprecated": True}), {C}, {C}),
    ("a vendor's keyword", argument({"x-order": 1}), argument({"x-order": 2}), {C}, {C}),
    ("an unknown keyword", argument({"nullable": True}), argument({"nullable": False}), {B}, {B}),
]

OBJECTS: list[Row] = [
    ("an optional property", arguments({}), argument({"type": "string"}), {C}, {B}),
    (
        "an optional property of a closed object",
        arguments({}, additionalProperties=False),
        argument({"type": "string"}, additionalProperties=False),
        {C},
        {B},
    ),
    (
        "an optional property of an open object",
        arguments({}, additionalProperties=True),
        argument({"type": "string"}, additionalProperties=True),
        {B},
        {C},
    ),
    (
        "a property that takes anything",
        arguments({}, additionalProperties=True),
        argument({"description": "x"}, additionalProperties=True),
        {C},
        {C},
    ),
    (
        "a property that the rest allowed",
        arguments({}, additionalProperties={"type": "integer"}),
        argument({"type": "number"}, additionalProperties={"type": "integer"}),
        {C},
        {B},
    ),
    (
        "a property of a bare nested object",
        argument({"type": "object"}),
        argument(argument({"type": "string"})),
        {B},
        {C},
    ),
    ("the first property of a tool", {"type": "object"}, argument({"type": "string"}), {C}, {B}),
    (
        "a property that another allOf branch could not see",
        {"allOf": [arguments({"a": {}}), arguments({"b": {"type": "string"}})]},
        {"allOf": [arguments({"a": {}, "b": {"type": "null"}}), arguments({"b": {"type": "string"}})]},
        {B},
        {C},
    ),
    (
        "an optional property of a nullable definition",
        argument({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}, **{"$defs": {"A": arguments({})}}),
        argument(
            {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}, **{"$defs": {"A": arguments({"x": {"const": 1}})}}
        ),
        {C},
        {B},
    ),
    (
        "properties of a root that only has branches",
        {"anyOf": [arguments({"a": {"const": 1}}), arguments({"b": {}})]},
        {"anyOf": [arguments({"a": {"const": 2}}), arguments({"b": {"const": 1}})]},
        {B},
        {C},
    ),
    ("required goes", argument({}, required=["a"]), argument({}), {C}, {B}),
    ("a name joins required", argument({}, required=["a"]), argument({}, required=["a", "b"]), {B}, {C}),
    ("a new required property", arguments({}), argument({}, required=["a"]), {C, B}, {C, B}),
    ("a renamed property", arguments({"x": {}}), arguments({"y": {}}), {C, B}, {C, B}),
    ("closed by saying so", argument({}), argument({}, additionalProperties=False), {B}, {C}),
    ("opened", argument({}, additionalProperties=False), argument({}, additionalProperties=True), {C}, {B}),
    (
        "the rest narrows",
        argument({}, additionalProperties={"type": "number"}),
        argument({}, additionalProperties={"type": "integer"}),
        {B},
        {C},
    ),
    ("patternProperties comes", argument({}), argument({}, patternProperties={"^x": {"type": "string"}}), {B}, {B}),
    (
        "under patternProperties",
        argument({}, patternProperties={"^x": {"type": "integer"}}),
        argument({}, patternProperties={"^x": {"type": "number"}}),
        {C},
        {B},
    ),
    (
        "propertyNames",
        argument({}, propertyNames={"maxLength": 3}),
        argument({}, propertyNames={"maxLength": 4}),
        {C},
        {B},
    ),
    ("minProperties", argument({}, minProperties=2), argument({}, minProperties=1), {C}, {B}),
    ("maxProperties", argument({}, maxProperties=2), argument({}, maxProperties=1), {B}, {C}),
    (
        "dependentRequired",
        argument({}, dependentRequired={"a": ["b", "c"]}),
        argument({}, dependentRequired={"a": ["b"]}),
        {C},
        {B},
    ),
    (
        "dependentSchemas goes",
        argument({}, dependentSchemas={"a": {"required": ["b"]}}),
        argument({}, dependentSchemas={}),
        {C},
        {B},
    ),
]

ARRAYS: list[Row] = [
    ("items widen", listing(items={"type": "integer"}), listing(items={"type": "number"}), {C}, {B}),
    ("items come", listing(), listing(items={"type": "string"}), {B}, {C}),
    ("a place of a tuple", listing(prefixItems=[{"const": 1}]), listing(prefixItems=[{"enum": [1, 2]}]), {C}, {C, B}),
    (
        "a tuple grows into what was closed",
        listing(prefixItems=[{}], items=False),
        listing(prefixItems=[{}, {"type": "string"}], items=False),
        {C},
        {B},
    ),
    ("a tuple grows into what was open", listing(prefixItems=[{}]), listing(prefixItems=[{}, {"const": 1}]), {B}, {C}),
    ("minItems", listing(minItems=2), listing(minItems=1), {C}, {B}),
    ("maxItems", listing(maxItems=2), listing(maxItems=1), {B}, {C}),
    ("uniqueItems", listing(uniqueItems=True), listing(uniqueItems=False), {C}, {B}),
    ("contains", listing(contains={"const": 1}), listing(contains={"enum": [1, 2]}), {C}, {C, B}),
    (
        "contains under a count",
        listing(contains={"type": "integer"}, maxContains=1),
        listing(contains={"type": "number"}, maxContains=1),
        {B},
        {B},
    ),
    ("minContains", listing(contains={}, minContains=2), listing(contains={}), {C}, {B}),
]

LOGIC: list[Row] = [
    (
        "null joins through anyOf",
        argument({"type": "string"}),
        argument({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        {C},
        {C, B},
    ),
    (
        "anyOf as a list of types",
        argument({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        argument({"type": ["string", "null"]}),
        {C},
        {C, B},
    ),
    (
        "an anyOf branch",
        argument({"anyOf": [{"const": 1}]}),
        argument({"anyOf": [{"const": 1}, {"const": 2}]}),
        {C},
        {B},
    ),
    (
        "anyOf in another order",
        argument({"anyOf": [{"const": 1}, {"const": 2}]}),
        argument({"anyOf": [{"const": 2}, {"const": 1}]}),
        {C},
        {C},
    ),
    ("an allOf branch", argument({"allOf": [{"minimum": 1}]}), argument({"allOf": []}), {C}, {B}),
    ("oneOf grows", argument({"oneOf": [{"const": 1}]}), argument({"oneOf": [{"const": 1}, {"const": 2}]}), {B}, {B}),
    (
        "oneOf in another order",
        argument({"oneOf": [{"const": 1}, {"const": 2}]}),
        argument({"oneOf": [{"const": 2}, {"const": 1}]}),
        {C},
        {C},
    ),
    (
        "oneOf of objects in another order",
        argument({"oneOf": [argument({"type": "string"}), {"type": "null"}]}),
        argument({"oneOf": [{"type": "null"}, argument({"type": "string"})]}),
        {C},
        {C},
    ),
    (
        "oneOf in another order, and one alternative widens",
        argument({"oneOf": [{"minimum": 1}, {"type": "null"}]}),
        argument({"oneOf": [{"type": "null"}, {"minimum": 0}]}),
        {B},
        {B},
    ),
    ("oneOf widens", argument({"oneOf": [{"minimum": 1}]}), argument({"oneOf": [{"minimum": 0}]}), {B}, {B}),
    ("under not", argument({"not": {"type": "integer"}}), argument({"not": {"type": "number"}}), {B}, {B}),
    ("under if", argument({"if": {"minimum": 1}}), argument({"if": {"minimum": 0}}), {B}, {B}),
    (
        "then widens",
        argument({"if": {"minimum": 1}, "then": {"maximum": 5}}),
        argument({"if": {"minimum": 1}, "then": {"maximum": 6}}),
        {C},
        {B},
    ),
    (
        "beside unevaluatedProperties",
        argument({"type": "integer"}, unevaluatedProperties=False),
        argument({"type": "number"}, unevaluatedProperties=False),
        {B},
        {B},
    ),
]

REFERENCES: list[Row] = [
    ("a definition is renamed", referring("A", {"type": "string"}), referring("B", {"type": "string"}), {C}, {C}),
    ("a definition widens", referring("A", {"type": "integer"}), referring("A", {"type": "number"}), {C}, {B}),
    (
        "a definition is renamed and widens",
        referring("A", {"type": "integer"}),
        referring("B", {"type": "number"}),
        {C},
        {C, B},
    ),
    (
        "a definition moves below its user",
        referring("A", {"type": "string"}),
        argument({"$ref": "#/properties/a/$defs/A", "$defs": {"A": {"type": "string"}}}),
        {C},
        {C},
    ),
    ("definitions to $defs", referring("A", {}), {**argument({"$ref": "#/definitions/A"}), "definitions": {"A": {}}}, {C}, {C}),
    ("a reference is written out", referring("A", {"type": "string"}), argument({"type": "string"}), {C}, {C}),
    (
        "an unused definition",
        argument({}, **{"$defs": {"A": {"const": 1}}}),
        argument({}, **{"$defs": {"A": {"const": 2}}}),
        {C},
        {C},
    ),
    (
        "a definition used under not",
        argument({"not": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": {"type": "integer"}}}),
        argument({"not": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": {"type": "number"}}}),
        {B},
        {B},
    ),
    (
        "a renamed definition under oneOf",
        argument({"oneOf": [{"$ref": "#/$defs/A"}]}, **{"$defs": {"A": {"const": 1}}}),
        argument({"oneOf": [{"$ref": "#/$defs/B"}]}, **{"$defs": {"B": {"const": 1}}}),
        {C},
        {C},
    ),
    (
        "a recursive definition",
        referring("A", arguments({"next": {"$ref": "#/$defs/A"}, "n": {"type": "integer"}})),
        referring("A", arguments({"next": {"$ref": "#/$defs/A"}, "n": {"type": "number"}})),
        {C},
        {B},
    ),
    ("a reference elsewhere", referring("A", {}, use="https://e.test/{}"), referring("B", {}, use="https://e.test/{}"), {C, B}, {C, B}),
    (
        "an anchor hides the use",
        argument({"$ref": "#a"}, **{"$defs": {"A": {"$anchor": "a", "type": "integer"}}}),
        argument({"$ref": "#a"}, **{"$defs": {"A": {"$anchor": "a", "type": "number"}}}),
        {B},
        {B},
    ),
    (
        "a dialect that changes nothing",
        argument({"type": "string"}, **{"$schema": DRAFT_7}),
        argument({"type": "string"}),
        {C},
        {C},
    ),
    (
        "a dialect that gives the neighbours of a reference a meaning",
        argument({"$ref": "#/$defs/A", "minimum": 1}, **{"$defs": {"A": {"type": "integer"}}, "$schema": DRAFT_7}),
        argument({"$ref": "#/$defs/A", "minimum": 1}, **{"$defs": {"A": {"type": "integer"}}}),
        {B},
        {B},
    ),
]  # fmt: skip

INPUTS: list[Row] = [*TEXT_AND_ORDER, *VALUES, *OBJECTS, *ARRAYS, *LOGIC, *REFERENCES]

OUTPUTS: list[Row] = [
    ("an output schema comes", None, argument({}), {C}, {B}),
    ("a property comes", arguments({}), argument({"type": "string"}), {C}, {B}),
    (
        "a property of a closed output comes",
        arguments({}, additionalProperties=False),
        argument({"type": "string"}, additionalProperties=False),
        {C},
        {B},
    ),
    ("a property becomes certain", argument({}), argument({}, required=["a"]), {C}, {B}),
    ("a type narrows", argument({"type": "number"}), argument({"type": "integer"}), {C}, {B}),
    ("null joins", argument({"type": "string"}), argument({"type": ["string", "null"]}), {B}, {C}),
    ("an enum shrinks", argument({"enum": [1, 2]}), argument({"enum": [1]}), {C}, {B}),
    ("an anyOf branch comes", argument({"anyOf": [{"const": 1}]}), argument({"anyOf": [{"const": 1}, {}]}), {B}, {C}),
    ("minimum rises", argument({"minimum": 1}), argument({"minimum": 2}), {C}, {B}),
    ("open said aloud", argument({}), argument({}, additionalProperties=True), {C}, {C}),
    ("oneOf shrinks", argument({"oneOf": [{"const": 1}, {"const": 2}]}), argument({"oneOf": [{"const": 1}]}), {B}, {B}),
    ("a description", argument({}), argument({"description": "x"}), {T}, {T}),
]


def both_ways(rows: list[Row]) -> list[ParameterSet]:
    there = [pytest.param(before, after, forth, id=name) for name, before, after, forth, _ in rows]
    return there + [pytest.param(after, before, back, id=f"{name}, undone") for name, before, after, _, back in rows]


def test_the_table_is_as_large_as_the_rules_need() -> None:
    names = [row[0] for row in [*INPUTS, *OUTPUTS]]
    forth = {name for row in INPUTS for name in row[3]}
    back = {name for row in INPUTS for name in row[4]}

    assert len(INPUTS) >= 60
    assert len({row[0] for row in INPUTS}) == len(INPUTS)
    assert len(names) >= 100
    assert forth == back == {T, C, B}


@pytest.mark.parametrize(("before", "after", "classes"), both_ways(INPUTS))
def test_an_edit_of_an_input_has_its_classes(before: JsonObject, after: JsonObject, classes: Classes) -> None:
    changes = definition_diff(taking(before), taking(after))

    assert classes_of(changes) == classes
    assert changes == tuple(change for change in changes if change.path[0] == "inputSchema")


@pytest.mark.parametrize(("before", "after", "classes"), both_ways(OUTPUTS))
def test_an_edit_of_an_output_has_its_classes(
    before: JsonObject | None, after: JsonObject | None, classes: Classes
) -> None:
    changes = definition_diff(giving(before), giving(after))

    assert classes_of(changes) == classes
    assert changes == tuple(change for change in changes if change.path[0] == "outputSchema")


def test_the_order_of_keys_is_no_change() -> None:
    schema = argument({"type": "object", "properties": {"x": {"maximum": 1, "minimum": 0}}}, required=["a"])
    turned: JsonObject = {
        "required": ["a"],
        "properties": {"a": {"properties": {"x": {"minimum": 0, "maximum": 1}}, "type": "object"}},
        "type": "object",
    }

    assert (taking(schema), definition_diff(taking(schema), taking(turned))) == (taking(turned), ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"readOnlyHint": True}, {"readOnlyHint": False}),
        ({"readOnlyHint": False}, {"readOnlyHint": True}),
        ({"destructiveHint": True}, {}),
        ({}, {"destructiveHint": False}),
        ({"vendor": {"a": [1]}}, {"vendor": {"a": [2]}}),
    ],
)
def test_an_annotation_that_flips_is_a_claim_in_either_direction(before: JsonObject, after: JsonObject) -> None:
    changes = definition_diff(
        Definition.of(input_schema={}, annotations=before), Definition.of(input_schema={}, annotations=after)
    )

    assert classes_of(changes) == {K}


def test_what_a_server_claims_is_claims_and_its_title_is_text() -> None:
    before = Definition.of(input_schema={}, annotations={"title": "Read", "readOnlyHint": True})
    after = Definition.of(input_schema={}, annotations={"title": "Show", "readOnlyHint": False})

    assert definition_diff(before, after) == (
        Change(path=("annotations", "readOnlyHint"), before=True, after=False, change_class=K),
        Change(path=("annotations", "title"), before="Read", after="Show", change_class=T),
    )


def test_title_and_description_of_a_tool_are_text() -> None:
    before = Definition.of(input_schema={}, title="Read", description="Reads.")
    after = Definition.of(input_schema={}, description="Shows.")

    assert definition_diff(before, after) == (
        Change(path=("description",), before="Reads.", after="Shows.", change_class=T),
        Change(path=("title",), before="Read", removed=True, change_class=T),
    )


def test_each_edit_of_a_mixed_change_keeps_its_own_class() -> None:
    before = taking(arguments({"kept": {"type": "string"}, "gone": {}, "n": {"maximum": 5, "description": "x"}}))
    after = taking(arguments({"kept": {"type": ["string", "null"]}, "n": {"maximum": 4, "description": "y"}}))

    assert [(change.path[2:], change.change_class) for change in definition_diff(before, after)] == [
        (("gone",), B),
        (("kept", "type"), C),
        (("n", "description"), T),
        (("n", "maximum"), B),
    ]


def test_a_path_that_leads_nowhere_is_breaking() -> None:
    before, after = taking(argument({"type": "string"})), taking(argument({"type": "integer"}))
    paths = [(), ("icons",), ("inputSchema", 3), ("inputSchema", "properties", 0, "type")]

    assert [one.change_class for one in classify(before, after, [Change(path=path) for path in paths])] == [B] * 4


def test_a_break_that_no_path_tells_is_told_at_the_root() -> None:
    before, after = argument({"maximum": 5}), argument({"maximum": 4})

    assert unexplained(taking(before), taking(after), ()) == (
        Change(path=("inputSchema",), before=before, after=after, change_class=B),
    )


def test_a_reference_into_a_list_that_changes_order_is_a_break() -> None:
    cases: list[Json] = [{"type": "string"}, {"type": "integer"}]
    use: Json = {"$ref": "#/properties/a/anyOf/0"}

    changes = definition_diff(
        taking(arguments({"a": {"anyOf": cases}, "b": use})), taking(arguments({"a": {"anyOf": cases[::-1]}, "b": use}))
    )

    assert [change.path for change in changes if change.change_class is B] == [("inputSchema",)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("inputSchema", "required"), True),
        (("outputSchema", "properties", "a", "enum"), True),
        (("inputSchema", "$defs", "A", "anyOf", 0, "items", "type"), True),
        (("inputSchema", "properties", "required"), False),
        (("inputSchema", "properties", "enum", "enum"), True),
        (("inputSchema", "properties", "a", "default", "enum"), False),
        (("inputSchema", "prefixItems"), False),
        (("annotations", "enum"), False),
        (("required",), False),
    ],
)
def test_only_keywords_where_a_schema_stands_hold_sets(path: tuple[str | int, ...], expected: bool) -> None:
    assert holds_a_set(path) is expected


NAMES = st.sampled_from(["a", "b", "type"])
SCALARS: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 3), st.sampled_from([0.5, 1.0]), st.sampled_from(["", "a", "ab"])
)
INSTANCES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.just("other"), inner, max_size=3),
    max_leaves=5,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
SMALL = st.integers(0, 2)


def keywords(inner: st.SearchStrategy[Json]) -> dict[str, st.SearchStrategy[Json]]:
    some = st.lists(inner, min_size=1, max_size=2)
    return {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(SCALARS, min_size=1, max_size=3, unique_by=repr),
        "const": SCALARS,
        "minimum": SMALL,
        "exclusiveMinimum": SMALL,
        "maximum": SMALL,
        "multipleOf": st.integers(1, 2),
        "minLength": SMALL,
        "maxLength": SMALL,
        "pattern": st.sampled_from(["^a", "b$"]),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "minProperties": SMALL,
        "maxItems": SMALL,
        "uniqueItems": st.booleans(),
        "items": inner,
        "prefixItems": some,
        "contains": inner,
        "minContains": SMALL,
        "maxContains": SMALL,
        "properties": st.dictionaries(NAMES, inner, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "e"]), inner, max_size=1),
        "propertyNames": inner,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
        "dependentSchemas": st.dictionaries(NAMES, inner, max_size=1),
        "anyOf": some,
        "allOf": some,
        "oneOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "unevaluatedProperties": st.booleans(),
        "$ref": st.sampled_from(["#/$defs/A", "#/$defs/B"]),
        "description": st.sampled_from(["x", "y"]),
        "default": SCALARS,
    }


def explicit(schema: Mapping[str, Json]) -> JsonObject:
    """Additional properties said aloud, as silence means something else to remit than to a validator."""
    return {"additionalProperties": True, **schema}


@st.composite
def schemas(draw: st.DrawFn, depth: int) -> JsonObject:
    inner = st.booleans() | schemas(depth - 1) if depth else st.booleans()
    pool = keywords(cast("st.SearchStrategy[Json]", inner))
    chosen = draw(st.lists(st.sampled_from(sorted(pool)), max_size=3, unique=True))
    closing = draw(st.sampled_from([True, True, False, None]))
    rest = draw(inner) if closing is None else closing
    return explicit({keyword: draw(pool[keyword]) for keyword in chosen} | {"additionalProperties": rest})


@st.composite
def definitions(draw: st.DrawFn) -> Json:
    # One level only: a reference comes from the tree above, so that none is unguarded.
    return {name: explicit({"type": draw(TYPES), "maximum": draw(SMALL)}) for name in ("A", "B")}


@st.composite
def documents(draw: st.DrawFn) -> JsonObject:
    return {**draw(schemas(2)), "$defs": draw(definitions())}


@st.composite
def single_edits(draw: st.DrawFn) -> tuple[JsonObject, JsonObject]:
    """One keyword with two values, beside at most one other keyword: what a wrong rule cannot hide behind."""
    pool = keywords(cast("st.SearchStrategy[Json]", st.booleans() | schemas(0)))
    keyword, beside = draw(st.sampled_from(sorted(pool))), draw(st.sampled_from(sorted(pool)))
    shared: dict[str, Json] = {"$defs": draw(definitions())}
    if draw(st.booleans()):
        shared[beside] = draw(pool[beside])
    without = {name: value for name, value in shared.items() if name != keyword}
    after = without if draw(st.integers(0, 3)) == 0 else {**shared, keyword: draw(pool[keyword])}
    return explicit({**shared, keyword: draw(pool[keyword])}), explicit(after)


@st.composite
def edited(draw: st.DrawFn, schema: Json, depth: int = 3) -> Json:
    """A schema some keywords of which were drawn anew, dropped or edited further down."""
    if not isinstance(schema, Mapping):
        return draw(st.sampled_from([schema, True]))
    fresh = draw(schemas(1))
    result: dict[str, Json] = {}
    for keyword, value in cast("JsonObject", schema).items():
        fate = draw(st.sampled_from(["keep", "keep", "edit", "drop", "fresh"]))
        if keyword == "additionalProperties" or keyword == "$defs":
            result[keyword] = value
        elif fate == "edit" and depth and isinstance(value, Mapping):
            entries = cast("JsonObject", value)
            named = keyword in {"properties", "patternProperties", "dependentSchemas"}
            result[keyword] = (
                {name: draw(edited(entry, depth - 1)) for name, entry in entries.items()}
                if named
                else draw(edited(value, depth - 1))
                if keyword != "dependentRequired"
                else value
            )
        elif fate == "fresh" and keyword in fresh:
            result[keyword] = fresh[keyword]
        elif fate != "drop":
            result[keyword] = value
    if draw(st.integers(0, 3)) == 0:
        result |= fresh
    return explicit(result)


@st.composite
def edits(draw: st.DrawFn) -> tuple[JsonObject, JsonObject]:
    if draw(st.booleans()):
        before, after = draw(single_edits())
    else:
        before = draw(documents())
        after = cast("JsonObject", draw(edited(before)))
    return (before, after) if draw(st.booleans()) else (after, before)


def accepts(schema: JsonObject, instance: Json) -> bool:
    return jsonschema_rs.validator_for(cast("dict[str, object]", schema), offline=True).is_valid(instance)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(edits(), st.lists(INSTANCES, min_size=6, max_size=12))
def test_a_compatible_change_of_an_input_rejects_nothing_that_was_accepted(
    pair: tuple[JsonObject, JsonObject], instances: list[Json]
) -> None:
    before, after = pair
    if B not in classes_of(definition_diff(taking(before), taking(after))):
        assert [one for one in instances if accepts(before, one) and not accepts(after, one)] == []


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(edits())
def test_only_text_changed_exactly_where_the_contract_digests_agree(pair: tuple[JsonObject, JsonObject]) -> None:
    before, after = (taking(schema) for schema in pair)
    changes = definition_diff(before, after)

    assert (changes == ()) is (before.definition_digest == after.definition_digest)
    assert (classes_of(changes) <= {T}) is (before.contract_digest == after.contract_digest)
