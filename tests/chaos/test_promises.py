"""What the harness finds of lost data, and of data that must not be kept."""

import sqlite3

import pytest

from tests.chaos.promises import Promises

PAGE = "http://a.test/page/1"


@pytest.fixture
def data(tmp_path):
    for place in ("misses/misses.sqlite", "collection/collection.sqlite3"):
        (tmp_path / place).parent.mkdir()
    execute(tmp_path, "misses/misses.sqlite", "CREATE TABLE misses (id)", "INSERT INTO misses VALUES ('m1')")
    execute(
        *(tmp_path, "collection/collection.sqlite3", "CREATE TABLE urls (id, url)"),
        *("CREATE TABLE pages (id, pinned)", f"INSERT INTO urls VALUES (1, '{PAGE}')"),
        "INSERT INTO pages VALUES (1, 0)",
    )
    return tmp_path


@pytest.fixture
def promises(data):
    promises = Promises(data=data)
    promises.note()
    assert promises.broken() == []
    return promises


def execute(data, place, *statements):
    with sqlite3.connect(data / place) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_a_lost_miss_is_noticed(data, promises):
    execute(data, "misses/misses.sqlite", "DELETE FROM misses")
    assert promises.broken() == ["1 of 1: miss lost, such as m1"]


def test_a_lost_page_is_noticed(data, promises):
    execute(data, "collection/collection.sqlite3", "DELETE FROM pages")
    assert promises.broken() == [f"1 of 1: page lost, such as {PAGE}"]


def test_a_page_that_was_removed_is_not_lost(data, promises):
    execute(data, "collection/collection.sqlite3", "DELETE FROM pages")
    promises.forget(PAGE)
    assert promises.broken() == []


def test_a_collection_at_its_limit_may_let_pages_go_that_are_not_pinned(data):
    promises = Promises(data=data, is_limited=True)
    promises.note()
    execute(data, "collection/collection.sqlite3", "DELETE FROM pages")
    assert promises.broken() == []


def test_a_store_that_cannot_be_read_is_noticed(data, promises):
    (data / "misses/misses.sqlite").write_bytes(b"no database" * 1000)
    assert promises.broken() == ["misses/misses.sqlite cannot be read"]


def test_a_page_of_ones_own_that_is_held_is_noticed(data, promises):
    execute(
        *(data, "collection/collection.sqlite3", "INSERT INTO urls VALUES (2, 'http://a.test/own/2')"),
        "INSERT INTO pages VALUES (2, 0)",
    )
    assert promises.broken() == ["held, and somebody's own: http://a.test/own/2"]
