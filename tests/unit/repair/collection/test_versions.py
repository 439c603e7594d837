from datetime import timedelta

import pytest

from repair.collection.database import Database
from repair.collection.pages import PageStore
from repair.collection.versions import VersionPolicy, policy_of
from repair.model import HeldCopy
from repair.settings import CollectionSettings
from tests.holdings import SITE, a_collection, a_document
from tests.make import A_MOMENT

URL = f"{SITE}/page"
HOUR = 3600.0


@pytest.fixture
def store(tmp_path):
    """A store that keeps three versions, a day apart."""
    database = Database(tmp_path / "db")
    yield PageStore(database, VersionPolicy(limit=3, every_s=24 * HOUR))
    database.close()


def hours(*after):
    return [A_MOMENT + timedelta(hours=hour) for hour in after]


def saw(store, hour, text=None, *, body=None, url=URL, pinned=True):
    """A page imported some hours after the first moment; it says something new unless told otherwise."""
    (at,) = hours(hour)
    text = text or f"words of hour {hour}"
    copy = HeldCopy(url=url, content_type="text/html", body=body or text.encode(), fetched_at=at)
    return store.put(a_document(url, text=text), fetched_at=at, seen_at=at, copy=copy, pinned=pinned)


def moments(store, url=URL):
    held = store.versions.of(url)
    return list(held.moments) if held else []


def test_a_page_seen_once_has_one_version_its_copy(store):
    saw(store, 0)
    assert moments(store) == hours(0)
    assert store.versions.at(URL, A_MOMENT) == store.copy(URL)


def test_a_page_that_is_not_held_or_has_no_copy_has_no_version(store):
    store.put(a_document(URL), fetched_at=A_MOMENT, seen_at=A_MOMENT)
    assert store.versions.of(URL) is None
    assert store.versions.of(f"{SITE}/never") is None
    assert store.versions.at(URL, A_MOMENT) is None


def test_every_version_comes_back_as_it_was_sent(store):
    saw(store, 0, body=b"<p>first \xff")
    saw(store, 30, body=b"<p>second")
    first, second = hours(0, 30)
    assert store.versions.at(URL, first) == HeldCopy(
        url=URL, content_type="text/html", body=b"<p>first \xff", fetched_at=first
    )
    assert store.versions.at(URL, second).body == b"<p>second"
    assert store.versions.at(URL, second - timedelta(hours=1)) is None
    assert store.copy(URL).body == b"<p>second"


def test_a_page_that_says_the_same_has_no_new_version(store):
    saw(store, 0, "Some words", body=b"<p>Some words")
    saw(store, 30, "some   WORDS", body=b"<b>some words")
    assert moments(store) == hours(30)


def test_versions_are_as_far_apart_as_wanted_and_the_newest_is_what_was_seen_last(store):
    for hour in range(0, 55, 5):
        saw(store, hour)
    assert moments(store) == hours(0, 25, 50)
    saw(store, 55)
    assert moments(store) == hours(25, 50, 55)


def test_the_oldest_go_when_there_are_too_many(store):
    for hour in (0, 30, 60, 90, 120):
        saw(store, hour)
    assert moments(store) == hours(60, 90, 120)


def test_a_page_that_lost_its_copy_keeps_the_versions_it_had(store):
    saw(store, 0)
    (later,) = hours(30)
    store.put(a_document(URL, text="only text"), fetched_at=later, seen_at=later)
    assert moments(store) == hours(0)
    assert store.copy(URL) is None


def test_a_removed_page_is_removed_with_all_its_versions_and_others_are_not(store):
    for hour in (0, 30, 60):
        page = saw(store, hour)
        saw(store, hour, url=f"{SITE}/other")
    store.remove(page)
    assert moments(store) == []
    with store._database.read() as connection:  # not only out of reach
        assert connection.execute("SELECT count(*) FROM versions WHERE page = ?", (page,)).fetchone() == (0,)
    assert store.versions.at(URL, A_MOMENT) is None
    assert moments(store, f"{SITE}/other") == hours(0, 30, 60)


@pytest.mark.parametrize("limit", [0, 1])
def test_without_versions_none_are_kept_and_old_ones_are_deleted(tmp_path, limit):
    database = Database(tmp_path / "db")
    generous, sparing = (PageStore(database, VersionPolicy(limit=number)) for number in (3, limit))
    for hour in (0, 30):
        saw(generous, hour)
    saw(sparing, 60)
    assert moments(sparing) == hours(60)
    database.close()


def test_a_version_is_identified_by_its_second(store):
    saw(store, 0.00021)  # 0.756 s
    (moment,) = moments(store)
    assert moment == A_MOMENT.replace(microsecond=0)
    assert store.versions.at(URL, moment).fetched_at == moment
    saw(store, 30)
    assert store.versions.at(URL, moment).body == b"words of hour 0.00021"


def test_the_settings_say_how_many_and_how_far_apart():
    assert policy_of(CollectionSettings()) == VersionPolicy(limit=3, every_s=86_400)
    assert policy_of(CollectionSettings(keep_copies=False)).limit == 0


def test_the_collection_gives_and_forgets_versions_under_any_form_of_an_address(tmp_path):
    with a_collection(tmp_path, version_every_h=1.0) as collection:
        for hour, at in zip((0, 2, 4), hours(0, 2, 4), strict=True):
            copy = HeldCopy(url=URL, content_type="text/html", body=b"%d" % hour, fetched_at=at)
            collection.add(a_document(URL, text=f"hour {hour}"), fetched_at=at, copy=copy, pinned=True)
        asked = "HTTP://School.Test:80/page#top"
        assert list(collection.versions(asked).moments) == hours(0, 2, 4)
        assert collection.version(asked, A_MOMENT).body == b"0"
        assert collection.copy(asked).body == b"4"
        assert collection.remove(asked)
        assert collection.versions(asked) is None
        assert collection.version(asked, A_MOMENT) is None
        assert collection.versions("mailto:x") is None
        assert collection.version("mailto:x", A_MOMENT) is None


def days(*after):
    return [moment.replace(hour=0, minute=0, second=0, microsecond=0) for moment in hours(*after)]


def test_only_the_day_is_shown_of_pages_that_users_read(store):
    for hour in (0, 30, 60):
        saw(store, hour, pinned=False)
    assert moments(store) == days(0, 30, 60)
    assert store.copy(URL).fetched_at == days(60)[0]
    assert store.get(URL).fetched_at == days(60)[0]
    assert [store.versions.at(URL, day).body for day in days(0, 60)] == [
        b"words of hour 0",
        b"words of hour 60",
    ]
    assert store.versions.at(URL, hours(61)[0]) is None


def test_versions_stored_to_the_second_by_an_earlier_linkmend_show_only_the_day(store):
    saw(store, 0)
    saw(store, 30)
    with store._database.write() as connection:
        connection.execute("UPDATE pages SET pinned = 0")
    assert moments(store) == days(0, 30)
    assert store.versions.at(URL, days(30)[0]).body == b"words of hour 30"


def test_importing_a_page_later_does_not_reveal_when_users_read_it(store):
    saw(store, 0, pinned=False)
    saw(store, 30)
    assert moments(store) == [days(0)[0], hours(30)[0]]
    saw(store, 60, pinned=False)
    assert moments(store)[-1] == days(60)[0]
