import base64
import json
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

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


@given(st.text(min_size=8, max_size=40), st.text(max_size=5), st.text(max_size=5))
def test_every_spelling_of_a_secret_is_masked(secret: str, before: str, after: str):
    redactor = Redactor([secret])
    spellings = [
        quote(secret, safe=""), quote(secret), quote_plus(secret), quote(secret, safe="").lower(),
        json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], secret,
    ]  # fmt: skip
    for spelling in spellings[:3] + spellings[4:]:
        assert spelling not in redactor.text(f"<{spelling}>")


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
