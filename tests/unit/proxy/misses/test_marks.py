"""Marks on missed addresses, and what a wrong verdict teaches."""

from datetime import timedelta

import pytest

from proxy.misses.marks import AddressMarks
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from repair.soft404.sitestore import SiteStore
from tests.make import A_MOMENT
from tests.missed import a_miss, note

URL = "http://a.test/looks-like-an-error"


@pytest.fixture
def sites(tmp_path):
    opened = SiteStore(tmp_path / "sites.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def store(tmp_path):
    opened = MissStore(tmp_path, MissesSettings(retention_days=9_000))
    yield opened
    opened.close()


@pytest.fixture
def marks(store, sites):
    return AddressMarks(store, sites)


def test_marks_are_listed_the_latest_first_and_taken_off_again(marks):
    marks.put(URL, "ignored", "admin", A_MOMENT)
    marks.put("http://b.test/", "ignored", "admin", A_MOMENT + timedelta(hours=1))
    assert [(each.url, each.by) for each in marks.list("ignored")] == [
        ("http://b.test/", "admin"),
        (URL, "admin"),
    ]
    assert marks.list("wrong") == ()
    assert marks.of(URL) == {"ignored"}
    marks.take(URL, "ignored")
    assert marks.of(URL) == frozenset()


def test_a_page_wrongly_taken_for_missing_is_fine_until_the_mark_is_taken_off(marks, sites):
    marks.put(URL, "wrong", "admin", A_MOMENT)
    assert sites.is_fine(URL)
    assert marks.of(URL) == {"wrong"}
    marks.take(URL, "wrong")
    assert not sites.is_fine(URL)


def test_ignoring_a_page_says_nothing_about_the_verdict(marks, sites):
    marks.put(URL, "ignored", "admin", A_MOMENT)
    assert not sites.is_fine(URL)


def test_marks_go_with_the_address_they_are_on(marks, store):
    note(store, a_miss(1, URL))
    marks.put(URL, "ignored", "admin", A_MOMENT)
    store.erase(url=URL)
    assert marks.list("ignored") == ()


def test_marks_outlive_a_restart_but_not_what_they_are_about(tmp_path, sites):
    now = [A_MOMENT]
    settings = MissesSettings(retention_days=90)
    store = MissStore(tmp_path / "log", settings, clock=lambda: now[0])
    note(store, a_miss(1, URL))
    AddressMarks(store, sites).put(URL, "ignored", "admin", A_MOMENT)
    store.close()
    for days, kept in ((80, 1), (20, 0)):
        now[0] += timedelta(days=days)
        store = MissStore(tmp_path / "log", settings, clock=lambda: now[0])
        assert len(AddressMarks(store, sites).list("ignored")) == kept
        store.close()
