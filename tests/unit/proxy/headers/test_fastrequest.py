"""proxy.headers.fastrequest: one plain request, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.headers.fastrequest import plain_request

PLAIN = b"GET http://school.test/page HTTP/1.1\r\nHost: school.test\r\nAccept: text/html\r\n\r\n"


def test_a_plain_request_is_read():
    asked = plain_request(PLAIN)
    assert (asked.method, asked.target) == ("GET", "http://school.test/page")
    assert asked.fields.host == "school.test"
    assert asked.fields.headers == (("Host", "school.test"), ("Accept", "text/html"))
    assert asked.fields.is_navigation
    assert asked.fields.asks_nothing


def test_the_same_fields_are_the_same_object():
    other = PLAIN.replace(b"/page", b"/other")
    assert plain_request(PLAIN).fields is plain_request(other).fields


@pytest.mark.parametrize(
    "field", [b"Cache-Control: max-age=0", b"If-None-Match: *", b"Range: bytes=0-", b"pragma: x"]
)
def test_what_asks_something_of_the_cache_is_told_apart(field):
    asked = plain_request(PLAIN.replace(b"\r\n\r\n", b"\r\n" + field + b"\r\n\r\n"))
    assert not asked.fields.asks_nothing


@given(st.binary(max_size=200))
def test_nothing_else_is_read_or_raised(data):
    assert plain_request(data) is None


@given(at=st.integers(0, len(PLAIN) - 1), junk=st.binary(min_size=1, max_size=3))
def test_whatever_is_put_in_is_refused_or_part_of_what_was_read(at, junk):
    asked = plain_request(PLAIN[:at] + junk + PLAIN[at:])
    if asked is not None:
        lines = [f"{asked.method} {asked.target} HTTP/1.1"]
        lines += [f"{name}:{value}" for name, value in asked.fields.headers]
        written = "\r\n".join((*lines, "", "")).encode().replace(b": ", b":")
        assert written == (PLAIN[:at] + junk + PLAIN[at:]).replace(b": ", b":")
