"""repair.soft404.scriptpages: pages that are there, full of the words of missing pages (ordinary.json).

None of the titles there is a bare notice ("Page not found"): a page whose whole title is one says that it is missing.
"""

import json
from pathlib import Path

import pytest

from repair.soft404.judge import PageKind, judge
from tests.make import a_page

ORDINARY = json.loads(Path(__file__).with_name("ordinary.json").read_text(encoding="utf-8"))
SHELLS = ORDINARY["shells"]
NAMED = [title for titles in ORDINARY["titles"].values() for title in titles]
MADE = [around.format(word) for word in ORDINARY["loaded"] for around in ORDINARY["around"]]
TITLES = list(dict.fromkeys(title[:1].upper() + title[1:] for title in (*NAMED, *MADE)))
EVERY = 9
"""Each shape is tried with every ninth title, starting at another one for each shape."""
SHORT = "<title>{}</title><h1>{}</h1><p>{}</p>"
INDISTINGUISHABLE = 14
"""How many short pages have a title that is a notice ("404 Not Found", an album) or a sentence that says it."""
APP = "<div id=root></div><script src=/app.js></script>"
ANALYTICS = "<script src=/count.js></script>"


def judge_body(body):
    return judge(a_page(url="http://school.test/lessons/7", body=body.encode()))


def test_the_sample_is_large_enough():
    assert len(TITLES) > 500
    assert len(ORDINARY["titles"]) > 10
    assert len(SHELLS) > 10
    assert len(ORDINARY["short"]) > 100


def test_no_title_makes_an_application_a_missing_page():
    wrong = [title for title in TITLES if judge_body(SHELLS["issue"].format(t=title)).miss]
    assert wrong == []


@pytest.mark.parametrize("shape", SHELLS)
def test_shells_are_neither_missing_nor_probed(shape):
    titles = (*NAMED[:6], *TITLES[list(SHELLS).index(shape) % EVERY :: EVERY])
    found = {title: judge_body(SHELLS[shape].format(t=title)) for title in titles}
    assert {title: one for title, one in found.items() if one.miss or one.unsure} == {}


@pytest.mark.parametrize(
    "body",
    [
        "<title>School</title><h1>404</h1><p>Page not found</p>" + ANALYTICS,
        "<title>Page not found | School</title><h1>Page not found</h1>" + ANALYTICS,
        "<title>404</title><h1>Oops</h1><p>The page you are looking for does not exist.</p>" + APP,
        "<title>School</title><div id=__next><h1>404</h1><h2>This page could not be found.</h2></div>"
        + ANALYTICS,
        "<title>404: This page could not be found</title><div id=root><h1>404</h1>"
        "<h2>This page could not be found</h2></div>" + ANALYTICS,
        "<title>Seite nicht gefunden</title><h1>Seite nicht gefunden</h1>" + ANALYTICS,
    ],
    ids=["analytics", "site's name", "sentence", "rendered by the server", "next", "german"],
)
def test_notices_in_the_html_count_despite_scripts(body):
    assert judge_body(body).kind is PageKind.NOT_FOUND


def test_hidden_error_messages_do_not_count():
    hidden = "<div style='display: none'><h2>Page not found</h2><p>This page does not exist.</p></div>"
    shown = hidden.replace("display: none", "color: red")
    assert judge_body("<title>School</title>" + hidden + APP).kind is PageKind.SHELL
    assert judge_body("<title>School</title>" + shown + APP).kind is PageKind.NOT_FOUND


@pytest.mark.parametrize(
    "body",
    [
        "<title>School | NotFound</title><link rel=stylesheet href=/css/pagenotfound.css><a href=/>Return</a>",
        "<title>School</title><h1>404 <br> no hay <br> pagina aca</h1>",
        "<title>School</title><h1>404 Not found <small>Oh dear!</small></h1>",
        "<title>School</title><h1><span>4</span> <span>0</span> <span>4</span></h1>",
    ],
    ids=["marked", "broken line", "small print", "figures"],
)
def test_without_an_empty_element_marks_and_pieces_of_headings_count(body):
    assert judge_body(body + ANALYTICS).kind is PageKind.NOT_FOUND


@pytest.mark.parametrize(
    "mark", ["<body class=error404>", "<link rel=canonical href=/404.html>", "<img src=404.svg>"]
)
def test_no_mark_makes_an_application_a_missing_page(mark):
    wrong = [title for title in TITLES[::EVERY] if judge_body(mark + SHELLS["issue"].format(t=title)).miss]
    assert wrong == []


def test_a_mark_alone_does_not_count():
    page = "<title>{}</title><body class=error404><h1>{}</h1><p>Mondays at four, in the gym.</p>"
    assert judge_body(page.format("Football", "Football")).kind is PageKind.ORDINARY
    assert judge_body(page.format("Oops", "Page not found")).kind is PageKind.NOT_FOUND


def test_short_pages_with_suspicious_titles_are_at_most_in_doubt():
    found = [judge_body(SHORT.format(title, title, sentence)) for title, sentence in ORDINARY["short"]]
    assert sum(one.miss is not None for one in found) <= INDISTINGUISHABLE


def test_a_short_page_in_doubt_is_unsure():
    lost = judge_body(SHORT.format("Lost dog", "Lost dog", "Our dog Simba has been missing since Friday."))
    assert (lost.kind, lost.unsure) == (PageKind.ORDINARY, True)


@pytest.mark.parametrize("opened", ["<div hidden>", "<article>", "<div id=a>", "<a-b>", "<div id=a></div>"])
def test_hostile_markup_is_judged_quickly(opened):
    assert (
        judge_body("<title>404</title><h1>404</h1>" + ANALYTICS + opened * 2_000 + "x " * 10_000) is not None
    )
