from remit.core.live import QuarantineReason, UnreachableReason
from remit.upstream.codes import CODES


def test_every_reason_of_an_outage_and_of_a_quarantine_is_explained():
    assert {*UnreachableReason, *QuarantineReason} - set(CODES) == set()
