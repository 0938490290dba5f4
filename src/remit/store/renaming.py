"""Rows that go on under another name or another owner: workspaces, released rows, and what a runtime kept under a name.

Decides that a suspension never ends because what it suspends was renamed, that no key is forgotten for that reason, and that no
approval outlives the names that a person read on it. What else a rename means for a row is written where that row is.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import ColumnElement, Table, and_, delete, exists, insert, select, update

from remit.core.approvals import ApprovalState
from remit.core.governance import Suspension, SuspensionTarget
from remit.core.ownership import released_workspace
from remit.store.approval_rows import change_state
from remit.store.grants import read_suspensions, target_text
from remit.store.runtime_tables import approvals, idempotency_records, suspensions, watch_leases
from remit.store.scope import Scope
from remit.store.session import session_of
from remit.store.tables import applies, assistant_mcp_tools, assistants, mcp_server_registrations, workspaces

__all__ = ["ensure_released", "move_assistant", "move_tool", "move_workspace"]

_OF_A_WORKSPACE: tuple[Table, ...] = (mcp_server_registrations, assistants, assistant_mcp_tools, applies)
_HERS = suspensions.c
_ASKED, _KEY = approvals.c, idempotency_records.c
_UNUSED = (ApprovalState.PENDING, ApprovalState.APPROVED)


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


def move_assistant(scope: Scope, before: str, after: str) -> None:
    """Let suspensions and keys of an assistant follow it to its new name; end its approvals that were not used yet.

    An approval says in its hash whose call it lets through. Left open it would let one of the next assistant that is called
    `before` through.
    """
    _move_assistant_suspensions(scope, before, after)
    _end_approvals(scope, _ASKED.assistant == before)
    _move_keys(scope, before, after)


def _end_approvals(scope: Scope, concerned: ColumnElement[bool]) -> None:
    """Expire approvals that nobody used, with whatever waits for them."""
    states = [state.value for state in _UNUSED]
    query = select(_ASKED.approval_id, _ASKED.state).where(
        _ASKED.owner == scope.owner, _ASKED.state.in_(states), concerned
    )
    found = scope.connection.execute(query).all()
    session = session_of(scope.connection)
    try:
        for approval_id, state in found:
            change_state(session, approval_id, ApprovalState(state), ApprovalState.EXPIRED, scope.clock())
    finally:
        session.close()


def _move_keys(scope: Scope, before: str, after: str) -> None:
    """Give the new name all that was used under the old one, so that a call that is repeated after the rename is not sent again.

    An assistant that calls by itself has its name in its principal too. A key that the new name has used already stays, and
    the other one stays behind: neither is forgotten.
    """
    itself = _KEY.principal == f"assistant:{before}"
    _move_keys_of(scope, before, ~itself, {"assistant": after})
    _move_keys_of(scope, before, itself, {"assistant": after, "principal": f"assistant:{after}"})


def _move_keys_of(scope: Scope, before: str, which: ColumnElement[bool], values: dict[str, str]) -> None:
    there = idempotency_records.alias("there").c
    taken = exists().where(
        there.owner == _KEY.owner,
        there.assistant == values["assistant"],
        there.principal == values.get("principal", _KEY.principal),
        there.key == _KEY.key,
    )
    mine = (_KEY.owner == scope.owner, _KEY.assistant == before)
    scope.connection.execute(update(idempotency_records).where(*mine, which, ~taken).values(values))


def _move_assistant_suspensions(scope: Scope, before: str, after: str) -> None:

    def moved(each: Suspension) -> Suspension:
        address = f"assistant.{after}" + each.address.removeprefix(f"assistant.{before}")
        return replace(each, target=replace(each.target, assistant=after), address=address)

    _move_suspensions(scope, lambda target: target.assistant == before, moved)


def move_tool(scope: Scope, target: SuspensionTarget, after: str) -> None:
    """Let the suspension of one attachment follow it to its new remote name; end its approvals that were not used yet."""
    _move_suspensions(
        scope, lambda each: each == target, lambda each: replace(each, target=replace(each.target, remote_name=after))
    )
    same = (_ASKED.assistant == target.assistant, _ASKED.server_id == target.server_id)
    _end_approvals(scope, and_(*same, _ASKED.remote_name == target.remote_name))


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
