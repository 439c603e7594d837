"""What a report counts, names and keeps to itself."""

from contextlib import closing
from datetime import date, timedelta

import pytest

from proxy.fetching.entries import FetchState
from proxy.fetching.queue import FetchQueue
from proxy.misses.store import MissStore
from proxy.reports.figures import report_on
from proxy.reports.period import ReportStep, period_with
from proxy.settings import MissesSettings
from tests.missed import a_miss, choose, note

PERIOD = period_with(ReportStep.WEEK, date(2026, 5, 5))
TUESDAY = PERIOD.since + timedelta(days=1, hours=10)
OWN = "http://www.school.test/links.html"


@pytest.fixture
def misses(tmp_path):
    with closing(MissStore(tmp_path / "misses", MissesSettings(retention_days=10_000))) as store:
        yield store


def missed(store, url, users, *, first=1, **known):
    """An address missed by so many users, once each."""
    made = [
        a_miss(first + number, url=url, at=TUESDAY, client=f"{number:016x}", **known)
        for number in range(users)
    ]
    note(store, *made)
    return made


def on(misses, tmp_path, **known):
    return report_on(PERIOD, misses, tmp_path, **{"few": 3, "own_sites": (), **known})


def test_it_counts_what_was_missed_offered_and_opened(misses, tmp_path):
    made = missed(misses, "http://a.test/gone", 4, source_url=OWN)
    missed(misses, "http://b.test/gone", 3, first=10, offered=())
    choose(misses, made[0], 1)
    misses.flush()
    report = on(misses, tmp_path)
    assert (report.missed.times, report.missed.opened, report.missed.nothing) == (7, 1, 3)
    assert (report.missed_addresses, report.users) == (2, 4)
    assert [(row.name, row.users, row.opened) for row in report.sites] == [("a.test", 4, 1), ("b.test", 3, 0)]
    assert [row.name for row in report.addresses] == ["http://a.test/gone", "http://b.test/gone"]
    assert (report.fetched, report.saved) == (None, None)


def test_what_a_few_users_missed_is_counted_but_not_named(misses, tmp_path):
    missed(misses, "http://clinic.test/my-illness", 2, query="my illness", source_url="http://me.test/")
    report = on(misses, tmp_path)
    assert report.missed.times == 2
    assert (report.sites, report.addresses, report.own_pages, report.topics) == ((), (), (), ())
    assert len(on(misses, tmp_path, few=2).addresses) == 1


def test_one_user_who_tries_often_is_one_user(misses, tmp_path):
    note(misses, *(a_miss(number, at=TUESDAY) for number in range(9)))
    assert on(misses, tmp_path).addresses == ()


def test_other_weeks_do_not_count(misses, tmp_path):
    note(misses, *(a_miss(number, at=PERIOD.until, client=f"{number:016x}") for number in range(5)))
    assert on(misses, tmp_path).missed.times == 0


def test_networks_are_counted_by_their_names(misses, tmp_path):
    missed(misses, "http://a.test/1", 4, network="Room 12")
    missed(misses, "http://a.test/1", 2, first=10, network="Library")
    assert [(row.name, row.users) for row in on(misses, tmp_path).networks] == [("Room 12", 4)]


def test_only_the_schools_own_pages_are_named_if_it_says_which(misses, tmp_path):
    missed(misses, "http://a.test/1", 3, source_url=OWN)
    missed(misses, "http://a.test/2", 3, first=10, source_url="http://elsewhere.test/")
    assert len(on(misses, tmp_path).own_pages) == 2
    (page,) = on(misses, tmp_path, own_sites=("School.test",)).own_pages
    assert (page.name, page.addresses, page.times) == (OWN, 1, 3)


def test_what_was_not_found_is_a_topic_and_what_was_opened_is_none(misses, tmp_path):
    missed(misses, "http://a.test/1", 3, query="volcano eruption")
    for miss in missed(misses, "http://a.test/2", 3, first=10, query="quadratic equation"):
        choose(misses, miss, 1)
    misses.flush()
    (topic,) = on(misses, tmp_path).topics
    assert (set(topic.words), topic.users) == ({"volcano", "eruption"}, 3)


def test_fetched_pages_are_counted(misses, tmp_path):
    (tmp_path / "fetch").mkdir()
    moment = TUESDAY.timestamp()
    with closing(FetchQueue(tmp_path / "fetch" / "queue.sqlite", clock=lambda: moment)) as queue:
        for number, state in enumerate((FetchState.DONE, FetchState.FAILED, None)):
            entry = queue.add(f"http://a.test/{number}")
            if state is not None:
                queue.finish(entry.id, state, received=1_000)
    fetched = on(misses, tmp_path).fetched
    assert (fetched.done, fetched.failed, fetched.waiting, fetched.received_bytes) == (1, 1, 1, 1_000)
