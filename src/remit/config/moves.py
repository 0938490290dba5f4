"""`moved` and `removed` of mcp.yaml, and `protect` of its entries.

Decides how addresses are read from the file; what they mean together is core/moved_entries.py's, and what they mean for a
recorded state core/moves.py's.
"""

from collections.abc import Callable, Iterator

from remit.config.findings import Findings
from remit.config.nodes import ListNode, MapNode, Scalar
from remit.core.desired import Desired, Move, Removal
from remit.core.diagnostics import Source
from remit.core.moved_entries import check_entries
from remit.core.subjects import InvalidAddress, Subject, read_endpoint_subject, read_subject

__all__ = ["check_moves", "protection_of", "read_moved", "read_removed"]


def read_moved(root: MapNode, findings: Findings) -> tuple[Move, ...]:
    """Every entry of `moved` whose two addresses can be read."""
    found: list[Move] = []
    for node in root.mappings("moved"):
        before = _subject(node.scalar("from"), read_endpoint_subject, findings)
        after = _subject(node.scalar("to"), read_subject, findings)
        if before is not None and after is not None:
            found.append(Move(before=before, after=after, source=node.source))
    return tuple(found)


def read_removed(root: MapNode, findings: Findings) -> tuple[Removal, ...]:
    """Every entry of `removed` whose address can be read."""
    return tuple(_removals(root.node("removed"), findings))


def _removals(node: object, findings: Findings) -> Iterator[Removal]:
    for item in node.items if isinstance(node, ListNode) else ():
        written = item.scalar("address") if isinstance(item, MapNode) else item
        subject = _subject(written if isinstance(written, Scalar) else None, read_subject, findings)
        if subject is not None:
            keep = isinstance(item, MapNode) and item.flag("keep") is True
            yield Removal(subject=subject, source=item.source, keep=keep)


def _subject(node: Scalar | None, read: Callable[[str], Subject], findings: Findings) -> Subject | None:
    if node is None:
        return None
    try:
        return read(node.text)
    except InvalidAddress as invalid:
        if "://" in node.text:
            # Credentials in a URL are what may be wrong with it.
            findings.hide(node.span)
        findings.add("invalid-address", node.source, "this names nothing", hint=str(invalid))
        return None


def protection_of(node: MapNode) -> Source | None:
    """Where an entry says `protect: true`; None where it does not."""
    key = node.key("protect")
    return key.source if key is not None and node.flag("protect") else None


def check_moves(desired: Desired, findings: Findings) -> None:
    """Report what does not fit the rest of the file."""
    for each in check_entries(desired):
        if each.source is not None:
            findings.add(each.code, each.source, each.message, hint=each.hint, severity=each.severity)
