from remit.core.calls import FailureCode
from remit.runtime.codes import FAILURES


def test_every_code_of_a_failed_call_is_explained() -> None:
    assert set(FAILURES) == set(FailureCode)
