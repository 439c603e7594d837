"""Title, text and links out of pages: good, broken and hostile."""

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.parse.htmlpage import MAX_ANCHOR, MAX_TITLE, document, tree
from repair.parse.traversal import MAX_TEXT
from tests.make import a_page

LIMIT = 5 * 1024 * 1024
PARAGRAPH = (
    "Volcanoes are openings in the crust of the Earth through which hot lava, ash and gas escape. " * 4
)


def read(
    html,
    url="http://school.test/a/page",
    content_type="text/html; charset=utf-8",
    headers=(),
    max_links=2_000,
):
    body = html if isinstance(html, bytes) else html.encode("utf-8", "surrogatepass")
    page = a_page(url=url, body=body, content_type=content_type, headers=headers)
    return document(page, max_bytes=LIMIT, max_links=max_links)


def link(html, **given):
    (found,) = read(html, **given).links
    return found


def test_a_page_has_a_title_text_and_headings():
    found = read(
        f"<title> Fire &amp;\n Ash </title><h1>Volcanoes</h1><p>{PARAGRAPH}</p><h2>Lava</h2><p>Hot.</p>"
    )
    assert found.title == "Fire & Ash"
    assert found.headings == ("Volcanoes", "Lava")
    assert found.text.startswith("Volcanoes\nVolcanoes are openings")
    assert found.text.endswith("\nLava\nHot.")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<title></title><meta property='og:title' content='Ash'><h1>Fire</h1>", "Ash"),
        ("<h1>Fire <b>and</b> ash</h1>", "Fire and ash"),
        ("<svg><title>Icon</title></svg><p>x", ""),
        ("<title>" + "x" * 1000, "x" * MAX_TITLE),
    ],
)
def test_a_page_without_a_title_is_named_by_what_comes_nearest(html, expected):
    assert read(html).title == expected


@pytest.mark.parametrize(
    "boilerplate",
    [
        "<nav>Menu entry</nav>",
        "<header>Menu entry</header>",
        "<footer>Menu entry</footer>",
        "<aside>Menu entry</aside>",
        "<div role=navigation>Menu entry</div>",
        "<div class='main-menu'>Menu entry</div>",
        "<div id=sidebar>Menu entry</div>",
        "<ul class='x breadcrumb'><li>Menu entry</ul>",
        "<script>'Menu entry'</script>",
        "<style>Menu entry</style>",
        "<noscript>Menu entry</noscript>",
        "<template>Menu entry</template>",
        "<select><option>Menu entry</select>",
        "<form><label>Menu entry</label><textarea>Menu entry</textarea></form>",
        "<div hidden>Menu entry</div>",
        "<!-- Menu entry -->",
    ],
)
def test_boilerplate_is_not_text(boilerplate):
    assert read(f"<body>{boilerplate}<p>{PARAGRAPH}</p>").text == PARAGRAPH.strip()


def test_the_main_element_is_the_text_when_it_holds_enough():
    assert read(f"<div>Advertisement</div><main><p>{PARAGRAPH}</p></main>").text == PARAGRAPH.strip()


def test_a_page_of_nothing_but_boilerplate_is_read_whole():
    assert read(f"<nav>{PARAGRAPH}</nav><p>Hi</p>").text == f"{PARAGRAPH.strip()}\nHi"


def test_a_main_element_inside_something_called_a_menu_is_still_the_text():
    html = f"<div class=menu><main><p>{PARAGRAPH}<a href=/lava>lava</a></p></main></div>"
    assert read(html).text.startswith("Volcanoes")
    assert not link(html).nav


def test_the_header_of_the_main_part_holds_its_title():
    assert read(f"<main><header><h1>Ash</h1></header><p>{PARAGRAPH}</p></main>").headings == ("Ash",)


def test_blocks_separate_words_and_inline_elements_do_not():
    assert read("<p>one</p><p>two<br>three <b>fo</b>ur</p>").text == "one\ntwo three four"


def test_a_link_has_its_anchor_and_twenty_words_on_each_side():
    words = [f"w{n}" for n in range(60)]
    found = link(f"<p>{' '.join(words[:30])} <a href=lava>hot, <i>lava</i></a> {' '.join(words[30:])}</p>")
    assert found.target_url == "http://school.test/a/lava"
    assert found.anchor == "hot, lava"
    assert found.before == " ".join(words[10:30])
    assert found.after == " ".join(words[30:50])
    assert not found.nav


def test_the_words_around_a_link_do_not_come_from_a_menu():
    found = link("<p>before</p><nav>menu</nav><p><a href=lava>lava</a></p><aside>side</aside><p>after</p>")
    assert (found.before, found.after) == ("before", "after")


