import json
from typing import Any

import pytest

from remit.core.definition import Definition
from remit.core.live import Era, ListedTool, Quarantine, QuarantineReason
from remit.upstream.judge import judge_tool, judge_tools
from tests.servers.http_server import HttpServer

OBJECT: dict[str, Any] = {"type": "object"}


def tool(**parts: Any) -> dict[str, Any]:
    return {"name": "it", "inputSchema": OBJECT, **parts}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return {**OBJECT, **schema}


def test_a_usable_tool_keeps_every_part_that_counts():
    raw = tool(
        title="It",
        description="Does it",
        outputSchema={"type": "object", "properties": {"a": {}}},
        annotations={"readOnlyHint": True, "vendor": [1]},
        _meta={"x": 1},
        icons=[],
    )
    assert judge_tool(raw, Era.LEGACY) == ListedTool(
        remote_name="it",  # type: ignore[arg-type]  # a plain text stands for its own kind
        definition=Definition.of(
            title="It",
            description="Does it",
            input_schema=OBJECT,
            output_schema={"type": "object", "properties": {"a": {}}},
            annotations={"readOnlyHint": True, "vendor": [1]},
        ),
    )


REASONS: list[tuple[str, Any, QuarantineReason]] = [
    ("no object", 7, QuarantineReason.MALFORMED),
    ("no name", {"inputSchema": OBJECT}, QuarantineReason.MALFORMED),
    ("empty name", tool(name=""), QuarantineReason.INVALID_NAME),
    ("slash", tool(name="a/b"), QuarantineReason.INVALID_NAME),
    ("line end", tool(name="a\n"), QuarantineReason.INVALID_NAME),
    ("129 characters", tool(name="a" * 129), QuarantineReason.INVALID_NAME),
    ("other letters", tool(name="ä"), QuarantineReason.INVALID_NAME),
    ("other digits", tool(name="٣"), QuarantineReason.INVALID_NAME),
    ("title", tool(title=1), QuarantineReason.MALFORMED),
    ("description", tool(description=["a"]), QuarantineReason.MALFORMED),
    ("annotations", tool(annotations=[]), QuarantineReason.MALFORMED),
    ("annotations.title", tool(annotations={"title": 7}), QuarantineReason.MALFORMED),
    ("annotations.readOnlyHint", tool(annotations={"readOnlyHint": "yes"}), QuarantineReason.MALFORMED),
    ("surrogate", tool(description="\ud800"), QuarantineReason.MALFORMED),
    ("NaN", tool(inputSchema={**OBJECT, "default": float("nan")}), QuarantineReason.MALFORMED),
    ("infinity", tool(annotations={"x": float("inf")}), QuarantineReason.MALFORMED),
    ("surrogate key", tool(inputSchema={**OBJECT, "properties": {"\ud800": {}}}), QuarantineReason.MALFORMED),
    ("no schema", {"name": "it"}, QuarantineReason.ROOT_NOT_OBJECT),
    ("null schema", tool(inputSchema=None), QuarantineReason.ROOT_NOT_OBJECT),
    ("boolean schema", tool(inputSchema=True), QuarantineReason.ROOT_NOT_OBJECT),
    ("no type", tool(inputSchema={}), QuarantineReason.ROOT_NOT_OBJECT),
    ("two types", tool(inputSchema={"type": ["object", "null"]}), QuarantineReason.ROOT_NOT_OBJECT),
    (
        "unknown type",
        tool(inputSchema={**OBJECT, "properties": {"a": {"type": "strng"}}}),
        QuarantineReason.INVALID_SCHEMA,
    ),
    (
        "bad pattern",
        tool(inputSchema={**OBJECT, "properties": {"a": {"pattern": "("}}}),
        QuarantineReason.INVALID_SCHEMA,
    ),
    (
        "unknown dialect",
        tool(inputSchema={**OBJECT, "$schema": "http://it.example/x"}),
        QuarantineReason.INVALID_SCHEMA,
    ),
    ("dangling", tool(inputSchema={**OBJECT, "properties": {"a": {"$ref": "#/no"}}}), QuarantineReason.INVALID_SCHEMA),
    ("file ref", tool(inputSchema={**OBJECT, "allOf": [{"$ref": "file:///etc/passwd"}]}), QuarantineReason.REMOTE_REF),
    ("relative ref", tool(inputSchema={**OBJECT, "items": {"$ref": "a.json"}}), QuarantineReason.REMOTE_REF),
    ("dynamic", tool(inputSchema={**OBJECT, "items": {"$dynamicRef": "https://it/x"}}), QuarantineReason.REMOTE_REF),
    ("self", tool(inputSchema={"$ref": "#"}), QuarantineReason.EMPTY_REF),
    ("self in allOf", tool(inputSchema={**OBJECT, "allOf": [{"$ref": "#"}]}), QuarantineReason.EMPTY_REF),
    ("65 deep", tool(inputSchema=nested(65)), QuarantineReason.SCHEMA_TOO_LARGE),
    ("100,000 deep", tool(inputSchema=nested(100_000)), QuarantineReason.SCHEMA_TOO_LARGE),
    ("deep annotations", tool(annotations={"x": nested(100_000)}), QuarantineReason.MALFORMED),
    ("300 KiB", tool(inputSchema={**OBJECT, "description": "x" * 300_000}), QuarantineReason.SCHEMA_TOO_LARGE),
    ("5,001", tool(inputSchema={**OBJECT, "anyOf": [{}] * 5_001}), QuarantineReason.SCHEMA_TOO_LARGE),
    (
        "long pattern",
        tool(inputSchema={**OBJECT, "items": {"pattern": "a" * 1_001}}),
        QuarantineReason.SCHEMA_TOO_LARGE,
    ),
    (
        "long key",
        tool(inputSchema={**OBJECT, "patternProperties": {"a" * 1_001: {}}}),
        QuarantineReason.SCHEMA_TOO_LARGE,
    ),
    ("task", tool(execution={"taskSupport": "required"}), QuarantineReason.TASK_REQUIRED),
    ("output", tool(outputSchema={**OBJECT, "allOf": [{"$ref": "https://it/x"}]}), QuarantineReason.REMOTE_REF),
    ("output type", tool(outputSchema={"type": "array"}), QuarantineReason.ROOT_NOT_OBJECT),
]


