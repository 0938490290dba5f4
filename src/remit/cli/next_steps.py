"""What a person is told to run next: commands as they can be pasted into a shell.

Decides spelling only; whether there is a next step is the command's.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

__all__ = ["DEFAULT_FILE", "file_flag", "flags_again"]

DEFAULT_FILE = Path("mcp.yaml")
"""What is read without `-f`."""


def file_flag(config: Path) -> str:
    """` -f FILE`; nothing for the file that is read anyway."""
    return "" if config == DEFAULT_FILE else f" -f {shlex.quote(str(config))}"


def flags_again(
    servers: tuple[str, ...], accept: tuple[str, ...], allow_detach: int | None, allow_empty: tuple[str, ...]
) -> Iterator[str]:
    """The flags that made a plan what it is, each behind a space: an apply without the saved plan makes its own."""
    for flag, values in (("--server", servers), ("--accept", accept), ("--allow-empty", allow_empty)):
        yield from (f" {flag} {shlex.quote(value)}" for value in values)
    if allow_detach is not None:
        yield f" --allow-detach {allow_detach}"
