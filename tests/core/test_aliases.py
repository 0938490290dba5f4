"""The alias of a tool: readable where it can be, suffixed where it must be, the same ever after."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.aliases import (
    ALIAS_PATTERN,
    MAX_ALIAS,
    RESERVED_NAMES,
    AliasClash,
    AliasLedger,
    base_names,
    fold,
    suffixed_alias,
)
from remit.core.desired import Desired
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.discovered import discovered_tools
from remit.core.identity import ProviderName, canonical_id_of
from remit.core.live import McpDiscoveredTool
from remit.core.naming import Claim, KeptNames, claim_all, settle_kept
from remit.core.operations import Attach, RenameAlias
from remit.core.plan import Plan
from remit.core.recorded import Recorded
from tests.states import (
    ALIAS,
    LINE,
    OTHER_WORKSPACE,
    assistant,
    attachment,
    definition,
    desired,
    listed,
    plan,
    recorded,
    recorded_assistant,
    registration,
    select,
    server,
)

GITHUB, JIRA = server("github"), server("jira")
KNOWN = registration(GITHUB)


@pytest.mark.parametrize(
    ("remote_name", "alias"),
    [
        ("search_issues", "github__search_issues"),
        ("search.issues", "github__search_issues"),
        ("search-issues", "github__search-issues"),
        ("SearchIssues", "github__SearchIssues"),
        ("a b/c:d", "github__a_b_c_d"),
        ("a__b", "github__a_b"),
        ("a._.b", "github__a_b"),
        ("_private_", "github__private"),
        ("...", "github__tool"),
        ("naïve", "github__na_ve"),
        ("9lives", "github__9lives"),
        ("x" * 56, "github__" + "x" * 56),
    ],
)
def test_a_remote_name_gives_a_readable_alias(remote_name: str, alias: str) -> None:
    assert base_names("github", [remote_name], ()) == {remote_name: alias}


def test_a_name_that_is_too_long_is_cut_and_suffixed() -> None:
    alias = base_names("github", ["x" * 57], ())["x" * 57]
    assert alias == suffixed_alias("github", "x" * 57)
    assert (len(alias), alias[:56]) == (MAX_ALIAS, "github__" + "x" * 47 + "_")


def test_a_cut_leaves_no_underscores_before_the_suffix() -> None:
    alias = suffixed_alias("github", "x" * 46 + "_" + "y" * 20)
    assert alias.startswith("github__" + "x" * 46 + "_")
    assert "__" not in alias[8:]


def test_a_reserved_name_is_suffixed_whatever_its_case() -> None:
    assert base_names("code", ["Run"], {fold("code__run")}) == {"Run": suffixed_alias("code", "Run")}


def test_reserved_names_are_written_folded() -> None:
    assert frozenset(fold(name) for name in RESERVED_NAMES) == RESERVED_NAMES


def test_a_name_that_needed_no_change_keeps_its_alias_against_changed_ones() -> None:
    assert base_names("github", ["search.issues", "search_issues", "search issues"], ()) == {
        "search_issues": "github__search_issues",
        "search.issues": suffixed_alias("github", "search.issues"),
        "search issues": suffixed_alias("github", "search issues"),
    }


def test_names_with_an_equal_right_are_all_suffixed() -> None:
    both_changed = base_names("github", ["a.b", "a b"], ())
    both_unchanged = base_names("github", ["Find", "find"], ())
    assert both_changed == {name: suffixed_alias("github", name) for name in ("a.b", "a b")}
    assert both_unchanged == {name: suffixed_alias("github", name) for name in ("Find", "find")}


def test_a_suffix_depends_on_namespace_and_remote_name_alone() -> None:
    assert suffixed_alias("github", "search.issues") == "github__search_issues_mfszgxlp"
    both = [suffixed_alias(namespace, "search.issues")[-8:] for namespace in ("github", "hub")]
    assert both[0] != both[1]


@given(st.lists(st.text(min_size=1), unique=True))
def test_every_alias_is_legal_unique_and_depends_on_no_order(names: list[str]) -> None:
    aliases = base_names("github", names, ())
    assert base_names("github", list(reversed(names)), ()) == aliases
    assert [alias for alias in aliases.values() if not ALIAS_PATTERN.match(alias)] == []
    assert len({fold(alias) for alias in aliases.values()}) == len(aliases)


# --- one assistant -----------------------------------------------------------------------------------------------------


def test_a_ledger_gives_a_name_once_and_says_who_holds_it() -> None:
    ledger = AliasLedger.of({"Fetch": "tool.a/fetch"}, {"shell"})
    assert [
        ledger.claim_exactly(ProviderName("fetch"), "tool.b/fetch"),
        ledger.claim_exactly(ProviderName("Shell"), "tool.b/shell"),
        ledger.claim_exactly(ProviderName("find"), "tool.b/find"),
        ledger.claim_exactly(ProviderName("find"), "tool.b/find"),
        ledger.claim_exactly(ProviderName("FIND"), "tool.c/find"),
    ] == [
        AliasClash(ProviderName("fetch"), "tool.a/fetch"),
        AliasClash(ProviderName("Shell"), "a reserved name of the platform"),
        None,
        None,
        AliasClash(ProviderName("FIND"), "tool.b/find"),
    ]


def claim(tool: str, computed: str, explicit: str | None = None) -> Claim:
    return Claim(
        key=("s", tool),
        origin=f"tool.s/{tool}",
        namespace="s",
        explicit=None if explicit is None else ProviderName(explicit),
        computed=ProviderName(computed),
    )


def test_declared_names_go_before_computed_ones_and_each_group_by_key() -> None:
    claims = [claim("c", "s__c", "s__a"), claim("a", "s__a"), claim("d", "s__d", "s__a"), claim("b", "s__b")]
    given_names = {
        ("s", "c"): "s__a",
        ("s", "d"): AliasClash(ProviderName("s__a"), "tool.s/c"),
        ("s", "a"): suffixed_alias("s", "a"),
        ("s", "b"): "s__b",
    }
    assert claim_all(claims, {}, ()) == given_names
    assert claim_all(reversed(claims), {}, ()) == given_names


def test_a_name_whose_suffixed_form_is_held_too_is_a_clash() -> None:
    holders = {"s__a": "the first", suffixed_alias("s", "a"): "the second"}
    assert claim_all([claim("a", "s__a")], holders, ()) == {("s", "a"): AliasClash(ProviderName("s__a"), "the first")}


Names: TypeAlias = Mapping[str, str]


@pytest.mark.parametrize(
    ("declared", "fixed", "final", "refused"),
    [
        ({}, {}, {"a": "a", "b": "b", "c": "c"}, {}),
        ({"a": "x"}, {}, {"a": "x", "b": "b", "c": "c"}, {}),
        ({"a": "A"}, {}, {"a": "A", "b": "b", "c": "c"}, {}),
        ({"a": "b", "b": "a"}, {}, {"a": "b", "b": "a", "c": "c"}, {}),
        ({"a": "b", "b": "c", "c": "x"}, {}, {"a": "b", "b": "c", "c": "x"}, {}),
        ({"a": "b"}, {}, {"a": "a", "b": "b", "c": "c"}, {"a": ("b", "the tool b")}),
        (
            {"a": "x", "b": "X"},
            {},
            {"a": "a", "b": "b", "c": "c"},
            {"a": ("x", "the tool b"), "b": ("X", "the tool a")},
        ),
        ({"a": "x"}, {"X": "a stranger"}, {"a": "a", "b": "b", "c": "c"}, {"a": ("x", "a stranger")}),
        (
            {"a": "b", "b": "c", "c": "x"},
            {"x": "a stranger"},
            {"a": "a", "b": "b", "c": "c"},
            {"a": ("b", "the tool b"), "b": ("c", "the tool c"), "c": ("x", "a stranger")},
        ),
        ({"a": "Shell"}, {}, {"a": "a", "b": "b", "c": "c"}, {"a": ("Shell", "a reserved name of the platform")}),
    ],
    ids=[
        "nothing declared",
        "a free name",
        "another case of the own name",
        "two names swapped",
        "a chain",
        "a name that stays held",
        "two want one",
        "a name of somebody else",
        "a refused rename falls back through its chain",
        "a reserved name",
    ],
)
def test_kept_tools_get_their_declared_names_where_those_are_free(
    declared: Names, fixed: Names, final: Names, refused: Mapping[str, tuple[str, str]]
) -> None:
    kept = {ProviderName(name): f"the tool {name}" for name in "cab"}
    wanted = {ProviderName(old): ProviderName(new) for old, new in declared.items()}
    assert settle_kept(kept, wanted, fixed, {"shell"}) == KeptNames(
        final={ProviderName(old): ProviderName(new) for old, new in final.items()},
        refused={ProviderName(old): AliasClash(ProviderName(name), holder) for old, (name, holder) in refused.items()},
    )


# --- in a plan ---------------------------------------------------------------------------------------------------------


def selecting(*names: str, aliases: Names | None = None, reserved: tuple[str, ...] = ()) -> Desired:
    return desired(GITHUB, assistant("ops", select("github", *names, aliases=aliases)), reserved_names=reserved)


def attached_names(made: Plan) -> dict[str, str]:
    return {each.tool.remote_name: each.tool.provider_name for each in made.operations if isinstance(each, Attach)}


def renames(made: Plan) -> dict[str, str]:
    return {each.tool.provider_name: each.after for each in made.operations if isinstance(each, RenameAlias)}


def test_a_new_tool_takes_a_suffix_where_another_attachment_holds_its_name() -> None:
    held = attachment(KNOWN, "search.issues", alias="github__search_issues")
    made = plan(
        selecting("search.issues", "search_issues"),
        recorded(KNOWN, recorded_assistant(), held),
        {"github": listed("search.issues", "search_issues")},
    )
    assert attached_names(made) == {"search_issues": suffixed_alias("github", "search_issues")}
    assert made.problems == (
        Diagnostic(
            code="alias-historic",
            severity=Severity.NOTE,
            message=(
                "the alias stays github__search_issues; attached today it would be "
                + suffixed_alias("github", "search.issues")
            ),
            address="assistant.ops/github__search_issues",
            source=LINE,
        ),
    )


@pytest.mark.parametrize(
    "known",
    [
        recorded(KNOWN, recorded_assistant(foreign_functions=("GITHUB__search",))),
        recorded(
            KNOWN,
            recorded_assistant(),
            registration(JIRA, workspace=OTHER_WORKSPACE),
            attachment(registration(JIRA), "x", alias="github__search", workspace=OTHER_WORKSPACE),
        ),
    ],
    ids=["a function of its developer", "a tool of another workspace"],
)
def test_a_new_tool_takes_a_suffix_where_somebody_else_holds_its_name(known: Recorded) -> None:
    made = plan(selecting("search"), known, {"github": listed("search")})
    assert attached_names(made) == {"search": suffixed_alias("github", "search")}


def test_an_explicit_alias_that_is_held_is_a_clash_with_both_origins_and_the_way_out() -> None:
    known = recorded(
        KNOWN,
        recorded_assistant(),
        registration(JIRA, workspace=OTHER_WORKSPACE),
        attachment(registration(JIRA), "x", alias="find", workspace=OTHER_WORKSPACE),
    )
    made = plan(selecting("search", aliases={"search": "Find"}), known, {"github": listed("search")})
    assert (made.operations, made.complete) == ((), False)
    assert made.problems == (
        Diagnostic(
            code="alias-clash",
            message=(
                "Find for tool.github/search of workspace acme-ops is taken on assistant ops by "
                "tool.jira/x of workspace acme-web"
            ),
            address="tool.github/search",
            source=ALIAS,
            hint="choose another name: `aliases: {search: ...}`",
        ),
    )


def test_a_computed_alias_with_no_free_form_is_a_clash_at_the_selection() -> None:
    functions = ("github__search", suffixed_alias("github", "search"))
    known = recorded(KNOWN, recorded_assistant(foreign_functions=functions))
    made = plan(selecting("search"), known, {"github": listed("search")})
    assert [(each.code, each.source, each.message) for each in made.problems] == [
        (
            "alias-clash",
            LINE,
            "github__search for tool.github/search of workspace acme-ops is taken on assistant ops by "
            "a function that its developer defined",
        )
    ]


def test_two_attached_tools_swap_their_aliases_in_one_plan() -> None:
    known = recorded(KNOWN, recorded_assistant(), attachment(KNOWN, "a"), attachment(KNOWN, "b"))
    made = plan(selecting("a", "b", aliases={"a": "github__b", "b": "github__a"}), known, {"github": listed("a", "b")})
    assert renames(made) == {"github__a": "github__b", "github__b": "github__a"}
    assert made.problems == ()


def test_a_new_tool_may_take_the_name_that_a_detached_or_renamed_one_gives_up() -> None:
    known = recorded(
        KNOWN, recorded_assistant(), attachment(KNOWN, "a"), attachment(KNOWN, "b"), attachment(KNOWN, "c")
    )
    wanted = selecting("b", "c", "new", "newer", aliases={"b": "find", "new": "github__a", "newer": "github__b"})
    made = plan(wanted, known, {"github": listed("b", "c", "new", "newer")})
    assert (renames(made), attached_names(made)) == (
        {"github__b": "find"},
        {"new": "github__a", "newer": "github__b"},
    )


def test_no_attached_tool_is_renamed_to_a_reserved_name() -> None:
    known = recorded(KNOWN, recorded_assistant(), attachment(KNOWN, "a"))
    wanted = selecting("a", aliases={"a": "House_Name"}, reserved=("house_name",))
    made = plan(wanted, known, {"github": listed("a")})
    assert (made.operations, [each.code for each in made.problems]) == ((), ["alias-clash"])


def test_a_name_that_became_reserved_stays_and_is_warned_about() -> None:
    known = recorded(KNOWN, recorded_assistant(), attachment(KNOWN, "a"))
    made = plan(selecting("a", reserved=("GITHUB__A",)), known, {"github": listed("a")})
    assert (made.operations, made.unchanged, made.complete) == ((), 1, True)
    assert made.problems == (
        Diagnostic(
            code="alias-reserved",
            severity=Severity.WARNING,
            message="github__a is a reserved name now; it stays, as it was attached before",
            address="assistant.ops/github__a",
            source=LINE,
            hint="give it another name under `aliases:` when its users can follow",
        ),
    )


def test_removing_an_alias_entry_changes_nothing() -> None:
    known = recorded(KNOWN, recorded_assistant(), attachment(KNOWN, "a", alias="find"))
    made = plan(selecting("a"), known, {"github": listed("a")})
    assert (made.operations, made.unchanged, [each.code for each in made.problems]) == ((), 1, ["alias-historic"])


def test_another_namespace_renames_nothing() -> None:
    known = recorded(KNOWN, recorded_assistant(), attachment(KNOWN, "a"))
    renamed = replace(GITHUB, namespace="hub")
    made = plan(desired(renamed, assistant("ops", select("github", "a", "b"))), known, {"github": listed("a", "b")})
    assert (renames(made), attached_names(made)) == ({}, {"b": "hub__b"})


# --- discovery ---------------------------------------------------------------------------------------------------------


def test_a_discovered_tool_has_the_names_that_attaching_gives_it() -> None:
    live = {"github": listed("Search.issues"), "jira": listed("create")}
    wanted = desired(GITHUB, JIRA, server("down"), assistant("ops", select("github", "*")))
    elsewhere = registration(JIRA, workspace=OTHER_WORKSPACE)
    found = discovered_tools(wanted, recorded(KNOWN, elsewhere), live)
    assert found == {
        "github": (
            McpDiscoveredTool(
                server_id=KNOWN.server_id,
                remote_name=live["github"].tools[0].remote_name,
                canonical_id=canonical_id_of(KNOWN.server_id, "Search.issues"),
                provider_name=ProviderName("github__Search_issues"),
                definition=definition(),
            ),
        ),
        "jira": (),
    }
    assert discovered_tools(wanted, recorded(), live)["github"] == found["github"]
