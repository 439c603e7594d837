"""proxy.pages.timegraph: bars of years, months and days."""

from datetime import UTC, datetime

from proxy.pages.timegraph import HEIGHT, WIDTH, graph, within
from proxy.portal.timeparameters import TimeView
from tests.archiving import a_memento

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MEMENTOS = [
    a_memento("2010"),
    a_memento("20130301"),
    a_memento("20130319"),
    a_memento("20130705", archive="other"),
]


def counts(made):
    return {bar.number: dict(bar.counts) for bar in made.bars if bar.total}


def test_a_bar_for_each_year_from_the_first_to_the_last_with_its_archives():
    made = graph(MEMENTOS, TimeView(), NOW)
    assert [bar.number for bar in made.bars] == [2010, 2011, 2012, 2013]
    assert counts(made) == {2010: {"school": 1}, 2013: {"school": 2, "other": 1}}
    assert made.archives == (("school", 0, 3), ("other", 1, 1))


def test_a_year_has_twelve_months_and_a_month_its_days():
    year = graph(MEMENTOS, TimeView(year=2013), NOW)
    assert (year.unit, len(year.bars)) == ("month", 12)
    assert counts(year) == {3: {"school": 2}, 7: {"other": 1}}
    month = graph(MEMENTOS, TimeView(year=2013, month=3), NOW)
    assert (month.unit, len(month.bars)) == ("day", 31)
    assert counts(month) == {1: {"school": 1}, 19: {"school": 1}}


def test_graph_can_show_one_archive():
    assert counts(graph(MEMENTOS, TimeView(archive="other"), NOW)) == {2013: {"other": 1}}
    assert within(MEMENTOS, TimeView(archive="other", year=2010)) == ()


def test_archive_keeps_its_tone_in_every_view():
    alone = graph(MEMENTOS, TimeView(archive="other"), NOW)
    assert {piece.tone for bar in alone.bars for piece in bar.pieces} == {1}


def test_everything_is_drawn_inside_and_the_highest_bar_is_as_high_as_it_goes():
    made = graph(MEMENTOS, TimeView(), NOW)
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in made.bars)
    last = made.bars[-1]
    assert sum(piece.height for piece in last.pieces) == HEIGHT
    assert min(piece.y for piece in last.pieces) == 0


def test_impossible_years_are_ignored():
    strange = [a_memento("0001"), a_memento("9999"), a_memento("2013")]
    assert [bar.number for bar in graph(strange, TimeView(), NOW).bars] == [2013]
    assert graph(strange[:2], TimeView(), NOW) is None
