"""Whether a tool takes arguments: the validator's verdict, in words that a model can correct itself by."""

import json
import time
from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.canonical import Json, JsonObject
from remit.core.definition import Definition
from remit.core.schema_work import most_applied
from remit.runtime.arguments_model import MAX_TOOLS, ArgumentChecks
from remit.runtime.schema_problems import MAX_CHARACTERS, MAX_LINES, CompiledSchema, bounded_lines
from remit.upstream.schema_check import compile_schema

SECRET = "dummy-secret-value"
TEXT: dict[str, Json] = {"type": "string"}
INTEGER: dict[str, Json] = {"type": "integer"}
CHECKS = ArgumentChecks(compile_schema)


def taking(*required: str, **properties: Json) -> dict[str, Json]:
    """A schema of an object with these properties and no word about others."""
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def tool(schema: JsonObject) -> Definition:
    return Definition.of(input_schema=schema)


def objection(schema: JsonObject, arguments: JsonObject, *, allow_unknown: bool = False) -> str | None:
    return CHECKS.objection(tool(schema), arguments, allow_unknown=allow_unknown)


SEARCH = taking(
    "query",
    query={**TEXT, "minLength": 2},
    limit={**INTEGER, "minimum": 1, "maximum": 100},
    order={"enum": ["newest", "oldest"]},
    filter=taking("agent", agent=TEXT, days=INTEGER),
    rows={"type": "array", "items": taking(id=INTEGER), "maxItems": 3},
)
UNION: JsonObject = taking(
    target={
        "oneOf": [
            taking("kind", "path", kind={"const": "file"}, path=TEXT),
            taking("kind", "url", kind={"const": "web"}, url={**TEXT, "pattern": "^https:"}),
        ]
    },
    when={"anyOf": [TEXT, {"type": "null"}]},
)
STRICT: JsonObject = {**taking(days=INTEGER, dry_run={"type": "boolean"}), "additionalProperties": False}
# C-17: what only copies properties and required loses $defs.
REFERRING: JsonObject = {
    **taking("q", q={"$ref": "#/$defs/Q"}),
    "$defs": {"Q": taking(n=INTEGER)},
    "additionalProperties": False,
}
TREE: JsonObject = {
    "$ref": "#/$defs/node",
    "type": "object",
    "$defs": {"node": taking(next={"$ref": "#/$defs/node"}, v=INTEGER)},
}
NUMBERS: JsonObject = taking(
    n={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, m={"multipleOf": 5}, big={"maximum": 2**53}
)
LISTS: JsonObject = taking(
    tags={"type": "array", "items": TEXT, "uniqueItems": True, "minItems": 1},
    pair={"prefixItems": [INTEGER, TEXT], "items": False},
    some={"type": "array", "contains": {"const": "x"}},
)
MAPS: JsonObject = taking(
    labels={"type": "object", "additionalProperties": TEXT, "propertyNames": {"maxLength": 5}},
    open={"type": "object"},
    few={"type": "object", "minProperties": 1, "maxProperties": 2},
)
MIXED: JsonObject = {
    **taking(mode=TEXT, speed=INTEGER, either={"type": ["string", "integer"]}, never=False, other={"not": TEXT}),
    "if": {"properties": {"mode": {"const": "fast"}}, "required": ["mode"]},
    "then": {"required": ["speed"]},
    "dependentRequired": {"speed": ["mode"]},
}
ODD_NAMES: JsonObject = taking(
    **{"": TEXT, "self": TEXT, "__class__": TEXT, "model_config": TEXT, "f1": TEXT, "from": TEXT, "a b": TEXT}
)
DEFAULTS: JsonObject = taking(
    limit={**INTEGER, "default": 10}, note={**TEXT, "default": None}, deep={**taking(a=TEXT), "default": {"a": "x"}}
)
DRAFT_7: JsonObject = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    **taking(pair={"type": "array", "items": [INTEGER, TEXT], "additionalItems": False}),
    "definitions": {"unused": TEXT},
    "dependencies": {"pair": ["why"]},
}
NOTHING: JsonObject = {"type": "object", "properties": {}}
ANYTHING: JsonObject = {"type": "object"}

