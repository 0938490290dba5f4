"""Why the database refused an assistant's functions, in words that a person can act on.

Asked after the refusal, as the unique key decides; nothing is checked twice before. Names both sides by their full
origins and the fix (DESIGN.md section 4).
"""

from typing import TypeAlias

from sqlalchemy import select

from remit.store.attachments import AssistantWork
from remit.store.tables import assistant_functions, assistant_mcp_tools, mcp_server_registrations

__all__ = ["explain_clash"]

_Holder: TypeAlias = tuple[str, str]
"""A name as written, and whose it is."""


def explain_clash(work: AssistantWork) -> str:
    """What clashed: two names of this work, or one of them with a function that stays. Looks at the state before it."""
    holders = _staying(work)
    for row, columns in work.functions():
        name, folded = columns["name"], columns["folded_name"]
        if holder := holders.get(folded):
            return (
                f"{row.label} (workspace {work.scope.workspace}) cannot be called {name}: {holder[0]} is taken by "
                f"{holder[1]}; names count without case. Give one of them another name under aliases:"
            )
        holders[folded] = (name, f"{row.label} (workspace {work.scope.workspace})")
    return "another connection changed this assistant at the same time; apply again"


def _staying(work: AssistantWork) -> dict[str, _Holder]:
    """The functions that this work leaves as they are, by folded name."""
    replaced = {row.row_id for row, _ in work.functions()} | set(work.removed)
    function, tool, server = assistant_functions.c, assistant_mcp_tools.c, mcp_server_registrations.c
    query = (
        select(
            function.folded_name, function.name, function.attachment_id, server.name, tool.remote_name, tool.workspace
        )
        .select_from(assistant_functions)
        .outerjoin(assistant_mcp_tools, function.attachment_id == tool.id)
        .outerjoin(mcp_server_registrations, tool.registration_id == server.id)
        .where(function.assistant_id == work.assistant_id)
    )
    return {
        folded: (
            name,
            f"{server_name}/{remote_name} (workspace {workspace})" if attachment_id else "a foreign function",
        )
        for folded, name, attachment_id, server_name, remote_name, workspace in work.scope.connection.execute(query)
        if attachment_id not in replaced
    }
