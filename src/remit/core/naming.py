"""Who gets which alias on one assistant: kept names first, then declared ones, then computed ones.

Decides renames and clashes for all tools of an assistant at once, so that two aliases can be swapped and the outcome does
not depend on any order (DESIGN.md section 4). Pure.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from remit.core.aliases import AliasClash, AliasLedger, fold, suffixed_alias
from remit.core.identity import ProviderName
from remit.core.recorded import RecordedAttachment

__all__ = ["Claim", "KeptNames", "claim_all", "settle_kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNames:
    """The names of attachments that stay. Keys are recorded names; `refused` are declared names that clashed."""

    final: Mapping[ProviderName, ProviderName]
    refused: Mapping[ProviderName, AliasClash]


def settle_kept(
    kept: Sequence[RecordedAttachment], declared: Mapping[ProviderName, ProviderName], fixed: Mapping[str, str]
) -> KeptNames:
    """Give kept attachments their declared names where those are free, their recorded names else.

    `declared` maps recorded to declared names, `fixed` maps names nobody here can change to their holders' origins. A
    refused rename falls back to its recorded name, which may refuse another rename in turn; that ends, as each round only
    takes renames back.
    """
    holders = {fold(name): origin for name, origin in fixed.items()}
    wanted = {each.provider_name: declared.get(each.provider_name, each.provider_name) for each in kept}
    refused: dict[ProviderName, AliasClash] = {}
    while True:
        counts = Counter(fold(name) for name in wanted.values())
        clashing = [
            old for old, new in sorted(wanted.items()) if old != new and (fold(new) in holders or counts[fold(new)] > 1)
        ]
        if not clashing:
            return KeptNames(final=wanted, refused=refused)
        for old in clashing:
            rival = next(
                (other for other, name in wanted.items() if other != old and fold(name) == fold(wanted[old])), ""
            )
            holder = holders.get(fold(wanted[old])) or f"the attachment {rival!r}"
            refused[old] = AliasClash(wanted[old], holder)
            wanted[old] = old


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A tool about to be attached. `key` identifies it to the caller, `origin` to a person."""

    key: tuple[str, str]
    origin: str
    namespace: str
    explicit: ProviderName | None
    computed: ProviderName


def claim_all(
    claims: Iterable[Claim], holders: Mapping[str, str], reserved: Collection[str]
) -> dict[tuple[str, str], ProviderName | AliasClash]:
    """A name, or a clash, for each claim: declared names first, each group in the order of its keys."""
    ledger = AliasLedger.of(holders, reserved)
    ordered = sorted(claims, key=lambda claim: (claim.explicit is None, claim.key))
    return {claim.key: _claim(claim, ledger) for claim in ordered}


def _claim(claim: Claim, ledger: AliasLedger) -> ProviderName | AliasClash:
    if claim.explicit is not None:
        return ledger.claim_exactly(claim.explicit, claim.origin) or claim.explicit
    fallback = suffixed_alias(claim.namespace, claim.key[1])
    return ledger.claim(claim.computed, fallback, claim.origin)
