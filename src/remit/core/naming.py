"""Who gets which alias on one assistant: kept names first, then declared ones, then those of a lock, then computed ones.

Decides renames and clashes for all tools of an assistant at once, so that two aliases can be swapped and the outcome does
not depend on any order (DESIGN.md section 4). Pure.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from remit.core.aliases import AliasClash, AliasLedger, fold, suffixed_alias
from remit.core.identity import ProviderName

__all__ = ["Claim", "KeptNames", "claim_all", "settle_kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNames:
    """The names of attachments that stay. Keys are recorded names; `refused` are declared names that clashed."""

    final: Mapping[ProviderName, ProviderName]
    refused: Mapping[ProviderName, AliasClash]


def settle_kept(
    kept: Mapping[ProviderName, str],
    declared: Mapping[ProviderName, ProviderName],
    fixed: Mapping[str, str],
    reserved: Collection[str],
) -> KeptNames:
    """Give kept attachments their declared names where those are free, their recorded names else.

    `kept` maps recorded names to full origins, `declared` recorded to declared names, `fixed` names nobody here can change
    to their holders' origins; no attachment is renamed to a `reserved` name, which one may have from before. A refused
    rename falls back to its recorded name, which may refuse another rename in turn; that ends, as each round only takes
    renames back.
    """
    holders = AliasLedger.of(fixed, reserved).taken
    wanted = {old: declared.get(old, old) for old in sorted(kept)}
    refused: dict[ProviderName, AliasClash] = {}
    while True:
        claimants: dict[str, list[ProviderName]] = {}
        for old, new in wanted.items():
            claimants.setdefault(fold(new), []).append(old)
        clashing = [
            old for old, new in wanted.items() if old != new and (fold(new) in holders or len(claimants[fold(new)]) > 1)
        ]
        if not clashing:
            return KeptNames(final=wanted, refused=refused)
        for old in clashing:
            name = fold(wanted[old])
            holder = holders.get(name) or next(kept[other] for other in claimants[name] if other != old)
            refused[old] = AliasClash(wanted[old], holder)
            wanted[old] = old


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A tool about to be attached. `key` identifies it to the caller, `origin` to a person.

    `explicit` is the name that a file declares, `locked` the one that a lock approves.
    """

    key: tuple[str, str]
    origin: str
    namespace: str
    explicit: ProviderName | None
    computed: ProviderName
    locked: ProviderName | None = None


def claim_all(
    claims: Iterable[Claim], holders: Mapping[str, str], reserved: Collection[str]
) -> dict[tuple[str, str], ProviderName | AliasClash]:
    """A name, or a clash, for each claim: declared names first, then locked ones, each group in the order of its keys."""
    ledger = AliasLedger.of(holders, reserved)
    ordered = sorted(claims, key=lambda claim: (claim.explicit is None, claim.locked is None, claim.key))
    return {claim.key: _claim(claim, ledger) for claim in ordered}


def _claim(claim: Claim, ledger: AliasLedger) -> ProviderName | AliasClash:
    settled = claim.explicit or claim.locked
    if settled is not None:
        return ledger.claim_exactly(settled, claim.origin) or settled
    fallback = suffixed_alias(claim.namespace, claim.key[1])
    return ledger.claim(claim.computed, fallback, claim.origin)
