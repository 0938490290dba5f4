"""Schemas that are derived from the types of documents."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict

import pytest

from remit.core.canonical import Json, JsonObject
from remit.render.document_schema import document_schema
from remit.render.shapes import FORMAT_VERSION, AttachDocument, DetachDocument, ProblemDocument


class Colour(StrEnum):
    """Words of a closed set."""

    RED = "red"
    BLUE = "blue"


class InnerDocument(TypedDict):
    """A part."""

    colour: Annotated[str, Colour]


class OuterDocument(TypedDict):
    """The whole."""

    format_version: str
    name: str | None
    kind: Literal["a", "b"]
    sure: bool
    count: NotRequired[int]
    parts: Sequence[InnerDocument]
    names: Mapping[str, str]
    anything: Json
    theirs: JsonObject


def test_an_object_is_closed_and_requires_what_its_type_requires():
    assert document_schema("title", "words", [OuterDocument]) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "title",
        "description": "words",
        "type": "object",
        "additionalProperties": False,
        "required": ["format_version", "name", "kind", "sure", "parts", "names", "anything", "theirs"],
        "properties": {
            "format_version": {"const": FORMAT_VERSION},
            "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "kind": {"enum": ["a", "b"]},
            "sure": {"type": "boolean"},
            "count": {"type": "integer", "minimum": 0},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
            "names": {"type": "object", "additionalProperties": {"type": "string"}},
            "anything": {},
            "theirs": {"type": "object"},
        },
        "$defs": {
            "inner": {
                "type": "object",
                "description": "A part.",
                "additionalProperties": False,
                "required": ["colour"],
                "properties": {"colour": {"enum": ["red", "blue"]}},
            }
        },
    }


class HoldingDocument(TypedDict):
    """Parts of a plan."""

    problem: ProblemDocument
    operation: AttachDocument | DetachDocument


def test_a_part_of_a_plan_is_taken_from_the_schema_of_plans_with_all_that_it_needs():
    schema = document_schema("title", "words", [HoldingDocument])
    assert schema["properties"] == {
        "problem": {"$ref": "#/$defs/problem"},
        "operation": {"$ref": "#/$defs/operation"},
    }
    assert {"problem", "source", "operation", "attachment", "envelope", "change", "risk"} <= set(schema["$defs"])
    assert "plan" not in schema["$defs"]


def test_two_documents_are_told_apart_by_reference():
    schema = document_schema("title", "words", [OuterDocument, InnerDocument])
    assert schema["anyOf"] == [{"$ref": "#/$defs/outer"}, {"$ref": "#/$defs/inner"}]
    assert schema["description"] == "words"


class Inner(TypedDict):
    """Another type with the name of a part."""

    text: str


class ClashingDocument(TypedDict):
    """Two parts with one name."""

    one: Inner
    other: InnerDocument


class ForeignDocument(TypedDict):
    """A value that JSON cannot hold."""

    value: bytes


@pytest.mark.parametrize("document", [ClashingDocument, ForeignDocument])
def test_a_type_that_cannot_be_told_is_refused(document: type):
    with pytest.raises(TypeError):
        document_schema("title", "words", [document])
