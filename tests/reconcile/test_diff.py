"""Which paths are found, in which shape; what they mean is tested in tests/core/test_changes.py."""

from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.core.canonical import Json, JsonObject, canonical_json
from remit.core.changes import classes_of
from remit.core.definition import Definition
from remit.core.operations import Change, ChangeClass
from remit.core.ports import DefinitionDiff
from remit.reconcile.diff import MOST_DIFFERENCES, definition_diff

T, C, B, K = ChangeClass.TEXT, ChangeClass.COMPATIBLE, ChangeClass.BREAKING, ChangeClass.CLAIMS
INT64 = 9223372036854775807

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([1.0, 0.5, INT64, INT64 - 1])
    | st.sampled_from("ab"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "enum", "required", "properties", "anyOf", "items", "description", "x", "__x", "a.b"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(
    st.sampled_from(["properties", "required", "enum", "title", "default", "items", "oneOf", "__x", "1"]),
    JSON,
    max_size=4,
)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    return Definition.of(
        title=draw(st.none() | st.sampled_from("xy")),
        description=draw(st.none() | st.sampled_from("xy")),
        input_schema=draw(OBJECTS),
        output_schema=draw(st.none() | OBJECTS),
        annotations=draw(st.dictionaries(st.sampled_from(["title", "readOnlyHint"]), JSON, max_size=2)),
    )


def taking(schema: JsonObject) -> Definition:
    return Definition.of(input_schema=schema)


def test_it_is_the_diff_that_the_core_asks_for() -> None:
    diff: DefinitionDiff = definition_diff

    assert diff(taking({}), taking({})) == ()


@settings(max_examples=150, deadline=None)
@given(definitions(), definitions())
def test_there_is_a_classed_change_exactly_where_the_digests_differ(before: Definition, after: Definition) -> None:
    changes = definition_diff(before, after)

    assert (changes == ()) is (before.definition_digest == after.definition_digest)
    assert all(change.change_class is not None for change in changes)
    assert (classes_of(changes) <= {T}) is (before.contract_digest == after.contract_digest)
    assert definition_diff(before, before) == ()


@settings(max_examples=100, deadline=None)
@given(definitions(), definitions())
def test_the_way_back_has_the_same_paths(before: Definition, after: Definition) -> None:
    forth, back = definition_diff(before, after), definition_diff(after, before)

    def places(changes: tuple[Change, ...]) -> set[str]:
        # A break that no path tells is told at the root of one direction only.
        return {canonical_json(change.path) for change in changes if len(change.path) > 1}

    assert places(forth) == places(back)


def test_elements_of_sets_are_added_and_removed_under_the_path_of_the_list() -> None:
    before = taking(
        {"properties": {"a": {"enum": ["x", "y"]}, "b": {"type": ["string", "null"]}}, "required": ["a", "b"]}
    )
    after = taking({"properties": {"a": {"enum": ["z", "x"]}, "b": {"type": ["integer", "null"]}}, "required": ["b"]})
    properties = ("inputSchema", "properties")

    assert definition_diff(before, after) == (
        Change(path=(*properties, "a", "enum"), before="y", removed=True, change_class=B),
        Change(path=(*properties, "a", "enum"), after="z", added=True, change_class=C),
        Change(path=(*properties, "b", "type"), before="string", removed=True, change_class=B),
        Change(path=(*properties, "b", "type"), after="integer", added=True, change_class=C),
        Change(path=("inputSchema", "required"), before="a", removed=True, change_class=C),
    )


def test_a_set_in_another_order_is_told_as_the_whole_list() -> None:
    assert definition_diff(taking({"required": ["a", "b"]}), taking({"required": ["b", "a"]})) == (
        Change(path=("inputSchema", "required"), before=["a", "b"], after=["b", "a"], change_class=C),
    )


def test_an_enum_of_objects_is_told_as_the_whole_list() -> None:
    before, after = [{"k": 1}, "x"], ["x", {"k": 2}]

    assert definition_diff(taking({"enum": before}), taking({"enum": after})) == (
        Change(path=("inputSchema", "enum"), before=before, after=after, change_class=B),
    )


def test_a_list_called_enum_inside_a_default_keeps_its_order() -> None:
    before, after = ({"default": {"enum": values}} for values in (["x", "y"], ["y", "x"]))

    assert [change.path[-1] for change in definition_diff(taking(before), taking(after))] == [0, 1]


def test_lists_of_schemas_are_paired_by_index() -> None:
    before = taking({"anyOf": [{"type": "string"}]})
    after = taking({"anyOf": [{"type": "string", "title": "Text"}, {"type": "null"}]})

    assert definition_diff(before, after) == (
        Change(path=("inputSchema", "anyOf", 0, "title"), after="Text", added=True, change_class=T),
        Change(path=("inputSchema", "anyOf", 1), after={"type": "null"}, added=True, change_class=C),
    )


def test_large_integers_and_booleans_are_compared_exactly() -> None:
    before = taking({"properties": {"n": {"maximum": INT64}, "flag": {"const": 1}, "__private": {"const": "a"}}})
    after = taking({"properties": {"n": {"maximum": INT64 - 1}, "flag": {"const": True}, "__private": {"const": "b"}}})

    assert [(change.path[2], change.before, change.after) for change in definition_diff(before, after)] == [
        ("__private", "a", "b"),
        ("flag", 1, True),
        ("n", INT64, INT64 - 1),
    ]


def test_another_spelling_of_a_number_is_told_and_harmless() -> None:
    changes = definition_diff(taking({"minimum": 1}), taking({"minimum": 1.0}))

    assert [(change.path, type(change.before), type(change.after), change.change_class) for change in changes] == [
        (("inputSchema", "minimum"), int, float, C)
    ]


def test_an_output_schema_that_comes_or_goes_is_one_change() -> None:
    bare, full = taking({}), Definition.of(input_schema={}, output_schema={"type": "object"})

    assert definition_diff(bare, full) == (
        Change(path=("outputSchema",), after={"type": "object"}, added=True, change_class=C),
    )
    assert definition_diff(full, bare) == (
        Change(path=("outputSchema",), before={"type": "object"}, removed=True, change_class=B),
    )


def test_names_and_indices_sort_together() -> None:
    before = Definition.of(input_schema={"anyOf": [{"const": 1}] * 11, "title": "x"}, title="x")
    after = Definition.of(input_schema={"anyOf": [{"const": 2}] * 11, "title": "y"}, title="y")

    assert [change.path[:3] for change in definition_diff(before, after)] == [
        *(("inputSchema", "anyOf", index) for index in range(11)),
        ("inputSchema", "title"),
        ("title",),
    ]


def test_a_part_with_too_many_differences_is_one_change() -> None:
    before = {"properties": {f"p{number}": {"const": 1} for number in range(MOST_DIFFERENCES + 1)}}
    after = {"properties": {f"p{number}": {"const": 2} for number in range(MOST_DIFFERENCES + 1)}}

    assert definition_diff(taking(before), taking(after)) == (
        Change(path=("inputSchema",), before=before, after=after, change_class=B),
    )


def test_many_descriptions_are_still_only_text() -> None:
    before, after = (
        taking({"properties": {f"p{number}": {"description": text} for number in range(MOST_DIFFERENCES + 1)}})
        for text in ("x", "y")
    )

    assert [(change.path, change.change_class) for change in definition_diff(before, after)] == [(("inputSchema",), T)]


def test_schemas_built_to_be_slow_are_judged_in_bounded_time() -> None:
    def fan(number: int, leaf: Json) -> JsonObject:
        branch: Json = {"$ref": f"#/$defs/d{number + 1}"} if number < 60 else leaf
        return {"anyOf": [branch, branch, {"properties": {"x": branch}}]}

    def branches(shift: int) -> JsonObject:
        return {"anyOf": [{"properties": {"p": {"minimum": place + shift, "const": place}}} for place in range(2000)]}

    pairs = [
        tuple(
            {"$ref": "#/$defs/d0", "$defs": {f"d{n}": fan(n, {"const": leaf}) for n in range(61)}} for leaf in (1, 2)
        ),
        (branches(0), branches(1)),
        tuple({"enum": [f"{side}{number}" for number in range(20_000)]} for side in "ab"),
    ]
    for before, after in pairs:
        start = process_time()
        classes = classes_of(definition_diff(taking(before), taking(after)))
        assert classes == {B}
        assert process_time() - start < 10
