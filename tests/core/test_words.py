"""Addresses, listings, patterns and places: the small words that everything else is said in."""

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import pytest

import remit.core
from remit.core.addresses import assistant_address, attachment_address, nearest, server_address, tool_address
from remit.core.canonical import sha256_hex
from remit.core.desired import DesiredServer, Pattern
from remit.core.diagnostics import Severity, Source
from remit.core.live import Listed, Observation, Skipped, SkipReason, Unreachable, UnreachableReason, judge_empty
from remit.core.plan import DeferredReason
from remit.core.views import absence_of
from tests.states import (
    LINE,
    POLICY,
    assistant,
    attachment,
    desired,
    listed,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
)

GITHUB = server("github")
KNOWN = registration(GITHUB)
OPS = recorded_assistant()


@pytest.mark.parametrize("name", sorted(module.name for module in iter_modules(remit.core.__path__)))
def test_every_public_name_of_a_core_module_is_there(name: str) -> None:
    module = import_module(f"remit.core.{name}")
    assert [each for each in module.__all__ if not hasattr(module, each)] == []


def test_addresses_name_servers_tools_assistants_and_attachments() -> None:
    assert [
        server_address("github"),
        tool_address("github", "search.issues"),
        assistant_address("ops"),
        attachment_address("ops", "github__search_issues"),
    ] == [
        "server.github",
        "tool.github/search.issues",
        "assistant.ops",
        "assistant.ops/github__search_issues",
    ]


@pytest.mark.parametrize(("wanted", "near"), [("serach", "search"), ("Search", "search"), ("delete", None), ("", None)])
def test_the_nearest_name_is_the_one_that_was_probably_meant(wanted: str, near: str | None) -> None:
    assert nearest(wanted, ["search", "list", "research_papers"]) == near


EMPTY = Unreachable(reason=UnreachableReason.EMPTY, detail="lists no tools, the last good listing had 2")


@pytest.mark.parametrize(
    ("observed", "last_good", "allowed", "judged"),
    [
        (listed(), 2, False, EMPTY),
        (listed(), 2, True, listed()),
        (listed(), 0, False, listed()),
        (listed("a"), 2, False, listed("a")),
        (listed(quarantined=["a"]), 2, False, listed(quarantined=["a"])),
    ],
    ids=["emptied", "allowed", "never had any", "has tools", "has unusable tools"],
)
def test_zero_tools_where_there_were_some_is_an_outage_until_allowed(
    observed: Listed, last_good: int, judged: Listed | Unreachable, *, allowed: bool
) -> None:
    assert judge_empty(observed, last_good, allowed=allowed) == judged


@pytest.mark.parametrize(
    ("text", "matched", "is_glob"),
    [
        ("search", ["search"], False),
        ("Search", ["Search"], False),
        ("*", ["Search", "list", "search", "search[1]"], True),
        ("s*", ["search", "search[1]"], True),
        ("[Ss]earch", ["Search", "search"], True),
        ("?earch", ["Search", "search"], True),
        ("search[1]", ["search[1]"], True),
    ],
)
def test_a_pattern_matches_case_included_and_itself_always(text: str, matched: list[str], *, is_glob: bool) -> None:
    pattern = Pattern(text=text, source=LINE)
    names = ["Search", "list", "search", "search[1]"]
    assert ([name for name in names if pattern.matches(name)], pattern.is_glob) == (matched, is_glob)


def test_an_absence_is_told_in_words() -> None:
    assert [absence_of(Skipped(reason)) for reason in SkipReason] == [
        "disabled by the file",
        "left out of this run",
        "never listed, and only kept listings were asked for",
        "not asked: nothing is attached or refreshed from a kept listing",
        "not asked: planned offline, and the lock does not know it",
        "not asked: its entry is not the one that was applied",
        "not asked: it would run or read files that the branch may have changed",
        "not asked: no database outside the checkout says what was applied",
    ]
    assert [absence_of(EMPTY), absence_of(listed())] == [f"empty: {EMPTY.detail}", "listed"]


@pytest.mark.parametrize(
    ("declared", "observation", "reason", "detail"),
    [
        (GITHUB, Skipped(SkipReason.NOT_REQUESTED), DeferredReason.NOT_ASKED, "left out of this run"),
        (GITHUB, EMPTY, DeferredReason.UNREACHABLE, f"empty: {EMPTY.detail}"),
        (replace(GITHUB, enabled=False), listed("search"), DeferredReason.DISABLED, "disabled by the file"),
    ],
    ids=["not asked", "unreachable", "disabled"],
)
def test_a_selection_without_a_listing_says_why(
    declared: DesiredServer, observation: Observation, reason: DeferredReason, detail: str
) -> None:
    made = plan(
        desired(declared, assistant("ops", select("github", "search"))),
        recorded(KNOWN, OPS),
        {"github": observation},
    )
    assert [(each.remote_name, each.reason, each.detail) for each in made.deferred] == [("search", reason, detail)]


def test_a_glob_that_matches_nothing_and_a_policy_for_no_tool_are_warned_about_in_the_file() -> None:
    wanted = server("github", tools={"serach": GITHUB.envelope, "search": GITHUB.envelope, "odd": GITHUB.envelope})
    made = plan(
        desired(wanted, assistant("ops", select("github", "get_*", "search"))),
        recorded(KNOWN, OPS, attachment(KNOWN, "search")),
        {"github": listed("search", quarantined=["odd"])},
    )
    assert [(each.code, each.severity, each.address, each.source) for each in made.problems] == [
        ("pattern-matches-nothing", Severity.WARNING, "assistant.ops", LINE),
        ("policy-unmatched", Severity.WARNING, "tool.github/serach", POLICY),
    ]
    assert (made.complete, made.unchanged) == (True, 1)


def test_a_policy_for_no_tool_is_told_only_where_the_tools_are_known() -> None:
    wanted = desired(server("github", tools={"serach": GITHUB.envelope}))
    assert plan(wanted, recorded(KNOWN), {"github": EMPTY}).problems == ()


def test_an_excluded_tool_is_not_selected_whoever_includes_it() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "*", "search", "read", exclude=["s*"])))
    made = plan(wanted, recorded(KNOWN, OPS, attachment(KNOWN, "read")), {"github": listed("search", "read")})
    assert (made.operations, made.held, made.unchanged) == ((), (), 1)


def test_of_several_globs_the_first_in_the_file_selects() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "s*", "*")))
    made = plan(wanted, recorded(KNOWN, OPS), {"github": listed("search")})
    assert [each.operation.source for each in made.held] == [LINE]


def test_a_name_written_twice_is_selected_by_its_first_line() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "*", "search", "search")))
    made = plan(wanted, recorded(KNOWN, OPS), {"github": listed("search")})
    assert [each.source for each in made.operations] == [Source(LINE.file, LINE.line + 1, LINE.column)]


def test_an_unknown_name_far_from_all_others_points_to_the_listing() -> None:
    wanted = desired(GITHUB, assistant("ops", select("github", "zzz")))
    made = plan(wanted, recorded(KNOWN, OPS), {"github": listed("search")})
    assert [each.hint for each in made.problems] == ["run `remit discover github` to see the names"]


def test_a_place_is_written_as_editors_read_it() -> None:
    assert str(Source("mcp.d/a.yaml", 3, 7)) == "mcp.d/a.yaml:3:7"


def test_a_registration_s_key_is_that_of_its_endpoint_now() -> None:
    assert KNOWN.identity_key == sha256_hex("streamable_http", "https://github.example.com/mcp", "")
