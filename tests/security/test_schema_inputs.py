"""Inputs 39 to 44 of the catalogue: schemas that fetch, loop, multiply or stall, and what a pattern must never lose."""

import asyncio
import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from remit.core.canonical import JsonObject
from remit.core.live import Era, ListedTool, Quarantine, QuarantineReason
from remit.upstream.faults import Fault
from remit.upstream.judge import judge_listing, judge_tool, judge_tools
from remit.upstream.schema_check import MAX_PATTERNS, MAX_SUBSCHEMAS, SchemaChecker, compile_schema
from tests.security.test_url_inputs import counting

OBJECT: dict[str, Any] = {"type": "object"}
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
ROOT = Path(__file__).parents[2]


def named(name: str, schema: JsonObject) -> dict[str, Any]:
    return {"name": name, "inputSchema": schema}


def taking(schema: Any, **more: Any) -> dict[str, Any]:
    return {**OBJECT, "properties": {"a": schema}, **more}


def reason_of(schema: Any) -> QuarantineReason | None:
    verdict = judge_tool(named("it", schema), Era.LEGACY)
    return verdict.reason if isinstance(verdict, Quarantine) else None


REMOTE = """
import json, sys
from remit.core.live import Era, Quarantine
from remit.upstream.judge import judge_tools

WATCHED, seen = ("open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system"), []
schemas = json.loads(sys.argv[1])
judge_tools([{"name": "warm", "inputSchema": {"type": "object"}}], Era.MODERN)
sys.addaudithook(lambda event, details: seen.append((event, str(details))) if event in WATCHED else None)
tools, quarantined = judge_tools([{"name": f"t{n}", "inputSchema": s} for n, s in enumerate(schemas)], Era.MODERN)
print(json.dumps([len(tools), sorted({q.reason for q in quarantined}), seen]))
"""


def test_input_39_a_reference_outside_is_neither_fetched_nor_opened(tmp_path: Path):
    secret = tmp_path / "schema.json"
    secret.write_text("{}", "utf-8")
    with counting() as (port, peers):
        targets = (f"http://127.0.0.1:{port}/a", f"file://{secret}", str(secret), "a.json#/x", f"//127.0.0.1:{port}/a")
        schemas: list[Any] = []
        for target in targets:
            reference = {"$ref": target}
            schemas += [
                taking(reference), taking({"$dynamicRef": target}), {**OBJECT, "$schema": target},
                {**OBJECT, "$id": target, "items": {"$ref": "b.json"}}, taking({"not": {"if": reference}}),
                {**OBJECT, "x-parts": {"a": reference}, "items": {"$ref": "#/x-parts/a"}},
                {**OBJECT, "$schema": DRAFT_2019, "items": {"$recursiveRef": target}},
            ]  # fmt: skip
        child = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(REMOTE), json.dumps(schemas)],
            capture_output=True, text=True, timeout=30, check=True, cwd=tmp_path,
        )  # fmt: skip
        usable, reasons, seen = json.loads(child.stdout)
        assert (usable, seen, peers) == (0, [], [])
    assert reasons == ["invalid_schema", "remote_ref"]


def test_input_39_where_a_reference_is_data_it_is_no_reference():
    tools, _ = judge_tools([named("it", taking({"default": {"$ref": "http://127.0.0.1:9/"}}))], Era.LEGACY)
    assert len(tools) == 1


