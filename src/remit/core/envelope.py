"""The envelope: OUR policy for a tool, resolved field by field and compared by strictness.

Decides which layer's value holds (tool entry, server, `mcp.default_envelope`, built-in; DESIGN.md section 3) and whether
one envelope is looser than another. A server's annotations never come in here. Pure.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum, StrEnum
from typing import Literal, TypeVar

from remit.core.canonical import canonical_json, sha256_hex

__all__ = [
    "MOST_RESTRICTIVE",
    "UNSET",
    "AuditedArguments",
    "Direction",
    "Envelope",
    "EnvelopePatch",
    "Recording",
    "Surface",
    "UnknownArguments",
    "compare_envelopes",
    "difference_words",
    "resolve_envelope",
    "strictest",
]


class Surface(StrEnum):
    """How a tool may be reached, strictest last."""

    OPEN = "open"
    LOCKED = "locked"
    HUMAN_CONTROLLED = "human_controlled"


class UnknownArguments(StrEnum):
    """What happens to arguments that the tool's schema does not name, strictest last (DESIGN.md section 10, item 4)."""

    PASS = "pass"  # noqa: S105 (a word of mcp.yaml)
    REJECT = "reject"


class Recording(StrEnum):
    """How the protocol trace keeps the messages of a call, most evidence last (DESIGN.md section 10)."""

    DIGEST = "digest"
    FULL = "full"


class AuditedArguments(StrEnum):
    """What audit events hold of a call's arguments, least of people's data last (DESIGN.md section 10)."""

    VALUES = "values"
    DIGEST = "digest"


class _Unset(Enum):
    UNSET = "unset"


UNSET: Literal[_Unset.UNSET] = _Unset.UNSET
"""A field that a layer says nothing about; `None` is a value (`required_permission: null`)."""

Unset = Literal[_Unset.UNSET]


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A resolved policy: every field decided. Those with a default have the strictest one."""

    surface: Surface
    side_effecting: bool
    reversible: bool
    required_permission: str | None
    unknown_arguments: UnknownArguments = UnknownArguments.REJECT
    record: Recording = Recording.FULL
    audit_arguments: AuditedArguments = AuditedArguments.DIGEST

    def digest(self) -> str:
        """`e1:` and the hex sha256 of the canonical JSON of all fields: what an approval is bound to."""
        return f"e1:{sha256_hex(canonical_json(asdict(self)))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopePatch:
    """What one layer of the file says; `UNSET` where it says nothing."""

    surface: Surface | Unset = UNSET
    side_effecting: bool | Unset = UNSET
    reversible: bool | Unset = UNSET
    required_permission: str | None | Unset = UNSET
    unknown_arguments: UnknownArguments | Unset = UNSET
    record: Recording | Unset = UNSET
    audit_arguments: AuditedArguments | Unset = UNSET


MOST_RESTRICTIVE = Envelope(
    surface=Surface.HUMAN_CONTROLLED,
    side_effecting=True,
    reversible=False,
    required_permission=None,
    unknown_arguments=UnknownArguments.REJECT,
    record=Recording.FULL,
    audit_arguments=AuditedArguments.DIGEST,
)
"""What holds where nobody said anything."""


class Direction(StrEnum):
    """What a change of policy does to an assistant's freedom."""

    SAME = "same"
    LOOSENED = "loosened"
    TIGHTENED = "tightened"
    MIXED = "mixed"


def resolve_envelope(tool: EnvelopePatch, server: EnvelopePatch, default: EnvelopePatch) -> Envelope:
    """Each field is the first one set among tool entry, server, default and the built-in most restrictive envelope."""
    layers, built_in = (tool, server, default), MOST_RESTRICTIVE
    return Envelope(
        surface=_first((each.surface for each in layers), built_in.surface),
        side_effecting=_first((each.side_effecting for each in layers), built_in.side_effecting),
        reversible=_first((each.reversible for each in layers), built_in.reversible),
        required_permission=_first((each.required_permission for each in layers), built_in.required_permission),
        unknown_arguments=_first((each.unknown_arguments for each in layers), built_in.unknown_arguments),
        record=_first((each.record for each in layers), built_in.record),
        audit_arguments=_first((each.audit_arguments for each in layers), built_in.audit_arguments),
    )


_Value = TypeVar("_Value")


def _first(values: Iterable[_Value | Unset], built_in: _Value) -> _Value:
    return next((value for value in values if value is not UNSET), built_in)


def difference_words(before: Envelope, after: Envelope) -> str:
    """The fields in which two envelopes differ, as `surface locked -> open, side effects true -> false`."""
    sides = (
        ("surface", before.surface.value, after.surface.value),
        ("side effects", str(before.side_effecting).lower(), str(after.side_effecting).lower()),
        ("reversible", str(before.reversible).lower(), str(after.reversible).lower()),
        ("permission", before.required_permission or "none", after.required_permission or "none"),
        ("unknown arguments", before.unknown_arguments.value, after.unknown_arguments.value),
        ("record", before.record.value, after.record.value),
        ("audit arguments", before.audit_arguments.value, after.audit_arguments.value),
    )
    return ", ".join(f"{field} {old} -> {new}" for field, old, new in sides if old != new)


def strictest(first: Envelope, second: Envelope) -> Envelope:
    """The stricter value of each field; of two different permissions the first one's, as neither is stricter."""
    digest = AuditedArguments.DIGEST in (first.audit_arguments, second.audit_arguments)
    rejects = UnknownArguments.REJECT in (first.unknown_arguments, second.unknown_arguments)
    return Envelope(
        surface=max(first.surface, second.surface, key=_SURFACE_RANK.__getitem__),
        side_effecting=first.side_effecting or second.side_effecting,
        reversible=first.reversible and second.reversible,
        required_permission=first.required_permission or second.required_permission,
        unknown_arguments=UnknownArguments.REJECT if rejects else UnknownArguments.PASS,
        record=Recording.FULL if Recording.FULL in (first.record, second.record) else Recording.DIGEST,
        audit_arguments=AuditedArguments.DIGEST if digest else AuditedArguments.VALUES,
    )


_SURFACE_RANK = {Surface.OPEN: 0, Surface.LOCKED: 1, Surface.HUMAN_CONTROLLED: 2}


def compare_envelopes(before: Envelope, after: Envelope) -> Direction:
    """Whether `after` is looser, tighter, both (mixed) or the same. One required name for another is mixed."""
    steps = [new - old for old, new in zip(_strictness(before), _strictness(after), strict=True)]
    if None not in (before.required_permission, after.required_permission):
        renamed = before.required_permission != after.required_permission
        steps += [1, -1] if renamed else []
    tighter, looser = any(step > 0 for step in steps), any(step < 0 for step in steps)
    return {
        (False, False): Direction.SAME,
        (True, False): Direction.TIGHTENED,
        (False, True): Direction.LOOSENED,
        (True, True): Direction.MIXED,
    }[tighter, looser]


def _strictness(envelope: Envelope) -> tuple[int, ...]:
    """How strict each field is, 0 the freest; of a required permission only whether there is one."""
    return (
        _SURFACE_RANK[envelope.surface],
        int(envelope.side_effecting),
        int(not envelope.reversible),
        int(envelope.required_permission is not None),
        int(envelope.unknown_arguments is UnknownArguments.REJECT),
        int(envelope.record is Recording.FULL),
        int(envelope.audit_arguments is AuditedArguments.DIGEST),
    )
