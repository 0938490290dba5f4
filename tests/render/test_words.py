"""Small words: what each value reads as where no plan shows all of them."""

from typing import Literal

import pytest

from remit.core.recorded import Recorded, RecordedAssistant
from remit.core.report import DatabaseFacts, StatusReport
from remit.render.change_lines import change_lines
from remit.render.document import plan_document
from remit.render.layout import Painter
from remit.render.plan_sentences import counts_words, incomplete_words
from remit.render.plan_text import look_first_lines, plan_text
from remit.render.shapes import EnvelopeDocument, ProblemDocument
from remit.render.status_text import status_text
from remit.render.words import database_words, envelope_words
from tests.render.examples import REPORT


@pytest.mark.parametrize(
    ("side_effecting", "reversible", "permission", "words"),
    [
        (False, False, None, "open, no side effects"),
        (False, True, None, "open, no side effects"),
        (True, True, None, "open, side effects, reversible"),
        (True, False, "write_issues", "open, side effects, irreversible, needs write_issues"),
    ],
)
def test_a_policy_in_words(side_effecting: bool, reversible: bool, permission: str | None, words: str):
    envelope: EnvelopeDocument = {
        "surface": "open",
        "side_effecting": side_effecting,
        "reversible": reversible,
        "required_permission": permission,
        "unknown_arguments": "reject",
        "record": "full",
        "audit_arguments": "digest",
    }
    assert envelope_words(envelope) == words


@pytest.mark.parametrize(
    ("unknown", "record", "audited", "words"),
    [
        ("pass", "full", "digest", "locked, no side effects, unknown arguments pass"),
        ("reject", "digest", "digest", "locked, no side effects, messages recorded by digest"),
        ("reject", "full", "values", "locked, no side effects, argument values audited"),
        (
            "pass",
            "digest",
            "values",
            "locked, no side effects, unknown arguments pass, messages recorded by digest, argument values audited",
        ),
    ],
)
def test_what_is_not_the_strictest_about_arguments_and_records_is_said(
    unknown: str, record: str, audited: str, words: str
):
    envelope: EnvelopeDocument = {
        "surface": "locked",
        "side_effecting": False,
        "reversible": False,
        "required_permission": None,
        "unknown_arguments": unknown,
        "record": record,
        "audit_arguments": audited,
    }
    assert envelope_words(envelope) == words


def test_a_database_that_holds_nothing_of_the_workspace_has_no_lineage():
    words = database_words({"exists": True, "dialect": "sqlite", "lineage": None, "serial": 0})
    assert words == "sqlite, serial 0"


def test_a_schema_below_another_schema_is_told_in_words():
    lines = change_lines(
        [
            {
                "path": ["inputSchema", "properties", "a", "not"],
                "kind": "added",
                "before": None,
                "after": {"type": "string"},
                "class": "breaking",
            }
        ]
    )
    assert lines == ["inputSchema  + properties.a.not  string  breaking"]


def test_a_path_that_leads_nowhere_is_told_all_the_same():
    lines = change_lines(
        [
            {
                "path": ["inputSchema", "oneOf", 3, "properties", "a"],
                "kind": "added",
                "before": None,
                "after": {"type": "string"},
                "class": "compatible",
            }
        ],
        after={
            "title": None,
            "description": None,
            "inputSchema": {"oneOf": [{"type": "object"}]},
            "outputSchema": None,
            "annotations": {},
        },
    )
    assert lines == ["inputSchema  + oneOf[3].properties.a  string, optional  compatible"]


def test_of_many_quarantined_tools_the_rest_is_counted():
    document = plan_document(REPORT)
    (entry, *_) = document["discovery"]
    assert entry["status"] == "listed"
    (bad,) = entry["quarantined"]
    entry["quarantined"] = [{**bad, "remote_name": f"bad {number}"} for number in range(23)]
    text = plan_text(document, colour=False, width=100)
    assert text.count("    ! quarantined  ") == 20
    assert "\n    ! and 3 more quarantined; the JSON plan names them all\n" in text


def test_a_tool_that_is_quarantined_several_times_is_one_line():
    document = plan_document(REPORT)
    (entry, *_) = document["discovery"]
    assert entry["status"] == "listed"
    entry["quarantined"] = entry["quarantined"] * 3
    lines = plan_text(document, colour=False, width=100).splitlines()
    assert [line for line in lines if "! quarantined" in line] == [
        r"    ! quarantined  bad\x1b[31m  invalid_name: a name holds no \\x1b (3 times)"
    ]


def test_an_incomplete_plan_names_what_was_not_listed():
    document = plan_document(REPORT)
    assert incomplete_words(document) == "jira, slack were not listed; 1 problem left something undone"
    document["problems"] = []
    document["discovery"] = [each for each in document["discovery"] if each["server"] != "slack"]
    assert incomplete_words(document) == "jira was not listed"


def test_an_emptied_server_says_how_to_be_believed():
    document = plan_document(REPORT)
    jira = next(each for each in document["discovery"] if each["server"] == "jira")
    assert jira["status"] == "unreachable"
    jira["reason"], jira["detail"] = "empty", "lists no tools, the last good listing had 14"
    document["deferred"] = [{**each, "detail": f"empty: {jira['detail']}"} for each in document["deferred"]]
    lines = plan_text(document, colour=False, width=100).splitlines()
    assert [line for line in lines if "jira" in line and "Incomplete" not in line] == [
        "  jira       lists no tools, the last good listing had 14; if they are really gone: --allow-empty jira",
        "  . jira lists no tools",
    ]


def test_policies_are_counted_with_their_directions():
    document = plan_document(REPORT)
    (mixed,) = (each for each in document["operations"] if each["op"] == "set_envelope")
    directions: tuple[Literal["tightened", "loosened"], ...] = ("tightened", "loosened", "loosened")
    document["operations"] = [{**mixed, "direction": each} for each in directions]
    document["summary"]["set_envelope"] = 3
    assert "3 set envelope (2 loosened, 1 tightened), " in counts_words(document)


def test_vetoes_with_one_way_through_stand_below_it():
    document = plan_document(REPORT)
    (veto, *_) = document["problems"]
    emptied: ProblemDocument = {
        **veto, "code": "assistant-emptied", "message": "assistant ops would lose its only tool", "source": None,
    }  # fmt: skip
    document["problems"] = [veto, emptied]
    assert look_first_lines(document, Painter(colour=False))[:4] == [
        "look first",
        "  ! veto: pass --allow-detach 1",
        "      too-many-detaches  mcp.yaml:40  assistant.ops  1 of 2 attachments would be detached; the limit is 0",
        "      assistant-emptied               assistant.ops  assistant ops would lose its only tool",
    ]


def test_an_assistant_without_permissions_and_foreign_functions_says_so():
    assistant = RecordedAssistant(
        name="ops", owner="local", workspace="acme", permissions=(), revision=0, foreign_functions=()
    )
    report = StatusReport(
        workspace="acme",
        database=DatabaseFacts(exists=True, dialect="sqlite"),
        recorded=Recorded(assistants=(assistant,)),
    )
    assert "\nassistant ops  0 tools; no permissions\n" in status_text(report, colour=False, width=80)
