"""The change of a lock as text, in the words of a plan: danger first, then each assistant's tools, then counts.

Decides how `remit lock` shows what it would write. What a model would read of a new tool is shown whole, as the plan shows a
tool that nobody has seen yet; the file itself has the schemas.
"""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from remit.core.operations import OpName, ToolOperation
from remit.render.document import operation_document
from remit.render.escape import escape_terminal
from remit.render.layout import Painter, Style
from remit.render.plan_operations import assistant_lines
from remit.render.plan_text import look_first_lines
from remit.render.shapes import OperationDocument, PlanDocument

__all__ = ["lock_change_text"]

_COUNTS = (
    (OpName.ATTACH, "added"),
    (OpName.REFRESH, "changed"),
    (OpName.RENAME_ALIAS, "renamed"),
    (OpName.DETACH, "removed"),
)


def lock_change_text(name: str, operations: Sequence[ToolOperation], *, locked: int, colour: bool) -> str:
    """What becomes of the lock file `name`; `locked` counts the tools in it afterwards. Ends with a newline."""
    paint = Painter(colour=colour)
    plain = [operation_document(each) for each in operations]
    risky = cast("PlanDocument", {"operations": plain, "held": [], "problems": []})
    # A plan shows the text of what waits, as somebody has to read it first; in a lock that is all of it.
    unread = cast("list[OperationDocument]", [{**each, "held_because": []} for each in plain])
    sections = (
        [paint(Style.HEAD, f"Change of {escape_terminal(name)}")],
        look_first_lines(risky, paint),
        assistant_lines(unread, paint),
        [paint(Style.HEAD, _counts(operations, locked))],
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _counts(operations: Sequence[ToolOperation], locked: int) -> str:
    found = Counter(each.op for each in operations)
    words = [f"{found[op]:,} {word}" for op, word in _COUNTS if found[op]]
    touched = len({each.tool.key for each in operations if each.op is not OpName.DETACH})
    return f"Lock: {', '.join(words) or 'no change'} | {locked - touched:,} unchanged"
