"""What a caller gives beside the arguments: name, ids, key and limit of a call, outputs, and what of them may be kept.

Decides what is refused before anything is looked up, as each of these texts goes into rows that are kept for ever (security.md,
inputs 45 to 52). Whether a name is a tool's is the registry's. Pure.
"""

from remit.render.escape import well_formed

__all__ = ["MAX_NAME", "MAX_OUTPUT_BYTES", "flaw_of_call", "flaw_of_name", "flaw_of_output", "kept_name"]

MAX_NAME = 256
"""Characters of a tool's name, a tool_call_id, an idempotency key, a principal or a thread id."""

MAX_OUTPUT_BYTES = 4 * 1024 * 1024
"""Bytes, in UTF-8, of what a consumer posts as the output of its own tool."""


def flaw_of_call(*, name: object, tool_call_id: object, idempotency_key: object, timeout_seconds: object) -> str | None:
    """Why a call is none that may be recorded, in words for its caller; None where it is one. Values are not quoted."""
    # An empty name is no tool of remit's and goes on to the consumer; an empty id is none, and the call gets one.
    texts = {} if name == "" else {"name of the tool": name}
    texts |= {} if tool_call_id is None or tool_call_id == "" else {"tool_call_id": tool_call_id}
    texts |= {} if idempotency_key is None else {"idempotency key": idempotency_key}
    flaws = (flaw_of_name(what, text) for what, text in texts.items())
    return next((flaw for flaw in flaws if flaw is not None), None) or _flaw_of_limit(timeout_seconds)


def flaw_of_name(what: str, text: object) -> str | None:
    """Why a text cannot name anything that is recorded."""
    if not isinstance(text, str):
        return _no_text(what, text)
    if not text:
        return f"the {what} is empty"
    if len(text) > MAX_NAME:
        return f"the {what} has more than {MAX_NAME} characters"
    if "\0" in text:
        return f"the {what} holds a NUL character"
    return _flaw_of_pairs(what, text)


def flaw_of_output(text: object) -> str | None:
    """Why a text cannot be kept as the output of a consumer's tool."""
    if not isinstance(text, str):
        return _no_text("output", text)
    if flaw := _flaw_of_pairs("output", text):
        return flaw
    size = len(text.encode("utf-8"))
    return f"the output has {size:,} bytes, more than {MAX_OUTPUT_BYTES:,}" if size > MAX_OUTPUT_BYTES else None


def _no_text(what: str, given: object) -> str:
    return f"the {what} must be a text, not {type(given).__name__[:MAX_NAME]}"


def _flaw_of_pairs(what: str, text: str) -> str | None:
    return None if text.isascii() or well_formed(text) == text else f"the {what} holds half of a surrogate pair"


def _flaw_of_limit(seconds: object) -> str | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return f"timeout_seconds must be a number, not {type(seconds).__name__[:MAX_NAME]}"
    # NaN is smaller than no limit, so it would set none.
    return "timeout_seconds must be a number" if seconds != seconds else None


def kept_name(text: object) -> str:
    """What an audit event may hold of such a text, also where it was refused for what it is."""
    if not isinstance(text, str):
        return f"<{type(text).__name__[:MAX_NAME]}>"
    short = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}..."
    return well_formed(short).replace("\0", "\\0")
