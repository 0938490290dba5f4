import base64
import json
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.canonical import Json, JsonObject
from remit.upstream.redaction import MASK, Redactor


def test_a_secret_is_masked_in_text_keys_and_nested_values():
    redactor = Redactor(["dummy-secret"])
    document = {"a dummy-secret": [1, None, {"b": "Bearer dummy-secret!"}], "c": 1.5}
    assert redactor.document(document) == {"a ***": [1, None, {"b": "Bearer ***!"}], "c": 1.5}


def test_short_values_are_not_masked():
    assert Redactor(["short"]).text("a short word") == "a short word"


def test_without_secrets_the_document_itself_comes_back():
    document = {"a": ["b"]}
    assert Redactor().document(document) is document


def test_of_two_secrets_the_longer_one_is_masked_whole():
    assert Redactor(["dummy-secret", "dummy-secret-two"]).text("dummy-secret-two") == MASK


def test_repr_shows_nothing():
    assert "dummy" not in repr(Redactor(["dummy-secret"]))


def test_a_document_of_any_depth_is_masked():
    document: object = "dummy-secret"
    for _ in range(20_000):
        document = [document]
    masked = Redactor(["dummy-secret"]).document(document)  # type: ignore[arg-type]  # nested lists are JSON
    while isinstance(masked, list):
        masked = masked[0]
    assert masked == MASK


def escaped(character: str, how: int) -> str:
    """One spelling of a character: as it is, or escaped once or several times, in small or capital digits."""
    units = character.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    percent = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    short = json.dumps(character)[1:-1] if character != "/" else "\\/"
    spellings = [
        character, "".join(f"\\u{code}" for code in codes), "".join(f"\\u{code.upper()}" for code in codes),
        short, percent, percent.upper(), json.dumps("".join(f"\\u{code}" for code in codes))[1:-1],
    ]  # fmt: skip
    return spellings[how % len(spellings)]


NO_ESCAPES = st.text(st.characters(codec="utf-8", exclude_characters="\\%"), min_size=8, max_size=40)
"""Secrets in which nothing looks like an escape, so that every mixture of spellings has one meaning."""


@given(NO_ESCAPES, st.lists(st.integers(0, 6), min_size=40, max_size=40))
def test_every_mixture_of_spellings_of_a_secret_is_masked_whole(secret: str, how: list[int]):
    spelled = "".join(map(escaped, secret, how))
    assert Redactor([secret]).text(f"<{spelled}>") == f"<{MASK}>"
    assert Redactor([secret]).document({"a": f"<{spelled}>"}) == {"a": f"<{MASK}>"}


@given(st.text(min_size=8, max_size=40))
def test_every_spelling_of_a_secret_is_masked(secret: str):
    redactor = Redactor([secret])
    spellings = [
        secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1],
        "".join(escaped(character, 1) for character in secret), "".join(escaped(character, 2) for character in secret),
        quote(secret, safe=""), quote(secret), quote_plus(secret), "".join(escaped(character, 4) for character in secret),
        secret.encode().hex(), secret.encode().hex().upper(),
    ]  # fmt: skip
    for spelling in spellings:
        assert redactor.text(f"<{spelling}>") == f"<{MASK}>", spelling


NAMED = {
    "PHP": r"dummy-Secret\/value+123==",
    ".NET": r"dummy-Secret/value\u002B123==",
    "Go": r"dummy-Secret/value+123\u003d\u003D",
    "JSON in JSON": r"dummy-Secret\\/value\\u002b123==",
    "JavaScript": r"dummy\x2dSecret/value\x2B123==",
    "in a URL twice": "dummy-Secret%252Fvalue%252b123%3D%3d",
    "hex": b"dummy-Secret/value+123==".hex(),
}


@pytest.mark.parametrize("spelling", NAMED.values(), ids=NAMED)
def test_a_spelling_that_a_common_encoder_writes_is_masked(spelling: str):
    redactor = Redactor(["dummy-Secret/value+123=="])
    assert redactor.text(f'{{"t": "{spelling}"}}') == f'{{"t": "{MASK}"}}'
    assert redactor.document({"t": f'{{"t": "{spelling}"}}', spelling: 1}) == {"t": f'{{"t": "{MASK}"}}', MASK: 1}


def test_escapes_of_other_characters_stay_as_they_came():
    text = r"a \u0041 \/ \n %41 100% \ dummy\u002dsecret \u0041"
    assert Redactor(["dummy-secret"]).text(text) == rf"a \u0041 \/ \n %41 100% \ {MASK} \u0041"


SECRET_4K = ("ab/" * 1_366)[:4_096]
"""Made of one beginning over and over, so that a search that starts anew at each place takes the square of the time."""

HEAVY = {
    "its beginnings": (SECRET_4K[:-1] + "!"),
    "its beginnings, escaped": (SECRET_4K[:-1].replace("/", r"\/") + "!"),
    "escapes of its characters": r"\u0061\u002F%2f",
    "backslashes": "\\" * 4_096,
    "per cents": "%25" * 1_024 + "%",
    "itself": SECRET_4K + " ",
}


def seconds_of(work: Callable[[], object], times: int = 1) -> float:
    spent: list[float] = []
    for _ in range(times):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


@pytest.mark.parametrize("piece", HEAVY.values(), ids=HEAVY)
def test_masking_takes_time_in_proportion_to_the_text_whatever_it_is_made_of(piece: str):
    size = 8 * 1024 * 1024
    text = (piece * (size // len(piece) + 1))[: size - len(SECRET_4K)] + SECRET_4K
    long, short = Redactor([SECRET_4K]), Redactor([SECRET_4K[:4] + "-" * 12])
    masked: list[str] = []
    whole = seconds_of(lambda: masked.append(long.text(text)))
    # A quarter of a second that the machine may add; the square of sixteen is 256, and 4,096 is 256 times sixteen.
    assert whole < 48 * seconds_of(lambda: long.text(text[-size // 16 :])) + 0.25
    assert whole < 48 * seconds_of(lambda: short.text(text)) + 0.25
    assert masked[0].endswith(MASK)


def test_a_result_without_secrets_costs_little_more_than_writing_it_down():
    redactor = Redactor(["dummy-Secret/value+123==", "dummy-other-secret"])
    words: list[Json] = ['a line with "quotes",\n100% plain and C:\\\\path'] * 40_000
    document: JsonObject = {"content": words}

    assert redactor.document(document) is document
    written = seconds_of(lambda: json.dumps(document, ensure_ascii=False), 3)
    assert seconds_of(lambda: redactor.document(document), 3) < 12 * written + 0.02


@given(st.text(min_size=10, max_size=40), st.binary(max_size=4), st.binary(max_size=4))
def test_a_secret_inside_of_base64_is_masked_at_every_alignment(secret: str, before: bytes, after: bytes):
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    masked = Redactor([secret]).text(encoded)
    assert MASK in masked
    # What is left besides the mask is at most the neighbours and the two characters that they share.
    assert len(masked.replace(MASK, "")) <= (len(before) + len(after)) * 4 / 3 + 8


@given(st.text(min_size=8, max_size=20), st.booleans())
def test_a_secret_in_a_document_is_found_escaped_and_unescaped(secret: str, escaped: bool):
    text = json.dumps(secret)[1:-1] if escaped else secret
    masked = Redactor([secret]).document({"a": [f"<{text}>"], f"<{text}>": 1})
    assert masked == {"a": ["<***>"], "<***>": 1}
