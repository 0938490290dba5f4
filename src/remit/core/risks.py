"""What a reviewer should look at first: findings in text, policy that runs unattended, claims, protection, namespaces.

Decides which risks an operation carries; it holds nothing back (core/acceptance.py does). Server annotations are compared
with our policy and reported where they contradict it; they change nothing (DESIGN.md section 3). Pure.
"""

from collections.abc import Iterable

from remit.core.definition import Definition
from remit.core.envelope import Direction, Envelope, Surface
from remit.core.findings import Finding, FindingSeverity, find, find_new
from remit.core.operations import ChangeClass, Risk, RiskCode

__all__ = [
    "attach_risks",
    "direction_risks",
    "namespace_risks",
    "policy_risks",
    "protection_risks",
    "refresh_risks",
]


def attach_risks(definition: Definition, envelope: Envelope) -> tuple[Risk, ...]:
    """The risks of giving a tool with this text to a model under this policy."""
    return (*_findings(find(definition)), *policy_risks(definition, envelope))


def refresh_risks(before: Definition, after: Definition, classes: frozenset[ChangeClass]) -> tuple[Risk, ...]:
    """The risks of a changed definition: what is new in its text, and what breaks or is claimed anew."""
    risks = list(_findings(find_new(before, after)))
    if ChangeClass.BREAKING in classes:
        risks.append(Risk(RiskCode.BREAKING, "calls that were valid before may be refused or answered differently"))
    if ChangeClass.CLAIMS in classes:
        risks.append(Risk(RiskCode.CLAIMS, "the server changed what it claims about side effects"))
    return tuple(risks)


def policy_risks(definition: Definition | None, envelope: Envelope) -> tuple[Risk, ...]:
    """Irreversible side effects that run without a human, and claims that contradict a policy looser than they are.

    Without a definition there are no claims to compare with.
    """
    risks: list[Risk] = []
    if envelope.side_effecting and not envelope.reversible and envelope.surface is not Surface.HUMAN_CONTROLLED:
        risks.append(Risk(RiskCode.IRREVERSIBLE_UNATTENDED, f"irreversible side effects on surface {envelope.surface}"))
    if not envelope.side_effecting and (claim := _side_effect_claim(definition)):
        risks.append(Risk(RiskCode.CLAIM_CONTRADICTS, f"policy says side_effecting: false, the server says {claim}"))
    return tuple(risks)


def _side_effect_claim(definition: Definition | None) -> str | None:
    # Parsing is dear at 5,000 tools, so only a text that can hold such a claim is parsed.
    if definition is None:
        return None
    if '"destructiveHint":true' not in definition.text and '"readOnlyHint":false' not in definition.text:
        return None
    annotations = definition.content().annotations
    if annotations.get("destructiveHint") is True and annotations.get("readOnlyHint") is not True:
        return "destructiveHint: true"
    return "readOnlyHint: false" if annotations.get("readOnlyHint") is False else None


def direction_risks(direction: Direction, words: str) -> tuple[Risk, ...]:
    """The risk of a policy change, if it frees anything. `words` say what changed."""
    code = {Direction.LOOSENED: RiskCode.LOOSENED, Direction.MIXED: RiskCode.MIXED}.get(direction)
    return () if code is None else (Risk(code, words),)


def protection_risks(*, before: bool, after: bool) -> tuple[Risk, ...]:
    """The risk of lifting `protect`, which a later plan may use."""
    detail = "from the apply after this one on it may be removed or left without tools"
    return (Risk(RiskCode.PROTECTION_LIFTED, detail),) if before and not after else ()


def namespace_risks(before: str, after: str) -> tuple[Risk, ...]:
    """The risk of another namespace: tools of one server under two."""
    detail = f"tools attached from now on are called {after}__..., those attached before keep {before}__..."
    return () if before == after else (Risk(RiskCode.NAMESPACE_CHANGED, detail),)


def _findings(findings: Iterable[Finding]) -> Iterable[Risk]:
    for finding in findings:
        code = RiskCode.FINDING_HIGH if finding.severity is FindingSeverity.HIGH else RiskCode.FINDING_LOW
        yield Risk(code, f"{finding.rule} at {'.'.join(map(str, finding.path))}: {finding.excerpt}")
