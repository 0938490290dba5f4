"""What counts as arguments: one exact JSON object, or a short objection that names the place and never the value."""

import json
from collections import OrderedDict
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.arguments import MAX_DEPTH, MAX_INTEGER_DIGITS, MAX_TEXT_BYTES, Objected, parse_arguments, path_text
from remit.core.canonical import Json, JsonObject, canonical_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=6)


def nested(depth: int) -> dict[str, Any]:
    """An object in which `depth` objects stand inside each other."""
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def unread(raw: object) -> str:
    """The objection to arguments of whatever type a caller passes."""
    found = parse_arguments(cast("JsonObject", raw))
    assert isinstance(found, Objected)
    return found.message


@given(OBJECTS)
def test_arguments_come_out_as_they_went_in(value: dict[str, Json]):
    text = canonical_json(value)
    for parsed in (parse_arguments(text), parse_arguments(json.dumps(value)), parse_arguments(value)):
        assert not isinstance(parsed, Objected)
        assert canonical_json(parsed) == text


@given(st.text(st.sampled_from('{}[]":,\\u0d8e1.9-truNaN \0\ud800'), max_size=60))
def test_no_text_raises_and_what_is_read_has_canonical_json(text: str):
    parsed = parse_arguments(text)
    assert isinstance(parsed, Objected) or json.loads(canonical_json(parsed)) == parsed


def test_what_a_caller_changes_afterwards_is_not_what_was_read():
    mine: dict[str, Any] = {"rows": [{"id": 1}]}
    parsed = parse_arguments(mine)
    mine["rows"][0]["id"] = 2
    mine["more"] = True
    assert parsed == {"rows": [{"id": 1}]}


NOT_ONE_OBJECT: dict[str, str] = {
    "": "the arguments are empty; send {} where a tool takes none",
    " \n": "the arguments are empty; send {} where a tool takes none",
    "{": "the arguments are not valid JSON: Expecting property name enclosed in double quotes (character 2)",
    '{"a":1,}': "the arguments are not valid JSON: Expecting property name enclosed in double quotes (character 8)",
    '{"a":1} {}': "the arguments are not valid JSON: Extra data (character 9)",
    "{'a':1}": "the arguments are not valid JSON: Expecting property name enclosed in double quotes (character 2)",
    '{"a":"\n"}': "the arguments are not valid JSON: Invalid control character at (character 7)",
    "[1]": "the arguments must be one JSON object, not a list",
    '"{}"': "the arguments must be one JSON object, not a text",
    "7": "the arguments must be one JSON object, not a number",
    "true": "the arguments must be one JSON object, not a boolean",
    "null": "the arguments must be one JSON object, not null",
}


@pytest.mark.parametrize(("text", "message"), NOT_ONE_OBJECT.items(), ids=map(repr, NOT_ONE_OBJECT))
def test_text_that_is_no_json_object_is_refused_in_words(text: str, message: str):
    assert parse_arguments(text) == Objected(message)


# --- 46: numbers and characters that JSON does not have -----------------------------------------------------------------

INEXACT = "a number has more digits than a 64-bit float keeps; round it, or send it as text where the tool takes one"
NO_JSON: dict[str, str] = {
    '{"a":NaN}': "a: NaN and infinity are no JSON numbers",
    '{"a":[0,-Infinity]}': "a[1]: NaN and infinity are no JSON numbers",
    '{"a":{"b":1e999}}': "a.b: NaN and infinity are no JSON numbers",
    '{"a":-1E+400}': "a: NaN and infinity are no JSON numbers",
    '{"a":' + "1" * 250 + "e99}": "a: NaN and infinity are no JSON numbers",
    '{"a":[-' + "9" * 220 + ".5e99]}": "a[0]: NaN and infinity are no JSON numbers",
    '{"a":12345678901234567890.123456789}': f"a: {INEXACT}",
    '{"a":{"b":3.14159265358979323846}}': f"a.b: {INEXACT}",
    '{"a":1e-999}': f"a: {INEXACT}",
    '{"a":1e-99999999999999999999}': f"a: {INEXACT}",
    '{"a":"x\\ud800"}': "a: holds half of a surrogate pair",
    '{"a":"\udfff"}': "a: holds half of a surrogate pair",
    '{"\\uDC00":1}': "arguments: a key holds half of a surrogate pair",
    '{"a":["ok","x\\u0000y"]}': "a[1]: holds a NUL character",
    '{"a":{"\\u0000":1}}': "a: a key holds a NUL character",
    '{"a":1' + "0" * MAX_INTEGER_DIGITS + "}": f"a: an integer has more than {MAX_INTEGER_DIGITS} digits",
    '{"a":1' + "0" * 5_000 + "}": f"an integer has more than {MAX_INTEGER_DIGITS} digits",
}


