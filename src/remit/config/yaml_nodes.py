"""YAML text as a tree of nodes with positions, or as findings.

Decides what remit takes for YAML: one document, no anchor, alias, tag or merge key, no key twice, 64 levels. One pass over
the parser's events both sees what a composed tree hides (anchors and tags are gone there) and composes the tree; PyYAML's
own composer is left out because it resolves scalars by the rules of YAML 1.1, keeps the last of two equal keys and takes
four times as long. It does not know any key of mcp.yaml.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from yaml import events, reader, scanner
from yaml import parser as yaml_parser
from yaml.error import MarkedYAMLError, YAMLError

from remit.config.findings import Findings
from remit.config.nodes import Entry, Kind, ListNode, MapNode, Mark, Node, Scalar, Unusable
from remit.core.diagnostics import Source

__all__ = ["MAX_DEPTH", "MAX_NODES", "EventParser", "PureParser", "parse_yaml", "parse_yaml_documents"]

MAX_DEPTH = 64
"""Levels of nesting; mcp.yaml needs eight, and a deep tree is an attack on whatever walks it."""

MAX_NODES = 500_000
"""Keys and values in a file; 5,000 selections with a policy and an alias each have 55,000."""


class PureParser(reader.Reader, scanner.Scanner, yaml_parser.Parser):
    """PyYAML's own parser, for a PyYAML without its C part: the same events, many times slower."""

    def __init__(self, text: str):
        reader.Reader.__init__(self, text)
        scanner.Scanner.__init__(self)
        yaml_parser.Parser.__init__(self)


class EventParser(Protocol):
    """What is used of a parser."""

    def check_event(self, *choices: Any) -> bool:
        """Whether there is a further event."""
        ...

    def get_event(self) -> events.Event | None:
        """The next event."""
        ...


def _fastest_parser() -> Callable[[str], EventParser]:
    try:
        from yaml.cyaml import CSafeLoader  # noqa: PLC0415 - the C part is optional in PyYAML
    except ImportError:
        return PureParser
    return CSafeLoader


def parse_yaml(
    text: str, file: str, findings: Findings, *, parser: Callable[[str], EventParser] | None = None
) -> Node | None:
    """The root node, or None where the text has no tree; everything wrong with it goes to `findings`.

    An empty document is the finding `empty-file`: it must never look like a file that asks for nothing. Anchors, aliases,
    tags, merge keys and repeated keys are reported and passed over, so that the rest can be checked too.
    """
    building = _Tree(file, findings)
    return building.finish() if _read(building, text, findings, parser or _fastest_parser()) else None


def parse_yaml_documents(text: str, file: str, findings: Findings) -> tuple[Node, ...] | None:
    """The roots of all documents of a file that is not ours, such as a list of Kubernetes objects.

    None where the text has no tree. Everything else that `parse_yaml` reports is reported here too.
    """
    building = _Tree(file, findings, several=True)
    return tuple(building.roots) if _read(building, text, findings, _fastest_parser()) else None


def _read(building: "_Tree", text: str, findings: Findings, parser: Callable[[str], EventParser]) -> bool:
    """Read a text to its end; False, reported, where it cannot be."""
    try:
        stream = parser(text)
        while stream.check_event():
            if event := stream.get_event():
                building.take(event)
    except _Stop:
        return False
    except MarkedYAMLError as error:
        building.report_syntax(error)
        return False
    except (YAMLError, ValueError, OverflowError):
        # The pure parser lets an impossible \U escape through to chr(); libyaml names the place itself.
        findings.add("yaml-syntax", building.last, "this is not valid YAML: an escape or a character cannot be read")
        return False
    return True


class _Stop(Exception):
    """What follows is not worth reading."""


@dataclass(slots=True)
class _Open:
    node: "ListNode | MapNode"
    key: "Node | None" = None


