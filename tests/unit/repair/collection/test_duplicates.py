"""Near-duplicates among held pages."""

import pytest

from repair.collection.database import Database
from repair.collection.duplicates import Duplicates
from repair.collection.pages import PageStore
from tests.holdings import SITE, a_document
from tests.make import A_MOMENT

TEXT = " ".join(f"word{number}" for number in range(200))


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "collection.sqlite3")
    yield database
    database.close()


def put(database, url, text):
    PageStore(database).put(a_document(url, title="", text=text), fetched_at=A_MOMENT, seen_at=A_MOMENT)


def paths(found):
    return [each.url.removeprefix(SITE) for each in found]


def test_the_same_text_elsewhere_is_found(database):
    put(database, "/new", TEXT + " and more")
    put(database, "/other", " ".join(f"else{number}" for number in range(200)))
    duplicates = Duplicates(database)
    assert duplicates.catch_up() == 2
    assert paths(duplicates.of("", TEXT)) == ["/new"]


def test_the_most_similar_page_comes_first(database):
    put(database, "/less", TEXT.replace("word7", "changed"))
    put(database, "/same", TEXT)
    duplicates = Duplicates(database)
    duplicates.catch_up()
    assert paths(duplicates.of("", TEXT)) == ["/same", "/less"]


def test_a_page_is_not_its_own_duplicate(database):
    put(database, "/a", TEXT)
    put(database, "/b", TEXT)
    duplicates = Duplicates(database)
    duplicates.catch_up()
    assert paths(duplicates.of_page(f"{SITE}/a")) == ["/b"]
    assert duplicates.of_page(f"{SITE}/nowhere") == ()


def test_short_pages_are_no_duplicates_and_are_processed_once(database):
    put(database, "/short", "Some words")
    duplicates = Duplicates(database)
    assert duplicates.catch_up() == 1
    assert duplicates.catch_up() == 0
    assert duplicates.of("", "Some words") == ()


def test_a_changed_page_gets_a_new_fingerprint(database):
    put(database, "/a", TEXT)
    duplicates = Duplicates(database)
    duplicates.catch_up()
    assert paths(duplicates.of("", TEXT)) == ["/a"]
    put(database, "/a", TEXT.replace("word", "else"))
    assert duplicates.catch_up() == 1
    assert duplicates.of("", TEXT) == ()


def test_fingerprints_of_another_process_are_seen(database):
    duplicates, other = Duplicates(database), Duplicates(database)
    assert duplicates.of("", TEXT) == ()
    for path in ("/a", "/b"):
        put(database, path, TEXT)
        other.catch_up()
        assert path in paths(duplicates.of("", TEXT))


def test_new_fingerprints_are_found_and_a_changed_page_only_by_its_latest(database):
    duplicates = Duplicates(database)
    put(database, "/first", TEXT)
    duplicates.catch_up()
    assert paths(duplicates.of("", TEXT)) == ["/first"]
    put(database, "/second", TEXT + " and more")
    put(database, "/first", " ".join(f"else{number}" for number in range(200)))
    duplicates.catch_up()
    assert paths(duplicates.of("", TEXT)) == ["/second"]


def test_duplicates_fingerprinted_by_another_process_are_found(database):
    mine, others = Duplicates(database), Duplicates(database)
    put(database, "/a", TEXT)
    mine.catch_up()
    assert paths(mine.of("", TEXT)) == ["/a"]
    put(database, "/b", TEXT)
    others.catch_up()
    put(database, "/c", TEXT)
    mine.catch_up()
    assert sorted(paths(mine.of("", TEXT))) == ["/a", "/b", "/c"]


def test_catch_up_stops_while_users_wait(database):
    for number in range(5):
        put(database, f"/{number}", TEXT)
    waits = iter((False, False, True))
    duplicates = Duplicates(database)
    assert duplicates.catch_up(is_hurried=lambda: next(waits)) == 2
    assert duplicates.catch_up() == 3


def test_a_page_that_changes_while_its_fingerprint_is_made_gets_another(database):
    put(database, "/a", TEXT)
    duplicates, other = Duplicates(database), " ".join(f"else{number}" for number in range(200))

    def change():
        put(database, "/a", other)
        return False

    duplicates.catch_up(is_hurried=change)
    duplicates.catch_up()
    assert paths(Duplicates(database).of("", other)) == ["/a"]
    assert paths(Duplicates(database).of("", TEXT)) == []
