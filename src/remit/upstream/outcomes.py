"""What became of a call, in the words of the port: a fault of upstream as the answer that a caller acts on.

Decides by the fault's code why a call failed, and whether it can have run: it cannot where the transport never took it, or
where whoever took it is known to have refused it. Everything else is `lost`, so that nothing is ever sent twice by mistake.
"""

from collections.abc import Mapping

from remit.core.calls import FailureCode
from remit.core.remote_ports import Delivery, RemoteCall, RemoteError, RemoteFault
from remit.upstream.client import CIRCUIT_OPEN, TIMEOUT_ABSOLUTE, TIMEOUT_IDLE
from remit.upstream.faults import SERVER_GONE, Fault
from remit.upstream.http_transport import HTTP_STATUS, SESSION_LOST
from remit.upstream.redirects import REDIRECTED
from remit.upstream.sdk_session import RPC_ERROR

__all__ = ["failure_of"]

_ALWAYS: Mapping[str, FailureCode] = {
    "queue_full": FailureCode.QUEUE_FULL,
    CIRCUIT_OPEN: FailureCode.CIRCUIT_OPEN,
    TIMEOUT_IDLE: FailureCode.TIMEOUT_IDLE,
    TIMEOUT_ABSOLUTE: FailureCode.TIMEOUT_ABSOLUTE,
}
"""Codes that mean the same whether the call went out or not."""

_AFTER_SENDING: Mapping[str, FailureCode] = {
    SERVER_GONE: FailureCode.SERVER_GONE,
    "too_large": FailureCode.RESULT_TOO_LARGE,
    "protocol": FailureCode.RESULT_INVALID,
    # No answer of the protocol, and none that another attempt would change: also what only reads is not sent again.
    REDIRECTED: FailureCode.RESULT_INVALID,
    "closed": FailureCode.SERVER_GONE,
}
"""Codes of a call that went out; before that they are about the opening, and the server is unreachable."""


def failure_of(fault: Fault, call: RemoteCall, *, server: str, handed: bool) -> RemoteError | RemoteFault:
    """The answer that a fault is; `handed` is whether the transport took the call."""
    where = f"server {server!r}, tool {call.remote_name!r}"
    if fault.code == RPC_ERROR and handed and fault.rpc_code is not None:
        return RemoteError(rpc_code=fault.rpc_code, message=fault.said or "")
    unsent = not handed or fault.refused
    return RemoteFault(
        code=_code_of(fault, handed=handed),
        message=f"{where}: {_words(fault, call)}",
        delivery=Delivery.NOT_SENT if unsent else Delivery.LOST,
        session_lost=call.session is not None and unsent and fault.code in (SESSION_LOST, SERVER_GONE),
    )


def _code_of(fault: Fault, *, handed: bool) -> FailureCode:
    if fault.code in _ALWAYS:
        return _ALWAYS[fault.code]
    if not handed or fault.refused:
        return FailureCode.UNREACHABLE
    if fault.code == HTTP_STATUS and fault.reason == "protocol":
        # An answer with status 200 that is none of MCP, e.g. the page of a proxy.
        return FailureCode.RESULT_INVALID
    return _AFTER_SENDING.get(fault.code, FailureCode.UNREACHABLE)


def _words(fault: Fault, call: RemoteCall) -> str:
    match fault.code:
        case "timeout_idle":
            return f"no answer and no progress for {call.idle_seconds:g} s, the limit of one silence"
        case "timeout_absolute":
            return f"no answer within {call.total_seconds:g} s, the limit of the whole call"
        case _:
            return fault.message
