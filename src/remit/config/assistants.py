"""The assistants that mcp.yaml declares, and what they select.

Decides names, that selections name declared servers once each, and which explicit aliases may stand. Which tools a
selection comes to is core's, as it needs a listing.
"""

import fnmatch
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from remit.config.credentials import is_showable
from remit.config.findings import Findings, line_of
from remit.config.moves import protection_of
from remit.config.nodes import MapNode, Scalar
from remit.core.addresses import assistant_address, nearest
from remit.core.aliases import ALIAS_PATTERN, fold
from remit.core.desired import Alias, DesiredAssistant, Pattern, Selection

__all__ = ["Declared", "read_assistants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What assistants are checked against. `servers` is None where an entry without a name makes the set unknown."""

    servers: Collection[str] | None
    reserved: frozenset[str]


def read_assistants(root: MapNode, declared: Declared, findings: Findings) -> tuple[DesiredAssistant, ...]:
    """Every entry that has a name, in the order of the file."""
    seen: dict[str, Scalar] = {}
    found: list[DesiredAssistant] = []
    for node in root.mappings("assistants"):
        name = node.scalar("name")
        if name is None:
            continue
        first = seen.setdefault(name.text.casefold(), name)
        if first is not name:
            findings.add(
                "duplicate-name",
                name.source,
                f"{line_of(first.source, name.source)} has {_named('an assistant', name.text)} already; case does not count",
                address=assistant_address(name.text),
            )
        found.append(_Reading(declared, findings, assistant_address(name.text)).assistant(node, name))
    return tuple(found)


@dataclass(slots=True)
class _Reading:
    """The reading of one assistant; remembers what must be unique in it."""

    declared: Declared
    findings: Findings
    address: str
    servers: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    aliases: dict[str, Scalar] = field(default_factory=dict[str, Scalar])

    def assistant(self, node: MapNode, name: Scalar) -> DesiredAssistant:
        """The assistant, as far as it can be read."""
        selections = (self._selection(selection) for selection in node.mappings("tools"))
        return DesiredAssistant(
            name=name.text,
            source=node.source,
            permissions=tuple(permission.text for permission in node.scalars("permissions")),
            selections=tuple(selection for selection in selections if selection),
            protect=protection_of(node),
        )

    def _selection(self, node: MapNode) -> Selection | None:
        server = node.scalar("server")
        if server is not None:
            self._check_server(server)
        include, exclude = _patterns(node, "include"), _patterns(node, "exclude")
        aliases = self._aliases(node.mapping("aliases"), include, exclude)
        if server is None:
            return None
        return Selection(server=server.text, include=include, source=node.source, exclude=exclude, aliases=aliases)

    def _check_server(self, server: Scalar) -> None:
        known = self.declared.servers
        if known is not None and server.text not in known:
            near = nearest(server.text[:64], known)
            hint = f"did you mean `{near}`?" if near else "declare it under `mcp.servers`"
            message = (
                f"no server `{server.text}` is declared"
                if is_showable(server.text)
                else "no server of this name is declared"
            )
            self._add("unknown-server", server, message, hint)
        first = self.servers.setdefault(server.text, server)
        if first is not server:
            message = f"this assistant selects from the server in {line_of(first.source, server.source)} already"
            self._add("duplicate-selection", server, message, "put all its tools into one entry")

    def _aliases(
        self, aliases: MapNode | None, include: tuple[Pattern, ...], exclude: tuple[Pattern, ...]
    ) -> Mapping[str, Alias]:
        if aliases is None:
            return {}
        selected, excluded = _Matcher(include), _Matcher(exclude)
        found: dict[str, Alias] = {}
        for tool, value in aliases.texts():
            self._check_tool(tool, aliases.entries[tool].key, selected, excluded)
            self._check_alias(value)
            found[tool] = Alias(provider_name=value.text, source=value.source)
        return found

    def _check_tool(self, tool: str, key: Scalar, selected: "_Matcher", excluded: "_Matcher") -> None:
        if Pattern(text=tool, source=key.source).is_glob and tool not in selected.exact:
            self._add("alias-without-tool", key, "an alias belongs to one tool, named exactly", "a glob has no alias")
        elif not selected.matches(tool):
            self._add("alias-without-tool", key, "`include` does not select this tool", "add it to `include`")
        elif excluded.matches(tool):
            self._add("alias-without-tool", key, "`exclude` takes this tool out", "delete the alias or the exclusion")

    def _check_alias(self, value: Scalar) -> None:
        if not ALIAS_PATTERN.match(value.text):
            return
        folded = fold(value.text)
        if folded in self.declared.reserved:
            self._add(
                "reserved-alias", value, f"`{value.text}` is reserved for a function of the platform", "choose another"
            )
        first = self.aliases.setdefault(folded, value)
        if first is not value:
            message = f"this alias stands in {line_of(first.source, value.source)} already; case does not count"
            self._add("duplicate-alias", value, message, "an assistant sees each name once")

    def _add(self, code: str, node: Scalar, message: str, hint: str) -> None:
        self.findings.add(code, node.source, message, hint=hint, address=self.address)


def _named(kind: str, name: str) -> str:
    return f"{kind} `{name}`" if is_showable(name) else f"{kind} of this name"


class _Matcher:
    """Patterns made ready for thousands of questions: exact names as a set, all globs as one expression."""

    def __init__(self, patterns: tuple[Pattern, ...]):
        self.exact = frozenset(pattern.text for pattern in patterns)
        globs = [fnmatch.translate(pattern.text) for pattern in patterns if pattern.is_glob]
        self._globs = re.compile("|".join(globs)) if globs else None

    def matches(self, tool: str) -> bool:
        return tool in self.exact or bool(self._globs and self._globs.match(tool))


def _patterns(node: MapNode, key: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text=item.text, source=item.source) for item in node.scalars(key))
