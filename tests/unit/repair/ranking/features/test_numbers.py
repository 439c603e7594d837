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
