"""Lists of what was missed, narrowed down in every way."""

from datetime import UTC, datetime, timedelta

import pytest

from proxy.errors import StoreError
from proxy.misses.filters import IgnoredFilter, MissFilter, MissOutcome
from proxy.misses.lists import ChosenPage, MissLists, MissTally
from proxy.misses.marks import AddressMarks
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from repair.model import MissKind
from repair.soft404.sitestore import SiteStore
from tests.make import A_MOMENT
from tests.missed import HOUR, a_miss, note

WATER, RIVERS, RAIN = "http://a.test/water", "http://a.test/rivers", "http://b.test/rain_100%"
UNIT, HOME = "http://library.test/unit", "http://library.test/"


@pytest.fixture
def store(tmp_path):
    opened = MissStore(tmp_path, MissesSettings(retention_days=9_000))
    note(
        opened,
        a_miss(1, WATER, source_url=UNIT),
        a_miss(2, WATER, A_MOMENT + HOUR, source_url=UNIT, chosen="http://b.test/"),
        a_miss(3, WATER, A_MOMENT + 2 * HOUR, source_url=HOME, chosen="http://b.test/"),
        a_miss(4, RIVERS, A_MOMENT + 3 * HOUR, source_url=UNIT, offered=(), kind=MissKind.SOFT_404),
        a_miss(5, RIVERS, A_MOMENT + 4 * HOUR, source_url=None, kind=MissKind.GONE),
        a_miss(6, RAIN, A_MOMENT + 5 * HOUR, source_url=UNIT, offered=(), copy=True, chosen=RAIN),
    )
    yield opened
    opened.close()


@pytest.fixture
def lists(store):
    return MissLists(store)


@pytest.fixture
def marks(store, tmp_path):
    sites = SiteStore(tmp_path / "sites.sqlite")
    yield AddressMarks(store, sites)
    sites.close()


def urls(rows):
    return [row.url for row in rows]


def test_the_most_missed_address_comes_first_with_what_became_of_it(lists):
    first, second, third = lists.addresses(MissFilter())
    assert (first.url, first.site, first.tally, first.sources) == (
        WATER,
        "a.test",
        MissTally(times=3, offered=1, opened=2),
        2,
    )
    assert (second.url, second.tally) == (RIVERS, MissTally(times=2, nothing=1, offered=1))
    assert (second.kind, second.last_at, second.sources) == (MissKind.GONE, A_MOMENT + 4 * HOUR, 1)
    assert third.url == RAIN


def test_the_latest_may_come_first_and_lists_have_pages(lists):
    assert urls(lists.addresses(MissFilter(), order="latest")) == [RAIN, RIVERS, WATER]
    assert urls(lists.addresses(MissFilter(), 1, offset=1)) == [RIVERS]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (MissFilter(kind=MissKind.SOFT_404), {RIVERS: 1}),
        (MissFilter(outcome=MissOutcome.NOTHING), {RIVERS: 1}),
        (MissFilter(outcome=MissOutcome.OFFERED), {WATER: 1, RIVERS: 1}),
        (MissFilter(outcome=MissOutcome.OPENED), {WATER: 2, RAIN: 1}),
        (MissFilter(site="b.test"), {RAIN: 1}),
        (MissFilter(source=UNIT), {WATER: 2, RIVERS: 1, RAIN: 1}),
        (MissFilter(url=WATER), {WATER: 3}),
        (MissFilter(text="RIV"), {RIVERS: 2}),
        (MissFilter(text="%"), {RAIN: 1}),
        (MissFilter(text="n_1"), {RAIN: 1}),
        (MissFilter(text="'; DROP TABLE misses; --"), {}),
        (MissFilter(since=A_MOMENT + 4 * HOUR), {RIVERS: 1, RAIN: 1}),
        (MissFilter(until=A_MOMENT + HOUR), {WATER: 1}),
        (MissFilter(since=A_MOMENT + HOUR, until=A_MOMENT + 2 * HOUR, kind=MissKind.NOT_FOUND), {WATER: 1}),
    ],
)
def test_tallies_and_records_are_narrowed_down_alike(lists, wanted, expected):
    assert {row.url: row.tally.times for row in lists.addresses(wanted)} == expected
    records = urls(lists.records(wanted))
    assert {url: records.count(url) for url in records} == expected
    totals = lists.totals(wanted)
    assert (totals.addresses, totals.tally.times) == (len(expected), sum(expected.values()))
    assert sum(tally.times for _, tally in lists.kinds(wanted)) == sum(expected.values())
    assert sum(tally.times for _, tally in lists.moments(wanted)) == sum(expected.values())
    assert sum(group.tally.times for group in lists.sites(wanted)) == sum(expected.values())


def test_a_page_with_many_dead_links_comes_first(lists):
    assert [(group.name, group.addresses, group.tally.times) for group in lists.sources(MissFilter())] == [
        (UNIT, 3, 4),
        (HOME, 1, 1),
    ]
    assert urls(lists.addresses(MissFilter(source=UNIT))) == [WATER, RAIN, RIVERS]


