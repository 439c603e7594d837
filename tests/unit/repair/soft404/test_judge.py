"""repair.soft404.judge: the kind of a page, by its text."""

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repair.model import MissKind
from repair.soft404.judge import ORDINARY, PageJudgement, PageKind, is_plainly_there, judge, judge_parts
from repair.soft404.model import shipped_weights
from repair.soft404.pageparts import PageReading, parts_of, reading_of
from repair.soft404.signals import is_talkative, signals
from tests.examples import examples
from tests.make import a_page

LESSON = "<p>" + "Lava and ash come out of the Earth, and people live near it all the same. " * 4 + "</p>"


ESSAY = "".join(
    f"<p>Lava and ash number {n} come out of the Earth, and people live near it." for n in range(90)
)
PIECES = (
    *(
        "<nav>",
        "</nav>",
        "<table><tr><td>",
        "</table>",
        "<h1>404 Not Found</h1>",
        "<p>Page not found.</p>",
        "<form>",
    ),
    *(
        "<title>Oops",
        "</title>",
        "<!--",
        "-->",
        "<div class=footer>",
        "</div>",
        "<script>",
        "</script>",
        LESSON,
    ),
)


def judge_body(body, url="http://school.test/page", **about):
    return judge(a_page(url=url, body=body.encode(), **about))


@pytest.mark.parametrize(
    "body",
    [
        "<title>404 Not Found</title><h1>Not Found</h1><p>The requested URL was not found on this server.</p>",
        "<title>School</title><header><h1>School</h1></header><main><h2>Seite nicht gefunden</h2>"
        "<p>Die gesuchte Seite existiert nicht mehr.</p></main>",
        "<title>Oups !</title><h1>404</h1><p>Cette page n'existe pas.</p><a href='/'>Retour à l'accueil</a>",
        "<title>Error</title><pre>Cannot GET /lessons/rivers</pre>",
        "<title>ページが見つかりません</title><h1>お探しのページが見つかりませんでした</h1>",
        "<h1>Not Found</h1>",
    ],
    ids=["apache", "german", "french", "express", "japanese", "bare"],
)
def test_error_pages_are_recognised(body):
    found = judge_body(body)
    assert found.kind is PageKind.NOT_FOUND
    assert found.miss is MissKind.SOFT_404


def test_a_plain_text_error_is_recognised():
    assert judge_body("404 page not found", content_type="text/plain").kind is PageKind.NOT_FOUND


@pytest.mark.parametrize(
    "body",
    [
        "<title>Volcanoes</title><h1>Volcanoes</h1>" + LESSON,
        "<title>404 Not Found - HTTP</title><h1>404 Not Found</h1><p>The HTTP 404 Not Found status code indicates "
        "that the server cannot find the requested resource. For example, a link may be broken.</p>",
        "<title>Not found (404) page - Documentation</title><h1>Not found (404) page</h1><p>The program makes a not "
        "found (404) page in the root of the folder, named 404.html. If no 404.md is found there, it is made.</p>",
        "<title>Finding books</title><h1>Finding books</h1>"
        + LESSON * 3
        + "<h2>Still not found?</h2><p>Ask us.</p>",
        "<title>Lost dogs of the town</title><h1>Lost dogs</h1><p>Rex is missing since May.</p>" + LESSON,
        "<title>Peugeot 404</title><h1>Peugeot 404</h1><p>A car that was built from 1960 on.</p>" + LESSON,
        "",
        "<title>App</title><div id=root></div><script src=/app.js></script>",
    ],
    ids=["lesson", "http", "generator", "heading", "dogs", "car", "empty", "shell"],
)
def test_a_page_that_is_there_is_no_miss(body):
    assert judge_body(body).miss is None


def test_a_page_that_matches_its_address_is_there():
    body = (
        "<title>The lonely reader</title><h1>The lonely reader</h1><p>Sorry, this page is lost, she read.</p>"
    )
    assert judge_body(body).kind is PageKind.NOT_FOUND
    assert judge_body(body, url="http://school.test/poems/the-lonely-reader.html").miss is None


