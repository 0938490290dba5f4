"""What `remit explain CODE` says about the errors of the database."""

from collections.abc import Mapping

from remit.core.codes import Explanation

__all__ = ["CODES"]

_KEPT = "remit never recreates or repairs a database on its own: what it holds may be the only record of approvals."

CODES: Mapping[str, Explanation] = {
    "action-exists": Explanation(
        "A run already has an action for that tool call.",
        "One tool call has one end; recording it twice would leave it open which of the two went out.",
        "Give every tool call of a run an id of its own. To repeat a call safely, give it an idempotency key.",
    ),
    "approval-altered": Explanation(
        "What the database holds of a request is not what its binding hash was taken of.",
        "Somebody wrote to the database outside of remit: what is shown may not be what an approval would allow.",
        "Deny the request, and find out who writes to the database; `remit audit verify` shows what else was touched.",
    ),
    "approver-refused": Explanation(
        "You may not approve this request: you made it yourself, or you are no person.",
        "A human's approval is worth something only where requester and approver differ. Exit code 3.",
        "Have another person approve it, under their own account.",
    ),
    "audit-damaged": Explanation(
        "An event of the audit trail is none that remit wrote: its number, a text of it or its body is not what it must be.",
        "Somebody wrote to the database outside of remit, or the disk lost something. No event can follow one without a number.",
        "See all that is damaged with `remit audit verify`. Mend that row, or restore the database from a backup.",
    ),
    "database-constraint": Explanation(
        "A row would break a rule of the database, so the whole transaction was rolled back.",
        "The rules keep every attachment together with its function; a plan never asks for such a row.",
        "Plan again. If it happens again, report it with the plan.",
    ),
    "database-corrupt": Explanation("SQLite says that the file is damaged.", _KEPT, "Restore the file from a backup."),
    "database-empty": Explanation(
        "The database file has no content.",
        "SQLite would take it for a new database, and a plan against it would attach everything anew.",
        "Restore it from a backup; or delete it and run `remit db upgrade`, if nothing is lost by that.",
    ),
    "database-exposed": Explanation(
        "Every user of this machine may write or replace the database file.",
        "Whoever writes the file approves tools for every assistant in it.",
        "Take the permission away: `chmod o-w` on the file or on its folder.",
    ),
    "database-foreign": Explanation(
        "The file is a SQLite database of another program.",
        "Adding tables to it could break that program, and its backups would not know about ours.",
        "Name another file in REMIT_DATABASE_URL.",
    ),
    "database-full": Explanation(
        "The disk, or the database's own size limit, is full.",
        "The transaction was rolled back as a whole: the recorded state is the one before.",
        "Make room and run the same command again.",
    ),
    "database-io": Explanation(
        "The disk reported an error while the database was read or written.",
        "The transaction was rolled back as a whole.",
        "Check the disk and the mount, then run the same command again.",
    ),
    "database-locked": Explanation(
        "Another process keeps the database locked.",
        "Locks end with the process that holds them; there is nothing to unlock by hand.",
        "Wait for that process, or end it, and run the command again.",
    ),
    "database-newer": Explanation(
        "The database's schema was written by a newer remit, or is not known at all.",
        "An old remit would misread or drop what a newer one wrote.",
        "Use the newer remit, or name another database.",
    ),
    "database-not-created": Explanation(
        "A new database file could not be made.",
        "It is built beside its final name and published whole, which needs a folder that can be written.",
        "Check the folder's permissions, or name another place in REMIT_DATABASE_URL.",
    ),
    "database-not-sqlite": Explanation(
        "The path names something that is not a SQLite database.", _KEPT, "Name the right file in REMIT_DATABASE_URL."
    ),
    "database-older": Explanation(
        "The database's schema is older than this remit.",
        "A schema is only changed when somebody says so, as older remits cannot use it afterwards.",
        "Back the database up and run `remit db upgrade`.",
    ),
    "database-read-only": Explanation(
        "The database can be read and not written.",
        "Plan needs no more than that; apply does.",
        "Check the permissions of the file and its folder, and how the file system is mounted.",
    ),
    "database-row": Explanation(
        "A row holds something that no remit writes.",
        "Reading around it would make a plan from half of the recorded state.",
        "Find out who changed the database; restore it from a backup or mend the row.",
    ),
    "database-unsupported": Explanation(
        "REMIT_DATABASE_URL names a kind of database that this remit cannot use.",
        "It works on SQLite; PostgreSQL comes with a later version.",
        "Write sqlite:///PATH, or unset the variable for the default file.",
    ),
    "database-unusable": Explanation(
        "The database file cannot be opened.",
        _KEPT,
        "Check the permissions of the file, of its folder and of the -wal and -shm files beside it.",
    ),
    "journal-closed": Explanation(
        "A call came after the journal of its process had been closed.",
        "What cannot be recorded does not go out.",
        "Open the runtime again; close it after its last call only.",
    ),
    "journal-failed": Explanation(
        "A row of the journal could not be made from what it was given.",
        "What cannot be recorded does not go out; the calls beside it are not affected.",
        "Report it with the code that stands beside it: this is a defect of remit.",
    ),
    "no-database": Explanation(
        "There is no database where one was expected.",
        "A database that came out of nowhere would make a forgotten URL plan everything anew.",
        "Create one with `remit init`, `remit db upgrade` or `remit apply --create-db`, or name the right one.",
    ),
    "run-unknown": Explanation(
        "A call or a change names a run that the database does not have.",
        "Every call belongs to a run, so that cancelling the run reaches it.",
        "Start the run first; `remit runs list` shows those that there are.",
    ),
    "server-not-registered": Explanation(
        "A registration that should be changed is not there, or belongs to another workspace.",
        "It went away between the plan and the apply.",
        "Plan again.",
    ),
    "server-still-used": Explanation(
        "A server is replaced by another of its name or endpoint, and assistants still use the old one.",
        "Half of the replacement would leave two servers of one name, so nothing was changed.",
        "Mend what failed for these assistants, then apply again.",
    ),
    "server-not-free": Explanation(
        "A server's name or endpoint is registered already.",
        "One endpoint has one registration for an owner, so that policy on it cannot be split by accident.",
        "Adopt the registration, or tell the two apart by `instance:`.",
    ),
    "state-move": Explanation(
        "Something was to be moved into a state that cannot follow the one it is in.",
        "An end is final; a run or a call that had two would prove nothing.",
        "Report it: this is a defect of remit.",
    ),
    "text-not-storable": Explanation(
        "A name or a path holds a NUL character or a lone surrogate.",
        "SQLite and PostgreSQL would keep it differently, or not at all.",
        "Remove that character.",
    ),
    "watcher-replaced": Explanation(
        "A `remit watch` lost its workspace to another one: it did not renew its lease in time.",
        "A process that slept (a suspended laptop, a stopped container) must not act on what it saw before; the watcher that "
        "took over does. Nothing was written. Exit code 6.",
        "Leave the watching to the one that is named, or end it and start this one again.",
    ),
    "watcher-running": Explanation(
        "Another `remit watch` watches this workspace.",
        "Two watchers would apply the same changes, or undo each other's where they look at different files. Exit code 6.",
        "End the process that is named. A lease that nobody renews ends by itself within half a minute.",
    ),
    "workspace-busy": Explanation(
        "Another process is writing to the database, and did not finish in time.",
        "One apply at a time keeps a plan true while it is carried out.",
        "Run the command again, or wait longer with --lock-timeout; a lock ends with its process.",
    ),
    "workspace-owner": Explanation(
        "The workspace is recorded for another owner.",
        "An owner's registrations and assistants are changed by that owner only.",
        "Set `owner:` to the recorded one, or choose another workspace name.",
    ),
}
