import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.memento.choose import Search, Verdict, preferred, verdict
from repair.memento.datetimes import timestamp
from tests.archiving import a_memento
from tests.make import a_page


def _years(mementos):
    return [memento.at.year for memento in mementos]


def _searched(goodness, looks):
    """Which place of a list of good and bad mementos is found, and how many were looked at."""
    ordered = tuple(a_memento(str(3000 - place)) for place in range(len(goodness)))
    search, looked = Search(ordered, looks), 0
    while (memento := search.next_look()) is not None:
        looked += 1
        search.note(goodness[ordered.index(memento)])
    found = search.found()
    return (None if found is None else ordered.index(found)), looked


def _verdicts(text):
    return [{"g": Verdict.GOOD, "b": Verdict.BAD, "?": Verdict.UNKNOWN}[each] for each in text]


def test_the_latest_come_first():
    assert _years(preferred([a_memento("2010"), a_memento("2018"), a_memento("2014")])) == [2018, 2014, 2010]


def test_with_a_date_the_closest_come_first_and_the_earlier_of_two_as_close():
    mementos = [a_memento(day) for day in ("20100301", "20140301", "20140303", "20180301")]
    ordered = preferred(mementos, timestamp("20140302"))
    assert [memento.at.strftime("%Y%m%d") for memento in ordered[:2]] == ["20140301", "20140303"]


def test_known_errors_are_left_out_but_not_redirects():
    mementos = [a_memento(str(2000 + status), status=status) for status in (200, 301, 404, 503)]
    assert _years(preferred([*mementos, a_memento("2001")])) == [2301, 2200, 2001]


def test_of_captures_with_the_same_content_one_is_looked_into():
    mementos = [
        a_memento(year, digest=digest) for year, digest in (("2010", "A"), ("2014", "B"), ("2018", "B"))
    ]
    assert _years(preferred(mementos)) == [2018, 2010]


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
def test_a_search_leaps_back_over_bad_captures_and_returns_to_the_last_good_one(list_, found, looked):
    assert _searched(_verdicts(list_), 6) == (found, looked)


@given(st.lists(st.sampled_from(Verdict), max_size=60), st.integers(0, 10))
def test_a_search_ends_and_finds_only_what_is_good(list_, looks):
    found, looked = _searched(list_, looks)
    assert looked <= looks
    assert found is None or list_[found] is Verdict.GOOD


@given(st.integers(0, 40), st.integers(1, 40))
def test_with_looks_enough_the_last_good_one_before_the_end_is_found(bad, good):
    assert _searched([Verdict.BAD] * bad + [Verdict.GOOD] * good, 20)[0] == bad


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (a_page("http://lost.test/page"), Verdict.GOOD),
        (a_page("http://lost.test/page", status=404), Verdict.BAD),
        (a_page("http://lost.test/page", status=503), Verdict.BAD),
        (a_page("http://lost.test/"), Verdict.BAD),
        (a_page("http://new.test/index.html"), Verdict.BAD),
        (a_page("http://new.test/elsewhere"), Verdict.GOOD),
        (a_page("http://lost.test/page", body=b"for sale"), Verdict.BAD),
    ],
)
def test_errors_redirects_home_and_pages_that_pretend_are_bad(page, expected):
    assert verdict("http://lost.test/page", page, lambda page: b"for sale" in page.body) is expected


def test_a_home_page_may_be_what_was_lost():
    assert verdict("http://lost.test/", a_page("http://www.lost.test/"), lambda page: False) is Verdict.GOOD
