"""Server text cannot forge a line, a colour or a command."""

import ast
import json
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.core.canonical import Json
from remit.render.escape import escape_json, escape_terminal, harmless_json, json_lines, well_formed

HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "\x1b[]0m;\n\r\t\\:# \x07\x7f\x85\x9b\u200b\u200e\u202e\u2066\ufeff\u00ad\ufe0f\U000e0041\ud800"
        ),
        st.characters(),
    ),
    max_size=300,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ümläut, 日本語", "plain text, ümläut, 日本語"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("one\ntwo\r\tthree", r"one\ntwo\r\tthree"),
        ("\x9b31m", r"\x9b31m"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("selector\ufe0f\U000e0100", r"selector\ufe0f\U000e0100"),
        ("\ud800", r"\ud800"),
        ("a\\nb", r"a\\nb"),
        ("line\u2028separator\xa0", r"line\u2028separator\xa0"),
        ("::error::gotcha", r"\x3a:error::gotcha"),
        ("  ::add-mask::x", r"  \x3a:add-mask::x"),
        ("std::string", "std::string"),
        ("see ##[error]here", r"see \x23#[error]here"),
        ("##vso[task.setvariable]", r"\x23#vso[task.setvariable]"),
        ("## heading", "## heading"),
    ],
)
def test_what_cannot_be_shown_becomes_a_visible_escape(text: str, shown: str):
    assert escape_terminal(text) == shown


def test_long_text_is_cut_and_its_length_stated():
    assert escape_terminal("x" * 5000, limit=10) == "xxxxxxxxxx... (5000 characters)"
    assert escape_terminal("x" * 10, limit=10) == "x" * 10


def test_escapes_count_as_what_is_shown_so_hidden_text_cannot_flood_the_screen():
    assert escape_terminal("\U000e0041" * 500, limit=25) == r"\U000e0041\U000e0041... (500 characters)"


@given(HOSTILE, st.integers(min_value=1, max_value=400))
def test_output_is_one_line_of_printable_characters_without_a_command(text: str, limit: int):
    shown = escape_terminal(text, limit=limit)
    assert shown.isprintable()
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert "##vso[" not in shown
    assert len(shown) <= limit + len("... (400 characters)") + 6


@settings(deadline=timedelta(seconds=2))
@given(HOSTILE)
def test_unshortened_output_reads_back_as_the_very_text(text: str):
    shown = escape_terminal(text, limit=10**6)
    quoted = shown.replace("'", r"\x27")
    assert ast.literal_eval(f"'{quoted}'") == text


@given(st.recursive(HOSTILE, lambda inner: st.lists(inner, max_size=3), max_leaves=4))
def test_json_is_one_printable_line_too(value: str):
    shown = escape_json(value, limit=10**6)
    assert shown.isprintable()
    assert "##[" not in shown


def test_json_keeps_its_own_escapes_once():
    assert escape_json({"pattern": "\\d+\n", "quote": '"'}) == r'{"pattern":"\\d+\n","quote":"\""}'


@given(st.text(alphabet=st.characters(), max_size=50))
def test_well_formed_text_has_utf8_bytes_and_is_else_unchanged(text: str):
    kept = well_formed(text)
    kept.encode("utf-8")
    assert json.loads(json.dumps(kept)) == kept
    assert kept == text or any(0xD800 <= ord(character) <= 0xDFFF for character in text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [(":", r"\x3a"), (" :", r" \x3a"), ("a:", "a:"), ("##teamcity[x]", r"\x23#teamcity[x]"), ("##9[x]", "##9[x]")],
)
def test_what_could_begin_a_command_together_with_our_own_words_is_broken_too(text: str, shown: str):
    assert escape_terminal(text) == shown


@given(HOSTILE)
def test_json_for_a_log_is_the_same_json(text: str):
    written = harmless_json(json.dumps({text: [text]}, indent=2))
    assert json.loads(written) == {text: [text]}
    assert "##[" not in written


@given(st.recursive(HOSTILE, lambda inner: st.dictionaries(HOSTILE, inner, max_size=3), max_leaves=4))
def test_indented_json_is_printable_line_by_line_and_still_the_same_json(value: Json):
    lines = json_lines(value)
    assert all(line.isprintable() and "##[" not in line for line in lines)
    assert json.loads("\n".join(lines)) == value
