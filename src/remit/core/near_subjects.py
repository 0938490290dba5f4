"""What a mistyped entry of `moved` or `removed` may have meant: of what a plan takes away, the thing with the nearest name.

Decides what is recorded at all, and what can be meant: something that the file does not declare any more and that this plan
really takes. Where nothing goes there is nothing to suggest, so an entry that is done is never told to be a mistake. Pure.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from remit.core.addresses import nearest
from remit.core.desired import Desired
from remit.core.identity import Endpoint, HttpEndpoint, ServerId
from remit.core.operations import DeleteAssistant, Detach, Operation, Reason, UnregisterServer
from remit.core.recorded import Recorded
from remit.core.subjects import (
    AssistantSubject,
    AttachmentSubject,
    EndpointSubject,
    ServerSubject,
    Subject,
    ToolSubject,
    WorkspaceSubject,
)

__all__ = ["MOST_COMPARISONS", "gone_subjects", "known_subjects", "near_subjects"]

MOST_COMPARISONS = 10_000
"""Names compared for all entries together: about a fifth of a second. More would make a plan wait for mere hints."""


def gone_subjects(running: Iterable[Operation], desired: Desired) -> Iterator[Subject]:
    """Whatever goes with these operations. What is held stays for now, and so does a tool that its server lists no more."""
    declared = {each.name for each in desired.servers}
    for each in running:
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


def _endpoint(endpoint: Endpoint) -> EndpointSubject:
    if isinstance(endpoint, HttpEndpoint):
        return EndpointSubject(url=endpoint.url)
    return EndpointSubject(command=endpoint.command)


def known_subjects(desired: Desired, recorded: Recorded, names: Mapping[ServerId, str]) -> Iterator[Subject]:
    """Everything recorded of this workspace; tools under what the file calls their servers (`names`), where it does."""
    for server in recorded.servers:
        if server.workspace == desired.workspace:
            yield ServerSubject(server.name)
    for assistant in recorded.assistants:
        if assistant.owner == desired.owner and assistant.workspace == desired.workspace:
            yield AssistantSubject(assistant.name)
    for each in recorded.attachments:
        if each.workspace == desired.workspace:
            yield AttachmentSubject(each.assistant, each.provider_name)
            yield AssistantSubject(each.assistant)
            yield ToolSubject(names.get(each.server_id, each.server_id), each.remote_name)


def near_subjects(subjects: Collection[Subject], gone: Iterable[Subject]) -> Mapping[Subject, str]:
    """Hints that name the nearest of the same kind, for those that one is near.

    Empty where it takes more than MOST_COMPARISONS: which entries get a hint does not depend on their order.
    """
    if not subjects:
        return {}
    names: dict[type[Subject], list[str]] = {}
    for each in sorted(set(gone), key=str):
        names.setdefault(type(each), []).append(_name(each))
    if sum(len(names.get(type(each), ())) for each in subjects) > MOST_COMPARISONS:
        return {}
    found = {each: nearest(_name(each), names.get(type(each), ())) for each in subjects}
    return {each: _hint(each, name) for each, name in found.items() if name is not None}


def _kind(subject: Subject) -> str:
    return "" if isinstance(subject, EndpointSubject) else str(subject).partition(".")[0] + "."


def _name(subject: Subject) -> str:
    return str(subject).removeprefix(_kind(subject))


def _hint(subject: Subject, name: str) -> str:
    goes = "" if isinstance(subject, WorkspaceSubject) else ", which goes with this plan"
    return f"did you mean {_kind(subject)}{name}{goes}?"
