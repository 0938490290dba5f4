"""Rows that go on under another name or another owner: workspaces, released rows, and suspensions that follow what they cover.

Decides that a suspension never ends because what it suspends was renamed. What else a rename means for a row is written where
that row is.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Table, delete, insert, select, update

from remit.core.governance import Suspension, SuspensionTarget
from remit.core.ownership import released_workspace
from remit.store.grants import read_suspensions, target_text
from remit.store.runtime_tables import suspensions, watch_leases
from remit.store.scope import Scope
from remit.store.tables import applies, assistant_mcp_tools, assistants, mcp_server_registrations, workspaces

__all__ = ["ensure_released", "move_assistant_suspensions", "move_tool_suspensions", "move_workspace"]

_OF_A_WORKSPACE: tuple[Table, ...] = (mcp_server_registrations, assistants, assistant_mcp_tools, applies)
_HERS = suspensions.c


def move_workspace(scope: Scope, before: str) -> None:
    """Give all rows of a workspace, its history and its own row to the one of this transaction, which has none yet."""
    connection, name = scope.connection, workspaces.c.name
    row = (
        connection.execute(select(workspaces).where(name == before, workspaces.c.owner == scope.owner))
        .mappings()
        .first()
    )
    if row is None:
        return
    # The rows refer to their workspace at every moment, so the new one comes before the old one goes.
    connection.execute(insert(workspaces).values({**row, "name": scope.workspace}))
    for table in _OF_A_WORKSPACE:
        connection.execute(update(table).where(table.c.workspace == before).values(workspace=scope.workspace))
    connection.execute(delete(watch_leases).where(watch_leases.c.workspace == before))
    connection.execute(delete(workspaces).where(name == before))


def ensure_released(scope: Scope) -> str:
    """The workspace of released rows, made where there is none."""
    name = released_workspace(scope.owner)
    if scope.connection.execute(select(workspaces.c.name).where(workspaces.c.name == name)).first() is None:
        row = {"name": name, "owner": scope.owner, "lineage": scope.new_id(), "serial": 0}
        scope.connection.execute(insert(workspaces).values(row))
    return name


def move_assistant_suspensions(scope: Scope, before: str, after: str) -> None:
    """Let suspensions of an assistant and its attachments follow it to its new name."""

    def moved(each: Suspension) -> Suspension:
        address = f"assistant.{after}" + each.address.removeprefix(f"assistant.{before}")
        return replace(each, target=replace(each.target, assistant=after), address=address)

    _move_suspensions(scope, lambda target: target.assistant == before, moved)


def move_tool_suspensions(scope: Scope, target: SuspensionTarget, after: str) -> None:
    """Let the suspension of one attachment follow it to its new remote name."""
    _move_suspensions(
        scope, lambda each: each == target, lambda each: replace(each, target=replace(each.target, remote_name=after))
    )


def _move_suspensions(
    scope: Scope, concerned: Callable[[SuspensionTarget], bool], moved: Callable[[Suspension], Suspension]
) -> None:
    in_force = read_suspensions(scope.connection, scope.owner)
    known = {target_text(each.target) for each in in_force}
    for each in in_force:
        if not concerned(each.target):
            continue
        after, old = moved(each), target_text(each.target)
        mine = (_HERS.owner == scope.owner) & (_HERS.target == old)
        if target_text(after.target) in known:
            scope.connection.execute(delete(suspensions).where(mine))
        else:
            values = {"target": target_text(after.target), "address": after.address}
            scope.connection.execute(update(suspensions).where(mine).values(values))
