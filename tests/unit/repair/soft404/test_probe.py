"""repair.soft404.probe: what a site's answer to a probe shows about a page in doubt."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.soft404.probe import LETTERS, ProbeVerdict, compare, nonsense_urls, place_of, probe
from repair.soft404.sketch import sketch_of
from tests.make import a_page

URL = "http://school.test/lessons/rivers.html"
SAME = (
    b"<title>Oops</title><p>The caretaker has looked for it in every cupboard of the house and is sorry.</p>"
)
OTHER = b"<title>Lakes</title><p>A lake is a large body of water with land all around it, and fish live in it.</p>"


def sketch_of_body(body):
    return sketch_of(a_page(body=body))


def a_site(*answers):
    """Gives these answers in order, and records the requests."""
    asked, left = [], list(answers)

    async def ask(url):
        asked.append(url)
        return left.pop(0) if left else None

    return ask, asked


def test_random_letters_follow_the_last_slash_and_the_first():
    last, first = nonsense_urls("http://school.test/lessons/rivers.html?page=2", random.Random(1))
    assert last.startswith("http://school.test/lessons/")
    assert last.endswith("rivers.html")
    assert len(last) == len(URL) + LETTERS
    assert first.startswith("http://school.test/")
    assert first.endswith("lessons/rivers.html")
    assert len(nonsense_urls("http://school.test/rivers.html", random.Random(1))) == 1


@given(st.text(alphabet="ab/.%?-", max_size=30))
def test_probes_stay_on_the_site(path):
    for url in nonsense_urls(f"http://school.test:8000/{path}", random.Random(1)):
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
def test_place_of_is_the_directory_and_empty_for_start_pages(url, place):
    assert place_of(url) == place


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (404, b"<p>not here", ProbeVerdict.THERE),
        (410, b"", ProbeVerdict.THERE),
        (200, SAME, ProbeVerdict.MISSING),
        (200, OTHER, ProbeVerdict.UNKNOWN),
        (500, SAME, ProbeVerdict.UNKNOWN),
        (403, SAME, ProbeVerdict.UNKNOWN),
    ],
)
def test_an_answer_is_compared_with_the_page_in_doubt(status, body, verdict):
    assert compare(sketch_of_body(SAME), a_page(status=status, body=body)).verdict is verdict


def test_a_probe_never_finds_a_page_without_words_missing():
    shell = b"<div id=root></div>"
    assert compare(sketch_of_body(shell), a_page(body=shell)).verdict is ProbeVerdict.UNKNOWN


async def test_the_second_probe_is_sent_only_when_the_first_decides_nothing():
    ask, asked = a_site(a_page(body=SAME))
    assert (await probe(URL, sketch_of_body(SAME), ask)).verdict is ProbeVerdict.MISSING
    assert len(asked) == 1
    ask, asked = a_site(a_page(body=OTHER), a_page(body=SAME))
    assert (await probe(URL, sketch_of_body(SAME), ask)).verdict is ProbeVerdict.MISSING
    assert len(asked) == 2


async def test_without_an_answer_the_verdict_is_unknown():
    ask, asked = a_site()
    assert (await probe(URL, sketch_of_body(SAME), ask)).verdict is ProbeVerdict.UNKNOWN
    assert len(asked) == 1
