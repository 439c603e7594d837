import numpy as np
import pytest

from repair.ranking.features import FEATURES, languages
from repair.ranking.learned import LearnedRanker
from repair.ranking.queryfeatures import QueryFeatures
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link, a_summary

LOST = "http://site.test/es/agua.html"


def values(
    pages,
    *,
    language="",
    url=LOST,
    anchor="",
    backlinks=(),
    editions=(),
    default_edition=(),
    beside=(),
    compare_addresses=True,
):
    query_features = QueryFeatures(
        link=a_broken_link(url, anchor=anchor),
        terms={},
        anchor_name=anchor,
        language=language,
        editions={f"http://site.test/{code}/": code for code in beside},
        compare_addresses=compare_addresses,
    )
    nothing = [0] * len(pages)
    links = (np.array(each or nothing) for each in (editions, default_edition))
    rows = languages.columns(query_features, pages, backlinks, *links)
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


def test_a_page_is_surely_foreign_only_if_no_sign_of_it_is_the_expected_language():
    lost = "http://site.test/hi/jal.html"
    pages = [
        a_summary(title="Water", language="hi"),
        a_summary(title="जल", language="en"),
        a_summary(title="Water", language="en"),
        a_summary(title="Water", language="en"),
        a_summary(title="Water", language=""),
    ]
    found = values(pages, url=lost, editions=[0, 0, 1, 0, 0])
    assert [each["language.sure"] for each in found] == [1, 1, 1, -1, 0]
    assert [each["language.signs"] for each in found] == [1, 0, 0, -1, 0]
    assert [each["language.edition"] for each in found] == [0, 0, 1, 0, 0]


def test_the_address_of_a_candidate_is_a_sign_of_its_edition():
    same, other = values(
        [a_summary("http://site.test/new/es/agua"), a_summary("http://site.test/new/pt/agua")]
    )
    assert (same["language.edition"], other["language.edition"]) == (1, -1)
    assert (same["language.sure"], other["language.sure"]) == (1, -1)


def test_text_that_contradicts_address_and_source_is_marked():
    spanish, english, french = values(
        [a_summary(language="es"), a_summary(language="en"), a_summary(language="fr")], language="en"
    )
    assert (spanish["language.both"], english["language.both"], french["language.both"]) == (0, 0, -1)


def test_simplified_and_traditional_chinese_are_told_apart():
    pages = [a_summary(title="版本发布"), a_summary(title="版本發布"), a_summary(title="Git")]
    found = values(pages, url="http://site.test/zh-TW/news", language="zh")
    assert [each["language.variety"] for each in found] == [-1, 1, 0]
    found = values(pages, url="http://site.test/zh/news", anchor="请看发布说明")
    assert [each["language.variety"] for each in found] == [1, -1, 0]
    found = values(pages, url="http://site.test/ja/news", anchor="發布")
    assert [each["language.variety"] for each in found] == [0, 0, 0]


def test_an_address_without_a_language_names_the_default_edition_where_others_name_theirs():
    """A Japanese page links to an English one that was never translated."""
    pages = [a_summary(language="en"), a_summary(language="ja", title="水の循環"), a_summary(language="")]
    found = values(pages, url="http://site.test/water.html", language="ja", beside=("ja", "es"))
    assert [each["language.address"] for each in found] == [1, -1, 0]
    assert [each["language.sure"] for each in found] == [1, -1, 0]


def test_links_into_editions_that_name_a_language_tell_pages_of_these_from_the_default_one():
    pages = [a_summary(language="en"), a_summary(language="en")]
    default, other = values(
        pages, url="http://site.test/water.html", beside=("ja",), default_edition=[0.8, -0.6]
    )
    assert default["language.links"] == pytest.approx(0.8)
    assert (default["language.edition"], other["language.edition"]) == (1, -1)


def test_where_every_candidate_is_of_an_edition_that_names_its_language_the_page_of_the_click_decides():
    pages = [a_summary(language="ja"), a_summary(language="es")]
    same, other = values(pages, url="http://site.test/water.html", language="ja", beside=("ja", "es"))
    assert same["language.address"] == other["language.address"] == 0
    assert (same["language.expected"], other["language.expected"]) == (1, -1)


def test_a_translated_page_may_link_to_a_page_that_is_saved_in_the_default_language_alone(tmp_path):
    """The editions are those that the collection's own addresses and links show."""
    water = "The water cycle: rain, rivers and the sea. " * 5
    pages = [
        a_document(f"/{edition}page{number}.html", title=f"Water {number}", text=water, language=language)
        for edition, language in (("", "en"), ("ja/", "ja"))
        for number in range(6)
    ]
    with a_collection(tmp_path, *pages) as collection:
        link = a_broken_link(f"{SITE}/old/water-3.html", anchor="Water 3", source_url=f"{SITE}/ja/page1.html")
        found, rows, _ = LearnedRanker(collection, None).matrix(link)
    address = rows[:, FEATURES.index("language.address")]
    assert {(page.language, float(value)) for page, value in zip(found, address, strict=True)} == {
        ("en", 1.0),
        ("ja", -1.0),
    }