SCHEMAS: Mapping[str, JsonObject] = {
    "search": SEARCH, "union": UNION, "strict": STRICT, "referring": REFERRING, "tree": TREE, "numbers": NUMBERS,
    "lists": LISTS, "maps": MAPS, "mixed": MIXED, "odd names": ODD_NAMES, "defaults": DEFAULTS, "draft 7": DRAFT_7,
    "nothing": NOTHING, "anything": ANYTHING,
}  # fmt: skip


def names_of(schema: JsonObject) -> list[str]:
    properties = schema.get("properties", {})
    return ["next", "unheard_of", *(str(name) for name in properties)] if isinstance(properties, Mapping) else []


# --- the words ----------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, JsonObject, str]] = [
    ("search", {}, "query: required, but missing"),
    ("search", {"query": None}, "query: expected string, got null"),
    ("search", {"query": ["x"]}, "query: expected string, got array"),
    ("search", {"query": "x"}, "query: expected at least 2 characters"),
    ("search", {"query": "ab", "limit": "5"}, "limit: expected integer, got string"),
    ("search", {"query": "ab", "limit": True}, "limit: expected integer, got boolean"),
    ("search", {"query": "ab", "limit": 1.5}, "limit: expected integer, got number"),
    ("search", {"query": "ab", "limit": 5000}, "limit: expected a number of at most 100"),
    ("search", {"query": "ab", "order": "best"}, 'order: expected one of "newest", "oldest"'),
    ("search", {"query": "ab", "filter": {}}, "filter.agent: required, but missing"),
    ("search", {"query": "ab", "filter": "{}"}, "filter: expected object, got string"),
    ("search", {"query": "ab", "rows": [{"id": 1}, {"id": "x"}]}, "rows[1].id: expected integer, got string"),
    ("search", {"query": "ab", "rows": [{}] * 4}, "rows: expected at most 3 items"),
    ("search", {"query": "ab", "limt": 5}, "limt: unknown argument; did you mean limit?"),
    ("search", {"query": "ab", "zz": 5}, "zz: unknown argument; known are filter, limit, order, query, rows"),
    ("search", {"querry": "ab"}, "querry: unknown argument; did you mean query?\nquery: required, but missing"),
    ("search", {"query": "ab", "filter": {"agent": "a", "agnt": 1}}, "filter.agnt: unknown argument; did you mean agent?"),
    ("union", {"target": {"kind": "file"}}, "target.path: required, but missing"),
    ("union", {"target": {"kind": "web", "url": "ftp:x"}}, 'target.url: expected a text that matches the pattern "^https:"'),
    ("union", {"target": {"kind": "disk"}}, 'target.kind: expected one of "file", "web"'),
    ("union", {"target": 5}, "target: expected object, got integer"),
    ("union", {"when": 5}, "when: expected string or null, got integer"),
    ("strict", {"dayz": 5}, "dayz: unknown argument; did you mean days?"),
    ("strict", {"zz": 5}, "zz: unknown argument; known are days, dry_run"),
    ("strict", {"dry_run": "true"}, "dry_run: expected boolean, got string"),
    ("tree", {"next": {"next": {"v": "x"}}}, "next.next.v: expected integer, got string"),
    ("numbers", {"n": 0}, "n: expected a number greater than 0"),
    ("numbers", {"n": 1}, "n: expected a number less than 1"),
    ("numbers", {"m": 7}, "m: expected a multiple of 5"),
    ("numbers", {"big": 2**53 + 1}, "big: expected a number of at most 9007199254740992"),
    ("lists", {"tags": []}, "tags: expected at least 1 items"),
    ("lists", {"tags": ["a", "a"]}, "tags: expected items that differ from each other"),
    ("lists", {"pair": [1, "x", 2]}, "pair[2]: expected nothing here"),
    ("lists", {"some": ["y"]}, "some: expected more, or fewer, items of the kind that the schema says it contains"),
    ("maps", {"labels": {"a": 1}}, "labels.a: expected string, got integer"),
    ("maps", {"labels": {"too_long": "x"}}, "labels: a name in it is not allowed: expected at most 5 characters"),
    ("maps", {"few": {}}, "few: expected at least 1 members"),
    ("maps", {"few": {"a": 1, "b": 2, "c": 3}}, "few: expected at most 2 members"),
    ("mixed", {"mode": "fast"}, "speed: required, but missing"),
    ("mixed", {"speed": 1}, "mode: required, but missing"),
    ("mixed", {"either": []}, "either: expected integer or string, got array"),
    ("mixed", {"never": 1}, "never: expected nothing here"),
    ("mixed", {"other": "x"}, "other: expected something else (the schema excludes it with not)"),
    ("draft 7", {"pair": [1, "x", 2], "why": 1}, "pair: expected at most 2 items"),
    ("nothing", {"a": 1}, "a: unknown argument; none is taken here"),
    ("odd names", {"a b": 1}, '["a b"]: expected string, got integer'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "message"), REFUSED, ids=[f"{name}-{message[:40]}" for name, _, message in REFUSED]
)
def test_input_45_wrong_arguments_are_refused_with_place_and_expectation(
    name: str, arguments: JsonObject, message: str
):
    assert objection(SCHEMAS[name], arguments) == message


