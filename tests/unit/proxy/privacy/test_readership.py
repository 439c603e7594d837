"""proxy.privacy.readership: how many read a page is counted, who did is forgotten."""

from datetime import date, timedelta

import pytest

from proxy.privacy.readership import Readership

HELD = {"http://a.test/1": 1, "http://a.test/2": 2}


class Stored:
    """Saved pages, and what was stored of their readers."""

    def __init__(self):
        self.readers = []

    def page_number(self, url):
        return HELD.get(url)

    def note_readers(self, readers, day):
        self.readers.append((readers, day))


class Today:
    day = date(2026, 11, 18)

    def __call__(self):
        return self.day


@pytest.fixture
def today():
    return Today()


@pytest.fixture
def stored():
    return Stored()


@pytest.fixture
def readership(stored, today):
    return Readership(stored, least=lambda: 3, today=today)


def opened(readership, *clients, url="http://a.test/1"):
    for client in clients:
        readership.page_opened(client, url)


def test_a_page_with_too_few_readers_is_not_stored(readership, stored):
    opened(readership, "a", "b", "a", "a")
    readership.store()
    assert stored.readers == []


def test_a_page_with_enough_readers_is_stored_as_a_number(readership, stored, today):
    opened(readership, "a", "b", "c")
    opened(readership, "a", url="http://a.test/2")
    readership.store()
    assert stored.readers == [({1: 3}, today.day)]
    readership.store()
    opened(readership, "d")
    readership.store()
    assert stored.readers[1:] == [({1: 4}, today.day)]


def test_of_a_page_that_is_not_saved_nothing_is_kept(readership):
    opened(readership, "a", "b", "c", url="http://private.test/")
    readership.count()
    assert readership._waiting == []
    assert not readership._readers


def test_readers_of_different_days_are_not_added(readership, stored, today):
    opened(readership, "a", "b")
    readership.count()
    today.day += timedelta(days=1)
    opened(readership, "c")
    readership.store()
    assert stored.readers == []


def test_the_last_count_of_a_day_is_stored_the_next_day(readership, stored, today):
    first = today.day
    opened(readership, "a", "b", "c")
    readership.count()
    today.day += timedelta(days=1)
    readership.count()
    assert stored.readers == [({1: 3}, first)]
    assert not readership._readers


def test_with_zero_nothing_is_noted(stored):
    off = Readership(stored, least=lambda: 0)
    opened(off, "a", "b", "c")
    off.store()
    assert stored.readers == []


def test_one_client_counts_for_a_limited_number_of_pages(stored, today, monkeypatch):
    monkeypatch.setattr(Stored, "page_number", lambda self, url: int(url))
    readership = Readership(stored, least=lambda: 1, today=today)
    for number in range(2_000):
        readership.page_opened("greedy", str(number))
    readership.count()
    assert len(readership._readers) == 500
