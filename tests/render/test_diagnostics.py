"""Diagnostics and errors as people and programs read them."""

import json

import pytest

from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.errors import NoDatabase, RemitError, UsageError
from remit.render.diagnostics import diagnostics_document, diagnostics_text, error_text

UNKNOWN_KEY = Diagnostic(
    code="unknown-key",
    message="'side_efecting' is no key of an envelope",
    source=Source("mcp.yaml", 25, 9),
    hint="did you mean side_effecting?",
    excerpt="        side_efecting: true",
)
LOOSE = Diagnostic(code="loose-default", message="looser than built in", severity=Severity.WARNING, address="server.a")
NOTE = Diagnostic(code="alias-historic", message="an old alias", severity=Severity.NOTE)


def test_a_diagnostic_shows_place_line_caret_and_way_out():
    assert (
        diagnostics_text([UNKNOWN_KEY, LOOSE, NOTE, UNKNOWN_KEY], colour=False)
        == """\
mcp.yaml:25:9: error unknown-key: 'side_efecting' is no key of an envelope
  25 |         side_efecting: true
     |         ^
  hint: did you mean side_effecting?
server.a: warning loose-default: looser than built in
note alias-historic: an old alias
mcp.yaml:25:9: error unknown-key: 'side_efecting' is no key of an envelope
  25 |         side_efecting: true
     |         ^
  hint: did you mean side_effecting?
2 errors, 1 warning, 1 note
"""
    )


def test_nothing_wrong_is_nothing_to_say():
    assert diagnostics_text([], colour=True) == ""


def test_colour_only_paints_the_words():
    painted = diagnostics_text([UNKNOWN_KEY], colour=True)
    assert painted.replace("\x1b[1;31m", "").replace("\x1b[0m", "") == diagnostics_text([UNKNOWN_KEY], colour=False)
    assert painted.count("\x1b[1;31m") == 2


def caret_under(excerpt: str, column: int) -> tuple[str, int]:
    """The quoted line without its gutter, and the column of the caret in it."""
    diagnostic = Diagnostic(code="x", message="y", source=Source("f", 1, column), excerpt=excerpt)
    _, line, caret, _ = diagnostics_text([diagnostic], colour=False).splitlines()
    return line.removeprefix("  1 | "), len(caret.removeprefix("    | ")) - 1


@pytest.mark.parametrize(
    ("excerpt", "column", "line", "caret"),
    [
        ("key: value", 1, "key: value", 0),
        ("key: value", 6, "key: value", 5),
        ("\tkey: x", 2, "    key: x", 4),
        ("名前: x", 3, "名前: x", 4),
        ("e\u0301: x", 3, "e\u0301: x", 1),
        ("a\u202eb: x", 3, r"a\u202eb: x", 7),
        ("key: x", 7, "key: x", 6),
        ("key: x", 99, "key: x", 6),
        ("a\\d: x", 4, "a\\d: x", 3),
        ("key: x\r\n", 1, "key: x", 0),
    ],
)
def test_the_caret_stands_under_its_character(excerpt: str, column: int, line: str, caret: int):
    assert caret_under(excerpt, column) == (line, caret)


def test_a_long_line_is_cut_around_the_caret():
    line, caret = caret_under("x" * 500 + "HERE" + "y" * 500, 501)
    assert line[caret : caret + 4] == "HERE"
    assert line.startswith("...x")
    assert line.endswith("y...")
    assert len(line) == 106


def test_a_line_of_wide_characters_is_cut_by_its_columns():
    line, caret = caret_under("漢" * 500, 251)
    assert line.count("漢") == 50
    assert caret == 3 + 66


@pytest.mark.parametrize("column", [1, 50_000, 100_000])
def test_a_huge_line_keeps_to_the_window(column: int):
    line, caret = caret_under("x" * 100_000, column)
    assert len(line) <= 106
    assert 0 <= caret <= 103


def test_a_hostile_diagnostic_stays_on_its_lines():
    hostile = "\x1b[31m\n::error::x\u202e"
    diagnostic = Diagnostic(
        code="x", message=hostile, source=Source(hostile, 1, 1), hint=hostile, excerpt=hostile, address=hostile
    )
    lines = diagnostics_text([diagnostic], colour=False).split("\n")
    assert len(lines) == 6
    assert all(line.isprintable() and not line.lstrip().startswith("::") for line in lines)


def test_the_document_holds_every_diagnostic_and_the_counts():
    document = diagnostics_document([UNKNOWN_KEY, LOOSE])
    assert json.loads(json.dumps(document)) == {
        "format_version": "1.0",
        "diagnostics": [
            {
                "code": "unknown-key",
                "severity": "error",
                "message": "'side_efecting' is no key of an envelope",
                "address": None,
                "source": {"file": "mcp.yaml", "line": 25, "column": 9},
                "hint": "did you mean side_effecting?",
            },
            {
                "code": "loose-default",
                "severity": "warning",
                "message": "looser than built in",
                "address": "server.a",
                "source": None,
                "hint": None,
            },
        ],
        "summary": {"errors": 1, "warnings": 1, "notes": 0},
    }


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RemitError("broken"), "error error: broken\n"),
        (
            NoDatabase("no database", place=".remit/remit.db", hint="run remit init"),
            "error no-database: .remit/remit.db: no database\n  hint: run remit init\n",
        ),
        (UsageError("what\x1b[2J\nis this"), "error usage: what\\x1b[2J\\nis this\n"),
    ],
)
def test_an_error_says_what_where_and_what_next(error: RemitError, text: str):
    assert error_text(error) == text


def test_a_quoted_line_holds_no_workflow_command_and_the_caret_still_fits():
    diagnostic = Diagnostic(code="x", message="y", source=Source("mcp.yaml", 3, 12), excerpt='"##[error]": 2')
    assert diagnostics_text([diagnostic], colour=False).splitlines()[1:3] == [
        r'  3 | "\x23#[error]": 2',
        "    |               ^",
    ]
