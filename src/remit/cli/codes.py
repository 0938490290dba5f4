"""Every code there is, gathered from the packages that raise them, with the ones of the command line itself."""

from collections.abc import Mapping

from remit.core.codes import Explanation

__all__ = ["CODES", "all_codes"]

CODES: Mapping[str, Explanation] = {
    "usage": Explanation(
        "The command line cannot be meant as it stands.",
        "A misspelt flag, server or address that matched nothing would otherwise look like nothing to do.",
        "mend the command line as the message says; `remit COMMAND --help` shows every flag. Exit code 64.",
    ),
    "workspace-default": Explanation(
        "The workspace `default` was used with a database that others may share.",
        "Rows belong to a workspace; two repositories that both call theirs `default` would detach each other's tools.",
        "give the configuration a `workspace:` of its own.",
    ),
    "accept-with-lock": Explanation(
        "`--accept` was passed where a lock is in force.",
        "The lock is the approval of what servers say, reviewed with its whole text; a flag beside it would be a way around. "
        "Exit code 64.",
        "run `remit lock`, have its change reviewed, and leave out --accept; or say `lock: none` in the file.",
    ),
    "lock-absent": Explanation(
        "There is no lock file.",
        "Nothing says which definitions were reviewed.",
        "write one with `remit lock`, and commit it.",
    ),
    "lock-disabled": Explanation(
        "The configuration says `lock: none`, so there is no lock to write or to check.",
        "A lock that is written and not obeyed would only look like an approval.",
        "remove `lock: none` from the configuration.",
    ),
    "lock-findings": Explanation(
        "A definition in the lock has a high finding, and the note that says so is not beside it.",
        "The notes are there so that a reviewer does not miss what hides in a text.",
        "run `remit lock`, which writes the notes anew.",
    ),
    "lock-kept": Explanation(
        "A server does not list an attached tool any more, or not in a form that can be used.",
        "Only the file takes a tool away, so its entry in the lock stays as it was approved.",
        "have it mended on the server, or take the tool out of `include` and run `remit lock`.",
    ),
    "lock-needed": Explanation(
        "`--offline` plans from the lock, and there is none.",
        "Without a lock and without the servers nobody knows what any tool is.",
        "write one with `remit lock`, or plan without `--offline`.",
    ),
    "lock-not-written": Explanation(
        "A server could not be listed, and there is no lock that can be read to take its entries from.",
        "A lock without them would hold every change of these tools from then on, as if somebody had decided that.",
        "run `remit lock` when the servers answer; bring a broken lock back from version control, or delete it to begin anew.",
    ),
    "lock-unlisted": Explanation(
        "A server could not be listed while the lock was written.",
        "Unknown is not empty: its entries stay as they were, and nothing new of it is locked.",
        "run `remit lock --server NAME` when it answers; pass `--allow-empty NAME` for one that is to have no tools.",
    ),
    "github-api": Explanation(
        "The API of GitHub refused what `remit ci` asked of it, or did not answer.",
        "Without it there is no comment to review, or no way to know what was reviewed.",
        "give the job `permissions: {contents: read, pull-requests: write}` and the step `GITHUB_TOKEN`, then run it again.",
    ),
    "untrusted-link": Explanation(
        "`plan --untrusted`, or in a pipeline `validate`, `lock --check` or `plan --offline`, met a configuration, overlay or "
        "lock that is a symbolic link out of the checkout.",
        "What is wrong in a file is quoted in the log and in the comment; a branch that links to a secret of the runner would "
        "have it printed.",
        "commit the file itself; `plan` without `--untrusted` and `--offline` follows the link, for branches that are trusted.",
    ),
    "output-unwritable": Explanation(
        "A file that the run was asked to write cannot be written: a saved plan, a summary, the files of a CI job.",
        "A pipeline would go on with the file of an earlier run, or with none.",
        "name a file in a folder that exists and that may be written.",
    ),
    "not-approved": Explanation(
        "Apply needs an approval and there is no terminal to ask on.",
        "What no person approved reaches no model; a plan that nobody looked at is not approved by being run.",
        "pass a reviewed plan (`remit apply PLAN`), its digest (`--approve-digest`), or `--auto-approve` for what the "
        "reviewed file asks for.",
    ),
    "owner-unknown": Explanation(
        "mcp.yaml is not valid, and the database does not record exactly one owner.",
        "Suspensions, approvals and runs belong to an owner; acting for the wrong one would stop somebody else's calls, or "
        "nobody's.",
        "mend the file as `remit validate` says, or name a valid one with -f: only its `owner` is needed.",
    ),
    "approval-hash": Explanation(
        "The hash that was passed is not the one of this request.",
        "An approval is for one call with the very arguments that a person read; another hash is another request.",
        "read the request again with `remit approvals show ID`, and pass the hash that it prints.",
    ),
    "approval-not-open": Explanation(
        "The request cannot be decided like this any more: it was decided already, was used, or its time is over.",
        "A decision counts once, and silence is a denial; nothing opens a request again.",
        "repeat the call: it makes a new request. An approval that was not used yet can be revoked.",
    ),
    "file-exists": Explanation(
        "`remit init` would overwrite a file.",
        "A configuration is written once and edited from then on.",
        "edit the file that is there, or run `remit init` in another folder.",
    ),
    "database-damaged": Explanation(
        "The database's own check found a fault in its file.",
        "What it holds may not be what was approved.",
        "keep a copy of the file, restore it from a backup, and look at the disk.",
    ),
    "calls-abandoned": Explanation(
        "Calls stand as under way, and the process that made them is gone.",
        "Nobody knows whether they happened; they are never sent again.",
        "make any governed call, which marks them `unknown`, and look on the server what became of them.",
    ),
    "secret-unset": Explanation(
        "A server references an environment variable that is not set and has no default, or a file that cannot be read.",
        "The server cannot be connected to without it.",
        "set the variable or put the file where remit runs, or give the reference a default (`${env:NAME:-default}`).",
    ),
    "database-error": Explanation(
        "The database refused.",
        "Whatever was not committed was rolled back as a whole.",
        "Look at what the message says, then run the same command again.",
    ),
    "database-version": Explanation(
        "The database's schema is not this remit's.",
        "remit never recreates or repairs a database on its own: what it holds may be the only record of approvals.",
        "Run `remit db upgrade` for an older one, a newer remit for a newer one.",
    ),
    "internal-error": Explanation(
        "Something that cannot happen did: a defect of remit.",
        "Whatever was not committed yet was rolled back; nothing is half-applied.",
        "run again with REMIT_DEBUG=1 and report what it prints.",
    ),
}


def all_codes() -> Mapping[str, Explanation]:
    """Codes of all packages and words of a plan, by slug; a code of its own outweighs a word."""
    from remit.config.codes import CODES as CONFIG_CODES
    from remit.core.codes import CODES as CORE_CODES
    from remit.core.codes import PLAN_CODES
    from remit.core.explanations import PLAN_WORDS
    from remit.reconcile.codes import CODES as RECONCILE_CODES
    from remit.runtime.codes import CODES as RUNTIME_CODES
    from remit.store.codes import CODES as STORE_CODES
    from remit.upstream.codes import CODES as UPSTREAM_CODES

    return {
        **PLAN_WORDS,
        **PLAN_CODES,
        **CORE_CODES,
        **CONFIG_CODES,
        **STORE_CODES,
        **UPSTREAM_CODES,
        **RECONCILE_CODES,
        **RUNTIME_CODES,
        **CODES,
    }
