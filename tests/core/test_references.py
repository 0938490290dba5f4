"""What `$` may begin in a value of mcp.yaml."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.references import EnvReference, FileReference, InvalidReference, Literal, Part, parse_references


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("plain", (Literal("plain"),)),
        ("${env:TOKEN}", (EnvReference("TOKEN"),)),
        ("${env:_t0}", (EnvReference("_t0"),)),
        ("${env:TOKEN:-}", (EnvReference("TOKEN", ""),)),
        ("${env:TOKEN:-a b:-c}", (EnvReference("TOKEN", "a b:-c"),)),
        ("${file:/run/secrets/token}", (FileReference("/run/secrets/token"),)),
        ("Bearer ${env:A}${file:b}!", (Literal("Bearer "), EnvReference("A"), FileReference("b"), Literal("!"))),
        ("$$", (Literal("$"),)),
        ("a$$b$$${env:A}", (Literal("a$b$"), EnvReference("A"))),
        ("$${env:A}", (Literal("${env:A}"),)),
        ("{env:A}", (Literal("{env:A}"),)),
    ],
)
def test_a_text_has_parts(text: str, parts: tuple[Part, ...]) -> None:
    assert parse_references(text) == parts


FORMS = "write ${env:NAME}, ${env:NAME:-default} or ${file:PATH} for a reference, or $$ for a dollar"


@pytest.mark.parametrize(
    ("text", "advice", "offset"),
    [
        ("$", FORMS, 0),
        ("a$ b", FORMS, 1),
        ("$5", FORMS, 0),
        ("${}", FORMS, 0),
        ("${vault:x}", FORMS, 0),
        ("${ENV:A}", FORMS, 0),
        ("x ${env:A", FORMS, 2),
        ("${env:A:-$B}", FORMS, 0),
        ("$TOKEN", "write ${env:TOKEN} for a variable, or $$ for a dollar", 0),
        ("$$$TOKEN", "write ${env:TOKEN} for a variable, or $$ for a dollar", 2),
        ("${TOKEN}", "write ${env:TOKEN} for a variable, or $$ for a dollar", 0),
        ("${TOKEN:-x}", "write ${env:TOKEN} for a variable, or $$ for a dollar", 0),
        ("${env:}", "'' is no variable name; write ${env:NAME} or ${env:NAME:-default}", 0),
        ("${env:1A}", "'1A' is no variable name; write ${env:NAME} or ${env:NAME:-default}", 0),
        ("${env:A-b}", "'A-b' is no variable name; write ${env:NAME} or ${env:NAME:-default}", 0),
        ("ab${env: A}", "' A' is no variable name; write ${env:NAME} or ${env:NAME:-default}", 2),
        ("${env:REMIT_TOKEN}", "REMIT_* variables configure remit and cannot be referenced", 0),
        ("${env:REMIT_X:-y}", "REMIT_* variables configure remit and cannot be referenced", 0),
        ("${file:}", "a file reference needs a path: ${file:PATH}", 0),
        ("${file: }", "a file reference needs a path: ${file:PATH}", 0),
    ],
)
def test_any_other_form_is_refused_with_the_right_one_and_its_place(text: str, advice: str, offset: int) -> None:
    with pytest.raises(InvalidReference) as refused:
        parse_references(text)
    assert (str(refused.value), refused.value.offset) == (advice, offset)


@given(st.text())
def test_any_text_can_be_written_with_doubled_dollars(text: str) -> None:
    escaped = text.replace("$", "$$")
    assert parse_references(escaped) == ((Literal(text),) if text else ())