class _Tree:
    """Builds the tree from events, without recursion."""

    def __init__(self, file: str, findings: Findings, *, several: bool = False):
        self._file = file
        self._findings = findings
        self._open: list[_Open] = []
        self._several = several
        self.roots: list[Node] = []
        self._documents = 0
        self._nodes = 0
        self._mark: Mark | None = None
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.MappingStartEvent: self._mapping,
            events.SequenceStartEvent: self._sequence,
            events.MappingEndEvent: self._close,
            events.SequenceEndEvent: self._close,
            events.AliasEvent: self._alias,
            events.DocumentStartEvent: self._document,
        }

    def take(self, event: events.Event) -> None:
        """Go one event further."""
        self._mark = event.start_mark
        handler = self._handlers.get(type(event))
        if handler:
            handler(event)

    @property
    def last(self) -> Source:
        """Where the last event began."""
        return self._at(self._mark) if self._mark else Source(self._file, 1, 1)

    def finish(self) -> Node | None:
        """The root, if the document has content."""
        root = self.roots[0] if self.roots else None
        if root is None or (isinstance(root, Scalar) and root.kind is Kind.NULL):
            self._findings.add(
                "empty-file",
                Source(self._file, 1, 1),
                "the file is empty",
                hint="`remit init` writes a starter; a file that asks for nothing begins with `version: 1`",
            )
            return None
        return root

    def report_syntax(self, error: MarkedYAMLError) -> None:
        """Report what the parser itself refused. Its own excerpt is not used: it knows nothing of secrets."""
        mark = error.problem_mark or error.context_mark
        source = self._at(mark) if mark else self.last
        problem = (error.problem or "it cannot be read").splitlines()[0]
        if "nesting depth" in problem:
            # libyaml reads ahead inside brackets and has a cap of its own, so ours may not be the first to be reached.
            self._findings.add("yaml-too-deep", source, _TOO_DEEP)
            return
        context = f" ({error.context})" if error.context else ""
        self._findings.add("yaml-syntax", source, f"this is not valid YAML: {problem}{context}", hint=_SYNTAX_HINT)

    def _at(self, mark: Mark) -> Source:
        return Source(self._file, mark.line + 1, mark.column + 1)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1 and not self._several:
            self._findings.add(
                "yaml-second-document",
                self._at(event.start_mark),
                "a second document begins here; a file holds one",
                hint="delete the line `---`, or move what follows to its own file",
            )
            raise _Stop

    def _scalar(self, event: Any) -> None:
        if event.anchor is not None or event.tag is not None:
            self._refuse_marks(event)
        text: str = event.value
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            self._findings.add("yaml-syntax", self._at(event.start_mark), "half of a surrogate pair is not a character")
            text = ""
        self._put(Scalar(self._file, event.start_mark, event.end_mark, text, not event.style))

    def _mapping(self, event: Any) -> None:
        self._refuse_marks(event)
        self._nest(MapNode(self._file, event.start_mark, event.end_mark, {}))

    def _sequence(self, event: Any) -> None:
        self._refuse_marks(event)
        self._nest(ListNode(self._file, event.start_mark, event.end_mark, []))

    def _alias(self, event: Any) -> None:
        self._findings.add(
            "yaml-alias", self._at(event.start_mark), "aliases (*name) are not used here", hint="write the value out"
        )
        self._put(Unusable(self._file, event.start_mark, event.end_mark))

    def _nest(self, node: ListNode | MapNode) -> None:
        self._open.append(_Open(node))
        if len(self._open) > MAX_DEPTH:
            self._findings.add("yaml-too-deep", node.source, _TOO_DEEP)
            raise _Stop

    def _close(self, event: Any) -> None:
        node = self._open.pop().node
        node.end = event.end_mark
        self._put(node)

    def _put(self, node: Node) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._findings.add("config-too-large", node.source, f"the file has more than {MAX_NODES} keys and values")
            raise _Stop
        if not self._open:
            self.roots.append(node)
            return
        top = self._open[-1]
        if isinstance(top.node, ListNode):
            top.node.items.append(node)
        elif top.key is None:
            top.key = node
        else:
            key, top.key = top.key, None
            self._pair(top.node.entries, key, node)

    def _pair(self, entries: dict[str, Entry], key: Node, value: Node) -> None:
        if not isinstance(key, Scalar):
            if not isinstance(key, Unusable):
                hint = 'a text that holds { or [ needs quotes: "{python}"'
                self._findings.add("yaml-key", key.source, "a key is a text, not a list or a mapping", hint=hint)
            return
        if key.text == "<<" and key.plain:
            self._findings.add(
                "yaml-merge-key",
                key.source,
                "merge keys (<<) are not used here: a reviewer could not see what an entry holds",
                hint="write the keys out",
            )
        elif key.text in entries:
            self._repeated(entries[key.text].key, key)
        else:
            entries[key.text] = Entry(key, value)

    def _repeated(self, first: Scalar, second: Scalar) -> None:
        self._findings.add(
            "duplicate-key",
            second.source,
            f"{_shown(second.text)} is given twice, in line {first.source.line} and in line {second.source.line}",
            hint="keep one of the two",
        )

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor is not None:
            self._findings.add(
                "yaml-anchor", self._at(event.start_mark), "anchors (&name) are not used here", hint="delete the anchor"
            )
        if event.tag is not None:
            self._findings.add(
                "yaml-tag", self._at(event.start_mark), "tags (!name) are not used here", hint="delete the tag"
            )


_TOO_DEEP = f"more than {MAX_DEPTH} levels of nesting"
_SYNTAX_HINT = 'indent with spaces; put texts that hold ": ", " #", { or [ in quotes, as in "${env:NAME}"'


def _shown(key: str) -> str:
    return f"`{key}`" if len(key) <= 64 and key.isprintable() else "the key"
