import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.memento.datetimes import timestamp
from repair.memento.selection import MementoSearch, MementoVerdict, order_by_preference, verdict
from tests.archiving import a_memento
from tests.make import a_page


def _years(mementos):
    return [memento.at.year for memento in mementos]


def _search(goodness, looks):
    """Search a list of good and bad mementos: the place found, and how many were fetched."""
    ordered = tuple(a_memento(str(3000 - place)) for place in range(len(goodness)))
    search, looked = MementoSearch(ordered, looks), 0
    while (memento := search.next_memento()) is not None:
        looked += 1
        search.note(goodness[ordered.index(memento)])
    found = search.best()
    return (None if found is None else ordered.index(found)), looked


def _verdicts(text):
    return [
        {"g": MementoVerdict.GOOD, "b": MementoVerdict.BAD, "?": MementoVerdict.UNKNOWN}[each]
        for each in text
    ]


def test_the_latest_come_first():
    assert _years(order_by_preference([a_memento("2010"), a_memento("2018"), a_memento("2014")])) == [
        2018,
        2014,
        2010,
    ]


def test_with_a_date_the_closest_come_first_and_of_equals_the_earlier():
    mementos = [a_memento(day) for day in ("20100301", "20140301", "20140303", "20180301")]
    ordered = order_by_preference(mementos, timestamp("20140302"))
    assert [memento.at.strftime("%Y%m%d") for memento in ordered[:2]] == ["20140301", "20140303"]


def test_known_errors_are_left_out_but_not_redirects():
    mementos = [a_memento(str(2000 + status), status=status) for status in (200, 301, 404, 503)]
    assert _years(order_by_preference([*mementos, a_memento("2001")])) == [2301, 2200, 2001]


def test_captures_with_the_same_content_are_kept_once():
    mementos = [
        a_memento(year, digest=digest) for year, digest in (("2010", "A"), ("2014", "B"), ("2018", "B"))
    ]
    assert _years(order_by_preference(mementos)) == [2018, 2010]


@pytest.mark.parametrize(
    ("list_", "found", "looked"),
    [
        ("", None, 0),
        ("ggg", 0, 1),
        ("bgg", 1, 2),
        ("bbg", 2, 3),
        ("bbbb", None, 3),
        ("bbbbbggggggg", 5, 6),  # leaps to 7, comes back to 5
        ("?g", 1, 2),
        ("???????", None, 6),
        ("b?g", 2, 3),
    ],
)
def test_the_search_steps_back_over_bad_captures_to_the_last_good_one(list_, found, looked):
    assert _search(_verdicts(list_), 6) == (found, looked)


@given(st.lists(st.sampled_from(MementoVerdict), max_size=60), st.integers(0, 10))
def test_the_search_ends_and_returns_only_good_mementos(list_, looks):
    found, looked = _search(list_, looks)
    assert looked <= looks
    assert found is None or list_[found] is MementoVerdict.GOOD


@given(st.integers(0, 40), st.integers(1, 40))
def test_with_enough_fetches_the_last_good_memento_is_found(bad, good):
    assert _search([MementoVerdict.BAD] * bad + [MementoVerdict.GOOD] * good, 20)[0] == bad


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (a_page("http://lost.test/page"), MementoVerdict.GOOD),
        (a_page("http://lost.test/page", status=404), MementoVerdict.BAD),
        (a_page("http://lost.test/page", status=503), MementoVerdict.BAD),
        (a_page("http://lost.test/"), MementoVerdict.BAD),
        (a_page("http://new.test/index.html"), MementoVerdict.BAD),
        (a_page("http://new.test/elsewhere"), MementoVerdict.GOOD),
        (a_page("http://lost.test/page", body=b"for sale"), MementoVerdict.BAD),
    ],
)
def test_errors_redirects_home_and_soft_404s_are_bad(page, expected):
    assert verdict("http://lost.test/page", page, lambda page: b"for sale" in page.body) is expected


def test_a_lost_home_page_is_good():
    assert (
        verdict("http://lost.test/", a_page("http://www.lost.test/"), lambda page: False)
        is MementoVerdict.GOOD
    )
