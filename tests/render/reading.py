"""Output read as its reader reads it: Markdown by a CommonMark parser, workflow commands by the rules of the runner."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["Command", "commands_in", "structure_of", "text_in_code"]

CODE = frozenset({"code_inline", "fence", "code_block"})
COMMAND = re.compile(r"\s*::(?P<name>[^\s:]*)(?: (?P<properties>.*?))?::(?P<message>.*)\Z", re.DOTALL)
LEGACY = re.compile(r"##[A-Za-z]*\[")


@dataclass(frozen=True, slots=True)
class Command:
    """A workflow command as the runner understands it."""

    name: str
    properties: dict[str, str]
    message: str


def tokens(markdown: str) -> Iterator[Token]:
    """All tokens, inner ones included, with GitHub's tables and strikethrough."""
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        yield token
        yield from token.children or ()


def structure_of(markdown: str) -> list[tuple[str, str, str]]:
    """Everything that is not the text of code: kind, tag and content of each token."""
    return [
        (token.type, token.tag, "" if token.type in CODE or token.type == "inline" else token.content)
        for token in tokens(markdown)
    ]


def text_in_code(markdown: str) -> list[str]:
    """The text of each code span and code block."""
    return [token.content for token in tokens(markdown) if token.type in CODE]


def commands_in(output: str) -> list[Command]:
    """Every workflow command that the runner of GitHub Actions finds in a log.

    It trims each line, takes `::name key=value,key=value::message`, and undoes the escapes; `##[` counts wherever it is.
    """
    found: list[Command] = []
    for line in re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", output):
        if LEGACY.search(line):
            found.append(Command("legacy", {}, line))
        elif match := COMMAND.match(line):
            pairs = (each.partition("=") for each in (match["properties"] or "").split(",") if each)
            properties = {key.strip(): unescaped(value) for key, _, value in pairs}
            found.append(Command(match["name"], properties, unescaped(match["message"])))
    return found


def unescaped(text: str) -> str:
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text
