"""What `remit explain` says about the words of a plan: why something is done, held, deferred, and what a risk means.

Tables keyed by the enums that the words come from, so that a test finds any word without an entry. Codes of problems are in
core/codes.py, reasons of an outage and of a quarantine in upstream/codes.py. Decides wording only. Pure.
"""

from collections.abc import Mapping

from remit.core.codes import Explanation
from remit.core.envelope import Direction, Surface
from remit.core.live import SkipReason
from remit.core.operations import ChangeClass, OpName, Reason, RiskCode
from remit.core.plan import DeferredReason, DriftKind, HoldReason

__all__ = ["FINDING_RULES", "PLAN_WORDS"]

_APPROVED = "What no person approved reaches no model; what was approved before stays in service until then."
_UNKNOWN = "Unknown is not empty: nothing is removed because a server could not be looked at."
_FILE = "The review of the file is its approval, so it runs without another one."
_HIDES = "What a person reads and what a model reads would differ, which is how instructions are smuggled in."
_SPEAKS = "A description is read by the model as if it were an instruction; text like this steers it past its user."
_READ = "read the whole text (`remit plan --format json`); accept the tool with --accept only if the text is harmless."

_RISKS: Mapping[str, Explanation] = {
    RiskCode.ENDPOINT_CHANGE: Explanation(
        "A server's address or program changes, or another server takes its name.",
        "All its tools are answered by somebody else from then on.",
        "compare both endpoints character by character before you apply.",
    ),
    RiskCode.WORKSPACE_MOVED: Explanation(
        "`moved` takes over a workspace that is recorded under another name, with all its rows and its history.",
        "Whoever applied it under the old name is refused from then on, and this file decides what its assistants may use.",
        "check that the workspace is yours, and that the numbers in the line are what you expect.",
    ),
    RiskCode.LOOSENED: Explanation(
        "The policy of a tool, or what an assistant may use, becomes freer than it was.",
        "Calls that were refused or waited for a person will run.",
        "check that the looser values are meant; the line names each of them.",
    ),
    RiskCode.MIXED: Explanation(
        "The policy of a tool becomes freer in one field and stricter in another.",
        "The two do not cancel out: something that was refused will run.",
        "check the freer fields as you would a loosening.",
    ),
    RiskCode.PROTECTION_LIFTED: Explanation(
        "A server or an assistant was recorded with `protect: true`, and the file says so no longer.",
        "The plan after this one may remove it, or take all of its tools away.",
        "ask whoever protected it, and what the next change is going to be.",
    ),
    RiskCode.BREAKING: Explanation(
        "A schema changed so that calls that were valid may be refused, or answers look different.",
        "Models, stored prompts and code that knew the old contract fail on the new one.",
        "look at the changed paths; accept the refresh when its users can follow.",
    ),
    RiskCode.CLAIMS: Explanation(
        "The server changed its annotations: what it claims about side effects.",
        "Claims change no policy here, but they are a reason to look at the policy again.",
        "compare the claim with the tool's envelope.",
    ),
    RiskCode.FINDING_HIGH: Explanation(
        "The text of a tool holds characters that hide, or a phrase that addresses the model.",
        _SPEAKS,
        "`remit explain` knows the rule that the line names. " + _READ,
    ),
    RiskCode.FINDING_LOW: Explanation(
        "The text of a tool holds a URL or the name of another server's tool.",
        "Mostly harmless, but a text may send a model to a place or to a tool that nobody meant.",
        "look at the text; nothing is held for it.",
    ),
    RiskCode.ALIAS_RENAMED: Explanation(
        "An attached tool gets another model-facing name because the file says so.",
        "Stored conversations, prompts and logs know the tool by the old name.",
        "apply it when whoever uses the old name can follow.",
    ),
    RiskCode.NAMESPACE_CHANGED: Explanation(
        "The file gives a registered server another namespace.",
        "Aliases are durable, so tools attached before keep the old one, and models see tools of one server under two names.",
        "check that both may stand side by side; `aliases:` renames those of before one by one.",
    ),
    RiskCode.IRREVERSIBLE_UNATTENDED: Explanation(
        "A tool with side effects that cannot be undone runs without a person.",
        "A wrong call cannot be taken back, and nobody sees it before it happens.",
        "use `surface: human_controlled`, or state `reversible: true` if that is so.",
    ),
    RiskCode.CLAIM_CONTRADICTS: Explanation(
        "The policy says that a tool has no side effects, the server says that it has.",
        "One of them is wrong, and calls run under the policy.",
        "ask whoever runs the server, then mend `side_effecting`.",
    ),
    RiskCode.DATABASE_DRIFT: Explanation(
        "Rows of an attachment were edited in the database, outside of apply.",
        "What a model reads would not be what anybody approved; the approved state is restored.",
        "find out who edits the database; apply puts back what was approved.",
    ),
}

