"""What an address on the command line means for a suspension: server.NAME, assistant.NAME or assistant.NAME/ALIAS.

Decides which recorded thing is meant, by stable identity, so that a rename lifts no suspension. Names of servers are unique in
a workspace only; two of one owner are told apart by the file's workspace, or refused.
"""

from collections.abc import Iterator, Sequence, Set

from remit.core.addresses import assistant_address, attachment_address, nearest, server_address
from remit.core.governance import Suspension, SuspensionTarget
from remit.core.recorded import Recorded, RecordedServer
from remit.errors import UsageError

__all__ = ["FORMS", "Suspendable"]

FORMS = "server.NAME, assistant.NAME or assistant.NAME/ALIAS"


class Suspendable:
    """Everything of an owner that can be suspended, by address."""

    def __init__(self, recorded: Recorded, *, owner: str, workspace: str | None):
        self._owner = owner
        self._workspace = workspace
        self._servers = [each for each in recorded.servers if each.owner == owner]
        self._targets = {
            assistant_address(each.name): SuspensionTarget(assistant=each.name)
            for each in recorded.assistants
            if each.owner == owner
        }
        self._targets |= {
            attachment_address(each.assistant, each.provider_name): SuspensionTarget(
                server_id=each.server_id, assistant=each.assistant, remote_name=each.remote_name
            )
            for each in recorded.attachments
            if each.assistant_owner == owner
        }

    def target(self, address: str) -> SuspensionTarget | None:
        """What an address names; None for nothing. Raises UsageError where it names servers of several workspaces."""
        named = [each for each in self._servers if server_address(each.name) == address]
        if not named:
            return self._targets.get(address)
        return SuspensionTarget(server_id=self._one_of(address, named).server_id)

    def require(self, address: str, suspended: Sequence[Suspension] = ()) -> SuspensionTarget:
        """The same, or the suspension that was asked for under this address. Raises UsageError where it is nothing."""
        target = self.target(address)
        asked = next((each.target for each in suspended if each.address == address), None)
        # A suspended thing may be gone, or its name may be another's by now.
        if asked is not None and (target is None or all(each.target != target for each in suspended)):
            return asked
        if target is None:
            raise self._unknown(address, suspended)
        return target

    def _one_of(self, address: str, named: Sequence[RecordedServer]) -> RecordedServer:
        own = [each for each in named if each.workspace == self._workspace]
        if len(named) > 1 and len(own) != 1:
            workspaces = ", ".join(sorted(each.workspace for each in named))
            raise UsageError(
                f"{address} is the address of a server in each of these workspaces: {workspaces}",
                hint="use the file of the workspace that is meant (-f), or suspend the assistants",
            )
        return own[0] if own else named[0]

    def _unknown(self, address: str, suspended: Sequence[Suspension]) -> UsageError:
        if address.startswith("tool."):
            hint = "a tool is suspended where it is attached (assistant.NAME/ALIAS), or with its whole server"
        elif (near := _meant(address, {*self._known(), *(each.address for each in suspended)})) is not None:
            hint = f"did you mean {near}?"
        else:
            hint = f"an address is {FORMS}; `remit status` lists them"
        return UsageError(f"{address!r} is the address of nothing that owner {self._owner!r} has", hint=hint)

    def _known(self) -> Iterator[str]:
        yield from self._targets
        yield from (server_address(each.name) for each in self._servers)


def _meant(address: str, known: Set[str]) -> str | None:
    """The known address that was probably meant. What the addresses of one kind share counts for no likeness."""
    kind, _, name = address.partition(".")
    by_name = {each.partition(".")[2]: each for each in known if each.partition(".")[0] == kind}
    if by_name:
        near = nearest(name, by_name)
        return None if near is None else by_name[near]
    bare = {each.partition(".")[2]: each for each in known}
    return bare.get(address) or nearest(address, known)
