import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from proxy.failures import PARENT_DOWN
from proxy.pages.language import LANGUAGES, catalogue
from proxy.pages.repairpage import MAX_BYTES, auto_follow_target, number_offers, render
from proxy.portal.addresses import copy_path
from repair.model import MissKind, Span, Translation
from tests.examples import examples
from tests.offers import MISS_ID, SAVED_AT, a_context, a_snippet, an_alternative, found, the_library

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></li></ol><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- -->",
    "\u202egnp.exe",
    "&lt;b&gt;",
    "\x00\x1b[31m",
    "\ud800",
    "x" * 100_000,
    "<" * 100_000,
)


def parsed(page):
    return LexborHTMLParser(page.body.decode())


def items(page):
    return parsed(page).css("ol#alternatives > li")


def header(page, name):
    return dict(page.headers)[name]


def tags(page):
    """The elements of the page in order, with the names of their attributes."""
    return [(node.tag, tuple(node.attributes)) for node in parsed(page).css("*")]


def test_alternatives_are_an_ordered_list_whose_first_links_are_the_targets():
    offered = the_library()
    listed = items(render(found(offered), a_context()))
    assert [item.attributes["data-url"] for item in listed] == [each.url for each in offered]
    assert [item.css_first("a").attributes["href"] for item in listed] == [each.url for each in offered]
    assert {item.attributes["data-source"] for item in listed} == {"local"}


def test_saved_copy_comes_first_with_its_date():
    page = render(found(copy_at=SAVED_AT), a_context())
    first = items(page)[0]
    assert first.attributes["data-source"] == "copy"
    assert first.attributes["data-url"] == "http://www.school.test/biology/photosynthesis.html"
    assert (
        first.css_first("a").attributes["href"].startswith("/.well-known/linkmend/copy?url=http%3A%2F%2Fwww")
    )
    assert "3 May 2026" in first.text()


def test_pinned_page_comes_before_the_saved_copy_and_says_why():
    pinned = an_alternative(url="http://b.test/", confidence=1.0, reasons=("pinned",), held=False)
    page = render(found([pinned, *the_library(2)], copy_at=SAVED_AT), a_context())
    first, second, third = items(page)[:3]
    assert first.attributes["data-url"] == "http://b.test/"
    assert first.css_first(".why").text() == "Chosen by your school"
    assert first.css_first(".badge") is not None
    assert second.attributes["data-source"] == "copy"
    assert [item.css_first("a").attributes["ping"][-1:] for item in (first, second, third)] == [
        "1",
        "0",
        "2",
    ]


def test_a_copy_among_the_alternatives_is_not_listed_twice():
    link = "http://www.school.test/biology/photosynthesis.html"
    offered = (an_alternative(title="other"), an_alternative(url=link, title="the page"))
    listed = items(render(found(offered, copy_at=SAVED_AT), a_context()))
    assert [item.attributes["data-source"] for item in listed] == ["copy", "local"]


def test_choice_is_reported_by_number():
    unsafe = an_alternative(url="javascript:alert(1)")
    offered = (an_alternative(url="http://a.test/"), unsafe, an_alternative(url="http://b.test/"))
    listed = items(render(found(offered, copy_at=SAVED_AT), a_context()))
    pings = [item.css_first("a").attributes["ping"] for item in listed]
    assert pings == [f"/.well-known/linkmend/chose?miss={MISS_ID}&n={number}" for number in (0, 1, 3)]


def test_without_a_miss_id_no_choice_is_reported():
    assert not parsed(render(found(), a_context(miss_id=""))).css("[ping]")


def test_only_three_are_shown_at_first():
    page = render(found(copy_at=SAVED_AT), a_context())
    assert [item.attributes.get("class") for item in items(page)] == [
        "copy",
        None,
        None,
        None,
        *["later"] * 5,
    ]
    assert "More pages (5)" in parsed(page).css_first("#more").text()


def test_few_alternatives_have_no_more_button():
    assert parsed(render(found(the_library(3)), a_context())).css_first("#more") is None


def test_when_nothing_is_worth_offering_the_page_says_so():
    page = render(found(()), a_context())
    assert "No similar page found" in parsed(page).body.text()
    assert items(page) == []
    assert parsed(page).css_first("ol#alternatives") is not None


