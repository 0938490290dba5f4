"""What `remit explain` says about governed calls: every code a failed one can carry, and the runtime's own errors."""

from collections.abc import Mapping

from remit.core.calls import FailureCode
from remit.core.codes import Explanation

__all__ = ["CODES", "FAILURES"]

_DENIED = "Nothing went out. Every call is decided anew on what is recorded at that moment, whatever list the model was shown."
_LOST = (
    "An answer can be lost after the tool has done its work. Where its envelope says that it has side effects, the call is "
    "recorded as unknown and never sent again, as a second execution may be worse than none."
)

FAILURES: Mapping[FailureCode, Explanation] = {
    FailureCode.UNKNOWN_TOOL: Explanation(
        "No attached tool of this assistant has that name.",
        _DENIED,
        "`remit status` lists the attached tools; names are compared letter by letter.",
    ),
    FailureCode.SUSPENDED: Explanation(
        "An operator suspended the tool, its server or the assistant.",
        _DENIED + " An apply does not lift a suspension.",
        "`remit suspend --list` says who and why; `remit resume ADDRESS` ends it.",
    ),
    FailureCode.TOOL_DISABLED: Explanation(
        "The attachment or its server is disabled.",
        _DENIED,
        "set `enabled: true` on the server in mcp.yaml and apply.",
    ),
    FailureCode.TOOL_QUARANTINED: Explanation(
        "The server lists the tool in a form that cannot be used.",
        _DENIED + " It is back in service when the server lists it soundly.",
        "`remit drift` names the reason; have it mended on the server.",
    ),
    FailureCode.TOOL_VANISHED: Explanation(
        "A complete listing of the server no longer has the tool.",
        _DENIED + " Its attachment and alias are kept.",
        "remove it from mcp.yaml, or have the server offer it again.",
    ),
    FailureCode.DATABASE_DRIFT: Explanation(
        "The function or the definition of the tool was edited in the database, outside of apply.",
        "Nobody approved what stands there, so nothing is called under it.",
        "run `remit apply`; it writes the approved definition back.",
    ),
    FailureCode.DEFINITION_DRIFTED: Explanation(
        "The server changed the tool since it was approved, more than its surface lets pass.",
        "A locked tool is called under the approved contract only; a human_controlled one under exactly that contract.",
        "`remit plan` shows the change; accept it there, or have the server go back.",
    ),
    FailureCode.CONTRACT_UNKNOWN: Explanation(
        "The server gave no listing, so the approved contract cannot be compared with what it offers now.",
        "Unknown is not unchanged: locked and human_controlled tools are not called on a guess.",
        "look at the reason in the message; the next call asks again.",
    ),
    FailureCode.PERMISSION_DENIED: Explanation(
        "The tool needs a permission that the caller does not hold.",
        _DENIED,
        "grant it under the assistant's `permissions:` and apply, or use a token that is not narrowed.",
    ),
    FailureCode.INVALID_ARGUMENTS: Explanation(
        "The arguments do not fit the approved schema, or are no sound JSON object.",
        "They are checked before anything leaves, and sent exactly as they came: never coerced, never filled.",
        "correct what the message names. `unknown_arguments: pass` in the tool's policy lets unnamed ones through.",
    ),
    FailureCode.IDEMPOTENCY_CONFLICT: Explanation(
        "The idempotency key was used before, for another tool or other arguments; or the run has a call with this id.",
        "A key, or the id of a tool call in its run, stands for one call, which is carried out once.",
        "use a new key, or a new id, for a new call.",
    ),
    FailureCode.CALL_IN_FLIGHT: Explanation(
        "A call with this idempotency key, or this id in its run, is under way.",
        "It is carried out once; its outcome answers the repetition when it is there.",
        "ask again later with the same key and arguments.",
    ),
    FailureCode.APPROVAL_REQUIRED: Explanation(
        "The tool is human_controlled: a person must approve these very arguments first.",
        "The approval is bound to caller, tool, definition, policy and arguments, lasts minutes and works once.",
        "`remit approvals show ID`, then `remit approvals approve ID`; then make the same call again.",
    ),
    FailureCode.APPROVAL_DENIED: Explanation(
        "A person refused the call, or too many requests of this caller are waiting.",
        "A no stands until its window is over; silence is a no too.",
        "do not repeat the call; ask the person who refused it.",
    ),
    FailureCode.RUN_OVER: Explanation(
        "The run has ended or was cancelled.",
        "The recorded state of a run is the authority over everything it does.",
        "start another run.",
    ),
    FailureCode.TIMEOUT_IDLE: Explanation(
        "The server said nothing for `timeout_seconds`: no progress and no answer.",
        _LOST,
        "raise `timeout_seconds` of the server if its work takes longer between two signs of life.",
    ),
    FailureCode.TIMEOUT_ABSOLUTE: Explanation(
        "The call took longer than `call_timeout_seconds`, or than the caller's own limit.",
        "Progress extends the idle limit and never this one. " + _LOST,
        "raise `call_timeout_seconds` of the server, or split the work.",
    ),
    FailureCode.SERVER_GONE: Explanation(
        "The server ended, or cut the connection, while the call was under way.",
        _LOST,
        "look at the server's own log; the next call connects again.",
    ),
    FailureCode.UNREACHABLE: Explanation(
        "The server could not be reached, or refused the request before working on it.",
        "The message says why: a name, a certificate, credentials, a reference that is not set.",
        "mend what it names; `remit discover` tries the same connection.",
    ),
    FailureCode.CIRCUIT_OPEN: Explanation(
        "The server failed several times in a row, so it is left alone for a moment.",
        "A server that keeps dying is not helped by more callers; one of them tries again when the pause is over.",
        "wait for the time in the message; look at the server.",
    ),
    FailureCode.QUEUE_FULL: Explanation(
        "Too many calls to this server are waiting already.",
        "A queue without a bound only moves the failure to a later and worse moment.",
        "call less at once.",
    ),
    FailureCode.RPC_ERROR: Explanation(
        "The server answered the call with a JSON-RPC error.",
        "The protocol went through, the request was refused; the code stands in the message and in the audit.",
        "read the message; an unknown tool on the server is a case for `remit drift`.",
    ),
    FailureCode.RESULT_INVALID: Explanation(
        "The server's answer is no tool result of the protocol.",
        "The tool may have done its work; what it sent cannot be handed on.",
        "report it to the server's makers; `remit trace show` has the answer as it came.",
    ),
    FailureCode.RESULT_TOO_LARGE: Explanation(
        "The answer is larger than a message may be.",
        "One answer must not take the memory of all; the tool may have done its work.",
        "ask for less, or page through it.",
    ),
    FailureCode.INPUT_REQUIRED: Explanation(
        "The server wants to ask the user something before it goes on.",
        "Nothing is answered on a person's behalf, so the call ends here.",
        "give what it asks for as arguments, if the tool has any for it.",
    ),
    FailureCode.OUTCOME_UNKNOWN: Explanation(
        "An earlier call with this key may have been carried out, and its outcome is not known.",
        _LOST,
        "look at the effect itself, then use a new key if it has to be done again.",
    ),
    FailureCode.CANCELLED: Explanation(
        "The run or the caller cancelled the call.",
        "The server was told. What it had done by then it had done; no output was made up.",
        "nothing to do.",
    ),
    FailureCode.NOT_RECORDED: Explanation(
        "The call could not be recorded, so it did not go out.",
        "Nothing has an effect without a durable record of the intent: no disk, no call.",
        "mend the database that the message names, then call again.",
    ),
    FailureCode.INTERNAL_ERROR: Explanation(
        "remit failed in a way it should not.",
        "A failure inside the gate denies, one while a call is under way leaves it unknown.",
        "report it with the trace id.",
    ),
}
"""One entry for each code; a test finds a code without one."""

