"""The document of a plan: its shape, its digest, its schema."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from remit.core.diagnostics import Source
from remit.core.envelope import MOST_RESTRICTIVE, AuditedArguments, Direction, Recording, UnknownArguments
from remit.core.live import Quarantine, QuarantineReason
from remit.core.operations import Detach, OpName, Reason, SetEnvelope
from remit.core.plan import Held, HoldReason
from remit.core.report import PlanReport
from remit.render.document import digest_of_document, plan_document
from remit.render.plan_schema import plan_schema
from remit.render.shapes import PlanDocument
from tests.render.examples import HELD, OPERATIONS, PLAN, REPORT, SEARCH, tool

SCHEMA_FILE = Path(__file__).parents[2] / "schemas" / "plan.schema.json"
VALIDATOR = jsonschema_rs.validator_for(plan_schema())

OPEN_KEYS = frozenset({"inputSchema", "outputSchema", "annotations", "env", "headers"})
"""Keys whose value belongs to someone else: tools' schemas and annotations, names of variables and headers."""


def everything() -> PlanReport:
    """The rich plan with each of the twelve operations both planned and held."""
    held = tuple(Held(operation=each, because=(HoldReason.ENDPOINT_GROUP,)) for each in OPERATIONS)
    return replace(REPORT, plan=replace(PLAN, held=HELD + held))


def read_back(document: PlanDocument) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


def closed_objects(value: Any, inside: str = "") -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from closed_objects(item, inside)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        yield members
        for key, member in members.items():
            if key not in OPEN_KEYS and not (inside == "changes" and key in {"before", "after"}):
                yield from closed_objects(member, key)


def test_the_top_level_is_exactly_what_the_design_names():
    names = (
        "format_version workspace moved_workspace environment complete digest config database discovery operations held problems drift deferred "
        "unmanaged summary"
    )
    assert list(plan_document(REPORT)) == names.split()


def test_an_attach_holds_everything_that_comes_into_force():
    (attach,) = (each for each in plan_document(REPORT)["operations"] if each["op"] == "attach")
    assert attach == {
        "op": "attach",
        "address": "assistant.ops/github__search_issues",
        "origin": "file",
        "reason": "selected_by_name",
        "risks": [],
        "source": {"file": "mcp.yaml", "line": 41, "column": 9},
        "assistant": "ops",
        "server": "github",
        "remote_name": "search.issues",
        "provider_name": "github__search_issues",
        "canonical_id": "tool_bbbbbbbbbbbbbbbb",
        "before": None,
        "after": {
            "provider_name": "github__search_issues",
            "envelope": {
                "surface": "locked",
                "side_effecting": False,
                "reversible": False,
                "required_permission": "read_issues",
                "unknown_arguments": "reject",
                "record": "full",
                "audit_arguments": "digest",
            },
            "definition": {
                "title": None,
                "description": "Search issues.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"query": {"type": "string"}},
                    "required": ["query"],
                },
                "outputSchema": None,
                "annotations": {},
            },
            "definition_digest": SEARCH.definition_digest,
            "contract_digest": SEARCH.contract_digest,
        },
        "changes": [],
    }


def test_a_changed_field_is_listed_with_both_values():
    (policy,) = (each for each in plan_document(REPORT)["operations"] if each["op"] == "set_envelope")
    assert policy["direction"] == "mixed"
    assert policy["changes"] == [
        {"path": ["surface"], "kind": "changed", "before": "human_controlled", "after": "locked", "class": None},
        {"path": ["side_effecting"], "kind": "changed", "before": True, "after": False, "class": None},
        {"path": ["required_permission"], "kind": "changed", "before": None, "after": "read_issues", "class": None},
    ]


def test_a_policy_about_arguments_and_records_is_listed_field_by_field():
    looser = replace(
        MOST_RESTRICTIVE,
        unknown_arguments=UnknownArguments.PASS,
        record=Recording.DIGEST,
        audit_arguments=AuditedArguments.VALUES,
    )
    change = SetEnvelope(
        reason=Reason.POLICY_CHANGED,
        tool=tool("ops", "github", "search.issues", "github__search_issues"),
        before=MOST_RESTRICTIVE,
        after=looser,
        direction=Direction.LOOSENED,
    )
    (policy,) = plan_document(replace(REPORT, plan=replace(PLAN, operations=(change,), held=())))["operations"]
    assert policy["changes"] == [
        {"path": ["unknown_arguments"], "kind": "changed", "before": "reject", "after": "pass", "class": None},
        {"path": ["record"], "kind": "changed", "before": "full", "after": "digest", "class": None},
        {"path": ["audit_arguments"], "kind": "changed", "before": "digest", "after": "values", "class": None},
    ]


def test_an_added_path_says_so_as_null_is_a_value():
    refresh = plan_document(REPORT)["held"][0]
    assert refresh["changes"][0] == {
        "path": ["annotations", "readOnlyHint"],
        "kind": "added",
        "before": None,
        "after": False,
        "class": "claims",
    }
    assert refresh.get("held_because") == ["live_not_accepted"]


