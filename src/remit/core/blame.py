"""Which applies made an attachment what it is: values that reconcile/blame.py fills and render shows. Decides nothing. Pure."""

from dataclasses import dataclass
from datetime import datetime

from remit.core.diagnostics import Source

__all__ = ["BlamedAttachment", "Deed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One operation on an attachment, with the apply that carried it out.

    `approval` says whose word let it through: `file` (the review of the file's line), `lock` (the review of the lock), `rows`
    (what was approved before was written again), or `accepted` (the `actor`, at the prompt or by --accept). `certain` is False
    where that apply did not run all operations of this kind in its plan: an assistant failed, or some were done already.
    """

    op: str
    serial: int
    at: datetime
    actor: str
    commit: str | None
    digest: str
    reason: str
    approval: str
    source: Source | None
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedAttachment:
    """An attachment with the deeds that made it, newest first; the last one is the attach where history has it.

    `source` is the line that selects it as the last apply that wrote it had it.
    """

    assistant: str
    provider_name: str
    server: str
    remote_name: str
    canonical_id: str
    definition_digest: str
    source: Source | None
    deeds: tuple[Deed, ...]
