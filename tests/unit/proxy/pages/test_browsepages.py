"""proxy.pages.browsepages: topics, lists and searches as pages."""

from datetime import date

import pytest
from selectolax.lexbor import LexborHTMLParser

from proxy.pages import browsepages
from proxy.pages.language import LANGUAGES, catalogue
from proxy.pages.languagenames import language_name
from proxy.portal.addresses import BrowseList
from proxy.portal.browsing import BrowseResults, StartPageLists
from proxy.portal.routemodel import BrowseRoute, SearchRoute, TopicRoute
from repair.collection.listing import BrowsedPage, BrowsedSite
from repair.collection.pagesearch import SearchResults
from repair.crawling.topicguide import TopicSection, TopicSummary
from tests.offers import an_alternative, the_library

ENGLISH = catalogue("en")
A_PAGE = BrowsedPage(
    url="http://a.test/lava", title="<b>Lava</b>", language="en", kind="html", saved_on=date(2026, 5, 3)
)
A_PDF = BrowsedPage(
    url="http://a.test/plan", title="Plan", language="en", kind="pdf", saved_on=date(2026, 5, 4)
)
LISTS = StartPageLists(
    topics=(TopicSummary(name="Fire & ice", subtopics=("Lava",), pages=7),),
    newest=(A_PAGE, A_PDF),
    sites=(BrowsedSite(site="a.test", pages=1_200),),
    languages=(("en", 5), ("sw", 2)),
)


NOTHING = SearchResults()


def parsed(page):
    return LexborHTMLParser(page.body.decode())


def hrefs(tree, selector="a"):
    return [link.attributes["href"] for link in tree.css(selector)]


def search_page(query, results=NOTHING, lists=LISTS, texts=ENGLISH, **filters):
    return browsepages.search_page(SearchRoute(query=query, **filters), results, lists, texts)


def test_a_search_lists_what_was_found_with_its_copy():
    tree = parsed(search_page("plants", SearchResults(found=the_library(2), total=2)))
    links = hrefs(tree.css_first("ol#alternatives > li"))
    assert links[0] == "http://library.school.test/plants/photosynthesis.html"
    assert links[1].startswith("/.well-known/linkmend/copy?url=")
    assert tree.css_first("input[name=q]").attributes["value"] == "plants"
    assert tree.css_first("details.filters").attributes.get("open", "no") == "no"


def test_a_search_without_results_says_so_and_suggests_another_spelling():
    tree = parsed(search_page("volkano", SearchResults(suggestion="volcano"), language="en"))
    assert "No saved page contains these words" in tree.body.text()
    assert hrefs(tree, "#suggestion a") == ["/.well-known/linkmend/search?q=volcano&lang=en"]


def test_a_search_is_escaped():
    results = SearchResults(found=(an_alternative(title="<img src=x>"),), suggestion="<img src=y>")
    tree = parsed(search_page('"><script>alert(1)</script>', results))
    assert not tree.css("img")
    assert len(tree.css("script")) == 1


def test_an_empty_search_shows_the_form():
    tree = parsed(search_page(""))
    assert tree.css_first("form") is not None
    assert "Type a few words" in tree.body.text()


def test_filters_offer_what_there_is_and_remember_what_was_chosen():
    tree = parsed(search_page("lava", topic="Fire & ice", kind="pdf", language="xx"))
    chosen = {each.parent.attributes["name"]: each.text() for each in tree.css("option[selected]")}
    assert chosen == {"topic": "Fire & ice", "type": "PDF document", "lang": "xx"}
    assert [each.text() for each in tree.css("select[name=lang] option")] == [
        *("Any", "English", "Kiswahili", "xx")
    ]
    assert "open" in tree.css_first("details.filters").attributes


def test_result_pages_link_to_each_other_with_their_filters():
    results = SearchResults(found=the_library(2), total=90, has_more=True)
    tree = parsed(search_page("plants", results, kind="pdf", page=2))
    assert hrefs(tree, "a[rel=prev]") == ["/.well-known/linkmend/search?q=plants&type=pdf"]
    assert hrefs(tree, "a[rel=next]") == ["/.well-known/linkmend/search?q=plants&type=pdf&page=3"]


def test_a_topic_shows_the_best_pages_of_each_sub_topic():
    sections = (
        TopicSection(subtopic="", pages=(A_PAGE,), total=1),
        TopicSection(subtopic="Plans", pages=(A_PDF,), total=30),
    )
    tree = parsed(browsepages.topic_page(TopicRoute(topic="Fire & ice"), sections, ENGLISH))
    assert tree.css_first("h1").text() == "Fire & ice"
    assert [each.text() for each in tree.css("h2")] == ["Best pages", "Plans"]
    assert tree.css_first(".pages a").text() == "<b>Lava</b>"
    assert "PDF document" in tree.body.text()
    more = "/.well-known/linkmend/topic?name=Fire+%26+ice&sub=Plans"
    assert hrefs(tree, ".more a") == [more]


def test_a_sub_topic_comes_in_pages():
    section = TopicSection(subtopic="Plans", pages=(A_PDF,), total=30)
    route = TopicRoute(topic="Fire", subtopic="Plans")
    tree = parsed(browsepages.topic_page(route, (section,), ENGLISH))
    assert tree.css_first("h1").text() == "Plans"
    assert hrefs(tree, "a[rel=next]") == ["/.well-known/linkmend/topic?name=Fire&sub=Plans&page=2"]
    assert "/.well-known/linkmend/topic?name=Fire" in hrefs(tree)


def test_the_newest_pages_have_a_day_and_no_time():
    route = BrowseRoute(list=BrowseList.NEWEST)
    page = browsepages.list_page(route, BrowseResults(pages=(A_PAGE,)), ENGLISH)
    assert "3 May 2026" in parsed(page).body.text()


def test_an_empty_list_says_so():
    page = browsepages.list_page(BrowseRoute(list=BrowseList.READ), BrowseResults(), ENGLISH)
    assert "No saved page here yet" in parsed(page).body.text()


def test_a_page_whose_address_may_not_be_a_link_is_left_out():
    wrong = BrowsedPage(
        url="javascript:alert(1)", title="x", language="", kind="html", saved_on=date(2026, 5, 3)
    )
    page = browsepages.list_page(
        BrowseRoute(list=BrowseList.SITE, of="a.test"), BrowseResults(pages=(wrong,)), ENGLISH
    )
    assert b"javascript" not in page.body


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_list_is_in_every_language(language):
    texts = catalogue(language)
    pages = [
        search_page("x", SearchResults(found=the_library(1), suggestion="y"), texts=texts),
        browsepages.topic_page(
            TopicRoute(topic="T"), (TopicSection(subtopic="", pages=(A_PAGE,), total=9),), texts
        ),
        *(
            browsepages.list_page(BrowseRoute(list=each, of="en"), BrowseResults(pages=(A_PAGE,)), texts)
            for each in BrowseList
        ),
    ]
    for page in pages:
        assert parsed(page).css_first("html").attributes["dir"] == ("rtl" if language == "ar" else "ltr")
        assert dict(page.headers)["Content-Language"] == language


def test_languages_are_called_by_their_own_names():
    assert language_name("sw") == "Kiswahili"
    assert language_name("xx") == "xx"
    assert all(language_name(code) == catalogue(code).name for code in LANGUAGES)
