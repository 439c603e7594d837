import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import timedelta

import pytest

from proxy.errors import StoreError
from proxy.misses.clicks import OfferClick
from proxy.misses.store import MissRecord, MissStore
from proxy.settings import MissesSettings
from repair.model import MissKind
from tests.make import A_MOMENT, spoil
from tests.missed import choose


class Clock:
    def __init__(self):
        self.now = A_MOMENT

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    opened = MissStore(tmp_path, MissesSettings(), clock=clock)
    yield opened
    opened.close()


def a_miss(number=1, at=A_MOMENT, **known):
    return MissRecord(
        **{
            "id": f"miss-{number:017}",
            "at": at,
            "url": "http://www.school.test/gone",
            "kind": MissKind.NOT_FOUND,
            "source_url": "http://a.test/",
            "rule": "default",
            "client": "0123456789abcdef",
            "offered": ("http://b.test/", "http://c.test/"),
            "status": 404,
            "latency_ms": 12.5,
            "query": "water cycle",
            "language": "sw",
            **known,
        }
    )


def events(tmp_path):
    return [json.loads(line) for line in (tmp_path / "misses.jsonl").read_text().splitlines()]


def test_a_miss_comes_back_as_it_was(store):
    store.record(a_miss())
    store.flush()
    assert store.recent() == (a_miss(),)


def test_a_miss_is_also_a_line_of_json(store, tmp_path):
    store.record(a_miss())
    store.flush()
    (event,) = events(tmp_path)
    assert event["event"] == "miss"
    assert event["at"] == "2026-05-03T12:00:00.000+00:00"
    assert event["offered"] == ["http://b.test/", "http://c.test/"]


@pytest.mark.parametrize(
    ("choice", "url"),
    [
        (0, "http://www.school.test/gone"),
        (2, "http://c.test/"),
        (3, None),
        (-1, None),
    ],
)
def test_only_what_was_offered_can_be_chosen(store, choice, url):
    store.record(a_miss())
    choose(store, a_miss(), choice)
    store.flush()
    assert store.recent()[0].chosen == url


def test_only_the_client_that_missed_a_page_can_choose(store):
    store.record(a_miss(client="me"))
    store.record(a_miss(2, client=""))
    for client in ("you", ""):
        store.record_choice(a_miss().id, 1, client=client, network="network")
        store.record_choice(a_miss(2).id, 1, client=client, network="network")
    store.flush()
    assert [miss.chosen for miss in store.recent()] == [None, None]


def test_choosing_twice_changes_nothing_and_the_last_choice_counts(store, tmp_path):
    store.record(a_miss())
    for choice in (1, 1, 1, 2):
        choose(store, a_miss(), choice)
    store.flush()
    assert store.recent()[0].chosen == "http://c.test/"
    assert [event["event"] for event in events(tmp_path)] == ["miss", "chosen", "chosen"]


def test_a_choice_for_an_unknown_miss_is_ignored(store):
    store.record_choice("nobody-knows-this-id", 1, client="me", network="network")
    store.flush()
    assert store.count() == 0


def test_the_newest_come_first_and_can_be_narrowed_down(store):
    store.record(a_miss(1))
    store.record(a_miss(2, at=A_MOMENT + timedelta(hours=1), kind=MissKind.TLS))
    store.record(a_miss(3, at=A_MOMENT + timedelta(hours=2), url="http://other.test/"))
    store.flush()
    assert [miss.id[-1] for miss in store.recent()] == ["3", "2", "1"]
    assert [miss.id[-1] for miss in store.recent(1)] == ["3"]
    assert [miss.id[-1] for miss in store.recent(kind=MissKind.TLS)] == ["2"]
    assert [miss.id[-1] for miss in store.recent(site="school.test")] == ["2", "1"]
    assert [miss.id[-1] for miss in store.recent(since=A_MOMENT + timedelta(minutes=90))] == ["3"]


def test_the_most_missed_pages_come_first(store):
    for number, url in enumerate(["http://a.test/1", "http://a.test/2", "http://a.test/2", "http://b.test/"]):
        store.record(a_miss(number, url=url, source_url=None if number else "http://s.test/"))
    store.flush()
    assert store.top() == (("http://a.test/2", 2), ("http://a.test/1", 1), ("http://b.test/", 1))
    assert store.top(1, by="site") == (("a.test", 3),)
    assert store.top(by="kind") == (("not_found", 4),)
    assert store.top(by="source") == (("http://s.test/", 1),)


@pytest.mark.parametrize("whose", [{"client": "me"}, {"url": "http://mine.test/"}])
def test_an_erased_miss_is_gone_everywhere(store, tmp_path, whose):
    store.record(a_miss(1, client="me", url="http://mine.test/"))
    store.record(a_miss(2))
    choose(store, a_miss(1, client="me"), 1)
    assert store.erase(**whose) == 1
    assert [miss.id for miss in store.recent()] == [a_miss(2).id]
    assert [event["id"] for event in events(tmp_path)] == [a_miss(2).id]
    assert all(b"http://mine.test/" not in path.read_bytes() for path in tmp_path.iterdir())


