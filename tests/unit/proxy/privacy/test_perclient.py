"""proxy.privacy.perclient: what only its user gets to see."""

from proxy.privacy.perclient import PerClientStore
from tests.fakes import FakeClock

PAGE = "a page"


def test_a_page_is_kept_for_its_client_and_a_limited_time():
    clock = FakeClock(0.0)
    pages = PerClientStore[str](remember_s=60.0, clock=clock)
    pages.note("id", "ann", PAGE)
    assert pages.of("id", "ann") == PAGE
    assert pages.of("id", "bob") is None
    assert pages.of("other", "ann") is None
    clock.now = 61.0
    assert pages.of("id", "ann") is None


def test_the_oldest_go_when_there_are_too_many():
    pages = PerClientStore[str](limit=2)
    for miss_id in "abc":
        pages.note(miss_id, "ann", PAGE)
    assert pages.of("a", "ann") is None
    assert pages.of("c", "ann") == PAGE
