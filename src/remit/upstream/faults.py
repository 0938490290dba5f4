"""What goes wrong on a connection to an MCP server, as one error type with a reason.

Decides which reason of `core.live.UnreachableReason` a fault counts as, and how an exception of the SDK, of the HTTP
layer or of the operating system becomes a fault. It masks nothing: whoever makes a `detail` masks it first.
"""

from collections.abc import Iterator
from typing import cast

from remit.core.live import Unreachable, UnreachableReason
from remit.errors import UpstreamError

__all__ = ["SERVER_GONE", "Fault", "breaks_connection", "fault_of", "unreachable_of", "unwrap"]

SERVER_GONE = "server_gone"
"""The code of every call that was pending when its server died."""


class Fault(UpstreamError):
    """An MCP server could not be reached, listed or called.

    `reason` is what a listing reports. `code` says more where a caller must tell cases apart: `server_gone`,
    `session_lost`, `redirected`, `rpc_error` (with `rpc_code` and the server's own text in `said`), `queue_full`, `circuit_open`,
    `closed`; otherwise it equals the reason. `refused` is whether the request is known not to have been carried out,
    although it was on its way: nobody took it, or whoever did said no before anything else.
    """

    def __init__(
        self,
        reason: UnreachableReason,
        message: str,
        *,
        code: str | None = None,
        place: str | None = None,
        rpc_code: int | None = None,
        said: str | None = None,
        refused: bool = False,
    ):
        super().__init__(message, code=code or reason.value, place=place)
        self.reason = reason
        self.rpc_code = rpc_code
        self.said = said
        self.refused = refused

    def worded(self, message: str) -> "Fault":
        """The same fault in other words."""
        return Fault(
            self.reason,
            message,
            code=self.code,
            place=self.place,
            rpc_code=self.rpc_code,
            said=self.said,
            refused=self.refused,
        )


def unwrap(error: BaseException) -> Iterator[BaseException]:
    """The leaves of nested exception groups, in order; an error that is no group is its own leaf."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        for inner in group.exceptions:
            yield from unwrap(inner)
    else:
        yield error


def fault_of(error: BaseException, doing: str) -> Fault:
    """The fault that an exception stands for.

    Of a group the first fault counts. A foreign exception is named by its type only, as its text may hold what a server
    or the environment said.
    """
    leaves = list(unwrap(error))
    for leaf in leaves:
        if isinstance(leaf, Fault):
            return leaf
    for leaf in leaves:
        if isinstance(leaf, TimeoutError):
            return Fault(UnreachableReason.TIMEOUT, f"{doing} took too long")
    names = ", ".join(sorted({type(leaf).__name__ for leaf in leaves}))
    return Fault(UnreachableReason.PROTOCOL, f"{doing} failed ({names})")


def breaks_connection(fault: Fault) -> bool:
    """Whether the fault of one request says that the connection is broken, or cannot be made; HTTP says it in no other way.

    An answer that refuses a request (401, 429) comes over a connection that is well.
    """
    unconnected = fault.reason in (UnreachableReason.REFUSED, UnreachableReason.TIMEOUT) and fault.refused
    return fault.code == SERVER_GONE or (unconnected and fault.code == fault.reason.value)


def unreachable_of(fault: Fault) -> Unreachable:
    """A fault as the observation that a plan sees."""
    return Unreachable(reason=fault.reason, detail=fault.message)