def test_a_parked_domain_needs_more_than_one_mark():
    told = "<title>rivers.example is for sale</title><h1>This domain is for sale</h1><p>Buy this domain</p>"
    assert judge_body(told).miss is MissKind.PARKED
    assert judge_body("<title>Shop</title><h1>Our offers</h1><p>Related searches</p>" + LESSON).miss is None
    estate = "<title>House for sale</title><h1>House for sale</h1><p>Three rooms and a garden.</p>"
    assert judge_body(estate).miss is None


def test_a_parked_domain_is_recognised_by_its_scripts():
    script = "<script src='https://www.google.com/adsense/domains/caf.js'></script>"
    assert judge_body(f"<title>x</title>{script}").kind is PageKind.PARKED


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<title>Sign in</title><form><input name=u><input type=password></form>", PageKind.LOGIN),
        (
            "<title>Guest wifi</title><h1>Welcome</h1><p>Accept the terms to connect to the internet</p>"
            "<form><button>Connect</button></form>",
            PageKind.LOGIN,
        ),
        ("<title>School</title><h1>Coming soon</h1><p>Stay tuned.</p>", PageKind.CONSTRUCTION),
        ("<title>403 Forbidden</title><h1>Forbidden</h1>", PageKind.ERROR),
        ("<title>App</title><script src=/app.js></script>", PageKind.SHELL),
    ],
    ids=["login", "captive", "construction", "forbidden", "shell"],
)
def test_other_kinds_are_recognised_and_are_no_misses(body, kind):
    found = judge_body(body)
    assert found.kind is kind
    assert found.miss is None


def test_other_content_types_are_not_judged():
    assert judge_body("404 not found", content_type="image/png") == PageJudgement(
        kind=PageKind.ORDINARY, probability=0.0
    )


_PIECES = (
    *(
        "<title>",
        "<h1>",
        "</h1>",
        "<p>",
        "<form>",
        "<input type=password>",
        "<script>",
        "</script>",
        "<!--",
        "<svg>",
    ),
    *(
        "404 ",
        "not found ",
        "page ",
        "\x00",
        "&#0;",
        "<a href=/>",
        "<template>",
        "<meta http-equiv=refresh content=0>",
    ),
)
_MARKUP = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=30)), max_size=60).map("".join)


@examples(60)
@given(_MARKUP, st.sampled_from(["http://school.test/a-b/c", "http://[", "", "http://x/%ff%00?q=1"]))
def test_hostile_markup_is_judged_without_an_exception(body, url):
    found = judge(a_page(url=url, body=body.encode("utf-8", "replace")))
    assert 0.0 <= found.probability <= 1.0


@pytest.mark.parametrize(
    "piece",
    [
        "<div>",
        "<div><h1> ",
        "<p>page could not be found ",
        "<h1>404",
        "<title>",
        "<input name=q>",
        "<script src=//x/>",
        "<a href=/>x",
    ],
)
def test_a_huge_page_takes_no_longer_than_parsing_it(piece):
    judge_body(piece * 20_000)


SENTENCES = (
    "<p>Lava and ash come out of the Earth, and people live near it all the same.</p>",
    "<p>Sorry, the page you are looking for could not be found on this server of ours.</p>",
    "<p>404 errors tell that the page is not found; see the status codes of HTTP for what else there is.</p>",
    "<h1>Not found</h1>",
    "<h2>404</h2>",
    "<nav><a href=/>Home</a> <a href=/lessons>All the lessons of the year by subject and by age</a></nav>",
    "<p>Rain.</p>",
    "<table><tr><td>Text in a cell<p hidden>that nobody sees</table>",
    "<!-- " + "x" * 3_000 + " -->",
    "<p>" + "One long line without an end, and then another, and so it goes on " * 30,
)


@given(st.lists(st.sampled_from(SENTENCES), max_size=40).map("".join))
def test_partial_parsing_gives_the_same_judgement(body):
    page = a_page(body=body.encode())
    assert judge(page).probability == judge_parts(parts_of(page), shipped_weights()).probability


def test_long_menus_do_not_hide_an_error_page():
    menu = (
        "<nav>" + "<p>All about the rivers and the lakes of this country and of others.</p>" * 30 + "</nav>"
    )
    assert judge_body(f"<title>Not found</title>{menu}<h1>Page not found</h1>").kind is PageKind.NOT_FOUND


