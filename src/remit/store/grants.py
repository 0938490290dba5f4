"""What one assistant may use, read at one moment: the GrantSource of core/call_ports.py.

Decides which suspension covers which attachment. What the grants mean for a call is core/gatekeeper.py's.
"""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from remit.core.call_ports import GrantedTool, Grants, Stamp
from remit.core.governance import Suspension, SuspensionTarget
from remit.core.recorded import RecordedAttachment
from remit.store.batch import STAMP
from remit.store.reading import read_attachments, read_servers, readable
from remit.store.runtime_tables import suspensions
from remit.store.tables import assistants
from remit.store.texts import ascii_json, json_list, time_from

__all__ = ["read_grants", "read_stamp", "read_suspensions", "target_text"]


def read_grants(connection: Connection, owner: str, assistant: str) -> Grants | None:
    """The grants of an assistant; None where there is no such assistant."""
    stamp = read_stamp(connection, owner, assistant)
    query = select(assistants.c.id, assistants.c.permissions).where(
        assistants.c.owner == owner, assistants.c.name == assistant
    )
    with readable("assistants"):
        found = connection.execute(query).first()
        if found is None or stamp is None:
            return None
        assistant_id, permissions = found[0], frozenset(json_list(found[1]))
    return Grants(
        stamp=stamp,
        owner=owner,
        assistant=assistant,
        assistant_id=assistant_id,
        permissions=permissions,
        tools=_tools(connection, owner, assistant),
    )


def read_stamp(connection: Connection, owner: str, assistant: str) -> Stamp | None:
    """The stamp that grants read now would carry; None where there is no such assistant."""
    row = connection.execute(STAMP, {"whose": owner, "named": assistant}).first()
    return None if row is None else Stamp(revision=row[0], applies=int(row[1]), suspensions=int(row[2]))


def _tools(connection: Connection, owner: str, assistant: str) -> tuple[GrantedTool, ...]:
    attachments = read_attachments(connection, owner=owner, assistant=assistant)
    servers = read_servers(connection, sorted({each.server_id for each in attachments}))
    in_force = read_suspensions(connection, owner)
    tools = [
        GrantedTool(attachment=each, server=servers[each.server_id], suspended_by=_suspended_by(each, in_force))
        for each in attachments
        if each.server_id in servers
    ]
    return tuple(sorted(tools, key=lambda tool: tool.attachment.provider_name))


def _suspended_by(attachment: RecordedAttachment, in_force: tuple[Suspension, ...]) -> str | None:
    return next((each.address for each in in_force if _covers(each.target, attachment)), None)


def _covers(target: SuspensionTarget, attachment: RecordedAttachment) -> bool:
    return (
        target.server_id in (None, attachment.server_id)
        and target.assistant in (None, attachment.assistant)
        and target.remote_name in (None, attachment.remote_name)
    )


def read_suspensions(connection: Connection, owner: str) -> tuple[Suspension, ...]:
    """The suspensions of an owner that are in force, by address."""
    query = select(suspensions).where(suspensions.c.owner == owner)
    with readable("suspensions"):
        found = [_suspension(dict(row)) for row in connection.execute(query).mappings()]
    return tuple(sorted(found, key=lambda suspension: suspension.address))


def _suspension(row: Mapping[str, Any]) -> Suspension:
    server_id, assistant, remote_name = json.loads(row["target"])
    return Suspension(
        target=SuspensionTarget(server_id=server_id, assistant=assistant, remote_name=remote_name),
        address=row["address"],
        actor=row["actor"],
        at=time_from(row["at"]),
        reason=None if row["reason"] is None else json.loads(row["reason"]),
    )


def target_text(target: SuspensionTarget) -> str:
    """What a suspension covers, as the key of its row. Raises ValueError where it names nothing: that would be everything."""
    names = [target.server_id, target.assistant, target.remote_name]
    if not any(names):
        raise ValueError("a suspension names a server, an assistant or one attachment")
    return ascii_json(names)
