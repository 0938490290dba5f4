"""The words that people read for the values of a plan, as tables. Decides wording only."""

from collections.abc import Mapping

from remit.core.envelope import AuditedArguments, Recording, UnknownArguments
from remit.core.live import SkipReason
from remit.core.operations import OpName, Reason, RiskCode
from remit.core.plan import DeferredReason, DriftKind, HoldReason
from remit.render.escape import escape_terminal
from remit.render.layout import Style, counted
from remit.render.shapes import DatabaseDocument, EnvelopeDocument, UnmanagedDocument

__all__ = [
    "DEFERRED_WORDS",
    "DIRECTION_MARKS",
    "DRIFT_WORDS",
    "HOLD_WORDS",
    "MARKS",
    "REASON_WORDS",
    "RISK_ORDER",
    "SKIP_WORDS",
    "SUMMARY_ORDER",
    "database_words",
    "envelope_words",
    "unmanaged_words",
]

MARKS: Mapping[str, tuple[str, str, Style]] = {
    OpName.ATTACH: ("+", "attach", Style.ADD),
    OpName.DETACH: ("-", "detach", Style.REMOVE),
    OpName.REFRESH: ("~", "refresh", Style.CHANGE),
    OpName.RENAME_ALIAS: ("!", "rename", Style.DANGER),
    OpName.REGISTER_SERVER: ("+", "register", Style.ADD),
    OpName.UPDATE_SERVER: ("~", "update", Style.CHANGE),
    OpName.RENAME_SERVER: ("~", "rename", Style.CHANGE),
    OpName.UNREGISTER_SERVER: ("-", "unregister", Style.REMOVE),
    OpName.CREATE_ASSISTANT: ("+", "create", Style.ADD),
    OpName.UPDATE_ASSISTANT: ("~", "update", Style.CHANGE),
    OpName.DELETE_ASSISTANT: ("-", "delete", Style.REMOVE),
}
"""Sign, verb and style of every operation but `set_envelope`, whose direction decides."""

DIRECTION_MARKS: Mapping[str, tuple[str, str, Style]] = {
    "loosened": ("^", "loosen", Style.DANGER),
    "tightened": ("v", "tighten", Style.SAFER),
    "mixed": ("!", "mixed", Style.DANGER),
    "same": ("~", "policy", Style.CHANGE),
}

SUMMARY_ORDER = (
    OpName.ATTACH,
    OpName.REFRESH,
    OpName.DETACH,
    OpName.SET_ENVELOPE,
    OpName.RENAME_ALIAS,
    OpName.REGISTER_SERVER,
    OpName.UPDATE_SERVER,
    OpName.RENAME_SERVER,
    OpName.UNREGISTER_SERVER,
    OpName.CREATE_ASSISTANT,
    OpName.UPDATE_ASSISTANT,
    OpName.DELETE_ASSISTANT,
)
"""How the last line counts operations."""

RISK_ORDER = (
    RiskCode.ENDPOINT_CHANGE,
    RiskCode.WORKSPACE_MOVED,
    RiskCode.LOOSENED,
    RiskCode.MIXED,
    RiskCode.PROTECTION_LIFTED,
    RiskCode.BREAKING,
    RiskCode.CLAIMS,
    RiskCode.FINDING_HIGH,
    RiskCode.ALIAS_RENAMED,
    RiskCode.NAMESPACE_CHANGED,
    RiskCode.IRREVERSIBLE_UNATTENDED,
    RiskCode.CLAIM_CONTRADICTS,
    RiskCode.DATABASE_DRIFT,
    RiskCode.FINDING_LOW,
)
"""What a reviewer should see first, worst first."""

REASON_WORDS: Mapping[str, str] = {
    Reason.SELECTED_BY_NAME: "selected by name",
    Reason.SELECTED_BY_GLOB: "selected by a glob",
    Reason.NO_LONGER_SELECTED: "no longer selected",
    Reason.SERVER_REMOVED: "its server is no longer declared",
    Reason.SERVER_REPLACED: "another server takes the name of its server",
    Reason.ASSISTANT_REMOVED: "its assistant is no longer declared",
    Reason.DEFINITION_CHANGED: "the server changed it",
    Reason.LOCK_CHANGED: "the lock approves it",
    Reason.DATABASE_DRIFT: "edited in the database outside of apply",
    Reason.POLICY_CHANGED: "policy changed",
    Reason.ALIAS_DECLARED: "alias declared",
    Reason.DECLARED: "declared",
    Reason.CONNECTION_CHANGED: "connection changed",
    Reason.ENDPOINT_CHANGED: "endpoint changed",
    Reason.NAME_CHANGED: "name changed",
    Reason.FIELDS_CHANGED: "fields changed",
    Reason.MOVED: "moved",
    Reason.RELEASED: "released",
    Reason.ADOPTED: "adopted",
}

