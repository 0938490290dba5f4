"""Changes of definitions in the words of JSON Schema."""

import pytest

from remit.core.canonical import Json
from remit.render.change_lines import change_lines
from remit.render.shapes import ChangeDocument, DefinitionDocument


def definition(schema: dict[str, Json]) -> DefinitionDocument:
    return {"title": None, "description": None, "inputSchema": schema, "outputSchema": None, "annotations": {}}


def added(*path: str | int, value: Json, change_class: str | None = "compatible") -> ChangeDocument:
    return {"path": list(path), "kind": "added", "before": None, "after": value, "class": change_class}


def changed(*path: str | int, before: Json, after: Json, change_class: str | None = "breaking") -> ChangeDocument:
    return {"path": list(path), "kind": "changed", "before": before, "after": after, "class": change_class}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string, required"),
        ({"type": ["string", "null"], "description": "Who"}, 'string or null, required, "Who"'),
        ({"enum": ["a", "b"]}, 'one of "a", "b", required'),
        ({"type": "string", "maxLength": 5}, 'string, required  {"maxLength":5,"type":"string"}'),
        ({"$ref": "#/$defs/x"}, 'any shape, required  {"$ref":"#/$defs/x"}'),
        ({}, "any value, required"),
        (True, "any value, required"),
        (False, "no value, required"),
    ],
)
def test_an_added_property_is_told_in_words_and_nothing_of_it_is_hidden(schema: Json, words: str):
    after = definition({"type": "object", "properties": {"who": schema}, "required": ["who"]})
    change = added("inputSchema", "properties", "who", value=schema)
    assert change_lines([change], definition({}), after) == [f"inputSchema  + properties.who  {words}  compatible"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            changed("inputSchema", "properties", "n", "type", before="integer", after="number"),
            "inputSchema  ~ properties.n.type  integer -> number  breaking",
        ),
        (
            changed("inputSchema", "properties", "type", "type", before="integer", after=["integer", "null"]),
            'inputSchema  ~ properties.type.type  integer -> ["integer","null"]  breaking',
        ),
        (
            changed("inputSchema", "maximum", before=9223372036854775807, after=9223372036854775806),
            "inputSchema  ~ maximum  9223372036854775807 -> 9223372036854775806  breaking",
        ),
        (
            added("inputSchema", "required", 0, value="labels"),
            'inputSchema  + required[]  "labels"  compatible',
        ),
        (
            added("inputSchema", "properties", "a", "enum", 2, value="x"),
            'inputSchema  + properties.a.enum[]  "x"  compatible',
        ),
        (
            added("inputSchema", "properties", "a.b", "oneOf", 1, value={"type": "null"}),
            'inputSchema  + properties["a.b"].oneOf[1]  null  compatible',
        ),
        (
            added("inputSchema", "properties", "properties", "default", value={"type": "x"}),
            'inputSchema  + properties.properties.default  {"type":"x"}  compatible',
        ),
        (
            added("inputSchema", "$defs", "node", "items", value={"type": "string"}),
            "inputSchema  + $defs.node.items  string  compatible",
        ),
        (changed("title", before=None, after="Star", change_class="text"), 'title  ~  none -> "Star"  text'),
        (
            changed("description", before='say "hi"', after='say "hi" -> x', change_class="text"),
            r'description  ~  "say \"hi\"" -> "say \"hi\" -> x"  text',
        ),
        (
            changed("annotations", "readOnlyHint", before=True, after=False, change_class="claims"),
            "annotations  ~ readOnlyHint  true -> false  claims",
        ),
        (changed("env", before={"A": "1", "B": "2"}, after={"A": "1"}, change_class=None), 'env  - B  "2"'),
    ],
)
def test_a_change_reads_in_json_schema_words(change: ChangeDocument, line: str):
    assert change_lines([change], definition({}), definition({})) == [line]


def test_a_property_inside_a_list_of_schemas_knows_whether_it_is_required():
    schema: dict[str, Json] = {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]}
    change = added("inputSchema", "anyOf", 0, "properties", "a", value={"type": "string"})
    assert change_lines([change], definition({}), definition(schema)) == [
        "inputSchema  + anyOf[0].properties.a  string, required  compatible"
    ]


def test_of_many_changes_the_gravest_are_shown_and_the_rest_counted():
    many = [added("inputSchema", "properties", f"p{number}", value={"type": "string"}) for number in range(100)]
    breaking = changed("inputSchema", "properties", "last", "type", before="string", after="number")
    lines = change_lines([*many, breaking], definition({}), definition({}))
    assert len(lines) == 41
    assert lines[-2].startswith("inputSchema  ~ properties.last.type  string -> number")
    assert lines[-1] == "... and 61 more changed paths; the JSON plan has them all"


def test_a_difference_in_the_middle_of_long_texts_is_cut_out():
    before, after = "a" * 500 + "OLD" + "z" * 500, "a" * 500 + "NEW" + "z" * 500
    assert change_lines([changed("description", before=before, after=after, change_class="text")]) == [
        f'description  ~  "... {"a" * 20}OLD{"z" * 20} ..." -> "... {"a" * 20}NEW{"z" * 20} ..."  text'
    ]
