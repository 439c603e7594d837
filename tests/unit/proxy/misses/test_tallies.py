"""Tallies stay in step with the records, whatever happens to these."""

import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from proxy.misses.store import MissStore
from proxy.misses.tallies import AT_ONCE, SLOT_S, catch_up, outcome, prepare
from proxy.settings import MissesSettings
from tests.examples import examples
from tests.make import A_MOMENT
from tests.missed import HOUR, a_miss, choose, note

ALL_TIME = MissesSettings(retention_days=9_000)
COUNTED = (
    "SELECT url, site, source_url, slot, kind, outcome, sum(times) FROM"
    " (SELECT addresses.url, site, sources.url AS source_url, slot, kind, outcome, times FROM tallies"
    " JOIN addresses ON addresses.id = address LEFT JOIN sources ON sources.id = source)"
    " GROUP BY 1, 2, 3, 4, 5, 6"
)
RECORDED = (
    f"SELECT url, site, source_url, CAST(at / {SLOT_S} AS INTEGER), kind, {outcome('misses')}, count(*)"
    " FROM misses GROUP BY 1, 2, 3, 4, 5, 6"
)


def in_step(folder):
    with closing(sqlite3.connect(folder / "misses.sqlite")) as database:
        assert set(database.execute(COUNTED)) == set(database.execute(RECORDED))
        unused = "SELECT count(*) FROM {0} WHERE id NOT IN (SELECT {1} FROM tallies)"
        assert database.execute(unused.format("addresses", "address")).fetchone() == (0,)
        assert database.execute(unused.format("sources", "source")).fetchone() == (0,)
        return database.execute("SELECT coalesce(sum(times), 0) FROM tallies").fetchone()[0]


URLS = ("http://a.test/1", "http://a.test/2", "http://b.test/")
misses = st.builds(
    lambda number, url, source, minutes, offered, copy: a_miss(
        number,
        url,
        A_MOMENT + timedelta(minutes=minutes),
        source_url=source,
        offered=offered,
        copy=copy,
    ),
    st.integers(0, 30),
    st.sampled_from(URLS),
    st.sampled_from((None, *URLS)),
    st.integers(0, 60),
    st.sampled_from(((), URLS[:2])),
    st.booleans(),
)
deeds = st.one_of(
    st.tuples(st.just("note"), misses),
    st.tuples(st.just("choose"), st.tuples(st.integers(0, 30), st.integers(0, 2))),
    st.tuples(st.just("erase"), st.sampled_from(URLS)),
)


@given(st.lists(deeds, max_size=25))
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tallies_count_what_is_recorded_whatever_is_done(tmp_path_factory, done):
    folder = tmp_path_factory.mktemp("misses")
    store = MissStore(folder, ALL_TIME)
    for deed, value in done:
        if deed == "note":
            store.record(value)
        elif deed == "choose":
            choose(store, a_miss(value[0]), value[1])
        else:
            store.erase(url=value)
    store.close()
    in_step(folder)


def test_purged_records_leave_the_tallies_too(tmp_path):
    now = [A_MOMENT]
    store = MissStore(tmp_path, MissesSettings(retention_days=90), clock=lambda: now[0])
    note(store, a_miss(1), a_miss(2, at=A_MOMENT + 24 * HOUR, url="http://a.test/", source_url=None))
    now[0] += timedelta(days=90, hours=1)
    store.flush()
    store.close()
    assert in_step(tmp_path) == 1


def an_earlier_log(folder, rows):
    """A log as the first version wrote it; each row is (id, source, offered, chosen)."""
    with closing(sqlite3.connect(folder / "misses.sqlite")) as old:
        old.execute(
            "CREATE TABLE misses (id TEXT PRIMARY KEY, at REAL NOT NULL, url TEXT NOT NULL, site TEXT NOT NULL,"
            " kind TEXT NOT NULL, source_url TEXT, rule TEXT NOT NULL, client TEXT NOT NULL, offered TEXT NOT NULL,"
            " chosen TEXT, status INTEGER NOT NULL, latency_ms REAL NOT NULL, query TEXT NOT NULL,"
            " language TEXT NOT NULL) WITHOUT ROWID"
        )
        old.execute("CREATE INDEX misses_url ON misses (url)")
        old.executemany(
            "INSERT INTO misses VALUES (?, ?, ?, 'a.test', 'gone', ?, '', 'me', ?, ?, 410, 1.0, '', 'en')",
            (
                (
                    name,
                    A_MOMENT.timestamp() + 7 * place,
                    f"http://a.test/{place % 9}",
                    source,
                    offered,
                    chosen,
                )
                for place, (name, source, offered, chosen) in enumerate(rows)
            ),
        )
        old.commit()