@pytest.mark.parametrize(
    ("text", "message"), NO_JSON.items(), ids=[text[:24].encode("ascii", "replace").decode() for text in NO_JSON]
)
def test_input_46_what_json_does_not_have_is_refused_with_its_place(text: str, message: str):
    assert parse_arguments(text) == Objected(message)


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, 2**63, -(2**64) - 1, 10 ** (MAX_INTEGER_DIGITS - 1)])
def test_input_46_integers_stay_exact(number: int):
    assert parse_arguments(f'{{"n":{number}}}') == {"n": number}
    assert parse_arguments({"n": number}) == {"n": number}


@pytest.mark.parametrize("number", ["0.1", "1.50", "-0.0", "1E2", "1e-7", "5e-324", "0.30000000000000004", "0e-400"])
def test_a_decimal_that_a_float_keeps_is_taken_in_any_spelling(number: str):
    assert parse_arguments(f'{{"n":{number}}}') == {"n": float(number)}


def test_input_46_a_whole_surrogate_pair_and_an_escaped_backslash_are_text():
    text = r'{"a":"\ud83d\ude00","b":"\\ud800 \\u0000","c":"1e999"}'
    assert parse_arguments(text) == {"a": "\U0001f600", "b": r"\ud800 \u0000", "c": "1e999"}


# --- 47: duplicate keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":1,"a":1}', "arguments: the key a is given twice"),
        ('{"rows":[{},{"filter":{"id":1,"x":2,"id":3}}]}', "rows[1].filter: the key id is given twice"),
        ('{"a":1,"\\u0061":2}', "arguments: the key a is given twice"),
        ('{"a":{"b":1,"b":NaN}}', "a: the key b is given twice"),
        ('{"odd key":{"x y":1,"x y":2}}', '["odd key"]: the key ["x y"] is given twice'),
    ],
)
def test_input_47_a_key_that_is_given_twice_is_refused_at_any_depth(text: str, message: str):
    assert parse_arguments(text) == Objected(message)


def test_input_47_the_same_key_in_two_objects_is_no_duplicate():
    assert parse_arguments('{"a":{"a":[{"a":1},{"a":1}]}}') == {"a": {"a": [{"a": 1}, {"a": 1}]}}


# --- 45: deep and large --------------------------------------------------------------------------------------------------

TOO_DEEP = Objected(f"the arguments are nested deeper than {MAX_DEPTH} levels")
TOO_LARGE = Objected(f"the arguments are larger than {MAX_TEXT_BYTES} bytes of JSON")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, '{"a":[' * 33]
)
def test_input_45_text_that_is_too_deep_is_refused_before_anything_recurses(text: str):
    assert parse_arguments(text) == TOO_DEEP


def test_input_45_an_object_of_any_depth_is_refused_without_recursing():
    deep = nested(100_000)
    assert parse_arguments(deep) == TOO_DEEP
    while deep:
        deep = deep["a"]


@pytest.mark.parametrize("depth", [1, 2, MAX_DEPTH - 1, MAX_DEPTH])
def test_depth_up_to_the_limit_is_accepted_in_both_forms(depth: int):
    value = nested(depth)
    assert parse_arguments(value) == value
    assert parse_arguments(json.dumps(value)) == value
    assert parse_arguments(nested(MAX_DEPTH + 1)) == parse_arguments(json.dumps(nested(MAX_DEPTH + 1))) == TOO_DEEP


def test_brackets_in_strings_are_no_depth():
    value: JsonObject = {"a": "[{" * 1_000, 'b"\\': '\\"[' * 100, "c": [list[Json]()] * 40}
    assert parse_arguments(json.dumps(value)) == value