@pytest.mark.parametrize(("raw", "reason"), [case[1:] for case in REASONS], ids=[case[0] for case in REASONS])
def test_a_tool_that_cannot_be_used_is_quarantined_for_its_reason(raw: Any, reason: QuarantineReason):
    verdict = judge_tool(raw, Era.LEGACY)
    assert isinstance(verdict, Quarantine)
    assert verdict.reason is reason
    json.dumps(verdict.remote_name + verdict.detail).encode()


USABLE: list[tuple[str, dict[str, Any]]] = [
    ("128 characters", tool(name="a" * 128)),
    ("dots and dashes", tool(name="-.A_z9")),
    ("nulls", tool(title=None, description=None, annotations=None, outputSchema=None, execution=None)),
    ("recursive", tool(inputSchema={**OBJECT, "properties": {"child": {"$ref": "#"}}})),
    ("own definitions", tool(inputSchema={**OBJECT, "$defs": {"a": {}}, "properties": {"x": {"$ref": "#/$defs/a"}}})),
    ("a property named $ref", tool(inputSchema={**OBJECT, "properties": {"$ref": {"type": "string"}}})),
    ("a $ref as data", tool(inputSchema={**OBJECT, "default": {"$ref": "https://it.example"}})),
    ("draft-07", tool(inputSchema={**OBJECT, "$schema": "http://json-schema.org/draft-07/schema#"})),
    ("64-bit", tool(inputSchema={**OBJECT, "properties": {"n": {"maximum": 2**63}}})),
    ("optional task", tool(execution={"taskSupport": "optional"})),
    ("ReDoS pattern", tool(inputSchema={**OBJECT, "properties": {"a": {"pattern": "^(a+)+$"}}})),
    ("look-ahead", tool(inputSchema={**OBJECT, "properties": {"a": {"pattern": "^(?!x)\\p{L}"}}})),
]


@pytest.mark.parametrize("raw", [case[1] for case in USABLE], ids=[case[0] for case in USABLE])
def test_an_odd_but_usable_tool_is_listed(raw: dict[str, Any]):
    assert isinstance(judge_tool(raw, Era.LEGACY), ListedTool)


def test_of_a_name_that_occurs_twice_every_copy_is_quarantined():
    tools, quarantined = judge_tools([tool(), tool(name="b"), tool(description="other")], Era.LEGACY)
    assert [listed.remote_name for listed in tools] == ["b"]
    assert [(bad.remote_name, bad.reason) for bad in quarantined] == [("it", QuarantineReason.DUPLICATE_NAME)] * 2


def test_since_2026_an_output_need_not_be_an_object_and_bad_header_marks_cost_the_tool():
    assert isinstance(judge_tool(tool(outputSchema={"type": "array"}), Era.MODERN), ListedTool)
    marked = tool(inputSchema={**OBJECT, "properties": {"a": {"type": "string", "x-mcp-header": "a\r\nb"}}})
    verdict = judge_tool(marked, Era.MODERN)
    assert isinstance(verdict, Quarantine)
    assert verdict.reason is QuarantineReason.INVALID_SCHEMA
    assert isinstance(judge_tool(marked, Era.LEGACY), ListedTool)


def test_a_remote_reference_is_never_fetched():
    with HttpServer() as it:
        for keyword in ("$ref", "$dynamicRef"):
            judge_tool(tool(inputSchema={**OBJECT, "properties": {"a": {keyword: it.url}}}), Era.LEGACY)
        hidden = {**OBJECT, "x-parts": {"a": {"$ref": it.url}}, "items": {"$ref": "#/x-parts/a"}}
        verdict = judge_tool(tool(inputSchema=hidden), Era.LEGACY)
        assert isinstance(verdict, Quarantine)
        assert it.seen == []
