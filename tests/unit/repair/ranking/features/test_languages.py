import numpy as np
import pytest

from repair.ranking.features import languages
from repair.ranking.queryfeatures import QueryFeatures
from tests.make import a_broken_link, a_summary

LOST = "http://site.test/es/agua.html"


def values(pages, *, language="", url=LOST, anchor="", backlinks=(), editions=(), compare_addresses=True):
    query_features = QueryFeatures(
        link=a_broken_link(url, anchor=anchor),
        terms={},
        anchor_name=anchor,
        language=language,
        compare_addresses=compare_addresses,
    )
    rows = languages.columns(query_features, pages, backlinks, np.array(editions or [0] * len(pages)))
    return [dict(zip(languages.COLUMNS, map(float, row), strict=True)) for row in rows]


def test_the_language_of_the_page_of_the_click_is_preferred():
    same, other, unknown = values(
        [a_summary(language="es"), a_summary(language="en"), a_summary(language="")], language="es"
    )
    assert [each["language.source"] for each in (same, other, unknown)] == [1, -1, 0]


def test_the_language_in_the_lost_address_is_compared_with_that_of_the_text():
    """After a reorganisation the candidate's own address says nothing, its text does."""
    same, other = values([a_summary(language="es"), a_summary(language="pt")])
    assert (same["language.address"], other["language.address"]) == (1, -1)


def test_pages_that_link_to_the_lost_one_vote():
    backlinks = [a_summary(language=code) for code in ("es", "es", "es", "en")]
    same, other = values([a_summary(language="es"), a_summary(language="en")], backlinks=backlinks)
    assert same["language.backlinks"] == pytest.approx(0.5)
    assert other["language.backlinks"] == pytest.approx(-0.5)


def test_addresses_are_compared_only_where_they_may_be():
    page = a_summary("http://site.test/fr/eau", language="es")
    assert values([page])[0]["language.addresses"] == -1
    assert values([page], compare_addresses=False)[0]["language.addresses"] == 0


def test_a_title_in_another_script_than_the_link_contradicts():
    same, other = values([a_summary(title="Круговорот воды"), a_summary(title="Water")], anchor="вода")
    assert (same["language.script"], other["language.script"]) == (1, -1)


def test_nothing_known_says_nothing():
    assert set(values([a_summary(language="de")], url="http://site.test/x.html")[0].values()) == {0.0}


def test_the_address_counts_more_than_the_page_of_the_click():
    """A page that was never translated links to translated ones."""
    spanish, english = values([a_summary(language="es"), a_summary(language="en")], language="en")
    assert (spanish["language.expected"], english["language.expected"]) == (1, -1)


def test_a_half_translated_page_is_known_by_its_title_and_links():
    lost, text = "http://site.test/ru/voda.html", "en"
    half, other = values(
        [a_summary(title="Вода", language=text), a_summary(title="水", language=text)],
        url=lost,
        editions=[1, -1],
    )
    assert half["language.expected"] == other["language.expected"] == -1
    assert half["language.all"] > other["language.all"] == -1
