import gzip
import json

import pytest

from proxy.fetching.searchengine import SearchEngine, fill_template, read_results
from repair.fetch import FetchError
from repair.model import Page
from tests.make import A_MOMENT

RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"><channel>
<title>Search</title><link>http://engine.test/</link><opensearch:totalResults>2</opensearch:totalResults>
<item><title>Lava</title><link> http://a.test/lava </link></item>
<item><title>Ash</title><link>http://b.test/ash</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://engine.test/"/>
<entry><link rel="self" href="http://engine.test/1"/><link href="http://a.test/lava"/></entry></feed>"""
FOUND = ("http://a.test/lava", "http://b.test/ash")


def an_answer(body, *, status=200, **headers):
    payload = body if isinstance(body, bytes) else body.encode()
    return Page(
        url="http://engine.test/",
        status=status,
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        body=payload,
        fetched_at=A_MOMENT,
    )


def as_json(*addresses):
    return json.dumps(
        {"query": "lava", "results": [{"url": url, "title": "x", "score": 1} for url in addresses]}
    )


class FakeClient:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def get(self, url, *, limits, headers):
        self.asked.append(url)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self):
        pass


@pytest.mark.parametrize("body", [RSS, as_json(*FOUND)], ids=["RSS", "SearXNG"])
def test_results_are_read_in_their_order(body):
    assert read_results(an_answer(body)) == FOUND


def test_entries_of_atom_lead_to_pages_and_not_to_the_engine():
    assert read_results(an_answer(ATOM)) == ("http://a.test/lava",)


def test_compressed_answer_is_read():
    assert read_results(an_answer(gzip.compress(RSS.encode()), Content_Encoding="gzip")) == FOUND


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/",
        "http://10.0.0.5/",
        "http://intranet/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://a.test/?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop",
        "",
    ],
)
def test_only_public_web_pages_are_taken(address):
    assert read_results(an_answer(as_json(address, "http://a.test/lava"))) == ("http://a.test/lava",)


def test_number_of_results_is_bounded():
    assert len(read_results(an_answer(as_json(*(f"http://a.test/{n}" for n in range(500)))))) == 30


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html><p>Please log in",
        "{",
        '{"results": 3}',
        '{"results": [{"url": 5}]}',
        "{" + '"a":{' * 10_000,
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><item><link>&b;</link></item></rss>',
        "<a>" * 1_000,
        b"\xff\xfe\x00",
    ],
)
def test_answer_that_is_no_list_of_results_is_an_error(body):
    with pytest.raises(FetchError):
        read_results(an_answer(body))


def test_zip_bomb_is_not_unpacked():
    with pytest.raises(FetchError):
        read_results(an_answer(gzip.compress(b" " * 20_000_000), Content_Encoding="gzip"))


def test_words_are_quoted_and_other_fields_left_out():
    template = "http://engine.test/?q={searchTerms}&n={count?}&l={language}&x={geo:lat?}"
    assert fill_template(template, "a&b=ü") == "http://engine.test/?q=a%26b%3D%C3%BC&n=&l=&x="


async def test_engine_that_fails_is_not_asked_again():
    for trouble in (FetchError("took too long"), an_answer("slow down", status=429)):
        client = FakeClient(trouble, an_answer(RSS))
        engine = SearchEngine("http://engine.test/?q={searchTerms}", client)
        assert await engine.find("lava") == await engine.find("ash") == ()
        assert client.asked == ["http://engine.test/?q=lava"]


async def test_engine_is_not_asked_about_nothing():
    client = FakeClient(an_answer(RSS))
    engine = SearchEngine("http://engine.test/?q={searchTerms}", client)
    assert await engine.find(" ") == ()
    assert await engine.find("lava") == FOUND
