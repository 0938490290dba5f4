"""Suggestions of `moved` entries: a tool that went away and one that came with the same contract may be one tool.

Decides when two are alike enough to ask, never that they are one: only the file says so (DESIGN.md section 4). Pure.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from remit.core.addresses import attachment_address, tool_address
from remit.core.assistant_context import AssistantContext
from remit.core.attached import Kept
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.operations import Attach, Detach, Operation

__all__ = ["rename_notes", "vanished_notes"]

_Found = TypeVar("_Found")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")


def vanished_notes(context: AssistantContext, kept: Kept) -> Iterator[Diagnostic]:
    """A note where exactly one tool came that may be the one which a complete listing lacks now."""
    wanted, here = kept.attachment.definition, kept.view.server.name
    attached = {(each.server_id, each.remote_name) for each in context.attachments}
    alike = [
        (view.server.name, name, tool.definition.definition_digest == wanted.definition_digest)
        for view in context.views.values()
        for name, tool in view.tools.items()
        if tool.definition.contract_digest == wanted.contract_digest and (view.server_id, name) not in attached
    ]
    found = _only([name for server, name, same in alike if server == here and same]) or _only(
        [name for server, name, _ in alike if server == here]
    )
    elsewhere = _only([(server, name) for server, name, same in alike if same and server != here])
    gone = tool_address(here, kept.attachment.remote_name)
    if found is not None:
        came = tool_address(here, found)
        told = "with the same contract: if it is the same tool, it keeps its alias by " + _entry(gone, came)
    elif elsewhere is not None:
        came = tool_address(*elsewhere)
        told = "with the same definition, on another server: if it serves in its place, select that one"
    else:
        return
    yield Diagnostic(
        code="rename-suggested",
        severity=Severity.NOTE,
        message=f"{gone} is not listed any more, and {came} is",
        address=attachment_address(context.name, kept.attachment.provider_name),
        source=kept.pattern.source,
        hint=f"it is there {told}",
    )


def rename_notes(operations: Iterable[Operation]) -> Iterator[Diagnostic]:
    """One note for each tool that is attached while one of the same server and contract is detached from the assistant."""
    found = tuple(operations)
    detached = [each for each in found if isinstance(each, Detach)]
    if not detached:
        return
    attached: dict[tuple[str, str, str], list[Attach]] = {}
    for each in found:
        if isinstance(each, Attach):
            key = (each.tool.assistant, each.tool.server_id, each.definition.contract_digest)
            attached.setdefault(key, []).append(each)
    for gone in detached:
        came = _only(attached.get((gone.tool.assistant, gone.tool.server_id, gone.definition.contract_digest), []))
        if came is not None:
            before = tool_address(gone.tool.server, gone.tool.remote_name)
            after = tool_address(came.tool.server, came.tool.remote_name)
            yield Diagnostic(
                code="rename-suggested",
                severity=Severity.NOTE,
                message=f"{after} comes with the contract of {before}, which goes",
                address=after,
                source=came.source,
                hint=f"if it is the same tool, keep its alias and its attachment: {_entry(before, after)}",
            )


def _only(found: list[_Found]) -> _Found | None:
    return found[0] if len(found) == 1 else None


def _entry(before: str, after: str) -> str:
    return f"`moved: [{{from: {_quoted(before)}, to: {_quoted(after)}}}]`"


def _quoted(address: str) -> str:
    """An address as YAML, in quotes where it would be read as something else."""
    return address if _PLAIN.fullmatch(address) else json.dumps(address)
