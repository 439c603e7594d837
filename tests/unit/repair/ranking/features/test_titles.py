"""Names against names."""

import pytest

from repair.collection.pages import PageSummary
from repair.ranking.features.titles import COLUMNS, columns, title_names
from repair.ranking.queryfeatures import QueryFeatures
from tests.make import a_broken_link, a_summary


def rows(title, **names):
    query_features = QueryFeatures(link=a_broken_link("http://a.test/x"), terms={}, **names)
    page = PageSummary(page=1, url="http://a.test/y", title=title, language="", digest=b"")
    return dict(zip(COLUMNS, columns(query_features, [page])[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Water cycle", "watercycle"),
        ("Water cycle - School Encyclopaedia", "watercycle"),
        ("School Encyclopaedia | Water cycle", "watercycle"),
        ("Water-cycle — Physics » Science", "watercyclephysics"),
    ],
)
def test_the_site_s_name_in_a_title_does_not_hide_the_page_s(title, name):
    assert name in title_names(title)


def test_a_hyphen_within_a_word_separates_nothing():
    assert title_names("X-ray") == ("xray",)


def test_a_title_without_letters_gives_no_name():
    assert title_names("—") in ((), ("—",))
    assert rows("", anchor_name="watercycle")["anchor=title"] == 0


def test_the_same_name_is_equal_and_a_similar_one_alike():
    assert rows("Water cycle - Site", anchor_name="watercycle")["anchor=title"] == 1
    other = rows("Water cycles", anchor_name="watercycle")
    assert other["anchor=title"] == 0
    assert 0.9 < other["anchor~title"] < 1


def test_anchors_of_other_pages_count_by_frequency():
    assert rows("Rain", names=(("rain", 0.75), ("shower", 0.25)))["names=title"] == 0.75


def test_a_copy_s_title_is_a_name():
    assert rows("Rain", copy_name="rain")["copy=title"] == 1


def test_a_name_that_is_part_of_a_title_fits_it():
    part = rows("The water cycle explained for schools", anchor_name="thewatercycle")["anchor.title_part"]
    assert part > 2 * rows("Castles and their moats", anchor_name="thewatercycle")["anchor.title_part"]


def test_a_short_name_that_fits_says_little():
    assert rows("The water cycle", anchor_name="cycle")["anchor.title_part"] < 0.5


def test_a_title_in_the_text_around_the_link_is_found():
    def within(title):
        link = a_broken_link("http://a.test/x", before="As we said in The Water-Cycle,", anchor="read on")
        query_features = QueryFeatures(link=link, terms={})
        return columns(query_features, [a_summary(title=title)])[0][COLUMNS.index("context.title_within")]

    assert within("The water cycle") > within("water") > within("Castles") == 0
    assert within("") == 0