ACCEPTED: list[tuple[str, JsonObject]] = [
    ("search", {"query": "ab", "limit": 5.0, "order": "newest", "filter": {"agent": "a"}, "rows": [{"id": 1}]}),
    ("union", {"target": {"kind": "web", "url": "https://x.example"}, "when": None}),
    ("strict", {}),
    ("referring", {"q": {"n": 1}}),
    ("tree", {"next": {"next": {"v": 1, "next": {}}}}),
    ("numbers", {"n": 0.5, "m": 10, "big": 2**53}),
    ("lists", {"tags": ["a"], "pair": [1, "x"], "some": ["x", "y"]}),
    ("maps", {"labels": {"a": "x"}, "open": {"whatever": 1}, "few": {"a": 1}}),
    ("mixed", {"mode": "fast", "speed": 1, "either": "x", "other": 1}),
    ("odd names", {"": "a", "self": "b", "__class__": "c", "model_config": "d", "f1": "e", "from": "f", "a b": "g"}),
    ("defaults", {}),
    ("draft 7", {"pair": [1, "x"], "why": 1}),
    ("nothing", {}),
    ("anything", {"whatever": [1]}),
]


@pytest.mark.parametrize(("name", "arguments"), ACCEPTED, ids=[name for name, _ in ACCEPTED])
def test_right_arguments_are_accepted_and_stay_as_they_are(name: str, arguments: JsonObject):
    before = json.dumps(arguments)
    assert objection(SCHEMAS[name], arguments) is None
    assert json.dumps(arguments) == before


def test_case_c17_a_wrong_value_behind_a_reference_fails_here_with_its_path():
    assert objection(REFERRING, {"q": {"n": "x"}}) == "q.n: expected integer, got string"
    assert objection(REFERRING, {"q": {"m": 1}}) == "q.m: unknown argument; known are n"


def test_unknown_arguments_pass_where_the_policy_says_so_and_the_schema_does_not_object():
    assert objection(SEARCH, {"query": "ab", "extra": 1}, allow_unknown=True) is None
    assert objection(STRICT, {"extra": 1}, allow_unknown=True) == "extra: unknown argument; known are days, dry_run"
    assert objection(SEARCH, {"extra": 1}, allow_unknown=True) == "query: required, but missing"


# --- nothing that was sent, nothing long --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_message_holds_a_value_that_was_sent(name: str):
    values: list[Json] = [SECRET, [SECRET], {"kind": SECRET}, {"kind": "web", "url": SECRET}, {"deep": {"er": SECRET}}]
    messages = [objection(SCHEMAS[name], {key: value}) or "" for key in names_of(SCHEMAS[name]) for value in values]
    assert [message for message in messages if SECRET in message] == []


