from datetime import timedelta

import pytest

from proxy.misses.filters import IGNORED
from proxy.misses.store import MissStore
from proxy.misses.summaries import summarise_misses
from proxy.settings import MissesSettings
from repair.growing.wants import WantedMiss
from tests.fakes import FakeClock
from tests.make import A_MOMENT
from tests.missed import a_miss, choose, note

GONE = "http://www.school.test/gone"


@pytest.fixture
def store(tmp_path):
    opened = MissStore(tmp_path, MissesSettings(), clock=FakeClock(A_MOMENT))
    yield opened
    opened.close()


def summaries(store, *, since=A_MOMENT - timedelta(days=1), readers=2):
    return summarise_misses(store, since=since, readers=readers)


def test_address_missed_by_two_readers_is_summed_up_with_its_sources(store):
    misses = [
        a_miss(1, client="one"),
        a_miss(2, client="two"),
        a_miss(3, client="two", source_url="http://guess.test/", source_guessed=True),
    ]
    note(store, *misses)
    choose(store, misses[0], 1)
    store.flush()
    assert summaries(store) == (
        WantedMiss(
            url=GONE,
            words="water cycle",
            times=3,
            readers=2,
            answered=1,
            sources=("http://library.test/unit", "http://guess.test/"),
            last_at=A_MOMENT.timestamp(),
        ),
    )


def test_one_reader_alone_wants_nothing_however_often(store):
    note(store, *(a_miss(number, client="one") for number in range(9)))
    assert summaries(store) == ()


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.5/marks",
        "http://school.test/?q=divorce",
    ],
)
def test_private_and_personal_addresses_are_never_wanted(store, url):
    note(store, a_miss(1, url, client="one"), a_miss(2, url, client="two"))
    assert summaries(store) == ()


def test_old_and_ignored_misses_do_not_count(store):
    note(store, a_miss(1, client="one"), a_miss(2, client="two"))
    assert summaries(store, since=A_MOMENT + timedelta(seconds=1)) == ()

    def ignore(database):
        database.execute("INSERT INTO marks VALUES (?, ?, '', 0)", (GONE, IGNORED))

    store.write(ignore)
    assert summaries(store) == ()


def test_words_that_two_readers_searched_for_are_wanted(store):
    for client, words in (("one", "hot lava"), ("two", "hot lava"), ("one", "my diary")):
        store.record_search(words, client=client)
    store.flush()
    (found,) = summaries(store)
    assert (found.url, found.words, found.times, found.readers) == ("", "hot lava", 2, 2)


def test_searches_of_a_client_are_erased_with_its_misses(store):
    for client in ("one", "two"):
        store.record_search("hot lava", client=client)
    store.erase(client="one")
    assert summaries(store, readers=1)[0].times == 1


def test_searches_are_purged_after_the_retention_time(tmp_path):
    clock = FakeClock(A_MOMENT)
    store = MissStore(tmp_path, MissesSettings(retention_days=30), clock=clock)
    store.record_search("hot lava", client="one")
    store.flush()
    clock.now += timedelta(days=31)
    store.record(a_miss(1, at=clock.now))
    store.flush()
    assert summaries(store, since=A_MOMENT, readers=1)[0].url
    assert not any(each.words == "hot lava" for each in summaries(store, since=A_MOMENT, readers=1))
    store.close()
