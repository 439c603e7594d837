from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.entry import FileBody, values
from proxy.cache.reply import reply_from
from tests.caching import HEADERS, NOW, a_request, a_stored, at, cc

TAG = ("ETag", '"a"')


def reply(stored, *asked, method="GET"):
    return reply_from(a_request(*asked, method=method), stored, NOW)


def test_the_whole_is_sent_with_its_age_and_its_own_date():
    answer = reply(a_stored(("Date", at(-90)), ("Age", "30"), received_s=-60))
    assert (answer.status, answer.body) == (200, b"hello world")
    assert values(answer.headers, "age") == ["90"]
    assert values(answer.headers, "date") == [at(-90)]


def test_a_head_gets_the_headers_alone():
    answer = reply(a_stored(TAG), method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert values(answer.headers, "content-length") == ["11"]


def test_not_modified_carries_what_the_client_needs_and_no_length():
    stored = a_stored(TAG, cc("max-age=60"), ("Vary", "Foo"), ("Content-Type", "text/html"), ("X", "y"))
    answer = reply(stored, ("If-None-Match", '"a"'))
    assert (answer.status, answer.body) == (304, b"")
    assert {name.lower() for name, _ in answer.headers} == {
        "etag",
        "cache-control",
        "vary",
        "date",
        "age",
        "x",
    }


def test_not_modified_tells_of_every_policy_and_permission_that_is_stored():
    told = (("Content-Security-Policy", "default-src 'self'"), ("Access-Control-Allow-Origin", "*"))
    answer = reply(a_stored(TAG, *told, ("Content-Encoding", "gzip")), ("If-None-Match", '"a"'))
    assert answer.status == 304
    assert set(told) <= set(answer.headers)
    assert not values(answer.headers, "content-encoding")


def test_a_part_is_described():
    answer = reply(a_stored(TAG, ("A", "1")), ("Range", "bytes=0-4"))
    assert (answer.status, answer.body) == (206, b"hello")
    assert values(answer.headers, "content-range") == ["bytes 0-4/11"]
    assert values(answer.headers, "content-length") == ["5"]
    assert values(answer.headers, "a") == ["1"]


def test_a_part_that_does_not_exist_is_416():
    answer = reply(a_stored(), ("Range", "bytes=99-"))
    assert (answer.status, answer.body) == (416, b"")
    assert values(answer.headers, "content-range") == ["bytes */11"]


def test_a_body_in_a_file_stays_there():
    body = FileBody(path=Path("large"), size=1000)
    whole, part = reply(a_stored(body=body)), reply(a_stored(body=body), ("Range", "bytes=10-19"))
    assert (whole.body, whole.start, whole.stop) == (body, 0, 1000)
    assert (part.body, part.start, part.stop) == (body, 10, 20)
    assert reply(a_stored(body=body), method="HEAD").body == b""


@given(HEADERS, HEADERS, st.sampled_from(["GET", "HEAD"]), st.integers(200, 999))
def test_every_answer_is_whole_and_has_one_age(asked, headers, method, status):
    answer = reply(a_stored(*headers, status=status), *asked, method=method)
    assert len(values(answer.headers, "age")) == 1
    assert answer.stop - answer.start == len(answer.body) or method == "HEAD" or answer.status == 304
