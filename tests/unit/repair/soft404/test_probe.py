"""repair.soft404.probe: what a site's answer to nonsense says of a page in doubt."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.soft404.probe import LETTERS, Verdict, compare, nonsense, place_of, probe
from repair.soft404.sketch import sketch_of
from tests.make import a_page

URL = "http://school.test/lessons/rivers.html"
SAME = (
    b"<title>Oops</title><p>The caretaker has looked for it in every cupboard of the house and is sorry.</p>"
)
OTHER = b"<title>Lakes</title><p>A lake is a large body of water with land all around it, and fish live in it.</p>"


def sketched(body):
    return sketch_of(a_page(body=body))


def a_site(*answers):
    """Answers in this order, and notes what it was asked."""
    asked, left = [], list(answers)

    async def ask(url):
        asked.append(url)
        return left.pop(0) if left else None

    return ask, asked


def test_nonsense_stands_after_the_last_slash_and_after_the_first():
    last, first = nonsense("http://school.test/lessons/rivers.html?page=2", random.Random(1))
    assert last.startswith("http://school.test/lessons/")
    assert last.endswith("rivers.html")
    assert len(last) == len(URL) + LETTERS
    assert first.startswith("http://school.test/")
    assert first.endswith("lessons/rivers.html")
    assert len(nonsense("http://school.test/rivers.html", random.Random(1))) == 1


@given(st.text(alphabet="ab/.%?-", max_size=30))
def test_nonsense_stays_on_the_site(path):
    for url in nonsense(f"http://school.test:8000/{path}", random.Random(1)):
        assert url.startswith("http://school.test:8000/")
        assert "?" not in url


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (URL, "http://school.test/lessons/"),
        ("http://school.test/rivers", "http://school.test/"),
        ("http://school.test/", ""),
        ("http://school.test", ""),
        ("http://school.test/?q=a", ""),
    ],
)
def test_a_directory_is_asked_but_never_for_a_start_page(url, place):
    assert place_of(url) == place


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (404, b"<p>not here", Verdict.THERE),
        (410, b"", Verdict.THERE),
        (200, SAME, Verdict.MISSING),
        (200, OTHER, Verdict.UNKNOWN),
        (500, SAME, Verdict.UNKNOWN),
        (403, SAME, Verdict.UNKNOWN),
    ],
)
def test_an_answer_is_compared_with_the_page_in_doubt(status, body, verdict):
    assert compare(sketched(SAME), a_page(status=status, body=body)).verdict is verdict


def test_a_page_without_words_is_never_found_missing():
    shell = b"<div id=root></div>"
    assert compare(sketched(shell), a_page(body=shell)).verdict is Verdict.UNKNOWN


async def test_the_second_address_is_asked_only_when_the_first_leaves_the_question_open():
    ask, asked = a_site(a_page(body=SAME))
    assert (await probe(URL, sketched(SAME), ask)).verdict is Verdict.MISSING
    assert len(asked) == 1
    ask, asked = a_site(a_page(body=OTHER), a_page(body=SAME))
    assert (await probe(URL, sketched(SAME), ask)).verdict is Verdict.MISSING
    assert len(asked) == 2


async def test_no_answer_leaves_the_page_alone():
    ask, asked = a_site()
    assert (await probe(URL, sketched(SAME), ask)).verdict is Verdict.UNKNOWN
    assert len(asked) == 1
