"""Permissions that tools ask for and their assistants do not hold: every call would be denied, so a plan says so.

Decides nothing about calls; the gatekeeper does, at each of them. Pure.
"""

from collections.abc import Collection, Iterator, Mapping

from remit.core.addresses import assistant_address
from remit.core.desired import Desired
from remit.core.diagnostics import Diagnostic, Severity
from remit.core.ownership import released_workspace
from remit.core.recorded import Recorded

__all__ = ["judge_permissions"]


def judge_permissions(
    desired: Desired, recorded: Recorded, requires: Mapping[tuple[str, str], Collection[str]]
) -> Iterator[Diagnostic]:
    """A warning for each permission that an assistant lacks, and a note where a file states some that it cannot set.

    `requires` leads from an assistant and a permission to the addresses of the tools that ask for it.
    """
    others = {
        each.name: each
        for each in recorded.assistants
        if each.owner == desired.owner and each.workspace not in (desired.workspace, released_workspace(desired.owner))
    }
    for assistant in desired.assistants:
        elsewhere = others.get(assistant.name)
        held = assistant.permissions if elsewhere is None else elsewhere.permissions
        if elsewhere is not None and assistant.permissions and set(assistant.permissions) != set(held):
            yield Diagnostic(
                code="assistant-elsewhere",
                severity=Severity.WARNING,
                message=f"workspace {elsewhere.workspace} created this assistant and sets its permissions; these have no effect",
                address=assistant_address(assistant.name),
                source=assistant.source,
                hint=f"set them there, or leave `permissions` out here; it holds: {', '.join(held) or 'none'}",
            )
        for (name, permission), addresses in sorted(requires.items()):
            if name == assistant.name and permission not in held:
                yield Diagnostic(
                    code="permission-missing",
                    severity=Severity.WARNING,
                    message=f"{len(addresses)} of its tools ask for {permission}, which it does not hold: no call of them is allowed",
                    address=assistant_address(assistant.name),
                    source=assistant.source,
                    hint=f"add {permission} to its `permissions`, or take the tools out: {', '.join(sorted(addresses)[:3])}",
                )