def test_search_results_are_called_so_and_are_no_offers():
    page = render(found((), searched=the_library(2), query="green plants"), a_context())
    tree = parsed(page)
    assert tree.css_first("#found").text() == "Search results for the words of the link"
    assert "green plants" in tree.body.text()
    assert len(tree.css("ol#searched > li")) == 2
    assert items(page) == []
    assert tree.css("a[ping]") == []
    assert (
        json.loads(render(found((), searched=the_library(2)), a_context(as_json=True)).body)["alternatives"]
        == []
    )


def test_a_small_frame_gets_one_line_that_opens_the_page_in_a_tab():
    line = parsed(render(found(()), a_context(framed=True))).css_first(".frameline")
    assert line.text().startswith("Page not found")
    assert line.css_first("a").attributes["target"] == "_blank"
    assert line.css_first("a").attributes["href"] == "http://www.school.test/biology/photosynthesis.html"


def test_matching_words_are_marked():
    marks = items(render(found(), a_context()))[0].css("mark")
    assert [mark.text() for mark in marks] == ["plants", "light"]


def test_reasons_are_put_in_words_and_unknown_ones_left_out():
    page = render(found([an_alternative(reasons=("<b>", "url", "../en", "links", "title"))]), a_context())
    why = items(page)[0].css_first(".why").text()
    assert why == "Matches words in the address · Linked from the page you came from"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_says_in_words_what_it_is(language):
    paths = ("leaves.pdf", "leaves.PDF?x", "book.epub", "leaves.docx", "leaves.odt", "leaves.html")
    offered = [an_alternative(url=f"http://a.test/{path}") for path in paths]
    listed = items(render(found(offered), a_context(language=language)))
    words = [item.css_first(".file").text() if item.css_first(".file") else "" for item in listed]
    assert words[0] == words[1]
    assert ["PDF" in words[0], "EPUB" in words[2], "Word" in words[3], "ODT" in words[4], words[5]] == [
        True
    ] * 4 + [""]


def test_the_search_box_holds_the_query():
    form = parsed(render(found(query='say "hi" & go'), a_context())).css_first("form")
    assert form.attributes["action"] == "/.well-known/linkmend/search"
    assert form.attributes["method"] == "get"
    assert form.css_first("input[name=q]").attributes["value"] == 'say "hi" & go'


def test_shorter_addresses_are_links():
    page = render(found(shortened=("http://a.test/x/", "javascript:alert(1)", "http://a.test/")), a_context())
    links = [link.attributes["href"] for link in parsed(page).css("#shortened a")]
    assert links == ["http://a.test/x/", "http://a.test/"]


def test_a_good_first_alternative_is_called_the_best_match():
    assert "Best match" in items(render(found(), a_context()))[0].text()
    assert not parsed(render(found([an_alternative(confidence=0.2)]), a_context())).css(".badge")


def test_offline_the_page_says_so_and_leads_to_copies():
    offered = (an_alternative(held=True), an_alternative(url="http://b.test/", held=False))
    page = render(found(offered), a_context(offline=True))
    assert "There is no internet connection" in parsed(page).css_first(".notice").text()
    first, second = items(page)
    assert "/copy?url=" in first.css("a")[1].attributes["href"]
    assert "Needs the internet" in second.text()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", list(MissKind))
def test_every_kind_is_explained_in_every_language(kind, language):
    page = render(found(kind=kind, copy_at=SAVED_AT), a_context(language))
    root = parsed(page).css_first("html")
    assert root.attributes["lang"] == language
    assert root.attributes["dir"] == ("rtl" if language == "ar" else "ltr")
    assert header(page, "Linkmend-Miss") == kind.value
    assert header(page, "Content-Language") == language
    assert len(parsed(page).css_first("h1").text()) > 5


def test_the_headers_keep_the_page_out_of_caches_and_out_of_reach():
    page = render(found(), a_context(status=410))
    policy = header(page, "Content-Security-Policy")
    assert page.status == 410
    assert header(page, "Cache-Control") == "no-store"
    assert header(page, "Vary") == "Accept, Accept-Language"
    assert header(page, "X-Content-Type-Options") == "nosniff"
    assert header(page, "Content-Type") == "text/html; charset=utf-8"
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "base-uri 'none'" in policy
    assert "unsafe" not in policy
    assert "allow-same-origin" not in policy
    # With a sandbox, this header makes the browser refuse the page.
    assert "Cross-Origin-Opener-Policy" not in dict(page.headers)


