"""When pages are asked for again."""

import pytest

from repair.crawling.revisits import (
    FIRST_S,
    LONGEST_S,
    SHORTEST_S,
    Revisit,
    RevisitOutcome,
    RevisitStore,
    next_interval_s,
)
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from tests.fakes import FakeClock

PAGE, OTHER = "http://a.test/page", "http://a.test/other"
DAY_S = 86_400.0


class Schedule:
    def __init__(self, folder):
        self.clock = FakeClock(1e9)
        self.database = TopicDatabase(folder)
        topics = TopicStore(self.database, self.clock)
        topics.put(Topic(name="Soil"))
        topics.note_page(PAGE, "Soil", 0.9)
        self.store = RevisitStore(self.database, self.clock)

    def due(self):
        return [revisit.url for revisit in self.store.due("Soil", limit=10)]

    def ask(self, outcome):
        (revisit,) = self.store.due("Soil", limit=10)
        self.store.note(revisit, outcome)

    def days_until_due(self):
        days = 0
        while not self.due():
            self.clock.now += DAY_S / 2
            days += 0.5
        return days


@pytest.fixture
def schedule(tmp_path):
    schedule = Schedule(tmp_path)
    yield schedule
    schedule.database.close()


def test_page_is_due_a_week_after_it_was_saved(schedule):
    assert schedule.due() == []
    assert schedule.days_until_due() == 7


def test_what_changes_often_is_asked_for_more_often(schedule):
    schedule.days_until_due()
    waits = []
    for _ in range(4):
        schedule.ask(RevisitOutcome.CHANGED)
        waits.append(schedule.days_until_due())
    assert waits == [3.5, 2, 1, 1]
    schedule.ask(RevisitOutcome.UNCHANGED)
    assert schedule.days_until_due() == 1.5


def test_deleted_page_is_asked_for_once_a_quarter_and_as_new_when_it_comes_back(schedule):
    schedule.days_until_due()
    schedule.ask(RevisitOutcome.GONE)
    assert schedule.store.gone_count("Soil") == 1
    assert schedule.days_until_due() == 90
    schedule.ask(RevisitOutcome.UNCHANGED)
    assert (schedule.store.gone_count("Soil"), schedule.days_until_due()) == (0, 7)


def test_site_says_that_a_page_changed(schedule):
    now = schedule.clock.now
    schedule.store.note_newer([(PAGE, now - DAY_S), (OTHER, now + DAY_S)])
    assert schedule.due() == []
    schedule.store.note_newer([(PAGE, now + DAY_S)])
    assert schedule.due() == [PAGE]
    schedule.clock.now += 2 * DAY_S
    schedule.ask(RevisitOutcome.UNCHANGED)
    schedule.store.note_newer([(PAGE, now + DAY_S)])  # before the last request: known already
    assert schedule.due() == []


@pytest.mark.parametrize("outcome", RevisitOutcome)
def test_interval_stays_within_its_bounds(outcome):
    for interval_s in (SHORTEST_S, FIRST_S, LONGEST_S):
        assert SHORTEST_S <= next_interval_s(interval_s, outcome) <= LONGEST_S


def test_removed_page_is_forgotten(schedule):
    schedule.store.note(Revisit(url=PAGE, interval_s=FIRST_S, gone=False), RevisitOutcome.CHANGED)
    schedule.database.forget(PAGE)
    with schedule.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM revisits").fetchone() == (0,)
