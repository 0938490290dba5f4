"""provider_name: the model-facing alias of a tool, computed once and durable from then on.

Decides which alias a tool gets (explicit, recorded, computed; DESIGN.md section 4) and when two names clash. The tool part
never depends on the order of tools; a suffix is added only where the readable name is too long, reserved, shared within
the listing, or held by another attachment. Nothing here, or anywhere, splits an alias: routing is a table look-up. Pure.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from remit.core.canonical import base32_of
from remit.core.identity import ProviderName

__all__ = [
    "ALIAS_PATTERN",
    "MAX_ALIAS",
    "RESERVED_NAMES",
    "AliasClash",
    "AliasLedger",
    "base_names",
    "fold",
    "folded_reserved",
    "suffixed_alias",
]

MAX_ALIAS = 64
ALIAS_PATTERN = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}\Z")
"""What every model provider accepts (reference: OpenAI, Bedrock and Gemini name rules, their common part)."""

RESERVED_NAMES = frozenset(
    {
        "append_scratchpad", "browser", "code_execution", "code_interpreter", "computer", "computer_use",
        "delegate_task", "delegate_to_agent", "execute_code", "fetch_url", "file_search", "handoff", "image_generation",
        "list_delegations", "multi_tool_use", "open_url", "parallel", "perform_web_search", "python", "read_scratchpad",
        "read_web_page", "search_web_page", "shell", "update_scratchpad", "vector_store_search", "web_fetch", "web_search",
        "write_scratchpad",
    }
)  # fmt: skip
"""The platform's internal tools (code execution, web, delegation, scratchpad, file search), compared case-folded.

`reserved_names:` in mcp.yaml extends it.
"""

_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_RUN = re.compile(r"_{2,}")
_SUFFIX = 8


def fold(name: str) -> str:
    """The form two aliases are compared in: providers differ on case, so no two may differ by case alone."""
    return name.casefold()


def folded_reserved(extra: Iterable[str]) -> frozenset[str]:
    """The reserved names, folded: the platform's and those that a file adds."""
    return frozenset(fold(name) for name in (*RESERVED_NAMES, *extra))


def _tool_part(remote_name: str) -> str:
    return _RUN.sub("_", _OTHER.sub("_", remote_name)).strip("_") or "tool"


def suffixed_alias(namespace: str, remote_name: str) -> ProviderName:
    """The alias with its hash: base cut to fit, `_` and 8 base32 characters of the namespace and remote name."""
    suffix = "_" + base32_of(_SUFFIX, "alias-v1", namespace, remote_name)
    base = f"{namespace}__{_tool_part(remote_name)}"
    return ProviderName(base[: MAX_ALIAS - len(suffix)].rstrip("_") + suffix)


def base_names(namespace: str, remote_names: Iterable[str], reserved: Collection[str]) -> dict[str, ProviderName]:
    """The alias of each name of one full listing, before any assistant is looked at.

    A name that needed no change keeps its readable alias against names that were changed into it; where several names
    have an equal right (they differ by case only), all of them get the suffix.
    """
    plain = {name: ProviderName(f"{namespace}__{_tool_part(name)}") for name in set(remote_names)}
    claims: dict[str, list[str]] = {}
    for name, alias in plain.items():
        claims.setdefault(fold(alias), []).append(name)
    kept = {_winner(names) for names in claims.values()}
    return {
        name: alias
        if name in kept and len(alias) <= MAX_ALIAS and fold(alias) not in reserved
        else suffixed_alias(namespace, name)
        for name, alias in plain.items()
    }


def _winner(names: list[str]) -> str | None:
    if len(names) == 1:
        return names[0]
    unchanged = [name for name in names if _tool_part(name) == name]
    return unchanged[0] if len(unchanged) == 1 else None


@dataclass(frozen=True, slots=True)
class AliasClash:
    """An alias that cannot be given, and the full origin of who holds it."""

    provider_name: ProviderName
    holder: str


@dataclass(slots=True)
class AliasLedger:
    """The names of one assistant while a plan is made: who holds which, folded.

    The only check of uniqueness in the product; the database enforces the same rule. `taken` maps a folded name to the
    full origin of its holder.
    """

    taken: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, holders: Mapping[str, str], reserved: Iterable[str]) -> "AliasLedger":
        """A ledger in which reserved names and `holders` (name to origin) are taken."""
        taken = {fold(name): "a reserved name of the platform" for name in reserved}
        return cls({**taken, **{fold(name): origin for name, origin in holders.items()}})

    def claim_exactly(self, provider_name: ProviderName, origin: str) -> AliasClash | None:
        """Take an explicit alias, or say who holds it."""
        holder = self.taken.get(fold(provider_name))
        if holder is not None and holder != origin:
            return AliasClash(provider_name, holder)
        self.taken[fold(provider_name)] = origin
        return None

    def claim(self, computed: ProviderName, fallback: ProviderName, origin: str) -> ProviderName | AliasClash:
        """Take the computed alias, or the suffixed one where another attachment holds it."""
        clash = self.claim_exactly(computed, origin)
        if clash is None:
            return computed
        return fallback if self.claim_exactly(fallback, origin) is None else clash
