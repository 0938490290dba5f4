"""Faults of our own transports, carried through the SDK as the JSON-RPC errors of single requests.

An exception in a transport would end the SDK's whole session with every other request on it (measured with 2.3.0; issue
python-sdk#3560), so a transport answers the one request instead, and `SdkSession` takes the fault out of the answer again.
"""

from collections.abc import Mapping
from typing import cast

from mcp_types import ErrorData

from remit.core.live import UnreachableReason
from remit.upstream.faults import Fault

__all__ = ["error_of_fault", "fault_of_error"]

_MARK = "remit"
_CODE = -32000


def error_of_fault(fault: Fault) -> ErrorData:
    """The error that stands for a fault."""
    mark = {"reason": fault.reason.value, "code": fault.code, "detail": fault.message, "refused": fault.refused}
    return ErrorData(code=_CODE, message=fault.message, data={_MARK: mark})


def fault_of_error(error: ErrorData) -> Fault | None:
    """The fault that our transport put into a JSON-RPC error, or None for an error that the server itself sent.

    A server can forge the mark; it gains nothing that another answer would not give it.
    """
    data = cast("object", error.data)
    if not isinstance(data, dict):
        return None
    mark = cast("Mapping[str, object]", data).get(_MARK)
    if not isinstance(mark, dict):
        return None
    facts = cast("Mapping[str, object]", mark)
    try:
        reason = UnreachableReason(str(facts.get("reason")))
    except ValueError:
        return None
    code = facts.get("code")
    return Fault(
        reason,
        str(facts.get("detail")),
        code=code if isinstance(code, str) else None,
        refused=facts.get("refused") is True,
    )
