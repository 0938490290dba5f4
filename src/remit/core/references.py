"""References in mcp.yaml values: `${env:NAME}`, `${env:NAME:-default}`, `${file:PATH}`; `$$` is a dollar.

Decides what a text means, in one pass: a resolved value is never looked at again. It resolves nothing; upstream does that
when a connection is opened (DESIGN.md section 2). Pure.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["EnvReference", "FileReference", "InvalidReference", "Literal", "Part", "parse_references"]


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands for itself."""

    text: str


@dataclass(frozen=True, slots=True)
class EnvReference:
    """`${env:NAME}` or `${env:NAME:-default}`; the default holds where the variable is unset or empty, as in a shell."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class FileReference:
    """`${file:PATH}`: the content of a file, one trailing newline removed."""

    path: str


Part: TypeAlias = Literal | EnvReference | FileReference


class InvalidReference(ValueError):
    """A dollar that begins nothing we know; `offset` counts characters from 0, the text names the right form."""

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.offset = offset


_TOKEN = re.compile(r"\$\$|\$\{(?P<kind>env|file):(?P<body>[^{}$]*)\}|\$(?P<other>.?)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SHELL = re.compile(r"\$(?:\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)(?:\}|:-)|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))")


def parse_references(text: str) -> tuple[Part, ...]:
    """The parts of a text. Raises InvalidReference for any other `$` form, naming the right one."""
    parts: list[Part] = []
    literal: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text):
        literal.append(text[end : token.start()])
        end = token.end()
        if token.group() == "$$":
            literal.append("$")
            continue
        if token.group("kind") is None:
            raise InvalidReference(_advice(text, token.start()), token.start())
        if kept := "".join(literal):
            parts.append(Literal(kept))
        literal.clear()
        parts.append(_reference(token.group("kind"), token.group("body"), token.start()))
    literal.append(text[end:])
    if kept := "".join(literal):
        parts.append(Literal(kept))
    return tuple(parts)


def _reference(kind: str, body: str, offset: int) -> Part:
    if kind == "file":
        if not body.strip():
            raise InvalidReference("a file reference needs a path: ${file:PATH}", offset)
        return FileReference(body)
    name, separator, default = body.partition(":-")
    if not _NAME.match(name):
        raise InvalidReference(f"{name!r} is no variable name; write ${{env:NAME}} or ${{env:NAME:-default}}", offset)
    if name.startswith("REMIT_"):
        raise InvalidReference("REMIT_* variables configure remit and cannot be referenced", offset)
    return EnvReference(name, default if separator else None)


def _advice(text: str, offset: int) -> str:
    shell = _SHELL.match(text, offset)
    if shell:
        return f"write ${{env:{shell['braced'] or shell['bare']}}} for a variable, or $$ for a dollar"
    return "write ${env:NAME}, ${env:NAME:-default} or ${file:PATH} for a reference, or $$ for a dollar"
