"""What counts as a change of a definition, and the one text of a JSON value."""

from collections.abc import Mapping

import pytest

from remit.core.canonical import Json, JsonObject, base32_of, canonical_json, sha256_hex
from remit.core.definition import Definition, DefinitionContent, digest_of

INT64 = 2**63 - 1
SCHEMA: JsonObject = {"type": "object", "properties": {"query": {"type": "string", "description": "What to find."}}}


def with_schema(**keywords: Json) -> Definition:
    return Definition.of(input_schema={**SCHEMA, **keywords})


BASE = Definition.of(
    title="Search", description="Finds.", input_schema=SCHEMA, output_schema={"title": "Found"}, annotations={"a": 1}
)


def changed(**parts: object) -> Definition:
    whole: dict[str, object] = {
        "title": "Search",
        "description": "Finds.",
        "input_schema": SCHEMA,
        "output_schema": {"title": "Found"},
        "annotations": {"a": 1},
    }
    return Definition.of(**(whole | parts))  # pyright: ignore[reportArgumentType] (the parts are named by their parameters)


def prose(**keywords: Json) -> JsonObject:
    return {"type": "object", "properties": {"query": {"type": "string", **keywords}}}


@pytest.mark.parametrize(
    ("other", "same_definition", "same_contract"),
    [
        (changed(), True, True),
        (changed(input_schema=dict(reversed(SCHEMA.items()))), True, True),
        (changed(title="Find"), False, True),
        (changed(description=None), False, True),
        (changed(input_schema=prose(description="Something else.")), False, True),
        (changed(input_schema=prose(title="Q", examples=["a"], **{"$comment": "x"})), False, True),
        (changed(output_schema={"title": "Nothing"}), False, True),
        (changed(annotations={"a": 1, "title": "Search"}), False, True),
        (changed(annotations={"a": 2}), False, False),
        (changed(annotations=None), False, False),
        (changed(output_schema=None), False, False),
        (changed(input_schema=prose(maxLength=3)), False, False),
        (changed(input_schema=prose(default="title")), False, False),
        (changed(input_schema={**SCHEMA, "properties": {"title": {}, "description": {}}}), False, False),
    ],
    ids=[
        "nothing",
        "the order of keys",
        "the title",
        "the description",
        "a description in the schema",
        "a title, examples and a comment in the schema",
        "a title in the output schema",
        "a title among the annotations",
        "an annotation",
        "no annotations",
        "no output schema",
        "a bound",
        "a default",
        "properties that are called title and description",
    ],
)
def test_a_digest_covers_what_it_says(other: Definition, *, same_definition: bool, same_contract: bool) -> None:
    assert (
        other.definition_digest == BASE.definition_digest,
        other.contract_digest == BASE.contract_digest,
    ) == (same_definition, same_contract)


def test_a_property_called_title_is_part_of_the_contract() -> None:
    text, number = (
        Definition.of(input_schema={"properties": {"title": {"type": kind}}}).contract_digest
        for kind in ("string", "integer")
    )
    assert text != number


@pytest.mark.parametrize("neighbour", [INT64 - 1, INT64 + 1, float(INT64)])
def test_an_int64_bound_differs_from_its_neighbours(neighbour: float) -> None:
    assert with_schema(maximum=INT64).contract_digest != with_schema(maximum=neighbour).contract_digest
    assert with_schema(maximum=INT64).content().input_schema["maximum"] == INT64


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), "\ud800"])
def test_what_has_no_canonical_text_is_refused(value: Json) -> None:
    with pytest.raises(ValueError, match=r"JSON compliant|surrogates not allowed"):
        with_schema(default=value)


def test_a_definition_gives_its_parts_back() -> None:
    assert BASE.content() == DefinitionContent(
        title="Search",
        description="Finds.",
        input_schema=SCHEMA,
        output_schema={"title": "Found"},
        annotations={"a": 1},
    )


def test_digests_are_versioned_and_stay_what_they_are() -> None:
    bare = Definition.of(input_schema={"type": "object"})
    text = '{"annotations":{},"description":null,"inputSchema":{"type":"object"},"outputSchema":null,"title":null}'
    assert (bare.text, bare.definition_digest) == (text, digest_of(text))
    assert bare.definition_digest == "d1:989861b4b8ba19d6846bdf1b28d973e57452498211f055c86b9862b087888a93"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
        ({"n": 10**30, "f": 0.1}, f'{{"f":0.1,"n":{10**30}}}'),
        ('"\\\n', '"\\"\\\\\\n"'),
        ([], "[]"),
    ],
)
def test_a_value_has_one_text(value: Json, text: str) -> None:
    assert canonical_json(value) == text


def test_hash_inputs_are_joined_so_that_parts_cannot_be_confused() -> None:
    parts: Mapping[str, tuple[str, ...]] = {"one": ("a", "b"), "joined": ("ab",), "empty": ("a", "", "b")}
    assert len({sha256_hex(*each) for each in parts.values()}) == 3
    assert sha256_hex("a", "b") == "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138"
    assert base32_of(16, "a", "b") == "lgzhdlq3xsy5ghkb"
