"""Misses of this moment: bounded, and nobody waits for those who watch."""

import asyncio

from proxy.desk.missing import MissingNow
from tests.desks import a_miss


def test_what_was_noted_is_shown_in_order_and_numbered():
    missing = MissingNow()
    for page in "ab":
        missing.note(a_miss(f"http://www.school.test/{page}", offered=("x", "y")))
    first, second = missing.since(0)
    assert (first.number, second.number, second.url) == (1, 2, "http://www.school.test/b")
    assert (first.site, first.offered) == ("school.test", 2)
    assert missing.since(1) == (second,)


def test_nothing_of_the_reader_is_kept():
    missing = MissingNow()
    missing.note(a_miss(client="c0ffee"))
    assert "c0ffee" not in repr(missing.since(0))


def test_no_more_than_the_last_few_are_kept():
    missing = MissingNow()
    for number in range(1000):
        missing.note(a_miss(f"http://school.test/{number}"))
    assert [each.number for each in missing.since(0)] == list(range(801, 1001))


def test_a_number_from_before_a_restart_shows_what_there_is():
    missing = MissingNow()
    missing.note(a_miss())
    assert len(missing.since(500)) == 1


def test_an_address_that_is_erased_is_shown_no_more():
    missing = MissingNow()
    missing.note(a_miss("http://a.test/"))
    missing.note(a_miss("http://b.test/", source_url="http://a.test/"))
    missing.note(a_miss("http://c.test/"))
    missing.forget("http://a.test/")
    assert [each.url for each in missing.since(0)] == ["http://c.test/"]


def test_what_was_shown_is_not_shown_again_when_a_later_one_is_erased():
    missing = MissingNow()
    missing.note(a_miss("http://a.test/"))
    missing.note(a_miss("http://b.test/"))
    missing.forget("http://b.test/")
    assert missing.since(2) == ()


async def test_who_watches_hears_at_once():
    missing = MissingNow()
    watching = asyncio.create_task(missing.newer(0, within_s=10))
    await asyncio.sleep(0)
    missing.note(a_miss())
    assert len(await watching) == 1


async def test_a_miss_noted_in_another_thread_is_heard_too():
    missing = MissingNow()
    watching = asyncio.create_task(missing.newer(0, within_s=10))
    await asyncio.sleep(0)
    await asyncio.to_thread(missing.note, a_miss())
    assert len(await watching) == 1


async def test_who_watches_in_vain_is_told_so():
    assert await MissingNow().newer(0, within_s=0.0) == ()


async def test_watchers_are_counted_and_let_go():
    missing = MissingNow()
    watching = [asyncio.create_task(missing.newer(0, within_s=10)) for _ in range(20)]
    await asyncio.sleep(0)
    assert missing.is_full
    missing.close()
    assert await asyncio.gather(*watching) == [()] * 20
    assert not missing.is_full
