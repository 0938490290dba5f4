"""What a reviewer reads in a comment: danger first, within the budget, and nothing in it is a server's own Markdown."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit.core.identity import RemoteName
from remit.core.operations import Attach, Detach, Operation, Refresh, RegisterServer, Risk, RiskCode
from remit.core.plan import SAFEGUARD_CODES, Drift, DriftKind, Held, HoldReason, Plan
from remit.render.document import plan_document
from remit.render.markdown import applied_markdown, plan_markdown
from remit.render.markdown_budget import LEAST_BUDGET, Piece, Section, fitted
from remit.render.markdown_code import code, code_block, code_line
from remit.render.shapes import PlanDocument, ProblemDocument
from tests.render.examples import HELD, OPERATIONS, REPORT, tool
from tests.render.reading import structure_of, text_in_code
from tests.render.test_plan_text import EMPTY, PLAIN, hostile_plan

GOLDEN = Path(__file__).parent / "golden" / "rich_plan.md"

FORGERIES = (
    "`", "``", "```\n", "~~~\n", "|", "\n", "\r\n", "<!-- remit plan acme -->", "-->", "<!--", "</details>", "<script>",
    "<img src=x onerror=y>", "![a](http://x)", "[a](http://x)", "[a]: http://x", "@octocat", "#123", "GH-1", "owner/r#1",
    "https://evil.example.com", "www.evil.example.com", "a@example.com", "\n# heading", "\n---\n", "\n| a |\n|---|\n",
    "\n- item", "\n> quote", "&lt;b&gt;", "&#64;octocat", "\\`", "\\", "\u202e", "\u2066", "\u200b", "$`x`$", " ", "**b**",
    "::error::x", "##[error]x", ":", "é", "😀",
)  # fmt: skip
HOSTILE = st.lists(
    st.one_of(st.sampled_from(FORGERIES), st.characters(exclude_categories=["Cs"])), min_size=1, max_size=12
).map("".join)


def markdown_of(plan: Plan, budget_bytes: int = 60_000) -> str:
    return plan_markdown(plan_document(replace(PLAIN, plan=plan)), budget_bytes=budget_bytes)


def one(kind: type[Operation]) -> Operation:
    return next(each for each in OPERATIONS if isinstance(each, kind))


def test_the_rich_plan_reads_as_written_down():
    assert plan_markdown(plan_document(REPORT)) == GOLDEN.read_text(encoding="utf-8")


def test_a_plan_with_nothing_to_do_is_a_few_lines():
    digest = plan_document(PLAIN)["digest"]
    assert markdown_of(EMPTY) == (
        f"<!-- remit plan acme -->\n\n## remit plan `acme`\n\n**Nothing to do: 12 unchanged**\n\nDigest `{digest}`\n"
    )


def test_a_saved_plan_reads_as_the_plan_did():
    document = plan_document(REPORT)
    assert plan_markdown(cast("PlanDocument", json.loads(json.dumps(document)))) == plan_markdown(document)


def test_what_became_of_an_apply_stands_under_its_head():
    shown = applied_markdown(plan_document(PLAIN), ["Applied: 1 attach. Serial 7.", "  1 held"])
    assert "\n- `Applied: 1 attach. Serial 7.`\n- `1 held`\n" in shown
    assert shown.startswith("<!-- remit apply acme -->\n\n## remit apply `acme`\n")


# -- what must not be missed -------------------------------------------------------------------------------------------


def test_each_server_that_was_not_listed_is_named_with_its_reason_above_the_fold():
    before, fold, folded = plan_markdown(plan_document(REPORT)).partition("### Servers\n")
    assert "**Incomplete:** `jira, slack were not listed; 1 problem left something undone`." in before
    assert (
        "### Not listed\n\n"
        "- `jira`: `unreachable (timeout): no answer within 10 s; listed last 2026-11-30T12:00:00Z: 14 tools`\n"
        "- `slack`: `unreachable (refused): connection refused`\n\n"
    ) in before
    assert (fold, "jira" in folded, "- `files`: `not asked: disabled in the file`" in folded) != ("", True, False)


def test_a_server_that_was_left_out_on_purpose_is_not_among_the_unlisted():
    document = plan_document(REPORT)
    document["discovery"] = [each for each in document["discovery"] if each["status"] != "unreachable"]
    shown = plan_markdown(document)
    assert "**Incomplete:** `1 problem left something undone`." in shown
    assert "### Not listed" not in shown


def test_the_way_through_a_safeguard_is_said_once_above_everything_that_it_goes_through():
    document = plan_document(REPORT)
    veto = document["problems"][0]
    others: list[ProblemDocument] = [
        {**veto, "address": "server.github"},
        {**veto, "code": "assistant-emptied", "hint": None},
    ]
    document["problems"] = [veto, others[1], others[0]]
    said = "`1 of 2 attachments would be detached; the limit is 0` (`mcp.yaml:40`)"
    assert plan_markdown(document).partition("### Look first\n\n")[2].splitlines()[:5] == [
        "- **veto** `pass --allow-detach 1`",
        f"  - `too-many-detaches` `assistant.ops`: {said}",
        f"  - `too-many-detaches` `server.github`: {said}",
        "- **veto** `nothing is applied`",
        f"  - `assistant-emptied` `assistant.ops`: {said}",
    ]


def test_of_more_vetoes_than_there_is_room_for_the_first_are_shown_and_the_rest_is_counted():
    document = plan_document(replace(PLAIN, plan=EMPTY))
    veto = plan_document(REPORT)["problems"][0]
    document["problems"] = [{**veto, "address": f"assistant.a{number}"} for number in range(200)]
    shown = plan_markdown(document, budget_bytes=LEAST_BUDGET)
    listed = shown.count("\n  - `too-many-detaches` ")
    assert listed > 10
    assert (shown.count("**veto**"), f"{200 - listed} veto. The JSON" in shown) == (1, True)


@pytest.mark.parametrize(("kept", "stays"), [(HELD[:1], True), (HELD[1:], True), ((), False)])
def test_something_stays_in_service_only_where_something_was_approved_before(kept: tuple[Held, ...], stays: bool):
    new = Held(operation=one(Attach), because=(HoldReason.FINDING,))
    shown = markdown_of(replace(EMPTY, held=(new, *kept)))
    lead = shown.partition("### Held: not done, waits for acceptance\n\n")[2]
    assert lead.startswith("What was approved before stays in service.\n\n**" if stays else "**finding**: ")


# -- nothing can be forged ---------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(HOSTILE)
@example("`" * 50 + "</details>\n\n# x\n@octocat <!-- remit plan other -->")
@example("| a | b |\n|---|---|\n| [x](y) | ![x](y) |")
@example("\u202e\u2066\u200b\U000e0041")
def test_a_servers_text_is_only_ever_the_text_of_code(text: str):
    shown, harmless = markdown_of(hostile_plan(text)), markdown_of(hostile_plan("harmless"))
    assert structure_of(shown) == [
        (kind, tag, content.replace("harmless", ".")) if kind == "html_block" else (kind, tag, content)
        for kind, tag, content in structure_of(harmless.replace("plan harmless -->", f"plan {marker_name(text)} -->"))
    ]
    assert shown.count("<!--") == 1
    assert all(line.isprintable() for line in shown.split("\n"))


def marker_name(text: str) -> str:
    return "".join(each if each in "abcdefghijklmnopqrstuvwxyz0123456789_-" else "." for each in text[:64])


@pytest.mark.parametrize("text", FORGERIES)
def test_each_forgery_changes_nothing_but_code(text: str):
    (attach,) = (each for each in OPERATIONS if isinstance(each, Attach))

    def shown(name: str) -> str:
        flagged = replace(attach, tool=replace(attach.tool, remote_name=RemoteName(name)), risks=(risk(name),))
        return markdown_of(replace(EMPTY, operations=(flagged,)))

    assert structure_of(shown(text)) == structure_of(shown("harmless"))


def risk(detail: str) -> Risk:
    return Risk(RiskCode.FINDING_HIGH, detail)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "`plain`"),
        ("", "` `"),
        (" ", "` `"),
        (" a ", "`  a  `"),
        (" a", "` a`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("a``", "``` a`` ```"),
        ("a\n::error::b", r"`a\n::error::b`"),
        ("<!-- remit plan x -->", r"`\x3c!-- remit plan x -->`"),
        ("x" * 300, "`" + "x" * 200 + "... (300 characters)`"),
    ],
)
def test_a_code_span_has_a_longer_fence_than_anything_in_it(text: str, shown: str):
    assert code(text) == shown


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="`ab \\<!-", max_size=20))
def test_a_code_span_reads_back_as_its_text(text: str):
    (read,) = text_in_code(code_line(text))
    expected = text.replace("<!--", r"\x3c!--")
    assert read == (expected or " ")


def test_a_code_block_has_a_longer_fence_than_any_line_in_it():
    assert code_block(["a", "````", "~~~", "<!-- x -->"], indent="  ") == (
        "  `````text\n  a\n  ````\n  ~~~\n  \\x3c!-- x -->\n  `````"
    )
    assert code_block([]) == "```text\n```"


def test_a_workspace_that_is_none_cannot_close_the_marker():
    shown = markdown_of(replace(EMPTY, workspace="a--> <script>" + "x" * 100))
    assert shown.splitlines()[0] == f"<!-- remit plan a--...script.{'x' * 51} -->"


# -- the budget --------------------------------------------------------------------------------------------------------


def large(count: int) -> Plan:
    """A plan of many harmless attaches, one detach, one danger and one held refresh, in the least helpful order."""
    attach, detach, endpoint = one(Attach), one(Detach), one(RegisterServer)
    assert isinstance(attach, Attach)
    attaches = tuple(
        replace(attach, tool=tool(f"assistant{index % 7}", "github", f"tool.{index}", f"github__tool_{index}"))
        for index in range(count)
    )
    danger = replace(attach, tool=tool("zulu", "github", "star", "github__star"), risks=(risk("a poisoned text"),))
    return replace(EMPTY, operations=(*attaches, endpoint, detach, danger), held=HELD[:1])


def test_two_thousand_operations_stay_within_a_comment_and_the_rest_is_counted():
    shown = markdown_of(large(2_000))
    assert 55_000 < len(shown.encode()) <= 60_000
    left = shown.split("**Left out, as there is no room:** ")[1].split(". The JSON")[0]
    assert sorted(left.split(", ")) == left.split(", ")
    listed = shown.count("\n- **attach** ")
    # The held operation is a refresh, and the danger is an attach too.
    assert left == f"{2_001 - listed:,} attach"
    assert "a poisoned text" in shown
    assert "- **detach** `slack/post`" in shown
    assert "--accept assistant.ops/github__create_issue@" in shown


def test_a_job_summary_holds_them_all():
    shown = markdown_of(large(2_000), budget_bytes=900_000)
    assert "Left out" not in shown
    assert shown.count("\n- **attach** ") == 2_001


@settings(max_examples=30, deadline=None)
@given(st.integers(min_value=LEAST_BUDGET, max_value=40_000), st.integers(min_value=0, max_value=120))
def test_no_budget_is_ever_exceeded(budget: int, count: int):
    plan = large(count)
    flooded = replace(
        plan,
        drift=tuple(
            Drift(
                address="assistant.ops/x" * 40,
                kind=DriftKind.VANISHED,
                assistant="ops",
                server="😀" * 300,
                remote_name="`" * 300,
                detail="😀" * 3_000,
            )
            for _ in range(count % 5)
        ),
    )
    assert len(markdown_of(flooded, budget).encode()) <= budget


def test_the_widest_head_that_a_forged_plan_can_have_fits_into_the_smallest_budget():
    document = plan_document(REPORT)
    wide = "\U00020000" * 300
    document["workspace"] = document["digest"] = document["config"]["commit"] = wide
    unreachable = next(each for each in document["discovery"] if each["status"] == "unreachable")
    document["discovery"] = [{**unreachable, "server": f"{number}{wide}"} for number in range(1_000)]
    veto = document["problems"][0]
    document["problems"] = [{**veto, "code": code} for code in sorted(SAFEGUARD_CODES)]
    for key in document["summary"]:
        document["summary"][key] = 999_999
    shown = plan_markdown(document, budget_bytes=LEAST_BUDGET)
    assert len(shown.encode()) <= LEAST_BUDGET
    assert "1,000 server listing" in shown


@pytest.mark.parametrize("text", FORGERIES)
def test_a_forged_server_name_stays_code_in_every_place(text: str):
    def shown(name: str) -> str:
        document = plan_document(REPORT)
        for entry in document["discovery"]:
            entry["server"] = name
        return plan_markdown(document)

    assert structure_of(shown(text)) == structure_of(shown("harmless"))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 900), st.integers(0, 2)), max_size=60))
def test_nothing_harmless_is_shown_where_something_graver_was_left_out(pieces: list[tuple[int, int, int]]):
    texts = [f"{index:04}{'x' * size}" for index, (_, size, _) in enumerate(pieces)]
    sections = [
        Section(
            title=f"Section {which}",
            fold="words" * (which == 1),
            lead="lead" * (which == 2),
            pieces=tuple(
                Piece(rank=rank, kind="thing", text=text)
                for text, (rank, _, section) in zip(texts, pieces, strict=True)
                if section == which
            ),
        )
        for which in range(3)
    ]
    shown = fitted("head", [each for each in sections if each.pieces], budget_bytes=LEAST_BUDGET)
    kept = [rank for text, (rank, _, _) in zip(texts, pieces, strict=True) if text in shown]
    gone = [rank for text, (rank, _, _) in zip(texts, pieces, strict=True) if text not in shown]
    assert len(shown.encode()) <= LEAST_BUDGET
    assert max(kept, default=0) <= min(gone, default=9)
    assert (f"{len(gone):,} thing." in shown) == bool(gone)


def test_a_budget_that_cannot_hold_the_head_is_refused():
    with pytest.raises(ValueError, match="smallest budget is 4000 bytes"):
        markdown_of(EMPTY, LEAST_BUDGET - 1)


def test_one_operation_cannot_fill_the_page_with_its_details():
    refresh = one(Refresh)
    assert isinstance(refresh, Refresh)
    changed = HELD[0].operation
    assert isinstance(changed, Refresh)
    many = tuple(
        replace(changed.changes[1], path=("inputSchema", "properties", f"p{index}", "description"), after="y" * 900)
        for index in range(60)
    )
    held = Held(operation=replace(changed, changes=many), because=(HoldReason.LIVE_NOT_ACCEPTED,))
    shown = markdown_of(replace(EMPTY, held=(held,)))
    assert len(shown) < 8_000
    assert "more lines; the JSON has them all\n  --accept assistant.ops/github__create_issue@" in shown


def test_a_long_list_is_folded_and_a_short_one_is_not():
    assert "<details><summary>21 operations</summary>" in markdown_of(attaches(21))
    assert "<details>" not in markdown_of(attaches(20))


def attaches(count: int) -> Plan:
    attach = one(Attach)
    assert isinstance(attach, Attach)
    return replace(EMPTY, operations=(attach,) * count)


def test_words_that_this_remit_does_not_know_are_code():
    document = plan_document(REPORT)
    document["operations"][1]["risks"][0]["code"] = "later"
    document["held"][0]["held_because"] = ["later still"]
    document["problems"][2]["severity"] = "<b>"
    document["drift"][0]["kind"] = "moved"
    shown = plan_markdown(document)
    for words in ("- **`later`** ", " held because `later still` ", "- **`<b>`** ", "- **`moved`** "):
        assert words in shown


def test_of_five_thousand_operations_more_than_three_hundred_fit_into_a_comment():
    kinds: Iterable[str] = (line.split("**")[1] for line in markdown_of(large(5_000)).splitlines() if "- **" in line)
    assert Counter(kinds)["attach"] > 300
