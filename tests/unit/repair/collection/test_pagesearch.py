"""repair.collection.pagesearch: a search as people do it, with filters and result pages."""

import pytest

from repair.collection.listing import PageListing
from repair.collection.pagesearch import PER_PAGE, FilteredSearch, SearchRequest
from tests.holdings import SITE, a_collection, a_document

RIVERS = [
    a_document(f"/river{n}", title=f"River {n}", text=f"The river flows. Number {n} of many.", language="en")
    for n in range(45)
]


@pytest.fixture
def search(tmp_path):
    collection = a_collection(
        tmp_path,
        *RIVERS,
        a_document("/mto", title="Mto", text="River, kwa Kiswahili mto.", language="sw"),
        a_document("/river.pdf", title="A river on paper", text="River maps.", language="en"),
        a_document("/river-copy", title="River 1", text="The river flows. Number 1 of many.", language="en"),
    )
    topics = {"Water": {f"{SITE}/river7", f"{SITE}/mto"}}
    yield FilteredSearch(collection, PageListing(collection.database), lambda name: topics.get(name, set()))
    collection.close()


def paths(results):
    return [found.url.removeprefix(SITE) for found in results.found]


def test_results_come_in_pages_and_each_text_once(search):
    first = search.search(SearchRequest(text="river"))
    last = search.search(SearchRequest(text="river", page=3))
    beyond = search.search(SearchRequest(text="river", page=4))
    assert len(first.found) == PER_PAGE
    assert first.has_more
    assert first.total == last.total == 47
    assert len(last.found) == 7
    assert not last.has_more
    assert beyond.found == ()
    assert not set(paths(first)) & set(paths(last))


def test_filters_narrow_the_results(search):
    assert paths(search.search(SearchRequest(text="river", language="sw"))) == ["/mto"]
    assert paths(search.search(SearchRequest(text="river", kind="pdf"))) == ["/river.pdf"]
    assert set(paths(search.search(SearchRequest(text="river", topic="Water")))) == {"/mto", "/river7"}
    both = SearchRequest(text="river", topic="Water", language="en")
    assert paths(search.search(both)) == ["/river7"]
    assert search.search(SearchRequest(text="river", topic="Unknown")).total == 0


def test_a_result_shows_where_its_words_match(search):
    found = search.search(SearchRequest(text="kiswahili")).found[0]
    assert "Kiswahili" in [span.text for span in found.snippet if span.marked]


def test_a_misspelt_word_gets_a_suggestion_on_the_first_page_only(search):
    assert search.search(SearchRequest(text="kisvahili river")).suggestion == "kiswahili river"
    assert search.search(SearchRequest(text="kisvahili river", page=2)).suggestion == ""
    assert search.search(SearchRequest(text="river")).suggestion == ""


def test_nothing_typed_finds_nothing(search):
    assert search.search(SearchRequest(text="  ")).found == ()
