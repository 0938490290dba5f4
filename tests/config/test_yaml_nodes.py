"""Text becomes a tree by the rules of YAML 1.2, or findings: never a traceback, never a wait."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.config.findings import MAX_FINDINGS, Findings
from remit.config.nodes import Kind, ListNode, MapNode, Node, Scalar, kind_of
from remit.config.yaml_nodes import MAX_DEPTH, PureParser, parse_yaml
from tests.config.reading import EXAMPLE, findings_of, places_of, server

SCALARS = {
    Kind.NULL: ["null", "Null", "NULL", "~", ""],
    Kind.FLAG: ["true", "True", "TRUE", "false", "False", "FALSE"],
    Kind.INTEGER: ["0", "-19", "+3", "007", "0o14", "0x3A", "9" * 5000],
    Kind.FLOAT: ["0.", "-0.0", ".5", "+12e03", "-2E+05", ".inf", "-.Inf", "+.INF", ".nan", ".NAN", "1e999"],
    Kind.TEXT: ["no", "yes", "on", "Off", "y", "n", "tRUE", "nULL", "12:30", "12:30:45", "1_000", "0b1", "0o8", "0xG",
                "2026-11-30", "1.2.3", "-", "+.nan", "=", "<<", "none", "-x", "."],
}  # fmt: skip


def test_plain_scalars_are_what_the_core_schema_of_yaml_1_2_says() -> None:
    assert {text: kind_of(text) for texts in SCALARS.values() for text in texts} == {
        text: kind for kind, texts in SCALARS.items() for text in texts
    }


def tree(text: str, *, pure: bool = False) -> tuple[object, list[tuple[str, int, int]]]:
    """The tree as plain values with the places of its scalars, and the findings."""
    findings = Findings({"f": text})
    node = parse_yaml(text, "f", findings, parser=PureParser if pure else None)
    places = [(each.code, each.source.line, each.source.column) for each in findings.diagnostics() if each.source]
    return plain(node) if node else None, places


def plain(node: Node) -> object:
    match node:
        case Scalar():
            return node.text, node.kind, node.source.line, node.source.column
        case ListNode():
            return [plain(item) for item in node.items]
        case MapNode():
            return {key: plain(entry.value) for key, entry in node.entries.items()}
        case _:
            return "unusable"


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE,
        server("command: [x]", "env: {A: |", "  b}"),
        "a: 'it''s'\nb: \"\\u00e9\\n\"\nc: |\n  x\n  y\nd: >-\n  x\n  y\n",
        "a: &x 1\nb: *x\nc: !t 2\n",
        "a: 1\na: 2\n<<: {}\n? [q]\n: r\n",
        "é: [ü, 日本]\n",
        "a: 1\n---\nb: 2\n",
        "[" * 100,
        "a: [1\n",
    ],
)
def test_both_parsers_of_pyyaml_give_the_same_tree(text: str) -> None:
    assert tree(text, pure=True) == tree(text)


def test_an_escape_that_is_no_character_is_a_finding_with_both_parsers() -> None:
    assert [[code for code, _, _ in tree('a: "\\U00110000"', pure=pure)[1]] for pure in (False, True)] == [
        ["yaml-syntax"],
        ["yaml-syntax"],
    ]


def test_nesting_beyond_the_cap_is_refused_before_anything_walks_it() -> None:
    assert [code for code, _, _ in tree("[" * 5000)[1]] == ["yaml-too-deep"]
    assert tree("[" * 900)[1] == [("yaml-too-deep", 1, MAX_DEPTH + 1)]
    assert tree("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))[1] == []
    assert tree("- " * 5000 + "a")[1] == [("yaml-too-deep", 1, 2 * MAX_DEPTH + 1)]


def test_an_alias_bomb_is_findings_not_gigabytes() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )
    codes = [code for code, _, _ in tree(bomb)[1]]
    assert (codes.count("yaml-anchor"), codes.count("yaml-alias")) == (8, 63)


def test_a_flood_of_findings_is_cut_and_says_so() -> None:
    found = findings_of("version: 1\n" + "".join(f"k{number}: 1\n" for number in range(MAX_FINDINGS * 3)))
    assert (len(found), found[-1].code) == (MAX_FINDINGS + 1, "too-many-findings")


def test_an_enormous_line_gives_a_short_excerpt_or_none() -> None:
    text = "version: 1\nx: " + "y " * 500_000 + "\n" + server("command: [x]").removeprefix("version: 1\n")
    assert [len(each.excerpt or "") for each in findings_of(text)] == [400]
    late = "version: 1\nmcp: {servers: [{name: s, command: [x], env: {A: '" + "y " * 4000 + "'}, enabeld: true}]}\n"
    assert [(each.code, each.excerpt) for each in findings_of(late)] == [("unknown-key", None)]


def test_reading_leaves_the_recursion_limit_alone() -> None:
    before = sys.getrecursionlimit()
    places_of("{" * 10_000)
    assert sys.getrecursionlimit() == before


@given(st.text(alphabet=st.sampled_from("abv:- \n[]{}'\"#&*!|>%@`$~\t,?<0.\\"), max_size=60))
def test_any_text_is_findings_or_a_tree(text: str) -> None:
    for each in findings_of("version: 1\n" + text):
        assert each.source is not None
        assert each.source.file == "mcp.yaml"


@given(st.sampled_from(EXAMPLE.split("\n")), st.text(max_size=12))
def test_a_damaged_example_never_ends_in_a_traceback(line: str, damage: str) -> None:
    findings_of(EXAMPLE.replace(line, line + damage, 1).replace("\r", ""))
