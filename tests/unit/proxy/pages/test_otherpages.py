import pytest
from selectolax.lexbor import LexborHTMLParser

from proxy.pages import otherpages as pages
from proxy.pages.language import LANGUAGES, catalogue
from repair.model import HeldPage, MissKind
from tests.offers import SAVED_AT

ENGLISH = catalogue("en")


def parsed(page):
    return LexborHTMLParser(page.body.decode())


def header(page, name):
    return dict(page.headers)[name]


def a_held_page(
    title="Leaves", text="Green leaves.\n\nThey make sugar.", language="en", url="http://a.test/leaves"
):
    return HeldPage(
        url=url,
        title=title,
        text=text,
        language=language,
        fetched_at=SAVED_AT,
        pinned=False,
        has_copy=False,
    )


def test_a_page_without_a_copy_can_be_read():
    tree = parsed(pages.reading_page(a_held_page(), ENGLISH))
    assert tree.css_first("h1").text() == "Leaves"
    assert [p.text() for p in tree.css(".reading p")] == ["Green leaves.", "They make sugar."]
    assert "3 May 2026" in tree.css_first(".notice").text()


def test_the_reading_view_is_escaped_and_bounded():
    page = pages.reading_page(
        a_held_page(title="<b>", text="<script>x</script>\n" * 100_000, language='"><b>'), ENGLISH
    )
    assert not parsed(page).css("main script, h1 b")
    assert len(page.body) < 400_000


def test_a_missing_copy_is_a_404_that_offers_a_search():
    page = pages.missing_copy_page("http://a.test/x", ENGLISH)
    assert page.status == 404
    assert parsed(page).css_first("form") is not None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_in_every_language(language):
    texts = catalogue(language)
    made = (
        pages.reading_page(a_held_page(), texts),
        pages.missing_copy_page("http://a.test/", texts),
        pages.refused_page(403, texts),
    )
    for page in made:
        assert header(page, "Content-Language") == language
        assert parsed(page).css_first("html").attributes["lang"] == language
        assert "frame-ancestors 'none'" in header(page, "Content-Security-Policy")


def test_a_refusal_keeps_its_status():
    assert [pages.refused_page(status, ENGLISH).status for status in (400, 403, 404, 405)] == [
        400,
        403,
        404,
        405,
    ]


def test_static_files_are_served_by_name_only():
    assert header(pages.static_page("page.css"), "Content-Type") == "text/css; charset=utf-8"
    assert pages.static_page("../pages.py") is None


def test_a_redirect_leads_on_and_is_not_stored():
    page = pages.redirect("http://linkmend.internal/search?q=a")
    assert (page.status, header(page, "Location")) == (303, "http://linkmend.internal/search?q=a")
    assert header(page, "Cache-Control") == "no-store"


@pytest.mark.parametrize("kind", list(MissKind))
def test_a_sub_resource_gets_a_short_plain_error(kind):
    page = pages.plain_error(kind, "http://a.test/x.png", status=502, detail="dns_error")
    assert page.status == 502
    assert header(page, "Content-Type") == "text/plain; charset=utf-8"
    assert header(page, "Linkmend-Miss") == kind.value
    assert page.body.startswith(b"linkmend: ")
    assert b"dns_error" in page.body
    assert len(page.body) < 200


def test_a_plain_error_is_bounded_whatever_the_url():
    page = pages.plain_error(MissKind.TIMEOUT, "http://a.test/\r\n\x00" + "x" * 100_000, status=504)
    assert len(page.body) < 700
    assert page.body.count(b"\n") == 2


@pytest.mark.parametrize("code", LANGUAGES)
def test_refusal_for_people_is_in_their_language(code):
    page = pages.out_of_reach_page("http://127.0.0.1/<img src=x>", catalogue(code), person=True)
    assert page.status == 403
    assert parsed(page).css_first("h1").text() == str(catalogue(code)("helper.out_of_reach"))
    assert not parsed(page).css("main img, a[href^='http://127']")
    assert "Linkmend-Miss" not in dict(page.headers)


def test_refusal_for_programs_is_one_line():
    page = pages.out_of_reach_page("http://127.0.0.1/\r\nx: \x1b[31m", ENGLISH, person=False)
    assert header(page, "Content-Type").startswith("text/plain")
    assert b"\x1b" not in page.body
    assert len(page.body.splitlines()) == 2