def test_an_object_that_holds_itself_is_refused():
    knot: list[Any] = []
    knot.extend([knot, knot])
    assert parse_arguments({"a": knot}) == TOO_DEEP


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":"' + "x" * 10_000_000 + '"}',
        '{"a":"' + "\u20ac" * (MAX_TEXT_BYTES // 3) + '"}',
        {"a": "x" * 10_000_000},
        {"a": [0] * MAX_TEXT_BYTES},
        {"a": [["x" * 1_000] * 100] * 50},
        {"x" * 10_000_000: 1},
    ],
    ids=[
        "text of 10 MB",
        "text that is larger in UTF-8",
        "string of 10 MB",
        "long list",
        "shared lists",
        "key of 10 MB",
    ],
)
def test_input_45_what_is_too_large_is_refused(raw: str | JsonObject):
    assert parse_arguments(raw) == TOO_LARGE


def of_full_size(filling: str) -> str:
    """Arguments whose text is as long as it may be, or a few bytes shorter."""
    room = MAX_TEXT_BYTES - len('{"a":[0]}')
    return '{"a":[' + filling * (room // len(filling.encode("utf-8"))) + "0]}"


def test_text_of_the_full_size_is_accepted_whatever_it_holds():
    fillings = ('{"":0},', '"",', "[],", '"1e999",', '"\u20ac",')
    assert [each for each in fillings if isinstance(parse_arguments(of_full_size(each)), Objected)] == []


# --- objects that somebody else parsed ----------------------------------------------------------------------------------


NO_JSON_OBJECTS: list[tuple[object, str]] = [
    ({"a": (1, 2)}, "a: tuple is no type of JSON"),
    ({"a": {1: 2}}, "a: a key is no string"),
    ({None: 2}, "arguments: a key is no string"),
    ({"a": [b"x"]}, "a[0]: bytes is no type of JSON"),
    ({"a": OrderedDict(b=1)}, "a: OrderedDict is no type of JSON"),
    ({"a": {"b"}}, "a: set is no type of JSON"),
    ({"a": float("nan")}, "a: NaN and infinity are no JSON numbers"),
    ({"a": [float("-inf")]}, "a[0]: NaN and infinity are no JSON numbers"),
    ({"a": "\ud800"}, "a: holds half of a surrogate pair"),
    ({"a": {"\0": 1}}, "a: a key holds a NUL character"),
    ({"a": -(10**MAX_INTEGER_DIGITS)}, f"a: an integer has more than {MAX_INTEGER_DIGITS} digits"),
    ({"a": 10**5_000}, f"a: an integer has more than {MAX_INTEGER_DIGITS} digits"),
    ([], "the arguments must be one JSON object, not a list"),
    (None, "the arguments must be one JSON object, not null"),
    (b"{}", "the arguments must be one JSON object, not something else"),
]


@pytest.mark.parametrize(("raw", "message"), NO_JSON_OBJECTS, ids=[message for _, message in NO_JSON_OBJECTS])
def test_an_object_that_is_no_json_is_refused_with_its_place(raw: object, message: str):
    assert unread(raw) == message


# --- 48: data stays data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", ["../../admin", "a\r\nX-Injected: 1", "%2e%2e/%2e%2e", "?x=1#y", "$(id)", "\x1b[2J", "</tool_result>"]
)
def test_input_48_paths_headers_and_commands_stay_data(data: str):
    assert parse_arguments(json.dumps({data: data})) == parse_arguments({data: data}) == {data: data}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "arguments"),
        (("query", "limit"), "query.limit"),
        (("rows", 3, "a-b", "$x"), "rows[3].a-b.$x"),
        (("", "a b"), '[""]["a b"]'),
        (("a.b", "x\r\n\x1b"), '["a.b"]["x\\r\\n\\u001b"]'),
        (("na\u00efve", "\u202egnp"), 'na\u00efve["\\u202egnp"]'),
        (("y" * 200,), '["' + "y" * 61 + '..."]'),
    ],
)
def test_a_place_is_written_so_that_no_name_can_break_the_line(path: tuple[str | int, ...], text: str):
    assert path_text(path) == text