_HOLDS: Mapping[str, Explanation] = {
    HoldReason.LIVE_NOT_ACCEPTED: Explanation(
        "A server said it and nobody accepted it yet: a changed definition, or a new tool under a glob.",
        _APPROVED,
        "pass the --accept of each line that you approve of, or accept it at the prompt of `remit apply`.",
    ),
    HoldReason.FINDING: Explanation(
        "The text of the tool has a high finding.",
        _SPEAKS,
        _READ,
    ),
    HoldReason.LOOSENED_WHILE_DRIFTED: Explanation(
        "A policy or permission would be loosened for a tool that drifted or is held.",
        "Nobody knows what the tool is now, so it is no time to let it do more.",
        "accept the tool's definition or mend its drift first, then plan again.",
    ),
    HoldReason.LOOSENED_WHILE_UNCHECKED: Explanation(
        "A policy or permission would be loosened for a tool whose server could not be asked.",
        "Whether the tool is still the approved one is not known.",
        "plan again when the server answers.",
    ),
    HoldReason.ENDPOINT_GROUP: Explanation(
        "It belongs to a change of endpoint, or of the server behind a name, which is done whole or not at all.",
        "Half of it would call one server by the definitions of the other, or take tools away before others take their place.",
        "settle what else is held of that server (accept it, or renew the lock); the old one serves until then.",
    ),
    HoldReason.ENDPOINT_UNLISTED: Explanation(
        "A server moves to an endpoint that could not be listed.",
        "Nobody has seen what answers there, as it did not answer or was not asked (`--offline`).",
        "make the new endpoint answer, and plan without `--offline`; the old endpoint serves until then.",
    ),
    HoldReason.NOT_REPLACED: Explanation(
        "Another server takes the name of the tool's server, and has no such tool that could be attached in its place.",
        "The file still selects the tool, by name or by a glob, so taking it away was nobody's wish.",
        "name it under `exclude` if it may go, or say with `moved` that the server has only another address.",
    ),
    HoldReason.NOT_IN_LOCK: Explanation(
        "A lock is in force and does not have the tool, or not this tool of this assistant.",
        "With a lock nothing enters but what its reviewers saw, also where the file names the tool.",
        "run `remit lock` and have its change reviewed.",
    ),
    HoldReason.UNLIKE_LOCK: Explanation(
        "The lock approves a definition that the server does not offer.",
        "What the server offers was not reviewed, and what was reviewed is not to be had. What was in service stays there.",
        "have the server changed back, or run `remit lock` and have its change reviewed.",
    ),
}

_DRIFT: Mapping[str, Explanation] = {
    DriftKind.VANISHED: Explanation(
        "A server no longer lists a tool that is attached.",
        "Only the file detaches; a server that forgets a tool may remember it tomorrow. The attachment is kept.",
        "have it mended on the server, or take the tool out of `include` to detach it.",
    ),
    DriftKind.QUARANTINED: Explanation(
        "A server lists an attached tool in a form that cannot be used now.",
        "The attachment is kept, but out of service while that lasts.",
        "have it mended on the server; `remit explain` knows the reason that the line names.",
    ),
    DriftKind.CHANGED: Explanation(
        "A server lists another definition of an attached tool than the lock approves.",
        _APPROVED,
        "run `remit lock`, which shows the change, and have it reviewed; or have the server changed back.",
    ),
}

