"""Misses for the live view: bounded, and viewers delay nobody."""

import asyncio

from proxy.misses.feed import MissFeed
from tests.desks import a_miss


def test_what_was_noted_is_shown_in_order_and_numbered():
    missing = MissFeed()
    for page in "ab":
        missing.note(a_miss(f"http://www.school.test/{page}", offered=("x", "y")))
    first, second = missing.since(0)
    assert (first.number, second.number, second.url) == (1, 2, "http://www.school.test/b")
    assert (first.site, first.offered) == ("school.test", 2)
    assert missing.since(1) == (second,)


def test_nothing_about_the_user_is_kept():
    missing = MissFeed()
    missing.note(a_miss(client="c0ffee"))
    assert "c0ffee" not in repr(missing.since(0))


def test_no_more_than_the_last_few_are_kept():
    missing = MissFeed()
    for number in range(1000):
        missing.note(a_miss(f"http://school.test/{number}"))
    assert [each.number for each in missing.since(0)] == list(range(801, 1001))


def test_number_from_before_a_restart_returns_everything():
    missing = MissFeed()
    missing.note(a_miss())
    assert len(missing.since(500)) == 1


def test_an_address_that_is_erased_is_shown_no_more():
    missing = MissFeed()
    missing.note(a_miss("http://a.test/"))
    missing.note(a_miss("http://b.test/", source_url="http://a.test/"))
    missing.note(a_miss("http://c.test/"))
    missing.forget("http://a.test/")
    assert [each.url for each in missing.since(0)] == ["http://c.test/"]


def test_what_was_shown_is_not_shown_again_when_a_later_one_is_erased():
    missing = MissFeed()
    missing.note(a_miss("http://a.test/"))
    missing.note(a_miss("http://b.test/"))
    missing.forget("http://b.test/")
    assert missing.since(2) == ()


async def test_viewer_is_notified_at_once():
    missing = MissFeed()
    watching = asyncio.create_task(missing.newer(0, within_s=10))
    await asyncio.sleep(0)
    missing.note(a_miss())
    assert len(await watching) == 1


async def test_miss_noted_in_another_thread_notifies_the_viewer():
    missing = MissFeed()
    watching = asyncio.create_task(missing.newer(0, within_s=10))
    await asyncio.sleep(0)
    await asyncio.to_thread(missing.note, a_miss())
    assert len(await watching) == 1


async def test_viewer_times_out_with_an_empty_result():
    assert await MissFeed().newer(0, within_s=0.0) == ()


async def test_viewers_are_counted_and_released():
    missing = MissFeed()
    watching = [asyncio.create_task(missing.newer(0, within_s=10)) for _ in range(20)]
    await asyncio.sleep(0)
    assert missing.is_full
    missing.close()
    assert await asyncio.gather(*watching) == [()] * 20
    assert not missing.is_full
