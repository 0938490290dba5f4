"""Continue: `mcpServers` as a list of entries with a `name`, in YAML or JSON; `requestOptions` hold the headers."""

from collections.abc import Iterator, Mapping

from remit.config.dialects.claude import COMMAND_KEYS
from remit.config.dialects.drafting import Role, draft_of
from remit.config.dialects.model import Dialect, Document, Draft, Form, ReportFor
from remit.config.nodes import Entry, ListNode, MapNode, Node, Scalar
from remit.core.diagnostics import Severity

__all__ = ["CONTINUE"]

_KEYS: Mapping[str, Role] = {
    **COMMAND_KEYS,
    "name": Role.IGNORED,
    "url": Role.URL,
    "requestOptions": Role.REQUEST,
    "apiKey": Role.BEARER,
    "connectionTimeout": Role.START_MILLISECONDS,
    "faviconUrl": Role.IGNORED,
    "sourceFile": Role.IGNORED,
    "serverName": Role.IGNORED,
}


def _lists(document: Document) -> Iterator[ListNode]:
    for root in document.roots:
        found = root.node("mcpServers")
        if isinstance(found, ListNode):
            yield found


def _drafts(document: Document, report_for: ReportFor) -> Iterator[Draft]:
    for listed in _lists(document):
        for node in listed.items:
            place = Scalar(node.file, node.start, node.end, "", False)
            name = _name(node)
            if name is None:
                report_for(place)("missing-key", node, "an entry of the list has no `name`", severity=Severity.ERROR)
            elif draft := draft_of(Entry(name, node), _KEYS, document, report_for(name)):
                yield draft


def _name(node: Node) -> Scalar | None:
    found = node.node("name") if isinstance(node, MapNode) else None
    return found if isinstance(found, Scalar) and found.text else None


CONTINUE = Dialect(
    name="continue",
    title="Continue",
    paths=(".continue/config.yaml",),
    fits=lambda document: document.form is not Form.TOML and any(_lists(document)),
    telling=lambda document: any(_lists(document)),
    drafts=_drafts,
)