_UNCHECKED: Mapping[str, Explanation] = {
    DeferredReason.UNREACHABLE: Explanation(
        "A server gave no complete listing.",
        _UNKNOWN,
        "look at the reason beside the server under `discovery`, then plan again.",
    ),
    DeferredReason.DISABLED: Explanation(
        "The file says `enabled: false`, so nobody connects to the server.",
        _UNKNOWN,
        "remove `enabled: false` when it is to serve again.",
    ),
    DeferredReason.NOT_ASKED: Explanation(
        "The command line left the server out, or wanted kept listings only.",
        _UNKNOWN,
        "run without `--server` and `--refresh cached` to ask it.",
    ),
    SkipReason.NOT_REQUESTED: Explanation(
        "`--server` names other servers.", _UNKNOWN, "run without `--server`, or name this one too."
    ),
    SkipReason.NEVER_LISTED: Explanation(
        "Only kept listings were asked for, and there is none of this server.",
        _UNKNOWN,
        "run with `--refresh live` once.",
    ),
    SkipReason.CACHE_ONLY: Explanation(
        "Only kept listings were asked for, and apply attaches and refreshes nothing from one.",
        "A kept listing says what a server offered once, not what it would answer now.",
        "run with `--refresh live`.",
    ),
    DeferredReason.UNTRUSTED: Explanation(
        "`plan --untrusted` did not ask the server, as something would have been run, read or sent that was never applied.",
        _UNKNOWN,
        "look beside the server for which part it was; whoever trusts the branch plans without `--untrusted`.",
    ),
    SkipReason.UNTRUSTED_ENTRY: Explanation(
        "`plan --untrusted` met a server that is new, or whose command, URL, variables, headers, credentials, TLS files or "
        "times are not those that were applied.",
        "Whoever opens a pull request writes that entry; a runner that followed it would run their command or send them "
        "its secrets.",
        "review the entry; it is asked once it is applied. With a lock it counts as offering what the lock approves.",
    ),
    SkipReason.UNTRUSTED_FILES: Explanation(
        "`plan --untrusted` met a server as it was applied that runs, or reads, a file of the checkout.",
        "The entry is the same, and the branch may have changed what the file says.",
        "nothing need be done. A server that is installed outside the checkout, with its secrets there, can be asked.",
    ),
    SkipReason.UNTRUSTED_DATABASE: Explanation(
        "`plan --untrusted` found no database, or one inside the checkout, where a branch could have put it.",
        "What was applied before is all that may be run for a branch, and nobody says what that is.",
        "keep the database outside the checkout and name it with REMIT_DATABASE_URL.",
    ),
    SkipReason.OFFLINE: Explanation(
        "`--offline` asks no server; each counts as offering what the lock approves.",
        "What the lock does not know cannot be checked without the server, so it is deferred.",
        "run without `--offline`, or run `remit lock` and have its change reviewed.",
    ),
}

_CLASSES: Mapping[str, Explanation] = {
    ChangeClass.TEXT: Explanation(
        "A text that the model reads changed: a title or a description.",
        "A description steers a model as much as a prompt does.",
        "read both sides, then accept the refresh or leave it held.",
    ),
    ChangeClass.COMPATIBLE: Explanation(
        "A schema changed so that every call that was valid still is.",
        "Nothing breaks, but what a model may send has changed.",
        "accept the refresh if the new part is welcome.",
    ),
}
"""Classes that are no risk as well; `breaking` and `claims` are."""

