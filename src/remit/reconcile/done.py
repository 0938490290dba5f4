"""Whether the recorded state already is what a reviewed operation would make it.

Decides for one operation of a saved plan, by its document, so that a plan whose apply was cut off, or that somebody else
carried out, can be applied again. Pure over its arguments.
"""

from typing import assert_never

from remit.core.operations import Attach, Reason, RegisterServer, ToolRef
from remit.core.recorded import Recorded, RecordedAttachment, RecordedServer
from remit.core.servers import facts_of
from remit.render.document import operation_document
from remit.render.shapes import AttachmentState, OperationDocument, ServerState, ToolOperationDocument

__all__ = ["DoneCheck"]


class DoneCheck:
    """Answers `is_done` for the operations of one workspace against one recorded state."""

    def __init__(self, recorded: Recorded, *, workspace: str, owner: str):
        mine = [each for each in recorded.attachments if each.workspace == workspace and each.assistant_owner == owner]
        self._tools = {(each.assistant, str(each.canonical_id)): each for each in mine}
        self._servers = {str(each.server_id): each for each in recorded.servers}
        self._assistants = {each.name: each for each in recorded.assistants if each.owner == owner}

    def is_done(self, operation: OperationDocument) -> bool:
        """Whether recorded state equals the operation's `after`."""
        if "canonical_id" in operation:
            return _tool_is_done(operation, self._tools.get((operation["assistant"], operation["canonical_id"])))
        name = operation["address"].partition(".")[2]
        match operation["op"]:
            case "register_server" | "update_server" | "rename_server" | "unregister_server":
                return self._server_is_done(operation["before"], operation["after"])
            case "create_assistant" | "update_assistant" | "delete_assistant":
                found = self._assistants.get(name)
                wanted = operation["after"]
                return wanted == (None if found is None else {"permissions": list(found.permissions)})
            case _:
                assert_never(operation["op"])

    def _server_is_done(self, before: ServerState | None, after: ServerState | None) -> bool:
        side = after or before
        found = None if side is None else self._servers.get(side["server_id"])
        return after == (None if found is None else _server_state(found))


def _tool_is_done(operation: ToolOperationDocument, found: RecordedAttachment | None) -> bool:
    state = None if found is None else _attachment_state(found)
    if state is None or operation["after"] is None:
        return state is None and operation["after"] is None
    match operation["op"]:
        case "attach":
            return state == operation["after"]
        case "refresh":
            return state["definition_digest"] == operation["after"]["definition_digest"]
        case "set_envelope":
            return state["envelope"] == operation["after"]
        case "rename_alias":
            return state["provider_name"] == operation["after"]["provider_name"]
        case "detach":
            return False
        case _:
            assert_never(operation["op"])


def _attachment_state(found: RecordedAttachment) -> AttachmentState | None:
    tool = ToolRef(
        assistant=found.assistant,
        server="",
        server_id=found.server_id,
        remote_name=found.remote_name,
        provider_name=found.provider_name,
        canonical_id=found.canonical_id,
    )
    attach = Attach(tool=tool, definition=found.definition, envelope=found.envelope, reason=Reason.SELECTED_BY_NAME)
    document = operation_document(attach)
    return document["after"] if document["op"] == "attach" else None


def _server_state(found: RecordedServer) -> ServerState | None:
    register = RegisterServer(server_id=found.server_id, facts=facts_of(found), reason=Reason.DECLARED)
    document = operation_document(register)
    return document["after"] if document["op"] == "register_server" else None
