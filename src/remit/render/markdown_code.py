r"""Text that others wrote, made safe for Markdown: code spans and code blocks, one fence longer than any in the text.

Decides how a text is fenced. Inside code nothing is Markdown: no HTML, link, image, heading, table, reference or mention, on
no host that this was looked up for (CommonMark, GitHub, GitLab). Backslashes and entities are not enough, as mentions and
references are looked for after they are resolved. Takes lines that `escape.py` made printable, and breaks `<!--` as
`\x3c!--`: a hidden marker is searched in the source, where code is text like any other.
"""

import re
from collections.abc import Sequence

from remit.render.escape import escape_terminal

__all__ = ["code", "code_block", "code_line"]

_RUNS = re.compile("`+")
_SHORTEST = 3


def code(text: str, *, limit: int = 200) -> str:
    """A text of someone else's as one code span of about `limit` characters, its length stated where it is cut."""
    return code_line(escape_terminal(text, limit=limit))


def code_line(line: str) -> str:
    """A printable line as one code span that shows exactly this line; an empty one shows a space."""
    safe = _unmarked(line) or " "
    fence = "`" * (_longest_run(safe) + 1)
    # One space on both sides is taken off again, and keeps a backtick at an end apart from the fence.
    edges = {safe[0], safe[-1]}
    pad = " " if safe.strip(" ") and ("`" in edges or edges == {" "}) else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def code_block(lines: Sequence[str], *, indent: str = "") -> str:
    """Printable lines as one fenced block without a language, indented as the list item that holds it."""
    safe = [_unmarked(line) for line in lines]
    fence = "`" * max(_SHORTEST, max(map(_longest_run, safe), default=0) + 1)
    return "\n".join(f"{indent}{line}".rstrip() for line in (f"{fence}text", *safe, fence))


def _unmarked(line: str) -> str:
    return line.replace("<!--", r"\x3c!--")


def _longest_run(line: str) -> int:
    return max(map(len, _RUNS.findall(line)), default=0)
