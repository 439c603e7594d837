"""Erasing an address: in every way to write it, and where others mention it."""

import json

import pytest

from proxy.misses.erasure import spellings
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from tests.missed import a_miss, choose, note

MINE = "http://mine.test/secret"


@pytest.fixture
def store(tmp_path):
    opened = MissStore(tmp_path, MissesSettings(retention_days=9_000))
    yield opened
    opened.close()


def left(folder, text):
    return [path.name for path in folder.iterdir() if text.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "noted", [MINE, f"{MINE}/", "https://www.mine.test/secret", "https://mine.test/secret/"]
)
def test_an_address_is_erased_however_it_was_written(store, tmp_path, noted):
    note(store, a_miss(1, noted), a_miss(2))
    assert store.erase(url=MINE) == 1
    assert [miss.url for miss in store.recent()] == [a_miss().url]
    assert left(tmp_path, "mine.test/secret") == []


def test_mentions_are_blanked_and_the_other_misses_stay(store, tmp_path):
    note(
        store,
        a_miss(1, source_url=MINE),
        a_miss(2, offered=("http://b.test/", MINE, "http://c.test/")),
        a_miss(3, offered=(MINE,)),
    )
    choose(store, a_miss(3), 1)
    assert store.erase(url=MINE) == 0
    third, second, first = store.recent()
    assert first.source_url is None
    assert second.offered == ("http://b.test/", "", "http://c.test/")
    assert (third.offered, third.chosen) == (("",), None)
    lines = [json.loads(line) for line in (tmp_path / "misses.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["miss", "miss", "miss"]
    assert left(tmp_path, "mine.test") == []


def test_pages_under_the_address_are_other_addresses(store):
    note(store, a_miss(1, f"{MINE}/more"), a_miss(2, f"{MINE}?page=2"))
    assert store.erase(url=MINE) == 0
    assert store.count() == 2


def test_a_text_that_is_no_web_address_can_be_erased(store):
    note(store, a_miss(1, "nonsense' OR 1=1 --"), a_miss(2))
    assert store.erase(url="nonsense' OR 1=1 --") == 1
    assert spellings("nonsense") == {"nonsense"}
