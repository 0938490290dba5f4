"""The envelope: OUR policy for a tool, resolved field by field and compared by strictness.

Decides which layer's value holds (tool entry, server, `mcp.default_envelope`, built-in; DESIGN.md section 3) and whether
one envelope is looser than another. A server's annotations never come in here. Pure.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal

__all__ = [
    "MOST_RESTRICTIVE",
    "UNSET",
    "Direction",
    "Envelope",
    "EnvelopePatch",
    "Surface",
    "compare_envelopes",
    "difference_words",
    "resolve_envelope",
]


class Surface(StrEnum):
    """How a tool may be reached, strictest last."""

    OPEN = "open"
    LOCKED = "locked"
    HUMAN_CONTROLLED = "human_controlled"


class _Unset(Enum):
    UNSET = "unset"


UNSET: Literal[_Unset.UNSET] = _Unset.UNSET
"""A field that a layer says nothing about; `None` is a value (`required_permission: null`)."""

Unset = Literal[_Unset.UNSET]


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A resolved policy: every field decided."""

    surface: Surface
    side_effecting: bool
    reversible: bool
    required_permission: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopePatch:
    """What one layer of the file says; `UNSET` where it says nothing."""

    surface: Surface | Unset = UNSET
    side_effecting: bool | Unset = UNSET
    reversible: bool | Unset = UNSET
    required_permission: str | None | Unset = UNSET


MOST_RESTRICTIVE = Envelope(
    surface=Surface.HUMAN_CONTROLLED, side_effecting=True, reversible=False, required_permission=None
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
    layers = (tool, server, default)
    surface = next((layer.surface for layer in layers if layer.surface is not UNSET), MOST_RESTRICTIVE.surface)
    side_effecting = next(
        (layer.side_effecting for layer in layers if layer.side_effecting is not UNSET), MOST_RESTRICTIVE.side_effecting
    )
    reversible = next(
        (layer.reversible for layer in layers if layer.reversible is not UNSET), MOST_RESTRICTIVE.reversible
    )
    permission = next(
        (layer.required_permission for layer in layers if layer.required_permission is not UNSET),
        MOST_RESTRICTIVE.required_permission,
    )
    return Envelope(
        surface=surface, side_effecting=side_effecting, reversible=reversible, required_permission=permission
    )


def difference_words(before: Envelope, after: Envelope) -> str:
    """The fields in which two envelopes differ, as `surface locked -> open, side effects true -> false`."""
    sides = (
        ("surface", before.surface.value, after.surface.value),
        ("side effects", str(before.side_effecting).lower(), str(after.side_effecting).lower()),
        ("reversible", str(before.reversible).lower(), str(after.reversible).lower()),
        ("permission", before.required_permission or "none", after.required_permission or "none"),
    )
    return ", ".join(f"{field} {old} -> {new}" for field, old, new in sides if old != new)


_SURFACE_RANK = {Surface.OPEN: 0, Surface.LOCKED: 1, Surface.HUMAN_CONTROLLED: 2}


def compare_envelopes(before: Envelope, after: Envelope) -> Direction:
    """Whether `after` is looser, tighter, both (mixed) or the same. One required name for another is mixed."""
    steps = [
        _SURFACE_RANK[after.surface] - _SURFACE_RANK[before.surface],
        int(after.side_effecting) - int(before.side_effecting),
        int(before.reversible) - int(after.reversible),
    ]
    if None not in (before.required_permission, after.required_permission):
        renamed = before.required_permission != after.required_permission
        steps += [1, -1] if renamed else []
    else:
        steps.append(int(after.required_permission is not None) - int(before.required_permission is not None))
    tighter, looser = any(step > 0 for step in steps), any(step < 0 for step in steps)
    return {
        (False, False): Direction.SAME,
        (True, False): Direction.TIGHTENED,
        (False, True): Direction.LOOSENED,
        (True, True): Direction.MIXED,
    }[tighter, looser]
