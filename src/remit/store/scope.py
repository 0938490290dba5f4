"""What every writer of one transaction is given: the connection, and on whose behalf it writes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, select, update

from remit.store.tables import assistants, mcp_server_registrations

__all__ = ["Refused", "Scope"]


class Refused(Exception):
    """An assistant's operations cannot be carried out; the text is for the person who asked for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One transaction of one workspace. `bumped` holds the assistants whose revision this transaction raised."""

    connection: Connection
    workspace: str
    owner: str
    new_id: Callable[[], str]
    clock: Callable[[], datetime]
    bumped: set[str] = field(default_factory=set[str])

    def active_servers(self) -> frozenset[str]:
        """The ids of the owner's registrations that are not deleted."""
        columns = mcp_server_registrations.c
        query = select(columns.id).where(columns.owner == self.owner, columns.deleted_at.is_(None))
        return frozenset(self.connection.execute(query).scalars())

    def bump(self, assistant_id: str) -> None:
        """Raise an assistant's revision, once a transaction however many of its rows change."""
        if assistant_id not in self.bumped:
            self.bumped.add(assistant_id)
            columns = assistants.c
            self.connection.execute(
                update(assistants).where(columns.id == assistant_id).values(revision=columns.revision + 1)
            )
