"""Policies compared by strictness; how they are resolved is in test_planning_properties.py."""

import hashlib
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.envelope import (
    MOST_RESTRICTIVE,
    AuditedArguments,
    Direction,
    Envelope,
    EnvelopePatch,
    Recording,
    Surface,
    UnknownArguments,
    compare_envelopes,
    difference_words,
    resolve_envelope,
)

BASE = Envelope(surface=Surface.LOCKED, side_effecting=True, reversible=True, required_permission="read")
OPEN, HUMAN = replace(BASE, surface=Surface.OPEN), replace(BASE, surface=Surface.HUMAN_CONTROLLED)
HARMLESS = replace(BASE, side_effecting=False)
FINAL = replace(BASE, reversible=False)
PASSING = replace(BASE, unknown_arguments=UnknownArguments.PASS)
UNRECORDED = replace(BASE, record=Recording.DIGEST)
DISCLOSED = replace(BASE, audit_arguments=AuditedArguments.VALUES)
FREE, RENAMED = replace(BASE, required_permission=None), replace(BASE, required_permission="write")

SAME, LOOSENED, TIGHTENED, MIXED = Direction.SAME, Direction.LOOSENED, Direction.TIGHTENED, Direction.MIXED
BACK = {SAME: SAME, LOOSENED: TIGHTENED, TIGHTENED: LOOSENED, MIXED: MIXED}


@pytest.mark.parametrize(
    ("after", "direction"),
    [
        (BASE, SAME),
        (OPEN, LOOSENED),
        (HUMAN, TIGHTENED),
        (HARMLESS, LOOSENED),
        (FINAL, TIGHTENED),
        (FREE, LOOSENED),
        (RENAMED, MIXED),
        (PASSING, LOOSENED),
        (UNRECORDED, LOOSENED),
        (DISCLOSED, LOOSENED),
        (replace(OPEN, side_effecting=False), LOOSENED),
        (replace(PASSING, record=Recording.DIGEST, audit_arguments=AuditedArguments.VALUES), LOOSENED),
        (replace(PASSING, surface=Surface.HUMAN_CONTROLLED), MIXED),
        (replace(UNRECORDED, side_effecting=True, reversible=False), MIXED),
        (replace(DISCLOSED, required_permission="write"), MIXED),
        (replace(HUMAN, reversible=False), TIGHTENED),
        (replace(OPEN, reversible=False), MIXED),
        (replace(HUMAN, side_effecting=False), MIXED),
        (replace(FREE, surface=Surface.HUMAN_CONTROLLED), MIXED),
        (replace(RENAMED, surface=Surface.OPEN), MIXED),
    ],
)
def test_a_change_of_policy_has_a_direction_and_its_opposite_back(after: Envelope, direction: Direction) -> None:
    assert (compare_envelopes(BASE, after), compare_envelopes(after, BASE)) == (direction, BACK[direction])


def test_two_policies_without_permission_differ_by_the_rest_alone() -> None:
    assert compare_envelopes(FREE, replace(FREE, surface=Surface.OPEN)) is LOOSENED


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (BASE, ""),
        (PASSING, "unknown arguments reject -> pass"),
        (UNRECORDED, "record full -> digest"),
        (DISCLOSED, "audit arguments digest -> values"),
        (
            replace(DISCLOSED, surface=Surface.OPEN, unknown_arguments=UnknownArguments.PASS),
            "surface locked -> open, unknown arguments reject -> pass, audit arguments digest -> values",
        ),
    ],
)
def test_what_differs_is_named_with_both_values(after: Envelope, words: str) -> None:
    assert difference_words(BASE, after) == words


ENVELOPES = [
    Envelope(
        surface=surface,
        side_effecting=effects,
        reversible=reversible,
        required_permission=permission,
        unknown_arguments=unknown,
        record=record,
        audit_arguments=audited,
    )
    for surface, effects, reversible, permission, unknown, record, audited in product(
        Surface, (True, False), (True, False), (None, "read", "write"), UnknownArguments, Recording, AuditedArguments
    )
]


def test_a_digest_tells_any_two_policies_apart() -> None:
    assert len({each.digest() for each in ENVELOPES}) == len(ENVELOPES)


def test_a_digest_is_that_of_the_fields_by_the_names_and_words_of_the_file() -> None:
    text = (
        '{"audit_arguments":"digest","record":"full","required_permission":null,"reversible":false,'
        '"side_effecting":true,"surface":"human_controlled","unknown_arguments":"reject"}'
    )
    assert MOST_RESTRICTIVE.digest() == f"e1:{hashlib.sha256(text.encode()).hexdigest()}"


def test_a_policy_that_says_nothing_of_arguments_and_records_has_the_strictest() -> None:
    said = Envelope(surface=Surface.HUMAN_CONTROLLED, side_effecting=True, reversible=False, required_permission=None)
    assert said == MOST_RESTRICTIVE


@given(st.sampled_from(ENVELOPES), st.sampled_from(ENVELOPES))
def test_only_equal_policies_are_the_same_and_the_way_back_is_the_opposite(one: Envelope, other: Envelope) -> None:
    direction = compare_envelopes(one, other)
    assert (direction is SAME) == (one == other)
    assert compare_envelopes(other, one) is BACK[direction]


@given(st.sampled_from(ENVELOPES))
def test_nothing_is_stricter_than_the_built_in_but_for_a_permission(each: Envelope) -> None:
    unnamed = replace(each, required_permission=None)
    assert compare_envelopes(MOST_RESTRICTIVE, unnamed) in (SAME, LOOSENED)


def test_null_is_a_value_that_hides_the_layers_below() -> None:
    named, null, silent = (
        EnvelopePatch(required_permission="a"),
        EnvelopePatch(required_permission=None),
        EnvelopePatch(),
    )
    assert [
        resolve_envelope(null, named, named).required_permission,
        resolve_envelope(silent, null, named).required_permission,
        resolve_envelope(silent, silent, named).required_permission,
        resolve_envelope(silent, silent, silent),
    ] == [None, None, "a", MOST_RESTRICTIVE]