def test_no_message_holds_a_default_or_an_example_of_the_schema():
    schema = taking(
        token={**INTEGER, "default": SECRET, "examples": [SECRET], "description": SECRET, "$comment": SECRET}
    )
    assert objection(schema, {"token": "x"}) == "token: expected integer, got string"


@pytest.mark.parametrize(
    "arguments",
    [
        {f"unknown_{number}": 1 for number in range(1_000)},
        {"x" * 100_000: 1, "y\r\n\x1b[2J": 2},
        {"rows": [{"id": "x"}] * 200, "limit": "x", "order": 1, "filter": {"a": 1, "b": 2}},
        {"rows": [{"id": "x"}] * 200_000},
    ],
    ids=["a thousand names", "long and odd names", "many problems", "more problems than are listed"],
)
def test_a_message_is_short_and_its_lines_are_of_our_making(arguments: JsonObject):
    message = objection(SEARCH, arguments)
    assert message is not None
    assert len(message) <= MAX_CHARACTERS
    assert len(message.split("\n")) <= MAX_LINES
    assert message.replace("\n", "").isprintable()


def test_what_is_left_out_of_a_message_is_counted():
    lines = [f"line {number}" for number in range(7)]
    assert bounded_lines(lines[:5]) == "\n".join(lines[:5])
    assert bounded_lines(lines) == "line 0\nline 1\nline 2\nline 3\nand 3 more problems"
    assert bounded_lines(["x" * 500] * 3) == "\n".join(["x" * 237 + "..."] * 2 + ["and 1 more problem"])


# --- hostile schemas and values -----------------------------------------------------------------------------------------


class Counted:
    """A validator that counts how often every problem was asked for."""

    def __init__(self, schema: JsonObject) -> None:
        self._inner = compile_schema(schema)
        self.listings = 0

    def is_valid(self, instance: object) -> bool:
        return self._inner.is_valid(instance)

    def validate(self, instance: object) -> None:
        self._inner.validate(instance)

    def iter_errors(self, instance: object) -> Any:
        self.listings += 1
        return self._inner.iter_errors(instance)


HUGE: Mapping[str, tuple[JsonObject, JsonObject, str]] = {
    "a million wrong items": (
        taking(a={"type": "array", "items": INTEGER}), {"a": ["x"] * 1_000_000}, "a[0]: expected integer, got string",
    ),
    "a thousand subschemas over a large value": (
        taking(a={"allOf": [{**INTEGER, "title": str(n)} for n in range(1_000)]}), {"a": "x" * 100_000},
        "a: expected integer, got string",
    ),
    "a fan of alternatives": (
        taking(a={"type": "array", "items": {"anyOf": [INTEGER, {"type": "null"}]}}), {"a": ["x"] * 300_000},
        "a[0]: expected integer or null, got string",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "arguments", "message"), HUGE.values(), ids=HUGE)
def test_input_41_of_too_many_problems_only_the_first_is_made(schema: JsonObject, arguments: JsonObject, message: str):
    made: list[Counted] = []

    def compiled(document: JsonObject) -> CompiledSchema:
        made.append(Counted(document))
        return made[-1]

    assert ArgumentChecks(compiled).objection(tool(schema), arguments, allow_unknown=False) == message
    assert [each.listings for each in made] == [0]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_input_41_where_alternatives_multiply_with_the_depth_the_verdict_is_all_that_is_asked_for(keyword: str):
    node = taking(c={"$ref": "#/$defs/n"})
    schema = {**node, "$defs": {"n": {keyword: [node, {**node, "title": "the same again"}]}}}
    arguments: Json = 5
    for _ in range(60):
        arguments = {"c": arguments}
    began = time.monotonic()
    message = objection(schema, cast("JsonObject", arguments))
    assert message == "arguments: the schema refuses this; its alternatives are too many to say where"
    assert time.monotonic() - began < 2


