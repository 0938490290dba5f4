"""Imported servers put into an mcp.yaml that is there already, with its comments and its order.

Decides where they go: behind the last server, and behind the last selection of the assistant that is named. Lines are
inserted and no other byte is touched, wherever the file lists its servers line by line; a list in brackets has no line to
stand in, so then the file is written anew by ruamel.yaml, which keeps comments. Whether the outcome holds is the caller's.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from remit.config.dialects.model import ImportedServer
from remit.config.dialects.writing import (
    assistant_lines,
    comment_lines,
    mcp_text,
    selection_lines,
    server_lines,
)
from remit.config.findings import Findings
from remit.config.nodes import ListNode, MapNode, Node
from remit.config.yaml_nodes import parse_yaml

__all__ = ["merged_text"]

_Block = TypeVar("_Block", MapNode, ListNode)


def merged_text(text: str, servers: Sequence[ImportedServer], *, assistant: str | None) -> str:
    """The text of a valid mcp.yaml with these servers added; with `assistant`, with what their sources allow selected."""
    root = parse_yaml(text, "mcp.yaml", Findings({}))
    if not servers or not isinstance(root, MapNode):
        return text
    try:
        return _Insertion(text, root, servers, assistant).text()
    except _InBrackets:
        return _rewritten(text, servers, assistant)


class _InBrackets(Exception):
    """A list or a mapping that would have to grow is written in brackets."""


@dataclass(slots=True)
class _Insertion:
    """Collects lines by the line that they follow, then puts them in from the last to the first."""

    source: str
    root: MapNode
    servers: Sequence[ImportedServer]
    assistant: str | None
    lines: list[str] = field(init=False)
    behind: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    at_end: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.lines = self.source.splitlines(keepends=True)

    def text(self) -> str:
        self._servers()
        if self.assistant is not None and any(server.include for server in self.servers):
            self._assistant(self.assistant)
        end = "\r\n" if self.lines and self.lines[0].endswith("\r\n") else "\n"
        if self.lines and not self.lines[-1].endswith(("\n", "\r")):
            self.lines[-1] += end
        for line in sorted(self.behind, reverse=True):
            self.lines[line + 1 : line + 1] = [each + end for each in self.behind[line]]
        return "".join([*self.lines, *(each + end for each in self.at_end)])

    def _servers(self) -> None:
        mcp = self.root.node("mcp")
        if mcp is None:
            self.at_end += ["", "mcp:", "  servers:", *self._entries(4)]
            return
        holder = self._block(mcp, MapNode)
        listed = holder.node("servers")
        if listed is None:
            indent = holder.start.column
            self._follow(holder, [" " * indent + "servers:", *self._entries(indent + 2)])
        else:
            self._follow(listed, self._entries(self._block(listed, ListNode).start.column))

    def _entries(self, indent: int) -> list[str]:
        return [
            line for server in self.servers for line in server_lines(server, indent=indent, assistant=self.assistant)
        ]

    def _assistant(self, name: str) -> None:
        listed = self.root.node("assistants")
        if listed is None:
            self.at_end += ["", "assistants:", *assistant_lines(name, self.servers, indent=2)]
            return
        known = next((each for each in self.root.mappings("assistants") if each.text("name") == name), None)
        if known is None:
            indent = self._block(listed, ListNode).start.column
            self._follow(listed, assistant_lines(name, self.servers, indent=indent))
        else:
            self._selections(self._block(known, MapNode))

    def _selections(self, assistant: MapNode) -> None:
        tools = assistant.node("tools")
        if tools is None:
            indent = assistant.start.column
            lines = selection_lines(self.servers, indent=indent + 2)
            self._follow(assistant, [" " * indent + "tools:", *lines])
        else:
            indent = self._block(tools, ListNode).start.column
            self._follow(tools, selection_lines(self.servers, indent=indent))

    def _block(self, node: Node, kind: type[_Block]) -> _Block:
        if not isinstance(node, kind) or self._in_brackets(node):
            raise _InBrackets
        return node

    def _in_brackets(self, node: Node) -> bool:
        return self.lines[node.start.line][node.start.column : node.start.column + 1] in ("[", "{")

    def _follow(self, node: Node, lines: list[str]) -> None:
        # The end of a block, to the parser, is where the next thing begins: behind the comments that belong to that.
        self.behind.setdefault(max(self._last_lines(node)), []).extend(lines)

    def _last_lines(self, node: Node) -> Iterator[int]:
        if isinstance(node, (ListNode, MapNode)) and not self._in_brackets(node):
            children = node.items if isinstance(node, ListNode) else [each.value for each in node.entries.values()]
            for child in children:
                yield from self._last_lines(child)
            yield node.start.line
        else:
            # A block text (|) ends at the start of the line behind it.
            yield node.end.line - (1 if node.end.column == 0 and node.end.line > node.start.line else 0)


def _rewritten(text: str, servers: Sequence[ImportedServer], assistant: str | None) -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only for lists in brackets, and it takes longer than all the rest

    yaml: Any = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    tree: Any = yaml.load(text)
    added: Any = yaml.load(mcp_text(servers, workspace="import", assistant=assistant))
    listed = _grown(_grown(tree, "mcp", listed=False), "servers", listed=True)
    for server, entry in zip(servers, added["mcp"]["servers"], strict=True):
        listed.append(entry)
        if comment := "\n".join(comment_lines(server, assistant)):
            listed.yaml_set_comment_before_after_key(len(listed) - 1, before=comment, indent=4)
    for entry in added.get("assistants", ()):
        _add_assistant(_grown(tree, "assistants", listed=True), entry)
    out = io.StringIO()
    yaml.dump(tree, out)
    return out.getvalue()


def _add_assistant(listed: Any, entry: Any) -> None:
    known = next((each for each in listed if each.get("name") == entry["name"]), None)
    if known is None:
        listed.append(entry)
    else:
        if known.fa.flow_style():
            known.fa.set_block_style()
        _grown(known, "tools", listed=True).extend(entry["tools"])


def _grown(holder: Any, key: str, *, listed: bool) -> Any:
    """The value of a key as one that can grow line by line; made where there is none."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415 - as above

    if holder.get(key) is None:
        holder[key] = CommentedSeq() if listed else CommentedMap()
    value = holder[key]
    if value.fa.flow_style() or not value:
        value.fa.set_block_style()
    return value
