import pytest

from repair.ranking.features import numbers
from repair.ranking.queryfeatures import QueryFeatures
from tests.make import a_broken_link, a_summary


def values(page, *, url="http://site.test/x", anchor="", before="", compare_addresses=True):
    query_features = QueryFeatures(
        link=a_broken_link(url, anchor=anchor, before=before),
        terms={},
        anchor_name=anchor,
        compare_addresses=compare_addresses,
    )
    row = numbers.columns(query_features, [page])[0]
    return dict(zip(numbers.COLUMNS, map(float, row), strict=True))


@pytest.mark.parametrize(
    ("title", "value"), [("Lesson 12", 1), ("Lesson 012", 1), ("Lesson 13", -1), ("Lessons", 0)]
)
def test_numbers_of_the_link_agree_or_contradict(title, value):
    assert values(a_summary(title=title), anchor="lesson 12")["anchor.numbers"] == value


def test_numbers_of_the_lost_name_count_too():
    assert (
        values(a_summary(title="Report 2017"), url="http://site.test/report-2017.html")["slug.numbers"] == 1
    )


def test_of_the_text_around_only_years_count():
    page = a_summary(title="Budget 2018")
    assert values(page, before="in 2017, 3 of 5 schools")["context.years"] == -1
    assert values(page, before="3 of 5 schools")["context.years"] == 0


def test_years_of_addresses_are_compared_only_where_they_may_be():
    page, lost = a_summary("http://site.test/2018/05/budget"), "http://site.test/archive/2018/budget"
    assert values(page, url=lost)["address.years"] == 1
    assert values(page, url=lost, compare_addresses=False)["address.years"] == 0


@pytest.mark.parametrize(
    ("title", "order"),
    [
        ("Engine 3.4 beta 2", 1),
        ("Engine 3.2.4 beta 2", 5 / 7),
        ("Engine 4", -0.0),
        ("Engine 5.6", -1),
        ("Engine", 0),
    ],
)
def test_numbers_are_compared_in_their_order(title, order):
    found = values(a_summary(title=title), url="http://site.test/engine-3-4-beta-2/")
    assert found["slug.number_order"] == pytest.approx(order)


@pytest.mark.parametrize(
    ("title", "version"),
    [
        ("Version 2.1.4 is out", 1),
        ("The plan for 2.1", 0.4),
        ("Version 2.1.9 is out", -0.6),
        ("Version 3.0.0 is out", -1),
        ("Version 3 of 4", 0),
    ],
)
def test_versions_are_the_same_of_one_line_or_others(title, version):
    found = values(a_summary(title=title), url="http://site.test/x", anchor="version 2.1.4")
    assert found["anchor.version"] == pytest.approx(version)
    assert found["slug.version"] == 0
    found = values(a_summary(title=title), url="http://site.test/version-2-1-4-released")
    assert found["slug.version"] == pytest.approx(version)


def test_long_rows_of_digits_are_no_burden():
    hostile = "1." * 100_000
    assert values(a_summary(title=hostile), anchor=hostile)["anchor.number_order"] == 1