_REASONS: Mapping[str, Explanation] = {
    Reason.SELECTED_BY_NAME: Explanation("The file names the tool.", _FILE, "nothing; it is what the file asks for."),
    Reason.SELECTED_BY_GLOB: Explanation(
        "A glob of the file matches the tool: the server named it, not the file.",
        _APPROVED,
        "accept it with its --accept, or write its name under `include`.",
    ),
    Reason.NO_LONGER_SELECTED: Explanation(
        "The file no longer selects the tool.", _FILE, "put it back under `include` if it was removed by mistake."
    ),
    Reason.SERVER_REMOVED: Explanation(
        "The file no longer declares the tool's server.", _FILE, "declare the server again if that was a mistake."
    ),
    Reason.SERVER_REPLACED: Explanation(
        "Another server takes the name of the tool's server.",
        "Another host or program under an old name is another server; approvals do not pass to it.",
        "check the endpoint; the tools of the new server are attached as new ones.",
    ),
    Reason.ASSISTANT_REMOVED: Explanation(
        "The file no longer declares the assistant.", _FILE, "declare it again if that was a mistake."
    ),
    Reason.DEFINITION_CHANGED: Explanation(
        "The server changed the definition of an attached tool.", _APPROVED, "look at the changes, then accept them."
    ),
    Reason.LOCK_CHANGED: Explanation(
        "The lock approves another definition than is recorded.",
        "The review of the lock is the approval, so it runs as soon as the server offers that definition.",
        "nothing to do; look at the change.",
    ),
    Reason.DATABASE_DRIFT: Explanation(
        "Rows were edited in the database, outside of apply.",
        "What was approved is put back.",
        "find out who edits the database.",
    ),
    Reason.POLICY_CHANGED: Explanation(
        "The file gives the tool another envelope.", _FILE, "look first at what is loosened."
    ),
    Reason.ALIAS_DECLARED: Explanation(
        "The file gives an attached tool another name under `aliases:`.", _FILE, "apply it when its users can follow."
    ),
    Reason.DECLARED: Explanation(
        "The file declares a server or an assistant, or does so no longer.", _FILE, "nothing; the file asks for it."
    ),
    Reason.CONNECTION_CHANGED: Explanation(
        "The file changes how a server is connected to: arguments, variables, headers, timeouts.",
        "Registration, attachments and aliases stay.",
        "nothing; the file asks for it.",
    ),
    Reason.ENDPOINT_CHANGED: Explanation(
        "The file moves a server to another address.",
        "Its tools are compared with what answers there, and all of it waits where something differs.",
        "compare both endpoints, then accept what changed.",
    ),
    Reason.NAME_CHANGED: Explanation(
        "The file gives a registered server another name.",
        "Registration, attachments and aliases stay; addresses change.",
        "nothing; the file asks for it.",
    ),
    Reason.MOVED: Explanation(
        "An entry of `moved` says that it has another name now and is still the same.",
        _FILE,
        "compare both names; id, attachments, aliases and suspensions stay.",
    ),
    Reason.RELEASED: Explanation(
        "An entry of `removed` says `keep: true`: it stays in service and belongs to no file.",
        _FILE,
        "nothing; the next file that declares it adopts it.",
    ),
    Reason.ADOPTED: Explanation(
        "The file declares what another one released.", _FILE, "check that it is meant to be managed here from now on."
    ),
    Reason.FIELDS_CHANGED: Explanation(
        "The file changes an assistant's permissions or whether it is protected, or a server's namespace, `enabled` or `protect`.",
        _FILE,
        "look first at permissions that are new, and at protection that goes.",
    ),
}

_POLICY: Mapping[str, Explanation] = {
    Surface.OPEN: Explanation(
        "Calls run, and a changed contract is only logged.",
        "The freest surface; never a default.",
        "use it for reads whose server you run yourself.",
    ),
    Surface.LOCKED: Explanation(
        "Calls run under the approved contract only.",
        "A server that changes a tool changes nothing for the model until somebody accepts it.",
        "use it for tools that may run without a person.",
    ),
    Surface.HUMAN_CONTROLLED: Explanation(
        "Every call waits for a person.",
        "The strictest surface, and the one where nobody said anything.",
        "loosen it in the `envelope` of a server or a tool.",
    ),
    Direction.TIGHTENED: Explanation(
        "The policy of a tool becomes stricter.", "Nothing runs that did not run before.", "nothing to fear."
    ),
    Direction.MIXED: Explanation(
        "The policy of a tool becomes freer in one field and stricter in another.",
        "The two do not cancel out.",
        "check the freer fields as you would a loosening.",
    ),
    Direction.SAME: Explanation("The policy stays as strict as it was.", "Nothing is freer.", "nothing."),
}
"""Surfaces, and directions that are no risk under the same word; `loosened` is one."""