def test_the_schemas_that_apply_to_one_value_are_counted_through_references():
    assert most_applied(taking(a=TEXT, b=TEXT)) == 1
    assert most_applied({**taking(a=TEXT), "allOf": [{}, {"anyOf": [{}, {}]}]}) == 5
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    assert most_applied({"$ref": "#/$defs/d0", "$defs": {**doubling, "d40": {}}}) == 5_000
    assert most_applied(TREE) == 2
    assert most_applied({"$ref": "#"}) <= 2


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "^(a|aa)+(?<!b)\\1c$", "(a|aa|b)*(?=c)\\1$"])
def test_input_42_and_43_a_pattern_made_to_backtrack_refuses_and_is_never_ignored(pattern: str):
    message = objection(taking(a={**TEXT, "pattern": pattern}), {"a": "a" * 50_000 + "!"})
    assert message is not None
    assert message.startswith("a: ")
    assert "aaaa" not in message


def test_input_44_no_property_name_means_anything_to_the_model():
    arguments = {name: f"value of {name}" for name in ("", "self", "__class__", "model_config", "f1", "from", "a b")}
    model = CHECKS.model(tool(ODD_NAMES)).model_validate(arguments)
    assert model.model_dump(by_alias=True, exclude_unset=True) == arguments
    assert type(model) is CHECKS.model(tool(ODD_NAMES))


def test_input_44_a_default_is_neither_filled_in_nor_shared():
    model = CHECKS.model(tool(DEFAULTS)).model_validate({})
    assert model.model_dump(by_alias=True, exclude_unset=True) == {}
    assert set(model.model_dump().values()) == {None}


def test_a_schema_of_thousands_of_properties_still_has_its_verdict():
    schema = taking("p4999", **{f"p{number}": INTEGER for number in range(5_000)})
    assert objection(schema, {"p4999": 1}) is None
    assert objection(schema, {"p4999": "x"}) == "p4999: expected integer, got string"


# --- the cache ----------------------------------------------------------------------------------------------------------


def test_a_schema_is_compiled_once_for_its_tool_and_forgotten_in_the_end():
    compiled: list[JsonObject] = []

    def counting(document: JsonObject) -> CompiledSchema:
        compiled.append(document)
        return compile_schema(document)

    checks, one = ArgumentChecks(counting), tool(taking(a=TEXT))
    for _ in range(3):
        assert checks.objection(one, {"a": "x"}, allow_unknown=False) is None
    assert len(compiled) == 1
    for number in range(MAX_TOOLS):
        checks.model(tool(taking(**{f"p{number}": TEXT})))
    checks.model(one)
    assert len(compiled) == MAX_TOOLS + 2


# --- the verdict is the validator's -------------------------------------------------------------------------------------

SCALARS = st.sampled_from(
    [None, True, False, 0, 1, 5, 5.0, 0.5, -1, 2**53 + 1, "", "x", "ab", "fast", "file", "5", "https:x"]
)
JSON_VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["agent", "days", "id", "kind", "path", "url", "n", "v", "next", "a"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
CALLS = st.sampled_from(sorted(SCHEMAS)).flatmap(
    lambda name: st.tuples(
        st.just(SCHEMAS[name]), st.dictionaries(st.sampled_from(names_of(SCHEMAS[name])), JSON_VALUES)
    )
)


@given(CALLS)
def test_the_verdict_is_the_validators_on_whatever_is_sent(call: tuple[JsonObject, dict[str, Json]]):
    schema, arguments = call
    before = json.dumps(arguments)
    valid = compile_schema(schema).is_valid(arguments)
    assert (objection(schema, arguments, allow_unknown=True) is None) == valid
    assert valid or objection(schema, arguments) is not None
    assert json.dumps(arguments) == before


@given(CALLS)
def test_the_model_gives_back_what_it_was_given(call: tuple[JsonObject, dict[str, Json]]):
    schema, arguments = call
    if compile_schema(schema).is_valid(arguments):
        model = CHECKS.model(tool(schema)).model_validate(arguments)
        assert model.model_dump(by_alias=True, exclude_unset=True) == arguments
