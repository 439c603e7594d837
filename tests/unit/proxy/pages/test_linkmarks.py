"""proxy.pages.linkmarks: links of saved pages are marked, and nothing else changes."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from proxy.pages.language import LANGUAGES, catalogue
from proxy.pages.linkmarks import mark_links
from proxy.portal.linkjudging import LinkMark

ENGLISH = catalogue("en")
BASE = "http://a.test/b/c"
DEAD = LinkMark(target="http://a.test/dead")
MOVED = LinkMark(target="http://a.test/moved", replacement="http://b.test/?x=1&y=2", title='The "new" <page>')


def marked(html, *marks, texts=ENGLISH):
    text, count = mark_links(html, BASE, marks or (DEAD, MOVED), texts)
    links = LexborHTMLParser(text).css("a")
    return text, count, [(each.attributes.get("data-linkmend"), each.attributes["href"]) for each in links]


@pytest.mark.parametrize(
    "link",
    [
        '<a href="http://a.test/dead">x</a>',
        "<a href='/dead'>x</a>",
        "<a href=/dead>x</a>",
        '<A CLASS=b HREF = "/dead#part">x</A>',
        '<a title="a > b" href="../dead">x</a>',
        '<a\nhref=" /dead ">x</a>',
        '<a class=""href="/dead">x</a>',
    ],
)
def test_a_link_that_leads_nowhere_is_marked_however_it_is_written(link):
    text, count, links = marked(f"<p>{link}</p>")
    assert count == 1
    assert [mark for mark, _ in links] == ["nowhere"]
    assert "no saved page replaces it" in LexborHTMLParser(text).css_first("a").attributes["title"]


def test_a_link_with_a_replacement_leads_straight_to_it():
    text, _, links = marked('<a href="/moved">here</a>')
    assert links == [("replaced", "http://b.test/?x=1&y=2")]
    assert LexborHTMLParser(text).css_first("a").attributes["title"].endswith('The "new" <page>')


@pytest.mark.parametrize(
    "html",
    [
        '<a href="/alive">x</a>',
        '<a data-href="/dead" href="/alive">x</a>',
        "<a name=dead>x</a>",
        '<abbr href="/dead">x</abbr>',
        "<script>s = '<a href=\"/dead\">'</script>",
        '<!-- <a href="/dead"> -->',
        '<style>/* <a href="/dead"> */</style><textarea><a href="/dead"></textarea>',
        '<a href="javascript:void(0)">x</a><a href="mailto:a@a.test">x</a><a href="http://[">x</a>',
        '<a href="/dead',
    ],
)
def test_whatever_is_no_such_link_stays_as_it_is(html):
    assert mark_links(html, BASE, (DEAD,), ENGLISH) == (html, 0)


def test_a_replacement_that_may_not_be_a_link_marks_nothing():
    wrong = LinkMark(target="http://a.test/dead", replacement="javascript:alert(1)", title="x")
    assert mark_links('<a href="/dead">', BASE, (wrong,), ENGLISH)[1] == 0


def test_without_marks_nothing_is_read():
    assert mark_links('<a href="/dead">', BASE, (), ENGLISH) == ('<a href="/dead">', 0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_marks_are_ascii_in_every_language_and_any_encoding(language):
    text, count, _ = marked('<a href="/dead">\xe9</a><a href="/moved">', texts=catalogue(language))
    assert count == 2
    assert text.encode("latin-1").decode("latin-1") == text
    assert text.replace("\xe9", "").isascii()


@pytest.mark.parametrize("piece", ["<a ", "<!--", "<script>", "<a href='", "<a href=/dead>", '<a x="'])
def test_no_page_takes_long(piece):
    started = time.perf_counter()
    mark_links(piece * 200_000, BASE, (DEAD,), ENGLISH)
    assert time.perf_counter() - started < 5


@given(st.text(alphabet=st.characters(max_codepoint=255), max_size=300))
def test_any_text_survives_and_only_insertions_are_made(html):
    text, count = mark_links(f"{html}<a href='/dead'>", BASE, (DEAD,), ENGLISH)
    if count == 0:
        assert text == f"{html}<a href='/dead'>"
    else:
        assert len(text) > len(html)