def test_a_link_in_a_menu_is_marked_and_has_no_context():
    found = link("<p>text</p><nav><a href=/home>Home</a> more</nav>")
    assert found.nav
    assert (found.before, found.after) == ("", "")


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<a href=x><img alt='A volcano'></a>", "A volcano"),
        ("<a href=x aria-label='Lava lamp'></a>", "Lava lamp"),
        ("<a href=x title='Ash cloud'> </a>", "Ash cloud"),
        ("<a href=x title='Ash cloud'>Ash</a>", "Ash"),
        ("<map><area href=x alt='North'></map>", "North"),
        ("<a href=x></a>", ""),
        (f"<a href=x>{'y' * 500}</a>", "y" * MAX_ANCHOR),
    ],
)
def test_a_link_without_words_is_named_by_its_image_or_title(inside, expected):
    assert link(inside).anchor == expected


@pytest.mark.parametrize(
    "href",
    ["#part", "", "javascript:x()", "mailto:a@b.test", "data:text/html,x", "page#part", "tel:1", "http://["],
)
def test_hrefs_that_lead_to_no_other_page_are_no_links(href):
    assert read(f'<a href="{href}">x</a><a>y</a>').links == ()


def test_links_follow_the_base_of_the_page():
    assert (
        link("<base href=/books/><base href=/no/><a href=x>x</a>").target_url == "http://school.test/books/x"
    )


def test_a_link_repeated_counts_once():
    assert len(read("<a href=x>x</a> <a href=x>x</a> <a href=x>other</a>").links) == 2


def test_links_beyond_the_limit_are_ignored():
    html = "".join(f"<a href=/{n}>n</a>" for n in range(50))
    assert len(read(html, max_links=10).links) == 10


def test_description_keywords_and_language_are_read():
    found = read(
        "<html lang='pt-BR'><meta name=Description content=' All of\n it '>"
        "<meta name=keywords content='fire, ash,, fire; lava'><p>x"
    )
    assert found.description == "All of it"
    assert found.keywords == ("fire", "ash", "lava")
    assert found.language == "pt"


def test_the_language_comes_from_the_header_or_the_text_when_the_page_does_not_say():
    assert read("<p>x", headers=(("Content-Language", "sw"),)).language == "sw"
    assert read(f"<html lang=''><p>{PARAGRAPH}").language == "en"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/canonical", "http://school.test/canonical"),
        ("https://www.school.test/b", "https://www.school.test/b"),
        ("http://evil.test/", None),
        ("javascript:x", None),
        ("", None),
    ],
)
def test_a_canonical_url_is_accepted_within_the_site(href, expected):
    assert read(f'<link rel="canonical" href="{href}"><p>x').canonical_url == expected


def test_the_translations_that_a_page_names_are_read_within_its_site():
    head = """
        <link rel="alternate" hreflang="de-AT" href="/de/page">
        <link rel="alternate" hreflang="de" href="/de/second">
        <link rel="ALTERNATE" hreflang=" zh-Hant " href="http://zh.school.test/page">
        <link rel="alternate" hreflang="x-default" href="/">
        <link rel="alternate" hreflang="fr" href="http://elsewhere.test/fr">
        <link rel="alternate" hreflang="it" href="javascript:alert(1)">
        <link rel="alternate" hreflang="en" href="/a/page">
        <link rel="alternate" hreflang="&lt;b&gt;" href="/b">
        <link rel="alternate" type="application/rss+xml" href="/feed">
        <link rel="stylesheet" hreflang="es" href="/es">"""
    found = {each.language: each.url for each in read(f"{head}<p>x").translations}
    assert found == {"de": "http://school.test/de/page", "zh": "http://zh.school.test/page"}


@pytest.mark.parametrize(
    ("html", "headers", "expected"),
    [
        ("<meta name=robots content='noindex'>", (), (True, False)),
        ("<meta name=ROBOTS content='NoFollow'>", (), (False, True)),
        ("<meta name=robots content=none>", (), (True, True)),
        ("<meta name=robots content='index, follow'>", (), (False, False)),
        ("<meta name=linkmend content=noindex>", (), (True, False)),
        ("<meta name=googlebot content=noindex>", (), (False, False)),
        ("", (("X-Robots-Tag", "noindex, nofollow"),), (True, True)),
        ("", (("x-robots-tag", "googlebot: noindex, nofollow"),), (False, False)),
        ("", (("X-Robots-Tag", "linkmend: none"),), (True, True)),
        ("", (("X-Robots-Tag", "googlebot: nofollow"), ("X-Robots-Tag", "noindex")), (True, False)),
        ("", (("X-Robots-Tag", "unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"),), (True, False)),
    ],
)
def test_robots_directives_for_everyone_and_for_us_are_respected(html, headers, expected):
    found = read(html + "<p>x", headers=headers)
    assert (found.noindex, found.nofollow) == expected


