"""What a caller is told where no call went out."""

from datetime import UTC, datetime

from remit.core.call_ports import ApprovalWaiting
from remit.runtime.answers import approval_required


def test_a_wait_for_a_person_tells_its_end_to_the_second_and_keeps_it_whole_for_programs() -> None:
    waiting = ApprovalWaiting("4f1c", datetime(2026, 11, 30, 12, 15, 0, 987654, tzinfo=UTC))
    result = approval_required(waiting)
    assert "(approval 4f1c, open until 2026-11-30T12:15:00Z)" in result.content
    assert result.metadata == {
        "code": "approval_required",
        "approval_id": "4f1c",
        "expires_at": "2026-11-30T12:15:00.987654+00:00",
    }
