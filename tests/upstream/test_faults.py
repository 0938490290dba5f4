from remit.core.live import Unreachable, UnreachableReason
from remit.upstream.faults import Fault, fault_of, unreachable_of, unwrap


def test_of_nested_groups_the_first_fault_counts():
    fault = Fault(UnreachableReason.AUTH, "no")
    group = ExceptionGroup("", [ValueError("x"), ExceptionGroup("", [TimeoutError(), fault])])
    assert fault_of(group, "listing") is fault
    assert [type(leaf) for leaf in unwrap(group)] == [ValueError, TimeoutError, Fault]


def test_a_timeout_is_a_timeout_and_a_foreign_error_is_named_by_its_type_only():
    late = fault_of(ExceptionGroup("", [ValueError("x"), TimeoutError()]), "listing")
    assert unreachable_of(late) == Unreachable(reason=UnreachableReason.TIMEOUT, detail="listing took too long")
    foreign = fault_of(ExceptionGroup("", [ValueError("dummy-secret"), KeyError("dummy-secret")]), "listing")
    assert unreachable_of(foreign) == Unreachable(
        reason=UnreachableReason.PROTOCOL, detail="listing failed (KeyError, ValueError)"
    )
