"""proxy.misses.deadmedia over a real log: one row a file and page, erased and dropped like other entries."""

import json
from datetime import timedelta

import pytest

from proxy.misses.deadmedia import dead_media
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from tests.make import A_MOMENT

PICTURE, OTHER = "http://museum.test/basalt.jpg", "http://museum.test/lava.mp4"
PAGE = "http://school.test/rocks"


@pytest.fixture
def clock():
    return [A_MOMENT]


@pytest.fixture
def store(tmp_path, clock):
    store = MissStore(tmp_path, MissesSettings(retention_days=30), clock=lambda: clock[0])
    yield store
    store.close()


def note(store, url=PICTURE, page=PAGE, medium="image", client="one"):
    store.record_dead_medium(url, page, medium, client=client)
    store.flush()


def listed(store, **about):
    return [
        (each.url, each.page, each.times)
        for each in dead_media(store, **{"since": None, "limit": 10, **about})
    ]


def test_file_on_a_page_is_one_row_however_often_it_is_met(store, clock):
    for client in ("one", "two", "one"):
        note(store, client=client)
    clock[0] += timedelta(hours=1)
    note(store, OTHER, medium="video")
    assert listed(store) == [(OTHER, PAGE, 1), (PICTURE, PAGE, 3)]
    assert listed(store, since=clock[0]) == [(OTHER, PAGE, 1)]
    assert listed(store, limit=1, offset=1) == [(PICTURE, PAGE, 3)]


def test_line_for_other_programs_is_written_once_and_names_nobody(store, tmp_path):
    note(store, client="somebody")
    note(store, client="somebody")
    lines = [json.loads(line) for line in (tmp_path / "misses.jsonl").read_text().splitlines()]
    assert [(line["event"], line["url"], line["source_url"]) for line in lines] == [
        ("dead_medium", PICTURE, PAGE)
    ]
    assert "somebody" not in (tmp_path / "misses.jsonl").read_text()


def test_erased_addresses_leave_rows_and_lines(store, tmp_path):
    note(store)
    note(store, page="")
    note(store, OTHER)
    store.erase(url=PAGE)
    assert sorted(listed(store)) == [(PICTURE, "", 1), (OTHER, "", 1)]
    store.erase(url=PICTURE)
    assert listed(store) == [(OTHER, "", 1)]
    assert PAGE not in (text := (tmp_path / "misses.jsonl").read_text())
    assert PICTURE not in text


def test_row_that_was_not_met_for_the_retention_time_goes(store, clock):
    note(store)
    clock[0] += timedelta(days=31)
    note(store, OTHER)
    assert listed(store) == [(OTHER, PAGE, 1)]


def test_one_network_cannot_fill_the_log(tmp_path):
    store = MissStore(tmp_path, MissesSettings(log_bytes=30_000))
    for number in range(100):
        store.record_dead_medium(f"http://a.test/{number}.png", PAGE, "image", client="one")
    store.flush()
    assert 0 < len(listed(store, limit=1_000)) < 100
    store.close()