LOOPS: dict[str, JsonObject] = {
    "alone": {"$ref": "#"},
    "beside a type": {**OBJECT, "$ref": "#"},
    "in a definition": taking({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/a"}}}),
    "over two": taking({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
    "through allOf": {**OBJECT, "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
    "through not": taking({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}),
    "through if": taking({"if": {"$ref": "#/properties/a"}}),
    "through dependentSchemas": {**OBJECT, "dependentSchemas": {"a": {"$ref": "#"}}},
    "by an anchor": {**OBJECT, "$anchor": "me", "oneOf": [{"$ref": "#me"}]},
    "by a dynamic anchor": {**OBJECT, "$dynamicAnchor": "me", "anyOf": [{"$dynamicRef": "#me"}]},
    "by a recursive reference": {**OBJECT, "$schema": DRAFT_2019, "not": {"$recursiveRef": "#"}},
    "where no schema stands": {**OBJECT, "x": {"a": {"$ref": "#/x/a"}}, "items": {"$ref": "#/x/a"}},
    "in a resource of its own": taking({"$id": "https://it.example/a", "anyOf": [{"$ref": "#"}]}),
    "over a thousand": taking(
        {"$ref": "#/$defs/0"}, **{"$defs": {str(n): {"$ref": f"#/$defs/{(n + 1) % 1_000}"} for n in range(1_000)}}
    ),
}


@pytest.mark.parametrize("schema", LOOPS.values(), ids=list(LOOPS))
def test_input_40_a_schema_that_only_comes_back_to_itself_is_refused(schema: JsonObject):
    assert reason_of(schema) is QuarantineReason.EMPTY_REF


def test_input_40_a_schema_that_comes_back_with_another_value_is_fine():
    tree = taking({"$ref": "#"}, additionalProperties={"$ref": "#/properties/a"})
    query = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/query"}}]}
    node = {**OBJECT, "$dynamicAnchor": "node", "properties": {"next": {"$dynamicRef": "#node"}}}
    schemas: list[JsonObject] = [tree, taking({"$ref": "#/$defs/query"}, **{"$defs": {"query": query}}), node]
    assert [reason_of(each) for each in schemas] == [None] * 3


def doubling(levels: int) -> dict[str, Any]:
    """A definition that applies the next one twice, so many times over: 2 to the power of `levels` subschemas in a few bytes."""
    following = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return taking({"$ref": "#/$defs/d0"}, **{"$defs": {**following, f"d{levels}": {"type": "string"}}})


HEAVY: dict[str, JsonObject] = {
    "2^18 through allOf": doubling(18),
    "2^60 through allOf": doubling(60),
    "50,000 properties": {**OBJECT, "properties": {f"p{n}": {} for n in range(50_000)}},
    "5,001 subschemas": taking({"anyOf": [{}] * (MAX_SUBSCHEMAS + 1)}),
    "65 levels": json.loads('{"type": "object", "a": ' + "[" * 65 + "]" * 65 + "}"),
    "a million empty lists": {**OBJECT, "default": [[]] * 1_000_000},
    "300 KB of text": {**OBJECT, "description": "x" * 300_000},
    "101 patterns": {**OBJECT, "properties": {f"p{n}": {"pattern": str(n)} for n in range(MAX_PATTERNS + 1)}},
    "a pattern of 1,001": taking({"pattern": "a" * 1_001}),
}


@pytest.mark.parametrize("schema", HEAVY.values(), ids=list(HEAVY))
def test_input_41_a_schema_over_a_limit_is_refused_before_it_is_compiled(schema: JsonObject):
    checker = SchemaChecker()
    began = time.monotonic()
    verdict = judge_tool(named("it", schema), Era.LEGACY, checker)
    assert isinstance(verdict, Quarantine)
    assert (verdict.reason, time.monotonic() - began < 10) == (QuarantineReason.SCHEMA_TOO_LARGE, True)


def test_input_41_the_heaviest_schema_below_the_limits_is_judged_in_bounded_time():
    counted = {
        **OBJECT,
        "properties": {f"p{n}": {"pattern": "((a{1,40}){1,40}){1,4}x" + str(n)} for n in range(MAX_PATTERNS)},
    }
    began = time.monotonic()
    for schema in (
        doubling(10),
        counted,
        {**OBJECT, "properties": {f"p{n}": {"type": "string"} for n in range(4_000)}},
    ):
        reason_of(schema)
    assert time.monotonic() - began < 20


def slow_tools(number: int) -> list[dict[str, Any]]:
    """Tools that take a few milliseconds each to judge."""
    empty: list[Any] = []
    values = [empty] * 5_000
    return [named(f"t{each}", {**OBJECT, "default": values, "title": str(each)}) for each in range(number)]


def test_input_41_judging_a_listing_ends_by_its_deadline():
    judging = judge_listing(slow_tools(2_000), Era.LEGACY, SchemaChecker(), deadline=time.monotonic())
    with pytest.raises(Fault, match="of 2000 tools were judged before"):
        asyncio.run(judging)


def test_input_41_while_a_listing_is_judged_others_go_on():
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> None:
        beside = asyncio.create_task(other())
        await judge_listing(slow_tools(100), Era.LEGACY, SchemaChecker(), deadline=time.monotonic() + 60)
        beside.cancel()

    asyncio.run(main())
    assert turns > 1


def test_a_schema_that_repeats_is_compiled_once():
    checker = SchemaChecker()
    schemas: list[JsonObject] = [
        taking({"pattern": "^a"}),
        {"properties": {"a": {"pattern": "^a"}}, "type": "object"},
        OBJECT,
    ]
    verdicts = [judge_tool(named(f"t{n}", schemas[n % 3]), Era.LEGACY, checker) for n in range(300)]
    assert (checker.compiled, all(isinstance(each, ListedTool) for each in verdicts)) == (2, True)


def test_what_is_refused_by_its_size_is_never_compiled():
    checker = SchemaChecker()
    for schema in (HEAVY["101 patterns"], HEAVY["65 levels"], HEAVY["5,001 subschemas"], HEAVY["300 KB of text"]):
        assert checker.check(schema, needs_object=True) is not None
    assert checker.compiled == 0


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "^((a{1,20}){1,20})+$", "^(?=a)(a+)+$", "^(a+)+\\1$", "(?<!b)(a*)*c",
        "^(\\w+\\s?)*$", "^(?:(?:a{1,9}){1,9}){1,9}$",
    ],
)  # fmt: skip
def test_input_42_a_pattern_made_to_backtrack_is_bounded(pattern: str):
    schema = taking({"type": "string", "pattern": pattern})
    assert reason_of(schema) is None
    validator = compile_schema(schema)
    began = time.monotonic()
    assert not validator.is_valid({"a": "a" * 50_000 + "!"})
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("pattern", ["((a{1000}){1000}){1000}", "\\d{1000000}", "(((((a?){50}){50}){50}){50})"])
def test_input_42_a_pattern_that_compiles_into_too_much_is_refused(pattern: str):
    assert reason_of(taking({"pattern": pattern})) is QuarantineReason.INVALID_SCHEMA


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("^(?!admin)\\w+$", "user", "admin"),
        ("(?<=a)b", "ab", "b"),
        ("^(\\w)\\1$", "aa", "ab"),
        ("^\\p{L}+$", "\u00e9t\u00e9", "123"),
        ("^\\cA$", "\u0001", "A"),
        ("^[\\w-]+$", "a-b", "a b"),
        ("^\\u0041$", "A", "B"),
    ],
)
def test_input_43_no_pattern_is_ignored(pattern: str, yes: str, no: str):
    schema = taking({"type": "string", "pattern": pattern})
    assert reason_of(schema) is None
    validator = compile_schema(schema)
    assert [validator.is_valid({"a": text}) for text in (yes, no)] == [True, False]


def test_input_43_a_pattern_over_its_limit_matches_nothing_also_under_not():
    endless = {"pattern": "(a|aa|b)*(?=c)\\1$"}
    value = {"a": "a" * 40 + "!"}
    assert not compile_schema(taking(endless)).is_valid(value)
    assert not compile_schema(taking({"not": endless})).is_valid(value)


ODD: dict[str, tuple[Any, QuarantineReason]] = {
    "bad regex": (taking({"pattern": "["}), QuarantineReason.INVALID_SCHEMA),
    "unknown dialect": ({**OBJECT, "$schema": "https://it.example/own"}, QuarantineReason.INVALID_SCHEMA),
    "true": (True, QuarantineReason.ROOT_NOT_OBJECT),
    "null": (None, QuarantineReason.ROOT_NOT_OBJECT),
    "a list": ([], QuarantineReason.ROOT_NOT_OBJECT),
    "a text": ("object", QuarantineReason.ROOT_NOT_OBJECT),
    "an array root": ({"type": "array"}, QuarantineReason.ROOT_NOT_OBJECT),
    "no type": ({}, QuarantineReason.ROOT_NOT_OBJECT),
    "properties as list": ({**OBJECT, "properties": []}, QuarantineReason.INVALID_SCHEMA),
    "required as text": ({**OBJECT, "required": "a"}, QuarantineReason.INVALID_SCHEMA),
    "no such type": (taking({"type": "str"}), QuarantineReason.INVALID_SCHEMA),
    "a reference to nothing": (taking({"$ref": "#/$defs/none"}), QuarantineReason.INVALID_SCHEMA),
}


def test_input_44_each_odd_schema_costs_its_own_tool_and_no_other():
    bad = [named(name, schema) for name, (schema, _) in ODD.items()]
    bad = [{**each, "name": each["name"].replace(" ", "_")} for each in bad] + [{"name": "none"}]
    tools, quarantined = judge_tools([*bad, named("fine", OBJECT)], Era.LEGACY)
    assert [each.remote_name for each in tools] == ["fine"]
    expected = {name.replace(" ", "_"): reason for name, (_, reason) in ODD.items()}
    assert {each.remote_name: each.reason for each in quarantined} == {
        **expected,
        "none": QuarantineReason.ROOT_NOT_OBJECT,
    }


def test_input_44_a_property_may_be_called_like_a_part_of_python():
    odd = [
        "__class__",
        "self",
        "",
        "__init__",
        "mro",
        "$ref",
        "model_config",
        "\u0000",
        "a.b",
        "constructor",
        "__proto__",
    ]
    schema = {**OBJECT, "properties": {name: {"type": "string", "default": "x"} for name in odd}, "required": odd}
    verdict = judge_tool(named("it", schema), Era.LEGACY)
    assert isinstance(verdict, ListedTool)
    assert verdict.definition.content().input_schema == schema
    arguments: dict[str, Any] = {}
    assert not compile_schema(schema).is_valid(arguments)
    assert arguments == {}