_OPERATIONS: Mapping[str, Explanation] = {
    OpName.ATTACH: Explanation("Give a tool to an assistant.", _FILE, "read what is said of it."),
    OpName.DETACH: Explanation(
        "Take a tool from an assistant.", "Only the file detaches, never a server.", "check that it is meant."
    ),
    OpName.REFRESH: Explanation(
        "Take over a tool's changed definition, or restore the approved one.", _APPROVED, "look at the changed paths."
    ),
    OpName.SET_ENVELOPE: Explanation("Change the policy of an attached tool.", _FILE, "look at loosenings first."),
    OpName.RENAME_ALIAS: Explanation(
        "Give an attached tool another model-facing name.", "Its users know the old one.", "tell them."
    ),
    OpName.REGISTER_SERVER: Explanation("Record a server.", _FILE, "look at its endpoint."),
    OpName.UPDATE_SERVER: Explanation(
        "Change how a server is reached.", "Attachments and aliases stay.", "compare both sides."
    ),
    OpName.RENAME_SERVER: Explanation(
        "Give a server another name.", "Attachments and aliases stay.", "use the new name in addresses."
    ),
    OpName.UNREGISTER_SERVER: Explanation(
        "Forget a server; its id is never used again.", "The file no longer declares it.", "check that it is meant."
    ),
    OpName.CREATE_ASSISTANT: Explanation("Record an assistant.", _FILE, "look at its permissions."),
    OpName.UPDATE_ASSISTANT: Explanation("Change an assistant's permissions.", _FILE, "look at what is new."),
    OpName.DELETE_ASSISTANT: Explanation(
        "Forget an assistant that this workspace created.", "The file no longer declares it.", "check that it is meant."
    ),
}

FINDING_RULES: Mapping[str, Explanation] = {
    "ansi-escape": Explanation("A text holds an escape sequence of a terminal.", _HIDES, _READ),
    "bidi-control": Explanation("A text holds a character that reorders what is read.", _HIDES, _READ),
    "control-character": Explanation("A text holds a control character.", _HIDES, _READ),
    "invisible-character": Explanation("A text holds a character that shows nothing.", _HIDES, _READ),
    "tag-character": Explanation("A text holds tag characters: a second, invisible alphabet.", _HIDES, _READ),
    "hidden-comment": Explanation("A text holds an HTML comment with several words.", _HIDES, _READ),
    "encoded-blob": Explanation("A text holds a long run that looks like base64.", _HIDES, _READ),
    "ignore-instructions": Explanation("A text asks to ignore earlier instructions.", _SPEAKS, _READ),
    "secrecy": Explanation("A text asks to keep something from the user.", _SPEAKS, _READ),
    "tool-precondition": Explanation("A text asks for this tool before any other one is used.", _SPEAKS, _READ),
    "model-markup": Explanation("A text holds markup that models take for a role or for emphasis.", _SPEAKS, _READ),
    "system-prompt": Explanation("A text asks for the system prompt.", _SPEAKS, _READ),
    "secret-path": Explanation("A text asks for a file that holds secrets.", _SPEAKS, _READ),
    "exfiltration": Explanation("A text asks to send contents to an address.", _SPEAKS, _READ),
    "url": Explanation(
        "A text holds a URL that it did not hold before.",
        "A model may follow it, or pass it on.",
        "look at where it leads; nothing is held for it.",
    ),
    "tool-name": Explanation(
        "A text names a tool of another server.",
        "One server's text may steer how another server's tools are used.",
        "look at what it says about that tool; nothing is held for it.",
    ),
}
"""The rules of core/finding_rules.py, by slug."""

# A word that several enums share is explained once: where it is a risk, a hold or drift, that says most.
PLAN_WORDS: Mapping[str, Explanation] = {
    str(word): explanation
    for table in (
        _OPERATIONS, _POLICY, _REASONS, _CLASSES, _UNCHECKED, _DRIFT, _HOLDS, _RISKS, FINDING_RULES,
    )
    for word, explanation in table.items()
}  # fmt: skip
"""Every word of a plan, a listing or an error that is no code of its own, with its explanation."""
