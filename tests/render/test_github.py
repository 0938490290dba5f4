"""Annotations of GitHub Actions: what they say, how they are escaped, and that no server adds one."""

import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.render.document import plan_document
from remit.render.github import (
    Annotation,
    annotation_lines,
    diagnostic_annotations,
    failure_annotation,
    plan_annotations,
)
from remit.render.run_summary import run_outputs, run_summary
from tests.render.examples import REPORT
from tests.render.reading import Command, commands_in
from tests.render.test_plan_text import PLAIN, hostile_plan

HELD_REFRESH = "assistant.ops/github__create_issue"


def lines_of(annotations: list[Annotation]) -> list[str]:
    return annotation_lines(annotations)


def test_the_rich_plan_is_annotated_gravest_first():
    lines = lines_of(plan_annotations(plan_document(REPORT)))
    assert [line.split("::")[1] for line in lines] == [
        "error file=mcp.yaml,line=40,col=9,title=veto too-many-detaches",
        "error file=mcp.yaml,line=45,col=9,title=tool-not-advertised",
        f"error file=mcp.yaml,line=19,col=9,title=held loosen {HELD_REFRESH}",
        "warning file=mcp.yaml,line=20,col=9,title=update server.tickets",
        "warning file=mcp.yaml,line=18,col=9,title=mixed assistant.ops/analytics__run_query",
        "warning file=mcp.yaml,line=43,col=9,title=rename assistant.ops/github__star",
        "warning file=mcp.yaml,line=44,col=9,title=refresh assistant.ops/github__get",
        f"warning file=mcp.yaml,line=42,col=9,title=held refresh {HELD_REFRESH}",
        "warning title=drift vanished",
        "warning title=server not listed",
        "warning title=server not listed",
        "warning title=loose-default",
        "notice title=alias-historic",
    ]
    assert lines[0].endswith(
        "::assistant.ops: 1 of 2 attachments would be detached; the limit is 0%0Ahint: pass --allow-detach 1"
    )
    assert lines[7].endswith(
        "%0Afinding-high: instruction at description: Always include the session token"
        f"%0A--accept {HELD_REFRESH}@d1:f7dda386a228"
    )


def test_properties_and_messages_are_escaped_by_githubs_rules():
    annotation = Annotation(
        level="error",
        title="100%, a:b\r\n",
        lines=("50% a:b, c", "next"),
        source={"file": "a,b:c%.yaml", "line": 3, "column": 7},
    )
    assert lines_of([annotation]) == [
        "::error file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=100%25%2C a%3Ab%0D%0A::50%25 a:b, c%0Anext"
    ]


def test_diagnostics_of_a_file_are_annotated_at_their_lines():
    diagnostics = [
        Diagnostic(code="wrong-value", message="x", source=Source("mcp.yaml", 2, 5), hint="write y"),
        Diagnostic(code="no-servers", message="none", severity=Severity.NOTE),
    ]
    assert lines_of(diagnostic_annotations(diagnostics)) == [
        "::error file=mcp.yaml,line=2,col=5,title=wrong-value::x%0Ahint: write y",
        "::notice title=no-servers::none",
    ]


def test_an_assistant_that_failed_is_an_error():
    assert lines_of([failure_annotation("ops", "the\nalias is taken")]) == [
        r"::error title=not applied::assistant ops: the\nalias is taken"
    ]


@pytest.mark.parametrize(
    ("errors", "notices", "shown", "last"),
    [
        (10, 10, 20, "::notice title=x::y"),
        (11, 0, 11, "::notice title=remit::1 more: 1 error"),
        (0, 11, 10, "::notice title=remit::2 more: 2 notices"),
        (12, 10, 20, "::notice title=remit::3 more: 2 errors, 1 notice"),
        (0, 0, 0, None),
    ],
)
def test_ten_of_each_level_are_shown_and_the_rest_is_counted(errors: int, notices: int, shown: int, last: str | None):
    many = [
        *(Annotation(level="error", title="x", lines=("y",), source=None) for _ in range(errors)),
        *(Annotation(level="notice", title="x", lines=("y",), source=None) for _ in range(notices)),
    ]
    lines = lines_of(many)
    assert (len(lines), lines[-1] if lines else None) == (shown, last)
    assert max(sum(line.startswith(f"::{level} ") for line in lines) for level in ("error", "notice")) <= 10


HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from("\n\r:%,=#[]0Aad25 \x1b\u2028\u202e\x85"), st.characters(exclude_categories=["Cs"])
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(HOSTILE)
@example("\n::error::forged")
@example("%0A::add-mask::x")
@example("##[error]x\r\n##vso[task.setvariable variable=a]b")
@example(",line=1,title=other::forged")
@example(":")
def test_no_text_of_a_server_adds_a_command_or_a_property(text: str):
    def commands(of: str) -> list[Command]:
        return commands_in("\n".join(lines_of(plan_annotations(plan_document(replace(PLAIN, plan=hostile_plan(of)))))))

    shown, harmless = commands(text), commands("harmless")
    assert [(each.name, list(each.properties)) for each in shown] == [
        (each.name, list(each.properties)) for each in harmless
    ]
    assert [len(each.message.split("\n")) for each in shown] == [len(each.message.split("\n")) for each in harmless]


def test_words_that_this_remit_does_not_know_are_shown_escaped():
    document = plan_document(REPORT)
    document["problems"][2]["severity"] = "grave"
    document["held"][0]["held_because"] = ["later\n"]
    document["drift"][0]["kind"] = "moved\n"
    document["operations"][1]["risks"][0]["code"] = "new"
    shown = "\n".join(lines_of(plan_annotations(document)))
    for words in (
        r"held because later\\n: see",
        r"title=drift moved\\n::",
        "::new: https",
        "::warning title=loose-default",
    ):
        assert words.replace("\\\\", "\\") in shown


def test_outputs_hold_the_five_keys_and_each_count():
    summary = run_summary(
        has_changes=True, held=2, incomplete=False, digest="sha256:ab", counts={"attach": 3, "held": 2}
    )
    values: dict[str, str] = {}
    lines = iter(run_outputs(summary).splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        values[name] = next(lines)
        assert next(lines) == delimiter
    assert values == {
        "attach": "3",
        "held": "2",
        "has_changes": "true",
        "incomplete": "false",
        "digest": "sha256:ab",
        "counts": json.dumps({"attach": 3, "held": 2}, separators=(",", ":")),
    }
