"""proxy.readers.forreader and proxy.readers.withheld: what only its reader gets to see."""

from proxy.readers.withheld import Withheld, WithheldPages
from repair.model import MissKind
from tests.fakes import FakeClock

PAGE = Withheld(kind=MissKind.SOFT_404, missed="http://school.test/a", url="http://school.test/a")


def test_a_page_is_kept_for_its_reader_and_a_while():
    clock = FakeClock(0.0)
    pages = WithheldPages(remember_s=60.0, clock=clock)
    pages.note("id", "ann", PAGE)
    assert pages.of("id", "ann") == PAGE
    assert pages.of("id", "bob") is None
    assert pages.of("other", "ann") is None
    clock.now = 61.0
    assert pages.of("id", "ann") is None


def test_the_oldest_go_when_there_are_too_many():
    pages = WithheldPages(limit=2)
    for miss_id in "abc":
        pages.note(miss_id, "ann", PAGE)
    assert pages.of("a", "ann") is None
    assert pages.of("c", "ann") == PAGE
