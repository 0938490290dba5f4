"""Texts that may hold references, and literals that should have been one.

Decides whether the value of a command argument, variable, header, URL or auth field may stand in a file: a `$` form that
is none of ours, a credential written out, a control character. Where a credential is found, its place is kept out of every
excerpt. It resolves nothing.
"""

import re
from dataclasses import dataclass

from remit.config.credentials import (
    credential_in_argument,
    credential_in_env,
    credential_in_header,
    credential_in_text,
    credential_in_url,
    is_secret_name,
    secret_field_literal,
)
from remit.config.findings import Findings
from remit.config.nodes import Scalar
from remit.core.references import FileReference, InvalidReference, parse_references
from remit.render.escape import escape_character, is_visible

__all__ = ["Values"]

_WRITE_REFERENCE = "write ${env:NAME} or ${file:PATH} and set the value outside the file"
_BRACED = re.compile(r"\$\{[^{}]*\}")
_WHOLE_VARIABLE = re.compile(r"(?:[A-Za-z]+ )?\$[A-Z_][A-Z0-9_]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """Judges the values of one server; findings name its address."""

    findings: Findings
    address: str

    def program(self, node: Scalar) -> None:
        """`command[0]`: written out, so that the reviewed program is the one started; `{python}` is allowed."""
        text = node.text
        if "$" in text:
            self._add(
                "reference-not-allowed",
                node,
                "the program is written out, so that the reviewed one is the one started",
                "arguments after it may hold references; environments differ by their own file",
            )
        elif not text.strip():
            self._add("invalid-command", node, "the program is empty", 'as in ["{python}", -m, my_server]')
        elif re.search(r"\s-", text):
            self._add(
                "invalid-command",
                node,
                "the program holds a whole command line, and no program is called so",
                "write each word as an entry of its own, as in [npx, -y, server@1.0.0]",
            )
            if credential_in_text(text, hexadecimal=False):
                self.findings.hide(node.span)
        elif "{" in text and text != "{python}":
            self._add("invalid-command", node, "the only placeholder is {python}", None)
        elif not self._hidden(node):
            self._judge(node, credential_in_text(text, hexadecimal=False), name="")

    def arguments(self, nodes: list[Scalar]) -> None:
        """The arguments after the program."""
        texts = [node.text for node in nodes]
        for index in range(1, len(nodes)):
            if not self._hidden(nodes[index]):
                self._judge(nodes[index], credential_in_argument(texts, index), name=texts[index - 1])

    def variable(self, name: str, node: Scalar) -> None:
        """One value under `env`. It may hold line breaks, as a shell's variable may."""
        if "\0" in node.text:
            self._add(
                "unsafe-character", node, f"the value of {name} holds a NUL character", "a variable cannot hold it"
            )
        else:
            self._judge(node, credential_in_env(name, node.text), name=name)

    def header(self, name: str, node: Scalar) -> None:
        """One value under `headers` (RFC 9110, section 5.5; ASCII only, as HTTP clients send nothing else)."""
        text = node.text
        if not text.isascii() or not text.isprintable() or text != text.strip():
            self._add(
                "invalid-header",
                node,
                f"the value of the header {name} is not one line of printable ASCII without spaces around it",
                "a block text (|) ends with a line break; write it in quotes",
            )
            if is_secret_name(name):
                self.findings.hide(node.span)
        else:
            self._judge(node, credential_in_header(name, text), name=name)

    def url(self, node: Scalar) -> bool:
        """A URL's references and credentials; whether it may go on to be normalised."""
        return not self._hidden(node) and self._judge(node, credential_in_url(node.text), name="")

    def plain(self, node: Scalar) -> bool:
        """A value that is no secret by its place: `cwd`, `client_id`, a scope."""
        return not self._hidden(node) and self._judge(node, credential_in_text(node.text), name="")

    def secret(self, key: str, node: Scalar) -> None:
        """A field that must be a reference."""
        found = f"`{key}` as a literal" if secret_field_literal(node.text) else None
        self._judge(node, found, name=key)

    def _judge(self, node: Scalar, credential: str | None, *, name: str) -> bool:
        """Report a credential, else a `$` form that means nothing; True where there was neither."""
        invalid = _invalid_reference(node.text)
        # `Bearer ${TOKEN}` under Authorization is a reference in another tool's spelling, and that advice helps more.
        meant = invalid is not None and _meant_as_reference(node.text, invalid.offset)
        if credential and not meant:
            self.findings.hide(node.span)
            self._add("inline-secret", node, f"this looks like a credential: {credential}", _WRITE_REFERENCE)
            return False
        if invalid:
            # In a literal password the text after a dollar is part of it, so the advice must not quote it.
            quotable = meant or not is_secret_name(name.lstrip("-"))
            if not quotable:
                self.findings.hide(node.span)
            self._add("invalid-reference", node, str(invalid) if quotable else _GENERAL_FORM, None)
            return False
        return self._paths(node)

    def _paths(self, node: Scalar) -> bool:
        parts = parse_references(node.text) if "$" in node.text else ()
        if all(part.path.isprintable() for part in parts if isinstance(part, FileReference)):
            return True
        self._add("invalid-reference", node, "the path of a file reference holds a character that no reader sees", None)
        return False

    def _hidden(self, node: Scalar) -> bool:
        hidden = None if node.text.isascii() and node.text.isprintable() else _first_hidden(node.text)
        if hidden is not None:
            message = f"this holds the character {escape_character(hidden)}, which no reader sees"
            self._add("unsafe-character", node, message, "delete it; type the text anew instead of pasting it")
        return hidden is not None

    def _add(self, code: str, node: Scalar, message: str, hint: str | None) -> None:
        self.findings.add(code, node.source, message, hint=hint, address=self.address)


_GENERAL_FORM = "write ${env:NAME}, ${env:NAME:-default} or ${file:PATH} for a reference, or $$ for a dollar"


def _first_hidden(text: str) -> str | None:
    return next((character for character in text if not is_visible(character)), None)


def _invalid_reference(text: str) -> InvalidReference | None:
    if "$" not in text:
        return None
    try:
        parse_references(text)
    except InvalidReference as error:
        return error
    return None


def _meant_as_reference(text: str, offset: int) -> bool:
    return bool(_BRACED.match(text, offset) or _WHOLE_VARIABLE.match(text))
