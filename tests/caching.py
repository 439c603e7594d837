"""Requests and stored responses for tests of the cache; all times are relative to NOW."""

from hypothesis import strategies as st

from proxy.cache.storage import may_store, to_stored
from proxy.headers.fields import write_date
from proxy.messages import CacheRequest
from proxy.settings import CacheSettings
from tests.make import A_MOMENT

NOW = A_MOMENT.timestamp()
SETTINGS = CacheSettings()
URL = "http://school.test/page"


def at(offset_s):
    """An HTTP date so many seconds from NOW."""
    return write_date(NOW + offset_s)


def a_request(*headers, method="GET", url=URL):
    return CacheRequest(method=method, url=url, headers=headers)


def a_stored(*headers, request=None, status=200, body=b"hello world", received_s=0, took_s=0):
    """A response stored `received_s` from NOW (in the past when negative), as `to_stored` makes it."""
    return to_stored(
        request or a_request(),
        status=status,
        reason="OK",
        headers=headers,
        body=body,
        requested_at=NOW + received_s - took_s,
        received_at=NOW + received_s,
    )


def is_storable(*headers, request=None, status=200):
    return may_store(request or a_request(), status, headers, received_at=NOW, settings=SETTINGS)


def cc(value):
    return ("Cache-Control", value)


FIELD_TEXT = st.text(st.characters(max_codepoint=255), max_size=60)
"""What may stand in a header value, and then some."""

_NAMES = [
    "age",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expires",
    "last-modified",
    "location",
    "pragma",
    "set-cookie",
    "vary",
    "via",
    "accept-encoding",
    "accept-language",
    "authorization",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "range",
]
_TELLING_VALUES = [
    "max-age=60",
    "max-age=0",
    "s-maxage=5, max-age=1",
    "no-cache",
    "no-store",
    "private",
    "public",
    "must-revalidate",
    "max-age",
    "*",
    "0",
    "-1",
    "5",
    "gzip",
    "en;q=0.5, de",
    '"a"',
    'W/"a"',
    '"a", "b"',
    "bytes=0-1",
    "bytes=-1",
    "bytes 0-4/5",
    "stale-while-revalidate=9",
    'no-cache="a',
    "max-stale",
    "only-if-cached",
    "Sun, 03 May 2026 12:00:00 GMT",
    "Sun May  3 12:00:00 2026",
    "stale-if-error=10",
]
HEADERS = st.lists(
    st.tuples(st.sampled_from(_NAMES), st.sampled_from(_TELLING_VALUES) | FIELD_TEXT), max_size=8
).map(tuple)
"""Header lists that a hostile or careless peer might send."""
