"""A workspace that a file takes over under another name, as a part of the plan document.

Decides the words of its risk. What comes along is counted in core/moves.py.
"""

from remit.core.operations import RiskCode
from remit.core.plan import MovedWorkspace
from remit.render.layout import counted
from remit.render.shapes import MovedWorkspaceDocument

__all__ = ["moved_workspace_document"]


def moved_workspace_document(moved: MovedWorkspace) -> MovedWorkspaceDocument:
    """The document, with the risk that such a move is."""
    counts = ((moved.servers, "registration"), (moved.assistants, "assistant"), (moved.attachments, "attachment"))
    source = moved.source
    along = ", ".join(counted(number, word) for number, word in counts)
    detail = f"takes over workspace {moved.name}, with {along}"
    return {
        "name": moved.name,
        "servers": moved.servers,
        "assistants": moved.assistants,
        "attachments": moved.attachments,
        "risks": [{"code": RiskCode.WORKSPACE_MOVED.value, "detail": detail}],
        "source": {"file": source.file, "line": source.line, "column": source.column},
    }
