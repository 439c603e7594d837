import pytest

from repair.crawling.topicdatabase import TopicDatabase
from repair.growing.growthstore import Brought, BroughtBy, GrowthStore, WantState
from repair.growing.wants import Want
from tests.fakes import FakeClock
from tests.unit.repair.growing.made import VOLCANOES, a_wanted_miss

DAY_S = 86_400.0
URL = "http://a.test/lava"
WANT = Want(topic=VOLCANOES, words=("lava",), misses=(a_wanted_miss(URL), a_wanted_miss("", "hot lava")))


@pytest.fixture
def clock():
    return FakeClock(1_000_000.0)


@pytest.fixture
def database(tmp_path):
    opened = TopicDatabase(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def store(database, clock):
    made = GrowthStore(database, clock)
    made.note_wants([WANT])
    return made


def test_address_that_was_not_found_is_due_after_longer_and_longer_pauses(store, clock):
    assert store.tried() == {}
    for days in (1, 2, 4):
        store.claim(URL)
        store.finish(URL, WantState.ABSENT)
        assert store.tried()[URL].next_try == pytest.approx(clock.now + (days - 0.1) * DAY_S)


def test_address_that_a_killed_process_left_is_due_at_once(store, clock):
    store.claim(URL)
    store.finish(URL, WantState.ABSENT)
    store.claim(URL)
    store.begin_night()
    store.recover()
    assert store.tried()[URL].next_try == 0
    assert store.nights()[0].stopped == "interrupted"


def test_try_without_a_connection_does_not_count(store):
    store.claim(URL)
    store.release(URL)
    assert store.tried() == {}


def test_topic_of_an_address_follows_the_latest_grouping_and_searches_are_not_kept(store):
    assert store.topics() == {URL: "Volcanoes"}
    store.note_wants([Want(topic=None, words=("lava",), misses=WANT.misses)])
    assert store.topics() == {URL: ""}


def test_what_a_night_brought_is_summed_up(store, clock):
    night = store.begin_night()
    for url, how, pages in (
        (URL, BroughtBy.BACK, 1),
        ("http://b.test/", BroughtBy.RELATED, 1),
        ("http://c.test/", BroughtBy.RELATED, 0),
    ):
        store.note_brought(
            night, Brought(url=url, how=how, topic="Volcanoes", wanted=URL, pages=pages, received=10)
        )
    store.end_night(night, "done")
    (found,) = store.nights()
    assert (found.pages, found.received) == ({BroughtBy.BACK: 1, BroughtBy.RELATED: 1}, 30)
    assert (found.ended_at, found.stopped) == (clock.now, "done")
    assert [each.url for each in store.brought(night)] == [URL, "http://b.test/"]


def test_address_remembers_when_it_was_first_helped(store, clock):
    first = clock.now
    for state in (WantState.ABSENT, WantState.ARCHIVED, WantState.BACK):
        store.claim(URL)
        store.finish(URL, state)
        assert store.grown() == ({} if state is WantState.ABSENT else {URL: first})
        if state is not WantState.ABSENT:
            clock.now += 1


def test_forgotten_address_leaves_nothing(store, database):
    night = store.begin_night()
    related = Brought(url="http://b.test/", how=BroughtBy.RELATED, topic="", wanted=URL, pages=1, received=1)
    store.note_brought(night, related)
    database.forget(URL)
    assert store.topics() == {}
    assert [each.wanted for each in store.brought(night)] == [""]
