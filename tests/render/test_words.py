"""Small words: what each value reads as where no plan shows all of them."""

import pytest

from remit.core.recorded import Recorded, RecordedAssistant
from remit.core.report import DatabaseFacts, StatusReport
from remit.render.change_lines import change_lines
from remit.render.document import plan_document
from remit.render.plan_text import plan_text
from remit.render.shapes import EnvelopeDocument
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
    entry["quarantined"] = entry["quarantined"] * 23
    text = plan_text(document, colour=False, width=100)
    assert text.count("    ! quarantined  ") == 20
    assert "\n    ! and 3 more quarantined; the JSON plan names them all\n" in text


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
