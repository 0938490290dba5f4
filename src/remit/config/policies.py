"""Envelopes as the file gives them: the default, a server's, a tool's.

Decides what one layer says; which layer holds is core/envelope.py's.
"""

from remit.config.findings import Findings
from remit.config.nodes import Kind, MapNode, Scalar
from remit.core.diagnostics import Severity, Source
from remit.core.envelope import (
    MOST_RESTRICTIVE,
    UNSET,
    AuditedArguments,
    Direction,
    EnvelopePatch,
    Recording,
    Surface,
    UnknownArguments,
    compare_envelopes,
    difference_words,
    resolve_envelope,
)

__all__ = ["read_default_envelope", "read_patch"]


def read_patch(envelope: MapNode | None) -> EnvelopePatch:
    """What one envelope of the file says; fields of a wrong kind were reported and count as not given."""
    if envelope is None:
        return EnvelopePatch()
    surface, unknown = envelope.choice("surface", Surface), envelope.choice("unknown_arguments", UnknownArguments)
    side_effecting, reversible = envelope.flag("side_effecting"), envelope.flag("reversible")
    record, audited = envelope.choice("record", Recording), envelope.choice("audit_arguments", AuditedArguments)
    permission = envelope.node("required_permission")
    named = permission.text if isinstance(permission, Scalar) and permission.kind is Kind.TEXT else None
    return EnvelopePatch(
        surface=UNSET if surface is None else surface,
        side_effecting=UNSET if side_effecting is None else side_effecting,
        reversible=UNSET if reversible is None else reversible,
        required_permission=UNSET if permission is None else named,
        unknown_arguments=UNSET if unknown is None else unknown,
        record=UNSET if record is None else record,
        audit_arguments=UNSET if audited is None else audited,
    )


def read_default_envelope(mcp: MapNode | None, findings: Findings) -> tuple[EnvelopePatch, Source | None]:
    """`mcp.default_envelope` and its place. Surface open is refused (DESIGN.md section 3), anything looser is a warning."""
    key = mcp.key("default_envelope") if mcp else None
    if mcp is None or key is None:
        return EnvelopePatch(), None
    envelope = mcp.mapping("default_envelope")
    patch = read_patch(envelope)
    if envelope and patch.surface is Surface.OPEN and (surface := envelope.scalar("surface")):
        findings.add(
            "open-default",
            surface.source,
            "surface open is never a default: it would open every tool that nobody looked at",
            hint="give `surface: open` to single servers or tools",
        )
    else:
        _warn_of_looseness(patch, key, findings)
    return patch, key.source


def _warn_of_looseness(patch: EnvelopePatch, key: Scalar, findings: Findings) -> None:
    default = resolve_envelope(EnvelopePatch(), EnvelopePatch(), patch)
    if compare_envelopes(MOST_RESTRICTIVE, default) in (Direction.LOOSENED, Direction.MIXED):
        findings.add(
            "loose-default",
            key.source,
            f"the default is looser than the built-in one: {difference_words(MOST_RESTRICTIVE, default)}",
            hint="it also holds for tools that a server adds later; loosen single servers or tools instead",
            severity=Severity.WARNING,
        )
