import gzip

import pytest
from hypothesis import given

from proxy.cache.sharing.reflection import contains_value, identifying_values
from tests.caching import HEADERS, a_request
from tests.make import a_page

AGENT = ("User-Agent", "Mozilla/5.0 (strange)")


def test_a_request_has_words_of_its_own():
    foreign = ("Referer", "https://other.test/some/page?a=b")
    assert identifying_values(a_request(AGENT, foreign), ()) == (
        "Mozilla/5.0 (strange)",
        "https://other.test",
    )
    assert (
        identifying_values(
            a_request(("Referer", "http://school.test/a"), ("Origin", "http://school.test")), ()
        )
        == ()
    )
    assert identifying_values(a_request(AGENT), (("Vary", "User-Agent"),)) == ()
    assert identifying_values(a_request(("User-Agent", "a")), ()) == ()


@pytest.mark.parametrize(
    "kind", ["text/html; charset=utf-8", "application/json", "image/svg+xml", "text/javascript"]
)
def test_a_page_that_repeats_them_is_found_whatever_its_coding(kind):
    words, body = identifying_values(a_request(AGENT), ()), f"<p>You use {AGENT[1]}".encode()
    assert contains_value(words, a_page(body=body, content_type=kind))
    packed = a_page(body=gzip.compress(body), content_type=kind, headers=(("Content-Encoding", "gzip"),))
    assert contains_value(words, packed)
    assert not contains_value(words, a_page(body=b"<p>You use a browser", content_type=kind))


def test_a_picture_is_not_looked_through():
    assert not contains_value((AGENT[1],), a_page(body=AGENT[1].encode(), content_type="image/png"))


@given(HEADERS, HEADERS)
def test_nothing_is_too_strange_to_be_looked_at(asked, headers):
    contains_value(identifying_values(a_request(*asked), headers), a_page(body=b"hello", headers=headers))