def test_the_page_asks_for_nothing_from_elsewhere():
    page = render(found(copy_at=SAVED_AT), a_context())
    assert not parsed(page).css(
        "img, iframe, object, embed, link[rel=stylesheet], script[src], [style], base, meta[http-equiv]"
    )
    assert [link.attributes["href"][:19] for link in parsed(page).css("link")] == ["data:image/svg+xml,"]
    assert "url(" not in parsed(page).css_first("style").text()


def test_json_has_exactly_the_fields_of_the_contract():
    asked = found(the_library(1), source_url="http://a.test/", queries={"text": "x"}, keywords=("light",))
    page = render(asked, a_context(as_json=True))
    assert header(page, "Content-Type") == "application/json"
    assert json.loads(page.body) == {
        "url": "http://www.school.test/biology/photosynthesis.html",
        "kind": "not_found",
        "source_page": "http://a.test/",
        "queries": {"text": "x"},
        "alternatives": [
            {
                "url": "http://library.school.test/plants/photosynthesis.html",
                "title": "How plants make food from light",
                "snippet": "".join(span.text for span in a_snippet()),
                "score": 9.0,
                "confidence": 0.9,
                "source": "local",
                "reasons": ["anchor", "title"],
                "held": True,
            }
        ],
        "mementos": {},
        "keywords": ["light"],
    }


def test_json_lists_the_saved_copy_too():
    page = render(found((), copy_at=SAVED_AT), a_context(as_json=True))
    (copy,) = json.loads(page.body)["alternatives"]
    assert (copy["source"], copy["url"]) == ("copy", "http://www.school.test/biology/photosynthesis.html")
    assert header(page, "Linkmend-Miss") == "not_found"
    assert header(page, "Cache-Control") == "no-store"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_stay_text(hostile):
    def offered(title, text):
        return [
            an_alternative(title=title, snippet=(Span(text=text, marked=marked),)) for marked in (True, False)
        ]

    plain = render(found(offered("t", "s"), query="q"), a_context(error_detail="e"))
    bad = offered(hostile, "-" + hostile)
    attacked = render(found(bad, query=hostile), a_context(error_detail="e" + hostile))
    assert tags(attacked) == tags(plain)
    assert len(attacked.body) < MAX_BYTES


@examples(150)
@given(
    title=st.text(min_size=1), snippet=st.text(min_size=1), query=st.text(), host=st.text(), path=st.text()
)
def test_no_text_from_outside_makes_an_element(title, snippet, query, host, path):
    def made(title, snippet, query, url):
        spans = (Span(text=f"s{snippet}"), Span(text=f"m{snippet}", marked=True))
        return tags(
            render(found([an_alternative(title=title, snippet=spans)], query=query, url=url), a_context())
        )

    # A slash allows a line break (<wbr>), in an address only.
    wild = [tag for tag in made(title, snippet, query, f"http://{host}/{path}") if tag[0] != "wbr"]
    assert wild == [tag for tag in made("t", "s", "q", "http://a.test/") if tag[0] != "wbr"]


@examples(150)
@given(st.lists(st.text(), max_size=4))
def test_links_lead_only_to_the_web_or_to_us(urls):
    page = render(found([an_alternative(url=url) for url in urls], shortened=tuple(urls)), a_context())
    for link in parsed(page).css("a"):
        assert re.match(r"https?://|/\.well-known/linkmend/|$", link.attributes["href"] or "", re.IGNORECASE)


@pytest.mark.parametrize("letter", ["x", "&", '"', "ह", "/"])
def test_the_page_stays_small_whatever_is_offered(letter):
    long = [
        an_alternative(
            url=f"http://a.test/{number}/" + letter * 1_900,
            title=letter * 100_000,
            snippet=(Span(text=letter * 50_000), Span(text=letter * 50_000, marked=True)),
            reasons=("anchor", "title"),
        )
        for number in range(8)
    ]
    worst = found(
        long,
        url="http://b.test/" + letter * 1_900,
        copy_at=SAVED_AT,
        query=letter * 9_999,
        shortened=tuple(each.url for each in long),
    )
    page = render(worst, a_context("hi", offline=True))
    assert len(page.body) < MAX_BYTES
    assert items(page)


def test_a_usual_page_is_far_below_the_limit():
    assert len(render(found(copy_at=SAVED_AT), a_context("hi")).body) < 25_000


def test_numbers_of_choices_follow_the_alternatives():
    asked = found(
        [an_alternative(url="http://a.test/"), an_alternative(url="http://b.test/")], copy_at=SAVED_AT
    )
    assert [(number, each.source) for number, each in number_offers(asked)] == [
        (0, "copy"),
        (1, "local"),
        (2, "local"),
    ]