HOLD_WORDS: Mapping[str, tuple[str, str]] = {
    HoldReason.LIVE_NOT_ACCEPTED: (
        "the server said it and nobody accepted it",
        "pass the --accept of each line that you approve of, or accept it at the prompt of `remit apply`",
    ),
    HoldReason.FINDING: (
        "its text has a finding",
        "read the text, then pass its --accept",
    ),
    HoldReason.LOOSENED_WHILE_DRIFTED: (
        "a policy is not loosened while the tool is drifted or held",
        "accept the tool's definition or mend its drift first, then plan again",
    ),
    HoldReason.LOOSENED_WHILE_UNCHECKED: (
        "a policy is not loosened while the server cannot be asked whether the tool is still the approved one",
        "plan again when the server answers",
    ),
    HoldReason.ENDPOINT_GROUP: (
        "it belongs to a change of endpoint or of server, which is done whole or not at all",
        "settle what else is held of that server; the old one serves until then",
    ),
    HoldReason.ENDPOINT_UNLISTED: (
        "the new endpoint could not be listed",
        "make the new endpoint answer, and plan without --offline; the old endpoint serves until then",
    ),
    HoldReason.NOT_REPLACED: (
        "the server that takes the place of its server has no such tool to attach",
        "name it under `exclude` if it may go, or say with `moved` that the server has only another address",
    ),
    HoldReason.NOT_IN_LOCK: (
        "it is not in the lock",
        "run `remit lock` and have its change reviewed",
    ),
    HoldReason.UNLIKE_LOCK: (
        "the server does not offer the definition that the lock approves",
        "have the server changed back, or run `remit lock` and have its change reviewed",
    ),
}
"""Why something is held, and the way on."""

SKIP_WORDS: Mapping[str, str] = {
    SkipReason.DISABLED: "disabled in the file",
    SkipReason.NOT_REQUESTED: "left out on the command line",
    SkipReason.NEVER_LISTED: "never listed before, and only kept listings were asked for",
    SkipReason.OFFLINE: "planned offline, as if it offered what the lock approves",
    SkipReason.UNTRUSTED_ENTRY: "its entry is not the one that was applied, and this plan is of a branch",
    SkipReason.UNTRUSTED_FILES: "it would run or read files that the branch may have changed",
    SkipReason.UNTRUSTED_DATABASE: "no database outside the checkout says what was applied",
    SkipReason.CACHE_ONLY: "only its kept listing was asked for, and nothing is attached from one",
}

DEFERRED_WORDS: Mapping[str, str] = {
    DeferredReason.UNREACHABLE: "unreachable",
    DeferredReason.DISABLED: "disabled",
    DeferredReason.NOT_ASKED: "not asked",
    DeferredReason.UNTRUSTED: "not asked, as this plan is of a branch",
}

DRIFT_WORDS: Mapping[str, str] = {
    DriftKind.VANISHED: "gone from the server's listing; kept. Take it out of `include` to detach it",
    DriftKind.CHANGED: "not as the lock approves it; what was approved stays in service. Run `remit lock` and have its change reviewed",
    DriftKind.QUARANTINED: "unusable as advertised now; out of service while that lasts",
}


def envelope_words(envelope: EnvelopeDocument) -> str:
    """A policy in words; reversibility is said only of side effects, as nothing else needs undoing.

    What happens to arguments and records is said where it is not the strictest.
    """
    words = [envelope["surface"]]
    if envelope["side_effecting"]:
        words += ["side effects", "reversible" if envelope["reversible"] else "irreversible"]
    else:
        words.append("no side effects")
    if envelope["required_permission"] is not None:
        words.append(f"needs {envelope['required_permission']}")
    if envelope["unknown_arguments"] == UnknownArguments.PASS:
        words.append("unknown arguments pass")
    if envelope["record"] == Recording.DIGEST:
        words.append("messages recorded by digest")
    if envelope["audit_arguments"] == AuditedArguments.VALUES:
        words.append("argument values audited")
    return ", ".join(words)


def database_words(database: DatabaseDocument) -> str:
    """The database in one line."""
    words = [escape_terminal(database["dialect"])]
    if not database["exists"]:
        return f"{words[0]}, does not exist yet: nothing is recorded"
    if database["lineage"] is not None:
        words.append(f"lineage {escape_terminal(database['lineage'])}")
    return ", ".join([*words, f"serial {database['serial']}"])


def unmanaged_words(unmanaged: UnmanagedDocument) -> list[str]:
    """What others own, in one line; no line where there is nothing."""
    counts = (
        (unmanaged["servers"], "server"),
        (unmanaged["assistants"], "assistant"),
        (unmanaged["attachments"], "attachment"),
        (unmanaged["functions"], "function"),
    )
    words = [counted(number, word) for number, word in counts if number]
    return [f"unmanaged, never touched: {', '.join(words)}"] if words else []
