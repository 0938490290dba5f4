"""What `remit explain CODE` says: the shape of an entry, and the codes of plans.

Each package keeps the entries of the codes it raises in its own `codes.py`; the CLI joins them, and a test finds any code
that has no entry. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CODES", "PLAN_CODES", "Explanation"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One code: what it means in one sentence, why remit cares, and what to do."""

    summary: str
    why: str
    fix: str


PLAN_CODES: Mapping[str, Explanation] = {
    "tool-not-advertised": Explanation(
        "The file selects a tool that the server does not list.",
        "A misspelt or removed name would otherwise look like a tool that is simply not there yet.",
        "correct the name (`remit discover SERVER` lists them), or remove it from `include`.",
    ),
    "tool-quarantined": Explanation(
        "The server lists the tool in a form that cannot be used.",
        "A schema that is invalid, too large or points elsewhere would break the assistant's whole tool list.",
        "have it mended on the server; leave it out of `include` until then. Its neighbours are not affected.",
    ),
    "pattern-matches-nothing": Explanation(
        "A glob under `include` matches no tool of a complete listing.",
        "It is legal, as tools may come later, but it is usually a misspelling.",
        "look at `remit discover SERVER` and correct the pattern.",
    ),
    "policy-unmatched": Explanation(
        "A policy entry under a server's `tools:` names no tool that the server lists.",
        "A misspelt name leaves the tool that was meant under the server's looser or stricter policy.",
        "correct the name, or remove the entry.",
    ),
    "alias-clash": Explanation(
        "Two tools want the same model-facing name on one assistant (names that differ by case only are the same).",
        "A model calls tools by that name alone; giving it twice would send a call to the wrong tool.",
        "give one of them another name under `aliases:`. Names that are attached already stay as they are.",
    ),
    "alias-historic": Explanation(
        "An attached tool keeps an alias that would come out otherwise today.",
        "Aliases are durable: stored conversations, prompts and logs know the tool by its name.",
        "nothing to do; declare another name under `aliases:` if you want it changed, which the plan shows as a danger.",
    ),
    "alias-reserved": Explanation(
        "An attached tool has a name that is reserved for the platform by now.",
        "A reserved name may be routed to the platform's own tool; existing attachments are not broken for it.",
        "give the tool another name under `aliases:` when its users can follow.",
    ),
    "definition-lost": Explanation(
        "The recorded definition of an attachment was changed outside remit, and the approved one is not to be had.",
        "Its digest no longer matches its text, so nobody knows what the model would read.",
        "restore the database from a backup, or remove the tool from the file, apply, select it again and apply.",
    ),
    "permission-missing": Explanation(
        "Tools of an assistant ask for a permission that it does not hold.",
        "Every call of them would be denied, while the model is offered them.",
        "add the permission to the assistant's `permissions`, or take the tools out of its selection.",
    ),
    "assistant-elsewhere": Explanation(
        "The file states permissions of an assistant that another workspace created.",
        "Only the workspace that created an assistant sets its fields, so that two files never undo each other.",
        "set them in that workspace's file, or leave `permissions` out here.",
    ),
    "ambiguous-match": Explanation(
        "One declared server could be either of two registrations: one has its name, the other its endpoint.",
        "Guessing would hand one server's attachments and aliases to the other.",
        "make the two changes in two applies, or keep the old name declared until the first is applied.",
    ),
    "registered-elsewhere": Explanation(
        "Another workspace of the same owner registered this endpoint.",
        "Two workspaces that both manage one registration would undo each other's changes.",
        "remove it from one of them, or set `instance:` where the endpoint is registered twice on purpose.",
    ),
    "not-owner": Explanation(
        "The rows belong to another principal than the file's `owner`.",
        "Only an owner changes registrations, assistants and attachments.",
        "set the right `owner:`, or choose another name or workspace.",
    ),
    "server-taken": Explanation(
        "A declared server needs a name or an endpoint that a registration keeps.",
        "Names are unique in a workspace and endpoints of an owner; the holder is still used elsewhere, left out of this plan, "
        "or has a problem itself.",
        "change or remove the holder in an apply before this one, or give the server another name, endpoint or `instance:`.",
    ),
    "still-used": Explanation(
        "A registration is no longer declared here, but tools of it are attached by another workspace.",
        "Deleting it would take tools from assistants that this file does not manage.",
        "declare the server again, or detach its tools in the other workspace first.",
    ),
    "too-many-detaches": Explanation(
        "A plan detaches more than max(3, 30 %) of a server's, an assistant's or the workspace's attachments.",
        "Such a plan is far more often a broken file, a wrong branch or a wrong database than a wish. Nothing is applied.",
        "look at the plan; if it is meant, pass `--allow-detach N` with exactly the number it states.",
    ),
    "assistant-emptied": Explanation(
        "A plan leaves an assistant without any tool.",
        "An assistant without tools is broken for its users, and a lost file section looks just like this.",
        "look at the plan; if it is meant, pass `--allow-detach N` with exactly the number it states.",
    ),
    "desired-emptied": Explanation(
        "The file asks for nothing any more, while the database holds attachments or registrations.",
        "An emptied file is far more often an accident than a wish.",
        "look at the file; if it is meant, pass `--allow-detach N` with exactly the number stated.",
    ),
    "files-vanished": Explanation(
        "A file that declared part of the workspace at the last apply is not read any more, and the plan takes something back.",
        "A lost include, a forgotten -f or --env and a deleted file look alike: as if less were wanted. Nothing is applied. A "
        "file that was renamed, or merged into another, takes nothing back and is not asked about.",
        "restore the file, name it again (`include`, -f, --env), or pass `--allow-missing-file FILE` if it is meant to be gone.",
    ),
    "lock-missing": Explanation(
        "The workspace was applied by a lock before, and there is no lock file now.",
        "Without it every change that a server makes would wait for a prompt again, and what a name selects would run unseen: "
        "a lost file must not loosen that. Nothing is applied, and no flag lifts it.",
        "bring the file back (`git checkout`), write it anew with `remit lock`, or say `lock: none` in the file.",
    ),
    "protected": Explanation(
        "A plan removes or empties a server or an assistant that is recorded with `protect: true`.",
        "Whoever deletes an entry deletes its `protect` with it, so the recorded one counts. Nothing is applied, and neither a flag "
        "nor an entry of `removed` lifts it.",
        "declare it as before but without `protect`, apply that, and remove it in an apply after that one.",
    ),
    "moved-ambiguous": Explanation(
        "An entry of `moved` leads from something recorded to a name that something else is recorded under.",
        "Two sets of rows cannot become one; guessing would hand one's attachments and aliases to the other. Nothing is applied.",
        "remove one of the two in an apply before this one, or delete the entry.",
    ),
    "moved-elsewhere": Explanation(
        "An entry of `moved` names a workspace or an assistant that this file does not own.",
        "Only the owner of rows gives them another name. Nothing is applied.",
        "move it where it is owned, or delete the entry.",
    ),
    "moved-done": Explanation(
        "An entry of `moved` has nothing left to do here.",
        "It may still be needed where the file was not applied yet, another environment for one, so it is a note only.",
        "delete the entry once every environment has applied it.",
    ),
    "moved-policy-kept": Explanation(
        "A tool moved to another name whose policy is looser than the recorded one.",
        "A move is no place to loosen anything unseen: it keeps the stricter value of each field.",
        "nothing, or look at the plan after the next apply: it shows the looser policy by itself.",
    ),
    "rename-suggested": Explanation(
        "A tool came with the contract of one that went: the server lists the one and not the other, or the file selects so.",
        "If they are one tool under another name, its alias need not change; only a person can know.",
        "paste the entry of `moved` from the hint, or leave it as it is.",
    ),
    "released-already": Explanation(
        "`removed: {keep: true}` names a server, and one of the same name was released before and belongs to no file yet.",
        "Released servers are found by their endpoints, and told apart by their names.",
        "adopt the other one first, or give this one another name with `moved` in an apply before this one.",
    ),
    "removed-done": Explanation(
        "An entry of `removed` names something that is not recorded.",
        "It is done, or the name is misspelt. It lifts nothing else meanwhile.",
        "delete the entry, or correct the address.",
    ),
    "bound-elsewhere": Explanation(
        "The workspace was first applied from another repository or path than these files.",
        "Two sources that apply to one workspace undo each other, and a copied folder would take everything over. Nothing is applied.",
        "apply from the place that the message names, choose another `workspace:`, or pass --rebind where the files moved for good.",
    ),
    "older-commit": Explanation(
        "What is checked out is an ancestor of the commit that was applied last.",
        "A late or repeated pipeline run would take back what a later one applied. Nothing is applied.",
        "check out the newer commit, or pass --allow-older-commit where going back is meant; a revert is a newer commit and passes.",
    ),
    "environment-other": Explanation(
        "The workspace is applied for another environment than this plan is for, or for one where `--env` is missing here.",
        "An overlay narrows what the files below it ask for, so a forgotten one would attach tools that nobody approved for that "
        "environment. Nothing is applied.",
        "pass the `--env` that the message names, give each environment a database or a `workspace:` of its own, or pass "
        "--change-env where the workspace is to be applied for this environment for good.",
    ),
    "environment-changes": Explanation(
        "`--change-env` was given: the workspace is applied for this environment from now on.",
        "Whoever goes on as before is refused after this apply.",
        "change `--env` wherever the workspace is planned and applied.",
    ),
    "commit-unknown": Explanation(
        "The commit that was applied last is not in this clone.",
        "A shallow clone cannot tell whether what is checked out is older, so it is a warning only.",
        "fetch the whole history in the job that applies, such as `fetch-depth: 0`.",
    ),
    "lock-alias-historic": Explanation(
        "An attached tool has another alias than the lock gives it.",
        "Aliases are durable, so the name that reviewers read in the lock is not the one that models call it by.",
        "run `remit lock`, which writes the alias that is in service, or declare the other one under `aliases:`.",
    ),
    "not-in-lock": Explanation(
        "A tool is attached and selected, and the lock does not have it.",
        "The lock is what reviewers approved. What was attached before stays in service, as only the file detaches.",
        "run `remit lock` and have its change reviewed, or take the tool out of `include`.",
    ),
    "accept-mismatch": Explanation(
        "`--accept` named a digest that is not the definition's that is offered now.",
        "The acceptance was for another text; the server changed it again.",
        "look at the change in the plan, and accept its digest if it is right.",
    ),
}

CODES: Mapping[str, Explanation] = {
    "lock-alias": Explanation(
        "The lock calls a tool otherwise than the file does, or two tools of an assistant the same.",
        "A model calls tools by that name alone, and reviewers saw another one.",
        "run `remit lock` and have its change reviewed; where two share a name, declare another under `aliases:`.",
    ),
    "lock-incomplete": Explanation(
        "The file selects a tool by name, and the lock does not have it.",
        "It would be held at every apply, as nobody reviewed what it is.",
        "run `remit lock` and have its change reviewed, or take the tool out of `include`.",
    ),
    "lock-unselected": Explanation(
        "The lock has a tool that the file does not select.",
        "It does nothing, but whoever reads the lock takes it for in use.",
        "run `remit lock`, which takes it out.",
    ),
}
"""What is no plan's: what a check of a lock against its file finds (core/lock_review.py)."""