@pytest.mark.parametrize("language", ["ar", "en", "es", "fr", "hi", "pt", "sw"])
@pytest.mark.parametrize(
    "code",
    [
        *("anchor", "inlinks", "url", "title", "context", "same_name", "same_site"),
        *("moved", "shared", "same_text", "copy", "tags"),
    ],
)
def test_every_reason_of_the_ranking_has_words(code, language):
    page = render(found([an_alternative(reasons=(code,))]), a_context(language))
    assert items(page)[0].css_first(".why").text().strip() not in ("", code)


def test_page_chosen_by_earlier_users_says_so():
    page = render(found([an_alternative(source="shared", reasons=("shared",))]), a_context())
    assert items(page)[0].attributes["data-source"] == "shared"
    assert items(page)[0].css_first(".why").text().strip() == "Other people chose this page"


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_school_that_confirmed_a_page_is_named_in_every_language_and_escaped(code):
    offered = an_alternative(source="shared", reasons=("elsewhere",), told_by=("<b>School A</b>", "School B"))
    page = render(found([offered]), a_context(code))
    (item,) = items(page)
    assert "<b>School A</b>, School B" in item.css_first(".why").text()
    assert item.css_first(".why bdi b") is None
    told = json.loads(render(found([offered]), a_context(as_json=True)).body)
    assert told["alternatives"][0]["told_by"] == ["<b>School A</b>", "School B"]


WATER_ELSEWHERE = (
    Translation(language="es", url="http://school.test/es/water"),
    Translation(language="fr", url="http://school.test/fr/water"),
    Translation(language="xx", url="javascript:alert(1)"),
)


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_offered_page_leads_to_its_translations_the_readers_language_first(code):
    page = render(found([an_alternative(translations=WATER_ELSEWHERE)]), a_context(code))
    links = items(page)[0].css(".also a[hreflang]")
    expected = ["fr", "es"] if code == "fr" else ["es", "fr"]
    assert [each.attributes["hreflang"] for each in links] == expected
    assert {each.text() for each in links} == {"Español", "Français"}
    assert items(page)[0].css_first("a").attributes["href"] == an_alternative().url


def test_scripts_get_translations_by_language():
    offered = [an_alternative(translations=WATER_ELSEWHERE), an_alternative(url="http://school.test/b")]
    first, second = json.loads(render(found(offered), a_context(as_json=True)).body)["alternatives"]
    assert first["translations"] == {"es": "http://school.test/es/water", "fr": "http://school.test/fr/water"}
    assert "translations" not in second


def test_while_offline_translations_lead_to_their_saved_copies():
    page = render(found([an_alternative(translations=WATER_ELSEWHERE)]), a_context(offline=True))
    (first, *_) = items(page)[0].css(".also a[hreflang]")
    assert first.attributes["href"] == copy_path("http://school.test/es/water")


def test_nobody_is_redirected_to_what_another_school_confirmed_but_to_what_the_district_pinned():
    for reasons in (("elsewhere",), ("elsewhere", "url")):
        confirmed = an_alternative(confidence=0.99, source="shared", reasons=reasons, told_by=("School A",))
        assert auto_follow_target(found([confirmed]), 0.1) is None
    pinned = an_alternative(confidence=1.0, source="shared", reasons=("pinned_district",))
    assert auto_follow_target(found([pinned]), 0.9) == pinned.url


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("fault", ["expired", "early", "host", "self_signed", "authority", "revoked"])
def test_the_fault_of_a_certificate_is_named_in_every_language(code, fault):
    texts = catalogue(code)
    lead = parsed(render(found(), a_context(language=code, fault=fault))).css_first("p.lead").text()
    assert str(texts(f"fault.{fault}")) in lead


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_parent_that_is_down_is_named_instead_of_the_site_in_every_language(code):
    texts = catalogue(code)
    page = parsed(render(found(), a_context(language=code, fault=PARENT_DOWN)))
    assert page.css_first("h1").text() == str(texts("parent.heading"))
    assert page.css_first("title").text().startswith(page.css_first("h1").text())
    assert str(texts("parent.advice")) in page.css_first("p.lead").text()


def test_a_fault_that_has_no_words_is_left_out():
    plain = render(found(), a_context())
    assert render(found(), a_context(fault="<b>strange</b>")).body == plain.body
