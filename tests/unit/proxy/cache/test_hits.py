from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.hits import PlainHit, answer_from, answer_hit
from proxy.cache.serialize import head_bytes
from proxy.cache.vary import select
from proxy.messages import FileBody, values
from proxy.settings import CacheSettings
from tests.caching import HEADERS, NOW, a_request, a_stored, at, cc

SETTINGS = CacheSettings()
TAG = ("ETag", '"a"')
OURS = {"age", "via", "cache-status"}


def answer_to(stored, *asked, method="GET"):
    return answer_from(a_request(*asked, method=method), stored, now=NOW, settings=SETTINGS)


def test_the_whole_is_sent_with_its_age_and_its_own_date():
    answer = answer_to(a_stored(("Date", at(-90)), ("Age", "30"), received_s=-60))
    assert (answer.fixed.status, answer.fixed.body) == (200, b"hello world")
    assert values(answer.headers, "age") == ["90"]
    assert values(answer.headers, "date") == [at(-90)]


def test_a_head_gets_the_headers_alone():
    answer = answer_to(a_stored(TAG), method="HEAD")
    assert (answer.fixed.status, answer.fixed.body) == (200, b"")
    assert values(answer.headers, "content-length") == ["11"]


def test_not_modified_carries_what_the_client_needs_and_no_length():
    stored = a_stored(TAG, cc("max-age=60"), ("Vary", "Foo"), ("Content-Type", "text/html"), ("X", "y"))
    answer = answer_to(stored, ("If-None-Match", '"a"'))
    assert (answer.fixed.status, answer.fixed.body) == (304, b"")
    assert {name.lower() for name, _ in answer.headers} == {
        "etag",
        "cache-control",
        "vary",
        "date",
        "x",
        *OURS,
    }


def test_not_modified_tells_of_every_policy_and_permission_that_is_stored():
    told = (("Content-Security-Policy", "default-src 'self'"), ("Access-Control-Allow-Origin", "*"))
    answer = answer_to(a_stored(TAG, *told, ("Content-Encoding", "gzip")), ("If-None-Match", '"a"'))
    assert answer.fixed.status == 304
    assert set(told) <= set(answer.headers)
    assert not values(answer.headers, "content-encoding")


def test_a_part_is_described():
    answer = answer_to(a_stored(TAG, ("A", "1")), ("Range", "bytes=0-4"))
    assert (answer.fixed.status, answer.fixed.body) == (206, b"hello")
    assert values(answer.headers, "content-range") == ["bytes 0-4/11"]
    assert values(answer.headers, "content-length") == ["5"]
    assert values(answer.headers, "a") == ["1"]


def test_a_part_that_does_not_exist_is_416():
    answer = answer_to(a_stored(), ("Range", "bytes=99-"))
    assert (answer.fixed.status, answer.fixed.body) == (416, b"")
    assert values(answer.headers, "content-range") == ["bytes */11"]


def test_a_body_in_a_file_stays_there():
    body = FileBody(path=Path("large"), size=1000)
    whole, part = answer_to(a_stored(body=body)), answer_to(a_stored(body=body), ("Range", "bytes=10-19"))
    assert (whole.fixed.body, whole.fixed.start, whole.fixed.stop) == (body, 0, 1000)
    assert (part.fixed.body, part.fixed.start, part.fixed.stop) == (body, 10, 20)
    assert answer_to(a_stored(body=body), method="HEAD").fixed.body == b""


@given(HEADERS, HEADERS, st.sampled_from(["GET", "HEAD"]), st.integers(200, 999))
def test_every_answer_is_whole_and_has_one_age(asked, headers, method, status):
    answer = answer_to(a_stored(*headers, status=status), *asked, method=method)
    assert len(values(answer.headers, "age")) == 1
    assert (
        answer.fixed.stop - answer.fixed.start == len(answer.fixed.body)
        or method == "HEAD"
        or answer.fixed.status == 304
    )


def test_an_answer_says_how_long_it_is_fresh_and_what_the_cache_did():
    answer = answer_to(a_stored(cc("max-age=60"), received_s=-10))
    assert answer.headers[-3:] == (
        ("Age", "10"),
        ("Via", "1.1 linkmend"),
        ("Cache-Status", "linkmend;hit;ttl=50"),
    )


def test_cookies_of_a_304_go_to_its_client():
    cookie = ("Set-Cookie", "a=b")
    answer = answer_from(a_request(), a_stored(), now=NOW, settings=SETTINGS, set_cookies=(cookie,))
    assert cookie in answer.headers


@pytest.mark.parametrize(
    ("headers", "asked", "offline", "expected"),
    [
        ((cc("max-age=60"),), (), False, 200),
        ((cc("max-age=60"),), (("Range", "bytes=0-4"),), False, 206),
        ((cc("max-age=60"),), (cc("no-cache"),), False, None),
        ((cc("max-age=5"),), (), False, None),
        ((cc("max-age=5"),), (), True, 200),
    ],
)
def test_only_what_needs_no_origin_is_a_hit(headers, asked, offline, expected):
    stored = a_stored(*headers, received_s=-10)
    answer = answer_hit(a_request(*asked), [stored], now=NOW, settings=SETTINGS, offline=offline)
    assert (answer.fixed.status if answer is not None else None) == expected


MOMENTS = st.lists(st.floats(-100, 200), min_size=1, max_size=5)


@given(HEADERS, MOMENTS, st.lists(st.sampled_from(["GET", "HEAD"]), min_size=5, max_size=5))
def test_what_is_remembered_says_what_is_worked_out_anew(headers, moments, methods):
    stored = a_stored(*headers)
    hit = PlainHit(stored, SETTINGS)
    for moment, method in zip(moments, methods, strict=False):
        now = NOW + moment
        anew = answer_hit(a_request(method=method), [stored], now=now, settings=SETTINGS)
        if anew is None or select(a_request(), [stored]) is not None:
            assert hit.answer(method, now) == anew


@given(st.lists(st.floats(-1, 6), min_size=2), st.floats(0, 1))
def test_nothing_is_remembered_past_its_second_or_its_lifetime(moments, part_of_a_second):
    stored = a_stored(cc("max-age=4"), received_s=-part_of_a_second)
    hit = PlainHit(stored, SETTINGS)
    for moment in moments:
        anew = answer_hit(a_request(), [stored], now=NOW + moment, settings=SETTINGS)
        assert hit.answer("GET", NOW + moment) == anew


def test_the_bytes_are_those_of_all_fields():
    answer = answer_to(a_stored(cc("max-age=60")))
    assert answer.head == head_bytes(200, "OK", answer.headers) + b"\r\n"
