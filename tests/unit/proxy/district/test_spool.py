"""The spool over the collection's own database; no PostgreSQL."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from proxy.district import spool as spool_module
from proxy.district.spool import spools
from repair.collection.database import Database
from repair.collection.pins import Pins

_DAY = datetime(2026, 3, 2, tzinfo=UTC)
_LOST, _NEW = "http://www.example.org/old", "http://www.example.net/new"


@pytest.fixture
def database(tmp_path):
    (tmp_path / "collection").mkdir()
    with closing(Database(tmp_path / "collection" / "collection.sqlite3")) as opened:
        yield opened


@pytest.fixture
def pins(database):
    return Pins(database)


@pytest.fixture
def spool(pins, tmp_path):
    found = spools(tmp_path)[0]
    found.open()
    return found


def told(spool):
    return [(row.kind, row.body and row.body["target"]) for row in spool.batch(100)]


def test_a_change_is_noted_with_the_transaction_that_makes_it_or_not_at_all(pins, database, spool):
    def fail():
        with database.write():
            pins.pin(_LOST, _NEW, "ida", _DAY)
            pins.pin(_NEW, _NEW, "ida", _DAY)

    with pytest.raises(ValueError, match="replace itself"):
        fail()
    assert spool.count() == 0
    pins.pin(_LOST, _NEW, "ida", _DAY)
    assert told(spool) == [("pin", _NEW)]


def test_what_changes_ten_times_is_told_once_as_it_is_now(pins, spool):
    for number in range(10):
        pins.pin(_LOST, f"{_NEW}/{number}", "ida", _DAY)
    assert told(spool) == [("pin", f"{_NEW}/9")]


def test_what_was_there_before_is_told_too_and_opening_twice_tells_nothing_twice(pins, tmp_path):
    pins.pin(_LOST, _NEW, "ida", _DAY)
    found = spools(tmp_path)[0]
    found.open()
    found.mark_sent(found.batch(10))
    found.open()
    assert found.count() == 0


def test_what_changes_while_it_is_sent_is_sent_again(pins, spool):
    pins.pin(_LOST, _NEW, "ida", _DAY)
    rows = spool.batch(10)
    pins.pin(_LOST, _NEW + "/2", "ida", _DAY)
    spool.mark_sent(rows)
    assert told(spool) == [("pin", _NEW + "/2")]


def test_what_is_gone_is_told_and_leaves_only_its_digest(pins, spool, database):
    pins.pin(_LOST, _NEW, "ida", _DAY)
    spool.mark_sent(spool.batch(10))
    pins.forget(_LOST)
    (row,) = spool.batch(10)
    assert row.body is None
    spool.mark_sent([row])
    with database.read() as connection:
        assert "example" not in str(connection.execute("SELECT key FROM district_spool").fetchall())
    spool.send_again(0)
    (again,) = spool.batch(10)
    assert (again.body, again.digest) == (None, row.digest)


def test_a_table_that_comes_later_is_watched_from_then_on(spool, database, tmp_path):
    with database.write() as connection:
        connection.execute(
            "CREATE TABLE moves (id INTEGER PRIMARY KEY, host TEXT, old TEXT, new TEXT, origin TEXT, site TEXT)"
        )
        connection.execute("INSERT INTO moves (old, new, origin) VALUES (?, ?, 'redirect')", (_LOST, _NEW))
    assert spool.count() == 0
    spool.open()
    assert told(spool) == [("move", _NEW)]


def test_everything_is_told_again_after_the_district_was_restored(pins, spool, database):
    pins.pin(_LOST, _NEW, "ida", _DAY)
    spool.mark_sent(spool.batch(10))
    with database.write() as connection:
        connection.execute("DELETE FROM district_spool")  # as after a day
    spool.tell_all()
    assert told(spool) == [("pin", _NEW)]


def test_a_closed_spool_notes_nothing_and_leaves_no_table(pins, spool, database):
    pins.pin(_LOST, _NEW, "ida", _DAY)
    spool.close()
    pins.pin(_LOST, _NEW + "/2", "ida", _DAY)
    assert (spool.count(), spool.batch(5), spool.name(), spool.last_sent()) == (0, (), "", 0)
    with database.read() as connection:
        assert (
            connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'district%'").fetchall() == []
        )


def test_of_too_many_changes_those_that_were_sent_go_first(pins, spool, monkeypatch):
    monkeypatch.setattr(spool_module, "_MAX_ROWS", 3)
    for number in range(5):
        pins.pin(f"{_LOST}/{number}", _NEW, "ida", _DAY)
    spool.mark_sent(spool.batch(10)[-2:])
    assert spool.trim() == 2
    assert [row.key for row in spool.batch(10)] == [f"example.org/old/{number}" for number in range(3)]


def test_a_store_that_was_set_aside_is_a_new_spool(spool, pins, tmp_path, database):
    name = spool.name()
    database.close()
    (tmp_path / "collection" / "collection.sqlite3").unlink()
    assert spool.name() == ""
    with closing(Database(tmp_path / "collection" / "collection.sqlite3")) as other:
        Pins(other)
        spool.open()
        assert spool.name() not in ("", name)


def test_a_file_that_is_no_database_costs_only_its_own(tmp_path):
    (tmp_path / "collection").mkdir()
    (tmp_path / "collection" / "collection.sqlite3").write_bytes(b"x" * 5000)
    with pytest.raises(sqlite3.DatabaseError):
        spools(tmp_path)[0].open()
