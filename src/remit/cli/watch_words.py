"""What a watch says in one line each: of files, servers, plans, and of what is in the way.

Decides wordings; where they go is the view's. Everything that a server or a file may have written is made printable.
"""

from remit.config.loader import Loaded, Rejected
from remit.core.live import Listed
from remit.core.plan import LOCK_MISSING, HoldReason
from remit.core.watch_ports import Attention
from remit.reconcile.watch import Cause
from remit.reconcile.watch_servers import ServerState
from remit.render.escape import escape_terminal
from remit.render.layout import counted
from remit.render.plan_sentences import counts_words
from remit.render.shapes import PlanDocument

__all__ = [
    "answer_words",
    "attention_words",
    "cause_words",
    "files_words",
    "has_content",
    "held_words",
    "plan_words",
    "rejected_words",
    "seconds_words",
]

_CAUSES = {
    Cause.START: "first plan",
    Cause.FILES: "files changed",
    Cause.INTERVAL: "interval",
    Cause.SERVER: "a server changed",
    Cause.DATABASE: "the database changed",
}

_UNTIL = {
    HoldReason.NOT_REPLACED: "held until `exclude` names what the new server lacks, or `moved` says it is the same server",
    HoldReason.ENDPOINT_UNLISTED: "held until the new endpoint could be listed",
    HoldReason.LOOSENED_WHILE_UNCHECKED: "held until the server answers",
}
"""What neither an acceptance nor a lock lets through, and what does."""

_OF_GROUPS = {HoldReason.NOT_REPLACED, HoldReason.ENDPOINT_UNLISTED}


def cause_words(cause: Cause) -> str:
    """What a plan was made for."""
    return _CAUSES[cause]


def files_words(loaded: Loaded) -> str:
    """Which files hold, and what they declare."""
    desired = loaded.desired
    names = ", ".join(escape_terminal(each.path) for each in desired.files)
    return f"{names}: {counted(len(desired.servers), 'server')}, {counted(len(desired.assistants), 'assistant')}"


def rejected_words(rejected: Rejected, *, held: bool) -> str:
    """What is wrong with the files, and what stands meanwhile; `held` is whether any that this watch read did hold."""
    if all(each.code == "config-missing" for each in rejected.diagnostics):
        names = ", ".join(escape_terminal(each.address) for each in rejected.diagnostics if each.address)
        if held:
            return f"{names} is missing: nothing is done; the last valid files stand until it is back"
        return f"{names} is missing: nothing is done until it is there; `remit init` writes a first one"
    problems = counted(len(rejected.diagnostics), "problem")
    stand = "the last valid ones stand until they are mended" if held else "they are looked at again once they changed"
    return f"the files are not valid ({problems}): nothing is done; {stand}"


def answer_words(state: ServerState) -> str:
    """What a server said last."""
    observation = state.observation
    if not isinstance(observation, Listed):
        return (
            f"unreachable ({observation.reason}): {escape_terminal(observation.detail)}" if state.is_known else "asked"
        )
    bad = f", {len(observation.quarantined)} quarantined" if observation.quarantined else ""
    return f"{counted(len(observation.tools), 'tool')}{bad}"


def attention_words(state: ServerState) -> str:
    """How the next change of a server is noticed."""
    if not state.is_known:
        return "waiting for its answer"
    if not isinstance(state.observation, Listed):
        return f"what is attached stays, stale; asked again in {seconds_words(state.next_in)}"
    match state.attention:
        case Attention.PUSH:
            return "says when its tools change"
        case Attention.SUBSCRIPTION:
            return "says on a subscription when its tools change"
        case Attention.PUSH_AND_POLLING:
            return f"says when its tools change, and is polled every {seconds_words(state.next_in)}"
        case Attention.POLLING:
            return f"polled every {seconds_words(state.next_in)}"


def seconds_words(seconds: float | None) -> str:
    """`2 s`, `0.5 s`, `5 min`."""
    if seconds is None:
        return "a while"
    return f"{seconds / 60:g} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:g} s"


def has_content(document: PlanDocument) -> bool:
    """Whether a plan says anything beside that all is as it should be."""
    parts = ("operations", "held", "problems", "drift", "deferred")
    return not document["complete"] or any(document[part] for part in parts)


def held_words(document: PlanDocument) -> list[str]:
    """What each sort of what is held waits for, in a line each; what waits for another of its group follows that one."""
    reasons = {reason for each in document["held"] for reason in each.get("held_because", ())}
    until = [words for reason, words in _UNTIL.items() if reason in reasons]
    reasons -= {*_UNTIL, HoldReason.ENDPOINT_GROUP} if reasons & _OF_GROUPS else {*_UNTIL}
    if not reasons:
        return until
    missing = any(problem["code"] == LOCK_MISSING for problem in document["problems"])
    if missing or document["config"]["lock"] is not None:
        return ["held until the lock approves it: `remit lock`, and have its change reviewed", *until]
    return ["held until somebody accepts it: `remit apply` with the --accept shown above, or the lock", *until]


def plan_words(document: PlanDocument) -> str:
    """A plan in one line."""
    return counts_words(document).removeprefix("Plan: ")