def test_a_source_that_no_browser_named_is_marked_as_a_guess(store, lists):
    note(store, a_miss(7, WATER, source_url="http://g.test/", source_guessed=True))
    note(store, a_miss(8, WATER, source_url=HOME, source_guessed=True))
    assert {group.name: group.guessed for group in lists.sources(MissFilter())} == {
        UNIT: False,
        HOME: False,
        "http://g.test/": True,
    }


def test_sites_are_counted_with_all_their_addresses(lists):
    assert [(group.name, group.addresses, group.tally.times) for group in lists.sites(MissFilter())] == [
        ("a.test", 2, 5),
        ("b.test", 1, 1),
    ]


def test_choices_of_users_are_counted(lists):
    assert lists.choices(MissFilter()) == (
        ChosenPage(url=WATER, chosen="http://b.test/", times=2),
        ChosenPage(url=RAIN, chosen=RAIN, times=1),
    )
    assert lists.choices(MissFilter(source=HOME)) == (
        ChosenPage(url=WATER, chosen="http://b.test/", times=1),
    )
    assert lists.choices(MissFilter(outcome=MissOutcome.OPENED)) == lists.choices(MissFilter())
    assert lists.choices(MissFilter(outcome=MissOutcome.NOTHING)) == ()


def test_moments_are_quarters_of_an_hour(store, lists):
    note(
        store,
        a_miss(7, WATER, A_MOMENT + timedelta(minutes=14)),
        a_miss(8, WATER, A_MOMENT + timedelta(minutes=16)),
    )
    moments = lists.moments(MissFilter(until=A_MOMENT + HOUR))
    assert [(at, tally.times) for at, tally in moments] == [
        (A_MOMENT, 2),
        (A_MOMENT + timedelta(minutes=15), 1),
    ]


def test_ignored_addresses_are_left_out_until_they_are_heeded_again(lists, marks):
    marks.put(WATER, "ignored", "admin", A_MOMENT)
    assert urls(lists.addresses(MissFilter())) == [RIVERS, RAIN]
    assert WATER not in urls(lists.records(MissFilter()))
    assert urls(lists.addresses(MissFilter(shown=IgnoredFilter.IGNORED))) == [WATER]
    assert set(urls(lists.records(MissFilter(shown=IgnoredFilter.IGNORED)))) == {WATER}
    assert lists.totals(MissFilter(shown=IgnoredFilter.ALL)).addresses == 3
    marks.take(WATER, "ignored")
    assert lists.totals(MissFilter()).addresses == 3


def test_an_empty_log_has_empty_lists(tmp_path):
    store = MissStore(tmp_path / "empty", MissesSettings())
    lists = MissLists(store)
    assert lists.totals(MissFilter()).tally == MissTally()
    assert lists.addresses(MissFilter()) == lists.sources(MissFilter()) == lists.moments(MissFilter()) == ()
    store.close()


def test_a_question_that_takes_too_long_is_given_up(store):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(StoreError, match="interrupted"):
        store.read(endless, (), within_s=0.05)


@pytest.mark.parametrize(
    ("query", "by"),
    [
        ("SELECT * FROM misses WHERE kind = 'gone' ORDER BY at DESC LIMIT 9", "misses_kind"),
        ("SELECT * FROM misses WHERE url = 'x' ORDER BY at DESC LIMIT 9", "misses_url_at"),
        ("SELECT * FROM misses WHERE source_url = 'x' ORDER BY at DESC LIMIT 9", "misses_source"),
        ("SELECT * FROM misses WHERE (at, id) > (1, 'x') ORDER BY at, id LIMIT 9", "misses_at"),
        ("SELECT slot, sum(times) FROM tallies WHERE slot >= 9 GROUP BY slot", "COVERING INDEX tallies_slot"),
        ("SELECT 1 FROM tallies WHERE source != 0 AND source = 5", "COVERING INDEX tallies_source"),
        ("SELECT sum(times) FROM tallies WHERE address = 5", "PRIMARY KEY"),
    ],
)
def test_long_lists_are_read_by_their_indexes(store, query, by):
    plan = [row["detail"] for row in store.read(f"EXPLAIN QUERY PLAN {query}", ())]
    assert any(by in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_times_of_any_zone_may_be_given(lists):
    assert lists.totals(MissFilter(since=datetime(2000, 1, 1, tzinfo=UTC))).addresses == 3


def test_costliest_addresses_are_those_that_most_users_missed_in_vain(store, lists, marks):
    note(
        store,
        *(a_miss(100 + number, WATER, client="one") for number in range(9)),
        *(a_miss(200 + number, RIVERS, client=f"user {number}") for number in range(3)),
        *(a_miss(300 + number, RAIN, client=f"user {number}", chosen=RAIN) for number in range(9)),
    )
    assert [(row.url, row.users, row.times) for row in lists.costliest(MissFilter())] == [
        (RIVERS, 4, 5),
        (WATER, 2, 10),
    ]
    marks.put(RIVERS, "ignored", "admin", A_MOMENT)
    assert [row.url for row in lists.costliest(MissFilter())] == [WATER]