def test_a_cut_sentence_at_the_end_of_the_beginning_is_ignored():
    """The beginning of a long page may end within a sentence; only the whole sentence counts."""
    told = "<h1>Not found</h1><p>Sorry, this page could not be found here.</p>"
    long_sentence = "<p>" + "rain, " * 3_000 + "and the page you are looking for was not found.</p>"
    page = a_page(body=(told + long_sentence).encode())
    assert judge(page).probability == judge_parts(parts_of(page), shipped_weights()).probability
    assert not is_talkative(reading_of(page).beginning())


def test_a_page_that_is_clearly_there_is_not_parsed_to_its_end(monkeypatch):
    monkeypatch.delattr(PageReading, "parts")
    assert judge_body("<title>Volcanoes</title><h1>Volcanoes</h1>" + LESSON * 100).kind is PageKind.ORDINARY


@pytest.mark.parametrize(
    ("body", "about"),
    [
        (ESSAY.encode(), {}),
        (
            gzip.compress(ESSAY.encode()),
            {"headers": (("Content-Encoding", "gzip"),)},
        ),
        (ESSAY.replace("Lava", "Lavá").encode(), {"content_type": "text/html; charset=utf-8"}),
    ],
    ids=["plain", "gzip", "utf-8"],
)
def test_a_page_that_says_much_at_once_is_plainly_there(body, about):
    page = a_page(body=body, **about)
    assert is_plainly_there(page)
    assert judge(page) == ORDINARY


@pytest.mark.parametrize(
    ("body", "about"),
    [
        (ESSAY.encode("utf-16"), {}),
        (b"\x1b$B" + ESSAY.encode(), {}),
        (ESSAY.replace("Lava", "Lavá").encode("latin-1"), {"content_type": "text/html; charset=utf-8"}),
        (ESSAY.replace("Lava", "Lavá").encode(), {"content_type": "text/html"}),
        (b"\x1f\x8b broken", {"headers": (("Content-Encoding", "gzip"),)}),
        (ESSAY.encode(), {"headers": (("Content-Encoding", "br"),)}),
        (ESSAY.encode(), {"content_type": "text/plain"}),
        (b"<nav>" + ESSAY.encode(), {}),
        (b"<!-- " + ESSAY.encode(), {}),
        (b"", {}),
    ],
    ids=[
        "utf-16",
        "escapes",
        "latin-1",
        "unstated",
        "broken gzip",
        "brotli",
        "text",
        "menu",
        "comment",
        "empty",
    ],
)
def test_what_is_not_easily_read_is_not_plainly_there(body, about):
    assert not is_plainly_there(a_page(body=body, **about))


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_a_page_that_is_plainly_there_is_ordinary(body):
    page = a_page(body=body.encode())
    assert not is_plainly_there(page) or judge(page) == ORDINARY


SENTENCES = (
    *(
        "Page not found.",
        "We looked for it; 404!",
        "4 0 4 and so on it went, for all of us here.",
        "Page 404",
    ),
    *(
        "The rivers of this country rise in its hills and end in its lakes. ",
        "“Rivers” rise — in the hills …",
    ),
    *(
        "A Peugeot 404 stood for a long time in front of the house of my uncle and of his wife. ",
        "x" * 70 + " ",
    ),
    *(
        "This article is about the HTTP status code 404 which means that nothing was found there. ",
        "Los ríos. ",
    ),
)


SORRY = "Sorry, but the page that you are looking for on this site could not be found. "


@example([SORRY * 5, SORRY * 5])
@given(
    st.lists(
        st.lists(st.sampled_from((SORRY, *SENTENCES)), min_size=1, max_size=12).map("".join), max_size=20
    )
)
def test_a_beginning_says_as_much_as_a_closer_look_at_all_its_lines(texts):
    html = "".join(f"<p>{text}</p>" for text in texts)
    parts = parts_of(a_page(body=html.encode(), content_type="text/html; charset=utf-8"))
    assert is_talkative(parts.blocks) == signals(parts).discusses