def test_a_log_of_an_earlier_version_is_counted_when_it_is_opened(tmp_path):
    chosen = ("http://s.test/", '["http://b.test/"]', "http://b.test/")
    an_earlier_log(tmp_path, [("id0", None, "[]", None), ("id1", *chosen)])
    store = MissStore(tmp_path, ALL_TIME)
    assert [miss.copy for miss in store.recent()] == [False, False]
    note(store, a_miss(3))
    store.close()
    assert in_step(tmp_path) == 3
    MissStore(tmp_path, ALL_TIME).close()
    assert in_step(tmp_path) == 3


LONG = 2 * AT_ONCE + 700


@pytest.fixture
def a_long_log(tmp_path):
    offered = '["http://b.test/"]'
    sources = (None, "http://s.test/", "http://t.test/")
    an_earlier_log(tmp_path, ((f"{place:06}", sources[place % 3], offered, None) for place in range(LONG)))
    return tmp_path


def test_a_long_log_of_an_earlier_version_is_counted_behind_the_start(a_long_log):
    store = MissStore(a_long_log, ALL_TIME)
    note(store, a_miss(3))
    assert store.count() == LONG + 1
    end = time.monotonic() + 60
    while store.read("PRAGMA user_version", ())[0][0] == 0:
        assert time.monotonic() < end, "never counted"
        time.sleep(0.05)
    store.close()
    assert in_step(a_long_log) == LONG + 1


def test_whatever_is_done_to_a_log_that_is_half_counted_the_tallies_come_out_right(a_long_log):
    """And whenever it is killed: after each step somebody else goes on."""
    changes = (
        "UPDATE misses SET chosen = 'http://b.test/' WHERE id IN ('000001', '000002', '009999', '010600')",
        "DELETE FROM misses WHERE id IN ('000003', '010000', '010500')",
        "UPDATE misses SET url = 'http://new.test/', source_url = NULL WHERE id IN ('000004', '010400')",
        "INSERT INTO misses SELECT 'x' || id, at, url, site, kind, source_url, rule, client, offered, chosen,"
        " status, latency_ms, query, language, copy, source_guessed, network FROM misses"
        " WHERE id IN ('000005', '010300')",
        "INSERT INTO misses SELECT '000005' || id, at, url, site, kind, source_url, rule, client, offered, chosen,"
        " status, latency_ms, query, language, copy, source_guessed, network FROM misses"
        " WHERE id IN ('000006', '010301')",
    )
    steps = 0
    while True:
        with closing(sqlite3.connect(a_long_log / "misses.sqlite")) as database:
            assert not prepare(database) or steps
            if steps < len(changes):
                database.execute(changes[steps])
                database.commit()
            steps += 1
            if catch_up(database) is None:
                break
    assert steps > len(changes)
    assert in_step(a_long_log) == LONG - 3 + 4


def test_a_step_that_is_cut_off_leaves_nothing_behind(a_long_log):
    with closing(sqlite3.connect(a_long_log / "misses.sqlite")) as database:
        prepare(database)
        database.set_progress_handler(lambda: 1, 20_000)  # as if it were killed in the middle
        with pytest.raises(sqlite3.OperationalError):
            catch_up(database)
    with closing(sqlite3.connect(a_long_log / "misses.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM tallies").fetchone() == (0,)
        while catch_up(database) is not None:
            pass
    assert in_step(a_long_log) == LONG


def test_the_same_miss_recorded_twice_counts_once(tmp_path):
    store = MissStore(tmp_path, ALL_TIME)
    note(store, a_miss(1), a_miss(1))
    store.close()
    assert in_step(tmp_path) == 1


@pytest.mark.parametrize(
    ("known", "expected"), [({"offered": ()}, 0), ({"offered": (), "copy": True}, 1), ({}, 1)]
)
def test_a_saved_copy_counts_as_an_offer(tmp_path, known, expected):
    store = MissStore(tmp_path, ALL_TIME)
    note(store, a_miss(1, **known))
    assert store.read("SELECT outcome FROM tallies", ())[0]["outcome"] == expected
    store.close()


def test_a_log_without_a_column_for_guesses_gets_one_and_keeps_its_counts(tmp_path):
    store = MissStore(tmp_path, ALL_TIME)
    note(store, a_miss(1))
    store.close()
    with closing(sqlite3.connect(tmp_path / "misses.sqlite")) as database:
        database.execute("ALTER TABLE misses DROP COLUMN source_guessed")
    store = MissStore(tmp_path, ALL_TIME)
    assert [miss.source_guessed for miss in store.recent()] == [False]
    note(store, replace(a_miss(2), source_guessed=True))
    store.close()
    assert in_step(tmp_path) == 2
    reopened = MissStore(tmp_path, ALL_TIME)
    assert {miss.source_guessed for miss in reopened.recent()} == {False, True}
    reopened.close()
