"""What a reviewer is shown of a lock: how two of them differ, and where one does not fit the file.

Decides the words of a check that needs no server: what is selected by name has an entry, what has one is selected, and no
two tools of an assistant share a name. A change is told in the plan's own operations. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from remit.core.addresses import attachment_address, nearest, tool_address
from remit.core.aliases import fold, folded_reserved
from remit.core.changes import classes_of
from remit.core.desired import Desired, DesiredServer, Selection
from remit.core.diagnostics import Diagnostic, Severity, Source
from remit.core.envelope import MOST_RESTRICTIVE, Envelope, EnvelopePatch, resolve_envelope
from remit.core.identity import RemoteName, ServerId, canonical_id_of
from remit.core.lock import Lock, LockedTool, LockKey, for_environment
from remit.core.operations import Attach, Detach, Origin, Reason, Refresh, RenameAlias, ToolOperation, ToolRef
from remit.core.ports import DefinitionDiff
from remit.core.recorded import Recorded
from remit.core.risks import attach_risks, refresh_risks
from remit.core.selector import Selector

__all__ = ["check_lock", "lock_changes"]


def lock_changes(before: Lock, after: Lock, desired: Desired, diff: DefinitionDiff) -> tuple[ToolOperation, ...]:
    """How one lock becomes another, as the operations that an apply by it would have; their ids stand for nothing.

    A detach with a source is of a tool that is still selected there, so that its server lists it no more.
    """
    old, new = _by_key(before), _by_key(after)
    places = _places(desired)
    found: list[ToolOperation] = []
    for key in sorted(old.keys() | new.keys()):
        found += _change(key, old.get(key), new.get(key), desired, diff, places)
    return tuple(found)


def _by_key(lock: Lock) -> dict[LockKey, LockedTool]:
    return {(assistant, server, name): tool for assistant, server, name, tool in lock.tools()}


def _places(desired: Desired) -> dict[tuple[str, str], Selector]:
    return {
        (assistant.name, selection.server): Selector.of(selection)
        for assistant in desired.assistants
        for selection in assistant.selections
    }


def _change(
    key: LockKey,
    old: LockedTool | None,
    new: LockedTool | None,
    desired: Desired,
    diff: DefinitionDiff,
    places: Mapping[tuple[str, str], Selector],
) -> Iterator[ToolOperation]:
    source, by_name = _place(key, places)
    if new is None:
        if old is not None:
            yield Detach(
                tool=_ref(key, old),
                definition=old.definition,
                envelope=MOST_RESTRICTIVE,
                reason=Reason.NO_LONGER_SELECTED,
                source=source,
            )
        return
    if old is None:
        envelope = _envelope(key, desired)
        yield Attach(
            tool=_ref(key, new),
            definition=new.definition,
            envelope=envelope,
            origin=Origin.FILE if by_name else Origin.LIVE,
            reason=Reason.SELECTED_BY_NAME if by_name else Reason.SELECTED_BY_GLOB,
            risks=attach_risks(new.definition, envelope),
            source=source,
        )
        return
    if old.alias != new.alias:
        yield RenameAlias(tool=_ref(key, old), after=new.alias, reason=Reason.ALIAS_DECLARED, source=source)
    if old.definition.definition_digest != new.definition.definition_digest:
        yield _refresh(key, old, new, diff, source)


def _refresh(key: LockKey, old: LockedTool, new: LockedTool, diff: DefinitionDiff, source: Source | None) -> Refresh:
    changes = diff(old.definition, new.definition)
    classes = classes_of(changes)
    return Refresh(
        tool=_ref(key, old),
        before=old.definition,
        after=new.definition,
        changes=changes,
        classes=classes,
        origin=Origin.LIVE,
        reason=Reason.DEFINITION_CHANGED,
        risks=refresh_risks(old.definition, new.definition, classes),
        source=source,
    )


def _ref(key: LockKey, tool: LockedTool) -> ToolRef:
    assistant, server, name = key
    return ToolRef(
        assistant=assistant,
        server=server,
        server_id=ServerId(server),
        remote_name=RemoteName(name),
        provider_name=tool.alias,
        canonical_id=canonical_id_of(ServerId(server), name),
    )


def _place(key: LockKey, places: Mapping[tuple[str, str], Selector]) -> tuple[Source | None, bool]:
    """The line that selects a tool, and whether it does so by name."""
    assistant, server, name = key
    selector = places.get((assistant, server))
    pattern = None if selector is None else selector.pattern_for(name)
    return (None, False) if pattern is None else (pattern.source, pattern.text == name)


def _envelope(key: LockKey, desired: Desired) -> Envelope:
    _, server, name = key
    declared = next((each for each in desired.servers if each.name == server), None)
    entry = None if declared is None else declared.tools.get(name)
    patch = EnvelopePatch() if entry is None else entry.patch
    return resolve_envelope(patch, _server_patch(declared), desired.default_envelope)


def _server_patch(server: DesiredServer | None) -> EnvelopePatch:
    return EnvelopePatch() if server is None else server.envelope


# --- does it fit the file ----------------------------------------------------------------------------------------------


def check_lock(desired: Desired, lock: Lock, recorded: Recorded | None = None) -> tuple[Diagnostic, ...]:
    """Where a lock is not what `remit lock` would write, as far as the file alone can say.

    What is `recorded` may have a name that was reserved later. Where that is not known (None), as in a checkout without the
    database, such a name is a warning, and the only one: everything else is a difference.
    """
    found = [*_missing(desired, lock), *_unselected(desired, lock), *_reserved(desired, lock, recorded)]
    for assistant in desired.assistants:
        found += _names(assistant.name, lock)
        for selection in assistant.selections:
            found += _declared(assistant.name, selection, lock)
    return tuple(replace(each, hint=for_environment(each.hint or "", desired.environment) or None) for each in found)


def _missing(desired: Desired, lock: Lock) -> Iterator[Diagnostic]:
    # Nobody asks a disabled server, so there may be nothing to lock of it.
    disabled = {server.name for server in desired.servers if not server.enabled}
    for assistant in desired.assistants:
        for selection in assistant.selections:
            tools = lock.of_assistant(assistant.name).get(selection.server, {})
            selector = Selector.of(selection)
            for name in selector.names_among(()):
                pattern = selector.pattern_for(name)
                if pattern is not None and name not in tools and selection.server not in disabled:
                    near = nearest(name, tools)
                    yield Diagnostic(
                        code="lock-incomplete",
                        message=f"assistant {assistant.name} selects {name!r}, and the lock does not have it",
                        address=tool_address(selection.server, name),
                        source=pattern.source,
                        hint="run `remit lock` and have its change reviewed"
                        + (f"; the lock has {near!r}" if near else ""),
                    )


def _unselected(desired: Desired, lock: Lock) -> Iterator[Diagnostic]:
    places = _places(desired)
    for assistant, server, name, tool in lock.tools():
        selector = places.get((assistant, server))
        if selector is None or selector.pattern_for(name) is None:
            yield Diagnostic(
                code="lock-unselected",
                message=f"the lock has {tool_address(server, name)}, which the file does not select",
                address=attachment_address(assistant, tool.alias),
                hint="run `remit lock`, which takes it out, and have its change reviewed",
            )


def _declared(assistant: str, selection: Selection, lock: Lock) -> Iterator[Diagnostic]:
    tools = lock.of_assistant(assistant).get(selection.server, {})
    for name, alias in sorted(selection.aliases.items()):
        tool = tools.get(name)
        if tool is not None and tool.alias != alias.provider_name:
            yield Diagnostic(
                code="lock-alias",
                message=f"the file calls it {alias.provider_name}, the lock {tool.alias}",
                address=tool_address(selection.server, name),
                source=alias.source,
                hint="run `remit lock` and have its change reviewed",
            )


def _reserved(desired: Desired, lock: Lock, recorded: Recorded | None) -> Iterator[Diagnostic]:
    reserved = folded_reserved(desired.reserved_names)
    attached = {(each.assistant, each.provider_name) for each in (recorded or Recorded()).attachments}
    way_out = "run `remit lock`, which gives it another one, or declare a name under `aliases:`"
    for assistant, server, name, tool in lock.tools():
        if fold(tool.alias) in reserved and (assistant, tool.alias) not in attached:
            yield Diagnostic(
                code="lock-alias",
                message=f"{tool.alias} for {tool_address(server, name)} is a reserved name of the platform",
                severity=Severity.ERROR if recorded is not None else Severity.WARNING,
                address=attachment_address(assistant, tool.alias),
                hint=way_out if recorded is not None else f"fine if it was attached before that; else {way_out}",
            )


def _names(assistant: str, lock: Lock) -> Iterator[Diagnostic]:
    holders: dict[str, str] = {}
    for server, tools in sorted(lock.of_assistant(assistant).items()):
        for name, tool in sorted(tools.items()):
            holder = holders.setdefault(fold(tool.alias), tool_address(server, name))
            if holder != tool_address(server, name):
                yield Diagnostic(
                    code="lock-alias",
                    message=f"{tool.alias} for {tool_address(server, name)} is the name of {holder} already",
                    address=attachment_address(assistant, tool.alias),
                    hint="declare another name under `aliases:`, then run `remit lock`",
                )