def test_old_misses_go_at_the_start(tmp_path, clock):
    with_old = MissStore(tmp_path, MissesSettings(retention_days=90), clock=clock)
    with_old.record(a_miss(1))
    with_old.record(a_miss(2, at=A_MOMENT + timedelta(days=50)))
    with_old.close()
    clock.now += timedelta(days=100)
    store = MissStore(tmp_path, MissesSettings(retention_days=90), clock=clock)
    assert [miss.id for miss in store.recent()] == [a_miss(2).id]
    assert [event["id"] for event in events(tmp_path)] == [a_miss(2).id]
    store.close()


def test_old_misses_go_every_day(store, clock):
    store.record(a_miss(1))
    store.flush()
    clock.now += timedelta(days=91)
    store.flush()
    assert store.count() == 0


def test_noting_a_miss_never_waits_even_when_the_disk_does(tmp_path, clock):
    store = MissStore(tmp_path, MissesSettings(), queue_length=10, clock=clock)
    with closing(sqlite3.connect(tmp_path / "misses.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        for number in range(1_000):
            store.record(a_miss(number))
        other.rollback()
    store.close()
    assert store.lost >= 1
    assert store.count() + store.lost == 1_000


def test_hostile_texts_are_kept_as_texts(store):
    store.record(a_miss(1, url="http://a.test/\ud800\x00'); DROP TABLE misses;--", query="\x00"))
    store.flush()
    assert store.recent()[0].url == "http://a.test/?\x00'); DROP TABLE misses;--"


def test_a_record_that_cannot_be_written_does_not_stop_the_writer(store):
    store.record(a_miss(1, status=10**40))
    with pytest.raises(StoreError):
        store.flush()
    store.record(a_miss(2))
    store.flush()
    assert store.count() == 1


def test_closing_writes_what_waits_and_may_be_done_twice(tmp_path):
    store = MissStore(tmp_path, MissesSettings(retention_days=9_000))
    for number in range(2_000):
        store.record(a_miss(number))
    store.close()
    store.close()
    store.record(a_miss(9_999))
    again = MissStore(tmp_path, MissesSettings(retention_days=9_000))
    assert again.count() == 2_000
    again.close()


def test_only_the_owner_may_read(store, tmp_path):
    store.record(a_miss())
    store.flush()
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


_VICTIM = """
import sys
from pathlib import Path
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from tests.unit.proxy.misses.test_store import a_miss
store = MissStore(Path(sys.argv[1]), MissesSettings(retention_days=9000))
for number in range(100_000):
    store.record(a_miss(number))
    store.flush()
    print(number, flush=True)
"""


@pytest.mark.slow
def test_committed_records_survive_kill_9(tmp_path):
    victim = subprocess.Popen(
        [sys.executable, "-c", _VICTIM, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    for _ in range(50):
        last = int(victim.stdout.readline())
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    store = MissStore(tmp_path, MissesSettings(retention_days=9_000))
    assert {a_miss(number).id for number in range(last + 1)} <= {miss.id for miss in store.recent(10_000)}
    store.close()


def test_a_damaged_log_is_set_aside_and_an_empty_one_begun(tmp_path):
    MissStore(tmp_path, MissesSettings()).close()
    (tmp_path / "misses.sqlite").write_bytes(b"garbage" * 1000)
    store = MissStore(tmp_path, MissesSettings())
    assert store.count() == 0
    assert (tmp_path / "misses.sqlite.damaged1").exists()
    store.close()


def test_a_log_that_is_damaged_further_down_is_set_aside_too(tmp_path):
    MissStore(tmp_path, MissesSettings()).close()
    spoil(tmp_path / "misses.sqlite")
    store = MissStore(tmp_path, MissesSettings())
    assert store.count() == 0
    assert (tmp_path / "misses.sqlite.damaged1").exists()
    store.close()


def test_a_choice_is_reported_once_with_the_missing_page(tmp_path, clock):
    told = []
    store = MissStore(tmp_path, MissesSettings(), clock=clock, on_choice=told.append)
    store.record(a_miss())
    for number in (1, 1, 7, 2):
        choose(store, a_miss(), number)
    store.close()
    missed = {"url": "http://www.school.test/gone", "network": "network", "at": A_MOMENT}
    assert told == [OfferClick(chosen=page, **missed) for page in ("http://b.test/", "http://c.test/")]


def test_repeated_choices_count_once_for_each_page(tmp_path, clock):
    told = []
    store = MissStore(
        tmp_path, MissesSettings(), clock=clock, on_choice=lambda click: told.append(click.chosen)
    )
    for number in (1, 2):
        store.record(a_miss(number))
        for choice in (1, 2, 1, 2):
            choose(store, a_miss(number), choice)
    store.record(a_miss(3, client="fedcba9876543210"))
    choose(store, a_miss(3, client="fedcba9876543210"), 1)
    store.close()
    assert told == ["http://b.test/", "http://c.test/", "http://b.test/"]


@pytest.mark.parametrize(
    ("after_s", "unfit"), [(60, "http://b.test/"), (2, None), (3 * 3600, None)], ids=["read", "tabs", "later"]
)
def test_a_choice_is_unfit_if_the_user_comes_back_for_another(tmp_path, clock, after_s, unfit):
    told = []
    store = MissStore(
        tmp_path,
        MissesSettings(),
        clock=clock,
        on_choice=lambda click: told.append((click.chosen, click.unfit)),
    )
    store.record(a_miss())
    choose(store, a_miss(), 1)
    clock.now += timedelta(seconds=after_s)
    choose(store, a_miss(), 2)
    store.close()
    assert told == [("http://b.test/", None), ("http://c.test/", unfit)]


def test_a_network_has_its_share_of_a_day_also_after_a_restart(tmp_path, clock):
    settings = MissesSettings(log_bytes=18_000)
    first = MissStore(tmp_path, settings, clock=clock)
    for number in range(10):
        first.record(a_miss(number, client=f"bbbbbb{number:010}"))
    first.record(a_miss(20, client="aaaaaa0000000001"))
    first.close()
    assert (first.count(), first.lost) == (7, 4)
    again = MissStore(tmp_path, settings, clock=clock)
    for number in (30, 31):
        again.record(a_miss(number, client="bbbbbb0000000001"))
    again.record(a_miss(40, client="aaaaaa0000000001"))
    again.flush()
    assert again.count() == 8
    clock.now += timedelta(days=1)
    again.record(a_miss(50, at=clock.now, client="bbbbbb0000000001"))
    again.flush()
    assert again.count() == 9
    again.close()


def test_choices_have_their_share_too(tmp_path, clock):
    settings = MissesSettings(log_bytes=18_000)
    store = MissStore(tmp_path, settings, clock=clock)
    store.record(a_miss())
    for number in range(30):
        choose(store, a_miss(), 1 + number % 2)
    store.close()
    assert len((tmp_path / "misses.jsonl").read_text().splitlines()) == 6


def test_a_log_that_is_too_large_loses_its_oldest_records(tmp_path, clock):
    store = MissStore(tmp_path, MissesSettings(log_bytes=100_000), clock=clock)
    for number in range(200):
        long, client = f"http://school.test/{number}/" + "x" * 3_000, f"{number:06}0000000000"
        store.record(a_miss(number, url=long, at=A_MOMENT + timedelta(seconds=number), client=client))
        store.flush()
    kept = [record.url.split("/")[3] for record in store.recent(limit=1_000)]
    assert kept[0] == "199"
    assert len(kept) < 190
    assert kept == [str(number) for number in range(199, 199 - len(kept), -1)]
    store.close()


def test_addresses_that_had_no_page_lately_are_known(store, clock):
    kinds = (MissKind.NOT_FOUND, MissKind.GONE, MissKind.TIMEOUT, MissKind.SERVER_ERROR)
    for number, kind in enumerate(kinds):
        store.record(a_miss(number, url=f"http://a.test/{kind}", kind=kind))
    store.flush()
    asked = [f"http://a.test/{kind}" for kind in MissKind]
    assert store.known_dead(asked) == {"http://a.test/not_found", "http://a.test/gone"}
    assert store.known_dead(()) == frozenset()
    clock.now += timedelta(days=31)
    assert store.known_dead(asked) == frozenset()


def test_a_page_that_was_offered_later_can_be_chosen(store, tmp_path):
    miss = a_miss()
    store.record(miss)
    for _ in range(2):
        store.add_offers(miss.id, miss.client, 3, ("http://late.test/",))
    store.record_choice(miss.id, 3, client=miss.client, network="network")
    store.close()
    found = MissStore(tmp_path, MissesSettings(), clock=lambda: A_MOMENT)
    (noted,) = found.recent()
    found.close()
    assert noted.offered == (*miss.offered, "http://late.test/")
    assert noted.chosen == "http://late.test/"
    events = [json.loads(line)["event"] for line in (tmp_path / "misses.jsonl").read_text().splitlines()]
    assert events == ["miss", "offered_later", "chosen"]


def test_what_was_offered_later_has_its_number_even_where_others_are_not_noted(store):
    miss = a_miss(offered=())
    store.record(miss)
    store.add_offers(miss.id, miss.client, 3, ("http://late.test/",))
    store.flush()
    assert store.recent()[0].offered == ("", "", "http://late.test/")
