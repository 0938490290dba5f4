"""What a mistyped entry of `moved` or `removed` may have meant: of what a plan takes away, the thing with the nearest name.

Decides what can be meant at all: something that the file does not declare any more and that is still recorded. Where nothing
goes there is nothing to suggest, so an entry that is done is never told to be a mistake. Pure.
"""

from collections.abc import Collection, Iterable, Iterator

from remit.core.addresses import nearest
from remit.core.desired import Desired
from remit.core.identity import Endpoint, HttpEndpoint
from remit.core.operations import DeleteAssistant, Detach, Operation, Reason, UnregisterServer
from remit.core.plan import Drift, DriftKind
from remit.core.subjects import (
    AssistantSubject,
    AttachmentSubject,
    EndpointSubject,
    ServerSubject,
    Subject,
    ToolSubject,
    WorkspaceSubject,
)

__all__ = ["gone_subjects", "near_subject"]


def gone_subjects(due: Iterable[Operation], drift: Iterable[Drift], desired: Desired) -> Iterator[Subject]:
    """Whatever goes with these operations, held ones included, and tools that their servers do not list any more."""
    declared = {each.name for each in desired.servers}
    for each in due:
        match each:
            case UnregisterServer(before=before) if before.name not in declared:
                yield ServerSubject(before.name)
                yield _endpoint(before.endpoint)
            case DeleteAssistant(assistant=name):
                yield AssistantSubject(name)
            case Detach(tool=tool, reason=reason):
                yield ToolSubject(tool.server, tool.remote_name)
                yield AttachmentSubject(tool.assistant, tool.provider_name)
                if reason is Reason.ASSISTANT_REMOVED:
                    yield AssistantSubject(tool.assistant)
            case _:
                pass
    for entry in drift:
        if entry.kind is DriftKind.VANISHED:
            yield ToolSubject(entry.server, entry.remote_name)


def _endpoint(endpoint: Endpoint) -> EndpointSubject:
    if isinstance(endpoint, HttpEndpoint):
        return EndpointSubject(url=endpoint.url)
    return EndpointSubject(command=endpoint.command)


def near_subject(subject: Subject, gone: Collection[Subject]) -> str | None:
    """A hint that names the nearest of the same kind; None where none is near."""
    kind = "" if isinstance(subject, EndpointSubject) else str(subject).partition(".")[0] + "."
    names = [str(each).removeprefix(kind) for each in gone if type(each) is type(subject)]
    found = nearest(str(subject).removeprefix(kind), names)
    if found is None:
        return None
    goes = "" if isinstance(subject, WorkspaceSubject) else ", which goes with this plan"
    return f"did you mean {kind}{found}{goes}?"
