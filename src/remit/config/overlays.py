"""An environment's overlay laid over the files: what differs there, and nothing else.

Decides how two trees become one: mappings merge, lists and single values are replaced, lists of named entries merge by name.
Nothing is removed or added in silence: `$delete` removes, `$new: true` adds an entry. Every value keeps the place of the
file that set it. Whether the outcome is a configuration is decided where any other one is.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from remit.config.credentials import is_showable
from remit.config.findings import Findings, line_of
from remit.config.nodes import Entry, Kind, ListNode, MapNode, Node, Scalar
from remit.core.addresses import nearest

__all__ = ["DELETE", "NAMED_LISTS", "NEW", "WHOLE", "overlaid"]

DELETE, NEW = "$delete", "$new"
"""`$delete: true` in an entry, or `$delete: [KEY, ...]` in a mapping; `$new: true` in an entry."""

NAMED_LISTS: Mapping[tuple[str, ...], str] = {
    ("mcp", "servers"): "name",
    ("assistants",): "name",
    ("assistants", "tools"): "server",
}
"""Lists whose entries merge by name, by the keys that lead to them, with the key that names an entry."""

WHOLE = frozenset({("mcp", "servers", "auth")})
"""Mappings that are replaced as a whole: half of one credential and half of another are none."""

_Path = tuple[str, ...]


def overlaid(base: MapNode, overlay: MapNode, findings: Findings) -> MapNode:
    """The base with the overlay over it; what the overlay names and the base does not have is reported."""
    return _Laying(findings).mapping(base, overlay, ())


@dataclass(frozen=True, slots=True)
class _Laying:
    findings: Findings

    def mapping(self, base: MapNode, overlay: MapNode, path: _Path) -> MapNode:
        entries = dict(base.entries)
        self._delete(entries, overlay)
        for key, entry in overlay.entries.items():
            if key not in (DELETE, NEW):
                known = entries.get(key)
                entries[key] = Entry(entry.key, self._value(known and known.value, entry.value, (*path, key)))
        return MapNode(overlay.file, overlay.start, overlay.end, entries)

    def _value(self, base: Node | None, overlay: Node, path: _Path) -> Node:
        by = NAMED_LISTS.get(path)
        if isinstance(overlay, ListNode) and by is not None:
            return self._entries(base.items if isinstance(base, ListNode) else [], overlay, path, by)
        if isinstance(overlay, MapNode) and path not in WHOLE:
            # Also without a mapping below it: a `$delete` in it is looked at all the same, and deletes nothing.
            below = base if isinstance(base, MapNode) else MapNode(overlay.file, overlay.start, overlay.end, {})
            return self.mapping(below, overlay, path)
        return overlay

    def _delete(self, entries: dict[str, Entry], overlay: MapNode) -> None:
        wanted = overlay.node(DELETE)
        if not isinstance(wanted, ListNode):
            if wanted is not None:
                self._refuse(wanted, "`$delete` takes a list of keys here", "as in `$delete: [command, env]`")
            return
        for item in wanted.items:
            if not isinstance(item, Scalar) or item.kind is not Kind.TEXT:
                self._refuse(item, "a key is a text", None)
            elif entries.pop(item.text, None) is None:
                self._refuse(item, f"there is no {_shown(item.text, 'key')} here to delete", _near(item.text, entries))

    def _entries(self, base: list[Node], overlay: ListNode, path: _Path, by: str) -> ListNode:
        named = {name.text: node for node in base if isinstance(node, MapNode) and (name := node.scalar(by))}
        merged: dict[int, Node] = {id(node): node for node in base}
        seen: dict[str, Scalar] = {}
        for item in overlay.items:
            name = item.scalar(by) if isinstance(item, MapNode) else None
            if not isinstance(item, MapNode) or name is None:
                # Its shape is wrong, which is reported with the whole outcome.
                merged[id(item)] = item
            elif (first := seen.setdefault(name.text, name)) is not name:
                message = f"{line_of(first.source, name.source)} has an entry {_shown(name.text)} already"
                self.findings.add("duplicate-name", name.source, message, hint="put both into one entry")
            else:
                self._entry(named, merged, item, name, path)
        return ListNode(overlay.file, overlay.start, overlay.end, list(merged.values()))

    def _entry(
        self, named: Mapping[str, MapNode], merged: dict[int, Node], item: MapNode, name: Scalar, path: _Path
    ) -> None:
        known = named.get(name.text)
        new = self._flag(item, NEW)
        if known is None and not new:
            self._unknown(name, named, path)
        if known is not None and new:
            message = f"{line_of(known.source, name.source)} has an entry {_shown(name.text)} already"
            self.findings.add("overlay-entry", name.source, message, hint="delete `$new`, or choose another name")
        if _is_true(item.node(DELETE)):
            self._remove(merged, known, item)
            return
        # By the id of a node that stays alive: one made here would hand its id on to the next.
        laid = self.mapping(known or MapNode(item.file, item.start, item.end, {}), item, path)
        if known is not None:
            # The overlay only repeats the name to say which entry it means.
            laid.entries[NAMED_LISTS[path]] = known.entries[NAMED_LISTS[path]]
        merged[id(known or item)] = laid

    def _remove(self, merged: dict[int, Node], known: MapNode | None, item: MapNode) -> None:
        if len(item.entries) > 2:
            self._refuse(item, "an entry that is deleted says nothing else", "keep its name and `$delete: true`")
        if known is not None:
            merged.pop(id(known), None)

    def _flag(self, item: MapNode, key: str) -> bool:
        given = item.node(key)
        if given is not None and not _is_true(given):
            self._refuse(given, f"`{key}` takes true", "delete it if that is not meant")
        return given is not None

    def _unknown(self, name: Scalar, named: Collection[str], path: _Path) -> None:
        near = None if self.findings.full else _near(name.text, named)
        self.findings.add(
            "overlay-entry",
            name.source,
            f"no entry of `{'.'.join(path)}` is called {_shown(name.text)}",
            hint=near or "add `$new: true` to it if only this environment has it",
        )

    def _refuse(self, node: Node, message: str, hint: str | None) -> None:
        self.findings.add("overlay-directive", node.source, message, hint=hint)


def _is_true(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.kind is Kind.FLAG and node.text.lower() == "true"


def _shown(name: str, otherwise: str = "so") -> str:
    return f"`{name}`" if is_showable(name) else otherwise


def _near(name: str, known: Collection[str]) -> str | None:
    near = nearest(name[:64], known)
    return f"did you mean `{near}`?" if near else None
