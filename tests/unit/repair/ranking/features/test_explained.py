import pytest

from repair.ranking.features import explained
from repair.ranking.features.frequencies import FrequencyQuery
from repair.ranking.queryfeatures import QueryFeatures
from tests.holdings import SITE, a_collection, a_document
from tests.make import a_broken_link

TITLES = ("Guidelines Group Decision Policy", "Browser Group Decision Policy", "Contact", "")


@pytest.fixture
def school(tmp_path):
    documents = [
        a_document(f"/{number}", title=title, text="About something. " * 5)
        for number, title in enumerate(TITLES)
    ]
    with a_collection(tmp_path, *documents) as collection:
        yield collection


def values(collection, *, source_title=(), **terms):
    query_features = QueryFeatures(
        link=a_broken_link("http://site.test/x"),
        terms={name: dict.fromkeys(words, 1.0) for name, words in terms.items()},
        source_title=source_title,
    )
    pages = [collection.page_number(f"{SITE}/{number}") for number in range(len(TITLES))]
    query, vectors = FrequencyQuery(query_features, []), collection.vectors(pages)
    rows = explained.columns(query, query.count(vectors), vectors, collection.rarities())
    return [dict(zip(explained.COLUMNS, map(float, row), strict=True)) for row in rows]


def test_the_title_of_the_page_of_the_click_tells_sister_pages_apart(school):
    right, wrong, *_ = values(school, anchor=("decis", "polici"), source_title=("guidelin", "group"))
    assert right["explained.title_rest"] == pytest.approx(0, abs=1e-6)
    assert wrong["explained.title_rest"] > 0


def test_the_words_around_the_link_explain_but_do_not_name(school):
    right, wrong, *_ = values(school, anchor=("polici",), context=("guidelin",))
    assert right["explained.title_rest"] < wrong["explained.title_rest"]
    assert right["explained.title_of_names"] == wrong["explained.title_of_names"] == pytest.approx(1)


def test_a_word_that_several_sources_know_explains_once(school):
    once, *_ = values(school, anchor=("polici",))
    twice, *_ = values(school, anchor=("polici",), slug=("polici",), source_title=("polici", "polici"))
    assert once["explained.title_rest"] == twice["explained.title_rest"]


def test_a_title_that_has_all_words_of_link_and_address_covers_them(school):
    both, _, one, none = values(school, anchor=("decis",), slug=("contact",))
    assert 0 < both["explained.title_of_names"] < 1
    assert 0 < one["explained.title_of_names"] < 1
    assert none["explained.title_of_names"] == 0


def test_what_is_unknown_explains_nothing_and_no_title_has_nothing_left_over(school):
    *_, contact, untitled = values(school)
    assert contact["explained.title_rest"] > 0
    assert contact["explained.title_of_names"] == 0
    assert set(untitled.values()) == {0.0}
