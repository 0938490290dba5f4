"""The second send of a call: what must still be as it was when the first one was let out.

Decides that a call goes out again only on the very terms of its intent, and says which of them is another one. Whether it is
worth sending again is remit.runtime.ending's; that nothing moves while it is let out is the journal's. Pure.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

from remit.core.approvals import ApprovalBinding
from remit.core.calls import FailureCode
from remit.core.remote_ports import RemoteFault
from remit.runtime.case import Case

__all__ = ["Again", "NotAgain", "changed_terms", "not_sent_again"]

_WORDS: Mapping[str, str] = {
    "envelope_digest": "its policy",
    "definition_digest": "its approved definition",
    "identity_key": "the address of its server",
    "server": "the name of its server",
}
"""What a caller reads of a changed term; the others go by their own names."""


@dataclass(frozen=True, slots=True)
class NotAgain:
    """Why a call is not sent a second time.

    `code` is what the gate says by now; None leaves the code of the first send's fault. `side_effecting` is what the policy
    says by now, as a call that may have had effects by the newer reading is as little known as by the older one.
    """

    message: str
    code: FailureCode | None = None
    side_effecting: bool = False


Again: TypeAlias = Callable[[], Awaitable[Case | NotAgain]]
"""Lets a call out once more: the case as it is decided now, whose session it is pinned to, or why it does not go out."""


def changed_terms(before: Case, after: Case) -> NotAgain | None:
    """Why a call that was let out as `before` cannot go out as `after`; None where both are the same call."""
    was, now = before.binding(), after.binding()
    changed = [
        _word(each.name) for each in fields(ApprovalBinding) if getattr(was, each.name) != getattr(now, each.name)
    ]
    if not changed:
        return None
    why = f"{' and '.join(changed)} changed meanwhile"
    return NotAgain(why, side_effecting=after.tool.attachment.envelope.side_effecting)


def _word(name: str) -> str:
    return _WORDS.get(name, f"its {name}")


def not_sent_again(fault: RemoteFault, why: NotAgain) -> RemoteFault:
    """What the first send came to, with the reason why there is no second one; whether it arrived stays as it was."""
    if why.code is not None:
        return replace(fault, code=why.code, message=why.message)
    return replace(fault, message=f"{fault.message}. It is not sent again: {why.message}")
