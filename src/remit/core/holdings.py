"""What a workspace has on record, by address: its registrations, its assistants, and what it attached.

Decides which rows belong to a workspace, and what an address that a person wrote means among them; a miss comes with the
address that was probably meant. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from remit.core.addresses import assistant_address, attachment_address, nearest, server_address, tool_address
from remit.core.identity import RemoteName
from remit.core.recorded import Recorded, RecordedAssistant, RecordedAttachment, RecordedServer

__all__ = ["Entry", "HeldTool", "Holdings", "holdings_of"]


@dataclass(frozen=True, slots=True)
class HeldTool:
    """One tool of a server, with every attachment of it that the workspace made."""

    server: RecordedServer
    remote_name: RemoteName
    attachments: tuple[RecordedAttachment, ...]


Entry: TypeAlias = RecordedServer | RecordedAssistant | RecordedAttachment | HeldTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The rows of one workspace, each by name; `servers` are the registrations that its attachments use, by id, as well.

    An assistant of another workspace is here where this one attached tools to it.
    """

    workspace: str
    registrations: tuple[RecordedServer, ...]
    assistants: tuple[RecordedAssistant, ...]
    attachments: tuple[RecordedAttachment, ...]
    servers: dict[str, RecordedServer]

    def server_name(self, server_id: str) -> str:
        """The name of a registration, its id where it is gone."""
        found = self.servers.get(server_id)
        return server_id if found is None else found.name

    def attached_to(self, assistant: RecordedAssistant) -> tuple[RecordedAttachment, ...]:
        """What this workspace attached to an assistant, by alias."""
        wanted = (assistant.owner, assistant.name)
        return tuple(each for each in self.attachments if (each.assistant_owner, each.assistant) == wanted)

    def entries(self) -> dict[str, Entry]:
        """Every entry by its address: servers, assistants with their attachments, tools."""
        found: dict[str, Entry] = {server_address(each.name): each for each in self.registrations}
        for assistant in self.assistants:
            found[assistant_address(assistant.name)] = assistant
            found |= {
                attachment_address(assistant.name, each.provider_name): each for each in self.attached_to(assistant)
            }
        return found | {tool_address(each.server.name, each.remote_name): each for each in self._tools()}

    def meant(self, address: str) -> str | None:
        """The known address that was probably meant. What the addresses of one kind share counts for no likeness."""
        kind, _, name = address.partition(".")
        known = list(self.entries())
        by_name = {each.partition(".")[2]: each for each in known if each.partition(".")[0] == kind}
        if by_name:
            near = nearest(name, by_name)
            return None if near is None else by_name[near]
        bare = {each.partition(".")[2]: each for each in known}
        near = address if address in bare else nearest(address, bare)
        return nearest(address, known) if near is None else bare[near]

    def _tools(self) -> Iterator[HeldTool]:
        used: dict[tuple[str, RemoteName], list[RecordedAttachment]] = {}
        for each in self.attachments:
            used.setdefault((each.server_id, each.remote_name), []).append(each)
        for (server_id, remote_name), attachments in sorted(used.items()):
            if (server := self.servers.get(server_id)) is not None:
                yield HeldTool(server, remote_name, tuple(attachments))


def holdings_of(recorded: Recorded, workspace: str) -> Holdings:
    """The rows of a workspace."""
    attachments = [each for each in recorded.attachments if each.workspace == workspace]
    holders = {(each.assistant_owner, each.assistant) for each in attachments}
    assistants = [
        each for each in recorded.assistants if each.workspace == workspace or (each.owner, each.name) in holders
    ]
    return Holdings(
        workspace=workspace,
        registrations=tuple(
            sorted((each for each in recorded.servers if each.workspace == workspace), key=lambda each: each.name)
        ),
        assistants=tuple(sorted(assistants, key=lambda each: (each.name, each.owner))),
        attachments=tuple(sorted(attachments, key=lambda each: (each.assistant, each.provider_name))),
        servers={str(each.server_id): each for each in recorded.servers},
    )
