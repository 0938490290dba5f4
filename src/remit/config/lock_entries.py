"""The entries of a parsed lock as values, or what is wrong with each.

Decides what a lock may hold: closed objects, names that a model may be given, definitions that fit their digests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit.core.addresses import attachment_address
from remit.core.aliases import ALIAS_PATTERN
from remit.core.canonical import JsonObject
from remit.core.definition import Definition
from remit.core.identity import ProviderName
from remit.core.lock import LockedTool

__all__ = ["Entries", "Fault", "read_entries"]

_TOP = frozenset({"version", "environment", "assistants"})
_ENTRY = frozenset({"alias", "contract_digest", "definition", "definition_digest", "findings"})
_DEFINITION = frozenset({"title", "description", "inputSchema", "outputSchema", "annotations"})
_MAX_DEPTH = 100
"""A schema may be nested 64 deep (upstream/schema_check.py); what lies around it takes a few more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong: at `line`, or where `path` leads if that is 0."""

    code: str
    message: str
    line: int = 0
    path: tuple[str, ...] = ()
    address: str | None = None
    hint: str | None = None


@dataclass(slots=True)
class Entries:
    """What was read, and what was wrong."""

    assistants: dict[str, dict[str, dict[str, LockedTool]]] = field(
        default_factory=dict[str, dict[str, dict[str, LockedTool]]]
    )
    findings: dict[tuple[str, str, str], tuple[str, ...]] = field(
        default_factory=dict[tuple[str, str, str], tuple[str, ...]]
    )
    faults: list[Fault] = field(default_factory=list[Fault])


def read_entries(document: object, environment: str | None, version: int) -> Entries:
    """The entries of a lock for this environment."""
    entries = Entries()
    top = _mapping(document)
    if top is not None and _is_newer(top.get("version"), version):
        message = f"this lock was written by a newer remit; this one reads version {version} of the format"
        hint = "update remit; an older one would not know what was approved, and writes nothing over it"
        entries.faults.append(Fault(code="lock-newer", message=message, path=("version",), hint=hint))
        return entries
    if top is None or set(top) ^ _TOP:
        message = f"a lock is an object with the keys {', '.join(sorted(_TOP))}"
        entries.faults.append(Fault(code="lock-entry", message=message))
        return entries
    _check_head(top, environment, version, entries)
    if entries.faults:
        return entries
    for path, servers in _members(top["assistants"], ("assistants",), entries):
        for at, tools in _members(servers, path, entries):
            for place, entry in _members(tools, at, entries):
                _read_entry(place, entry, entries)
    return entries


def _is_newer(found: object, version: int) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and found > version


def _check_head(top: Mapping[str, object], environment: str | None, version: int, entries: Entries) -> None:
    if top["version"] != version or isinstance(top["version"], bool):
        message = f"the lock has another version than {version}, which this remit reads"
        entries.faults.append(Fault(code="lock-version", message=message, path=("version",)))
    elif top["environment"] != environment:
        names = [repr(each) if isinstance(each, str) else "none" for each in (top["environment"], environment)]
        message = f"the lock is for the environment {names[0]}, the run is for {names[1]}"
        hint = "an approval holds for one environment; write this one's with `remit lock` and its --env"
        entries.faults.append(Fault(code="lock-environment", message=message, path=("environment",), hint=hint))


def _members(value: object, path: tuple[str, ...], entries: Entries) -> list[tuple[tuple[str, ...], object]]:
    found = _mapping(value)
    if not found and (found is None or len(path) > 1):
        entries.faults.append(Fault(code="lock-entry", message="this has to be an object that is not empty", path=path))
    return [((*path, name), member) for name, member in (found or {}).items()]


def _read_entry(path: tuple[str, ...], value: object, entries: Entries) -> None:
    _, assistant, server, remote_name = path
    entry, about = _mapping(value), f"tool.{server}/{remote_name} of assistant.{assistant}"
    definition = None if entry is None else _mapping(entry.get("definition"))
    if entry is None or set(entry) ^ _ENTRY or definition is None or set(definition) ^ _DEFINITION:
        message = f"{about} has not the keys of an entry ({', '.join(sorted(_ENTRY))}) and of a definition"
        entries.faults.append(Fault(code="lock-entry", message=message, path=path))
        return
    alias, findings = entry["alias"], _texts(entry["findings"])
    if not isinstance(alias, str) or not ALIAS_PATTERN.match(alias):
        message = f"{about} has an alias that no model can be given"
        entries.faults.append(Fault(code="lock-entry", message=message, path=(*path, "alias")))
        return
    approved = _definition(definition)
    if approved is None or findings is None:
        message = f"{about} has a value of the wrong kind"
        entries.faults.append(Fault(code="lock-entry", message=message, path=path))
        return
    _check_digests(path, entry, approved, attachment_address(assistant, alias), entries)
    tools = entries.assistants.setdefault(assistant, {}).setdefault(server, {})
    tools[remote_name] = LockedTool(alias=ProviderName(alias), definition=approved)
    entries.findings[assistant, server, remote_name] = findings


def _check_digests(
    path: tuple[str, ...], entry: Mapping[str, object], approved: Definition, address: str, entries: Entries
) -> None:
    for key, digest in (
        ("definition_digest", approved.definition_digest),
        ("contract_digest", approved.contract_digest),
    ):
        if entry[key] != digest:
            message = f"the {key.replace('_', ' ')} of {address} is {digest}; this is another: one of them was edited"
            entries.faults.append(Fault(code="lock-digest", message=message, path=(*path, key), address=address))
            return


def _definition(parts: Mapping[str, object]) -> Definition | None:
    """The definition, None where a part is of the wrong kind or nested too deeply."""
    title, lines = parts["title"], parts["description"]
    description = None if lines is None else _texts(lines)
    schemas = [_mapping(parts[key]) for key in ("inputSchema", "annotations")]
    output = _mapping(parts["outputSchema"])
    wrong = (
        not (title is None or isinstance(title, str))
        or (lines is not None and not description)
        or None in schemas
        or (output is None and parts["outputSchema"] is not None)
        or any(_is_deep(part, _MAX_DEPTH) for part in parts.values())
    )
    if wrong:
        return None
    try:
        return Definition.of(
            title=cast("str | None", title),
            description=None if description is None else "\n".join(description),
            input_schema=cast("JsonObject", schemas[0]),
            output_schema=cast("JsonObject | None", output),
            annotations=cast("JsonObject", schemas[1]),
        )
    except ValueError:
        return None


def _is_deep(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).values()
        return levels <= 0 or any(_is_deep(each, levels - 1) for each in members)
    if isinstance(value, list):
        return levels <= 0 or any(_is_deep(each, levels - 1) for each in cast("list[object]", value))
    return False


def _mapping(value: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _texts(value: object) -> tuple[str, ...] | None:
    items = cast("Sequence[object]", value) if isinstance(value, list) else None
    if items is None or not all(isinstance(each, str) for each in items):
        return None
    return tuple(cast("Sequence[str]", items))
