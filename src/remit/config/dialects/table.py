"""Every dialect, and which of them a file is written in.

Decides by the name of the file first, then by what only one client writes, then by the table that a file has; the order of
the list settles what is left. `--dialect` overrules all of it.
"""

from collections.abc import Mapping
from pathlib import Path

from remit.config.dialects.claude import CLAUDE_CODE, CLAUDE_DESKTOP
from remit.config.dialects.cline import CLINE, ROO
from remit.config.dialects.codex import CODEX
from remit.config.dialects.continue_dev import CONTINUE
from remit.config.dialects.cursor import CURSOR
from remit.config.dialects.gemini import GEMINI
from remit.config.dialects.kubernetes import KUBERNETES
from remit.config.dialects.librechat import LIBRECHAT
from remit.config.dialects.litellm import LITELLM
from remit.config.dialects.mcp_agent import MCP_AGENT
from remit.config.dialects.mcphub import MCPHUB
from remit.config.dialects.model import Dialect, Document
from remit.config.dialects.opencode import OPENCODE
from remit.config.dialects.vscode import VSCODE
from remit.config.dialects.windsurf import WINDSURF
from remit.config.dialects.zed import ZED

__all__ = ["DIALECTS", "dialect_of"]

_ORDER: tuple[Dialect, ...] = (
    KUBERNETES, MCPHUB, ZED, CODEX, CONTINUE, LITELLM, LIBRECHAT, MCP_AGENT, OPENCODE, WINDSURF, GEMINI, ROO, CLINE, CURSOR,
    VSCODE, CLAUDE_CODE, CLAUDE_DESKTOP,
)  # fmt: skip
"""What is told apart by content comes before what is not."""

_PLAIN = (CLAUDE_CODE, VSCODE, OPENCODE)
"""What a file is taken for whose table several clients have and whose entries speak for none of them."""

DIALECTS: Mapping[str, Dialect] = {each.name: each for each in sorted(_ORDER, key=lambda each: each.name)}
"""Every dialect by its name."""


def dialect_of(document: Document, path: Path) -> Dialect | None:
    """The dialect of a file, or None where it has no server table that any of them knows."""
    fitting = [each for each in _ORDER if each.fits(document)]
    named = [each for each in fitting if any(_ends(path, end) for end in each.paths)]
    telling = [each for each in fitting if each.telling(document)]
    plain = [each for each in _PLAIN if each in fitting]
    return next(iter([*named, *telling, *plain]), None)


def _ends(path: Path, end: str) -> bool:
    parts = tuple(end.split("/"))
    return path.absolute().parts[-len(parts) :] == parts