def test_references_stay_as_written():
    (update,) = (each for each in plan_document(REPORT)["operations"] if each["op"] == "update_server")
    assert update["after"] is not None
    assert update["after"]["headers"] == {"Authorization": "Bearer ${env:TICKETS_V2_TOKEN}", "X-Team": "platform"}
    assert update["after"]["server_id"] == "mcp_dddddddddddddddd"


def test_the_summary_counts_all_twelve_and_the_rest():
    assert plan_document(REPORT)["summary"] == {
        **dict.fromkeys((op.value for op in OpName), 1),
        "held": 2,
        "problems": 3,
        "drift": 1,
        "deferred": 2,
        "unchanged": 1234,
    }


def test_the_load_of_each_assistant_stands_with_the_configuration():
    assert plan_document(REPORT)["config"]["assistants"] == [
        {"name": "ops", "tools": 14, "tokens": 3200},
        {"name": "triage", "tools": 1, "tokens": 1},
    ]


def test_the_digest_is_the_same_after_a_trip_through_a_file():
    document = plan_document(REPORT)
    assert digest_of_document(read_back(document)) == document["digest"]


def test_a_moved_line_keeps_the_digest():
    moved = tuple(replace(each, source=Source("other.yaml", 1, 1)) for each in OPERATIONS)
    report = replace(REPORT, plan=replace(PLAN, operations=moved))
    assert plan_document(report)["digest"] == plan_document(REPORT)["digest"]


def test_anything_that_would_be_done_otherwise_changes_the_digest():
    document = plan_document(REPORT)
    digests = {document["digest"]}
    for place in ("operations", "held"):
        for index, operation in enumerate(document[place]):
            for key in operation.keys() - {"source"}:
                changed: Any = copy.deepcopy(document)
                changed[place][index][key] = "something else"
                digests.add(digest_of_document(changed))
    count = sum(len(each) - 1 for each in (*document["operations"], *document["held"]))
    assert len(digests) == 1 + count


def test_a_name_that_utf8_cannot_spell_is_kept_as_an_escape():
    listing = replace(
        cast("Any", REPORT.discovery[0].observation),
        quarantined=(Quarantine(remote_name="\ud800", reason=QuarantineReason.INVALID_NAME, detail="\udfff"),),
    )
    report = replace(REPORT, discovery=(replace(REPORT.discovery[0], observation=listing),))
    (entry,) = plan_document(report)["discovery"]
    assert entry["status"] == "listed"
    assert entry["quarantined"] == [{"remote_name": "\\ud800", "reason": "invalid_name", "detail": "\\udfff"}]


def test_a_tool_whose_recorded_definition_is_damaged_can_still_be_detached():
    (detach,) = (each for each in OPERATIONS if isinstance(each, Detach))
    damaged = replace(detach, definition=replace(SEARCH, text="{not json"))
    document = plan_document(replace(REPORT, plan=replace(PLAN, operations=(damaged,))))
    (operation,) = document["operations"]
    assert operation["op"] == "detach"
    assert operation["before"]["definition"] is None
    assert operation["before"]["definition_digest"] == SEARCH.definition_digest
    assert VALIDATOR.is_valid(read_back(document))


# -- the schema --------------------------------------------------------------------------------------------------------


def test_the_written_schema_is_the_one_the_code_makes():
    written = SCHEMA_FILE.read_text(encoding="utf-8")
    assert written == json.dumps(plan_schema(), indent=2) + "\n", "remit schema plan > schemas/plan.schema.json"


def test_the_schema_is_valid_by_its_own_draft():
    assert jsonschema_rs.meta.is_valid(plan_schema())


def test_a_plan_with_everything_in_it_is_valid():
    document = plan_document(everything())
    assert {each["op"] for each in document["operations"]} == {op.value for op in OpName}
    assert {each["op"] for each in document["held"]} == {op.value for op in OpName}
    assert [str(error) for error in VALIDATOR.iter_errors(read_back(document))] == []


def test_every_key_of_every_object_is_required():
    document = read_back(plan_document(everything()))
    for members in closed_objects(document):
        for key in list(members):
            value = members.pop(key)
            assert not VALIDATOR.is_valid(document), f"{key} may be missing from {sorted(members)}"
            members[key] = value
    assert VALIDATOR.is_valid(document)


def test_no_object_takes_an_unknown_key():
    document = read_back(plan_document(everything()))
    for members in closed_objects(document):
        members["surprise"] = None
        assert not VALIDATOR.is_valid(document), f"{sorted(members)} takes an unknown key"
        del members["surprise"]
    assert VALIDATOR.is_valid(document)


@pytest.mark.parametrize("op", [op.value for op in OpName])
def test_a_side_that_cannot_be_there_is_refused(op: str):
    document = read_back(plan_document(REPORT))
    (operation,) = (each for each in document["operations"] if each["op"] == op)
    before, after = operation["before"], operation["after"]
    operation["before"], operation["after"] = (after, before) if None in (before, after) else (before, None)
    assert not VALIDATOR.is_valid(document)


def test_reasons_for_holding_stand_only_on_what_is_held():
    document = read_back(plan_document(REPORT))
    document["operations"].append(document["held"][0])
    assert not VALIDATOR.is_valid(document)
