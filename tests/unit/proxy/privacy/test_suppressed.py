"""Pages that a repair page replaced."""

from proxy.privacy.suppressed import SuppressedPages


def test_leave_is_for_one_client_one_address_and_a_minute():
    now = [1000.0]
    suppressed = SuppressedPages(clock=lambda: now[0])
    suppressed.give_leave("ann", "http://a.test/x")
    assert suppressed.has_leave("ann", "http://a.test/x")
    assert not suppressed.has_leave("bob", "http://a.test/x")
    assert not suppressed.has_leave("ann", "http://a.test/y")
    now[0] += 61
    assert not suppressed.has_leave("ann", "http://a.test/x")