CODES: Mapping[str, Explanation] = {
    **{code.value: explanation for code, explanation in FAILURES.items()},
    "binding-refused": Explanation(
        "A tool cannot be bound to its name in a run: the name is the platform's, or bound already.",
        "A model calls by name alone, so one name must never mean two tools.",
        "give the tool another alias, or unbind the other one.",
    ),
    "caller-invalid": Explanation(
        "A run was started for a principal or a thread whose name cannot be recorded.",
        "An empty name is not the assistant itself: permissions and approvals hang on who calls. It has 1 to 256 characters.",
        "name who calls, or leave it out where the assistant calls for itself.",
    ),
    "output-invalid": Explanation(
        "An output that was posted for a call of the consumer cannot be kept.",
        "It is recorded with its call, so it is a text of at most 4 MiB that UTF-8 can hold. The call goes on waiting.",
        "post a shorter text, or one without halves of surrogate pairs.",
    ),
    "no-waiting-call": Explanation(
        "An output was posted for a call that does not wait for one.",
        "Only calls that were handed to the consumer wait, and each takes one output.",
        "`remit runs show` lists the calls of a run with their states.",
    ),
    "other-event-loop": Explanation(
        "A run was used from another event loop than the one that it was started in.",
        "Connections and deadlines live in one loop: a call from another one would go out, and its answer would never arrive.",
        "open a runtime in each event loop that makes calls, or hand the call over with asyncio.run_coroutine_threadsafe.",
    ),
    "unknown-assistant": Explanation(
        "There is no assistant of that name.",
        "An unknown name is refused instead of being given something else's tools.",
        "`remit status` lists the recorded assistants; `remit apply` creates the declared ones.",
    ),
}