@pytest.mark.parametrize("content_type", ["image/png", "application/json", "application/pdf", "text/css"])
def test_non_text_content_is_no_document(content_type):
    assert read("<p>x", content_type=content_type) is None


def test_a_page_without_a_type_is_read_if_it_looks_like_html():
    assert read("\n<!DOCTYPE html><title>Ash</title>", content_type="").title == "Ash"
    assert read("GIF89a <html>", content_type="") is None


def test_plain_text_is_titled_by_its_first_line():
    found = read("\n Volcanoes \n\nhot <b>lava</b>\x00\n", content_type="text/plain")
    assert (found.title, found.text) == ("Volcanoes", "Volcanoes\nhot <b>lava</b>")


def test_a_page_that_is_too_large_or_has_no_address_is_no_document():
    assert read(gzip.compress(b"x" * (LIMIT + 1)), headers=(("Content-Encoding", "gzip"),)) is None
    assert read("<p>x", url="nonsense") is None


BOMB = "<p>" + "".join(f"<B a{n}>" for n in range(9_000)) + "</p><p>x" * 5_000
HOSTILE = {
    "nested divs": "<div>" * 100_000,
    "nested lists": "<ul><li>" * 300_000,
    "nested links": "<a href=x><p>" * 100_000,
    "nested tables": "<table><tr><td>" * 50_000,
    "formatting opened again and again": BOMB,
    "less-than signs": "<" * LIMIT,
    "ampersands": "&" * LIMIT,
    "attributes": "<div " + " ".join(f"a{n}" for n in range(600_000)) + ">",
    "attributes behind a quote": "<!-- <x a=' --><div " + " ".join(f"a{n}" for n in range(500_000)) + "> ' >",
    "attributes with signs": "<div " + " ".join(f"a{n}='>'" for n in range(400_000)) + ">",
    "unclosed tags": "<a " * 1_500_000,
    "unclosed quotes": '<a b="' * 19_000 + "x" * 4_000_000,
    "unclosed comment": "<!--" + "-" * 4_000_000,
    "NULs": "\0" * 1_000_000,
    "one word": "a" * LIMIT,
    "links": "".join(f"<a href='/{n}'>word {n}</a> text " for n in range(100_000)),
    "dots": "".join(f'<a href="{"../" * 2_000}{n}">w</a>' for n in range(600)),
    "headings": "<h1>" * 19_000,
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_page_is_read_in_bounded_time(html):
    started = time.thread_time()
    found = read(html[:LIMIT])
    assert time.thread_time() - started < 5  # each takes under one second on an idle core
    assert len(found.text) <= MAX_TEXT


@pytest.mark.parametrize(
    "html", ["\ud800<p>\udfff", "<a href='\ud800'>x\ud800</a>", "<p>&#xD800;&#0;&#1;&#x110000;"]
)
def test_lone_surrogates_and_impossible_characters_do_no_harm(html):
    found = read(html)
    found.text.encode()
    assert "\x01" not in found.text


MARKUP = """<a href=x>|</a>|<p>|<div class=menu>|</div>|<main>|</main>|<h1>|</h1>|<table>|<td>|<nav>|</nav>|<title>|
<script>|<b>|</b>|<base href=/>|<!--|-->|<svg>|<|'|"|<frameset>|<body>|</html>|<template>|<form>|text |&amp;|\0|
<link rel=canonical href=/>"""


@given(st.lists(st.one_of(st.sampled_from(MARKUP.split("|")), st.text(max_size=8)), max_size=40))
def test_any_markup_gives_a_document(pieces):
    found = read("".join(pieces))
    assert found is not None
    for each in found.links:
        assert each.target_url.startswith("http")
        assert len(each.before.split()) <= 20
        assert len(each.after.split()) <= 20


@given(st.binary(max_size=400), st.sampled_from(["text/html", "text/plain", "", "text/html; charset=utf-16"]))
def test_any_bytes_do_no_harm(body, content_type):
    read(body, content_type=content_type)


def test_zero_bytes_are_not_left_to_the_parser():
    assert "\ufffd" not in tree("<!--\0--><p title='\0'>wa\0ter</p>").html
    assert "water" in tree("<p>wa\0ter</p>").html
