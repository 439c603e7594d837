import pytest

from proxy.cache.hopbyhop import stored_fields
from tests.caching import cc


@pytest.mark.parametrize(
    "name",
    [
        "Connection",
        "Keep-Alive",
        "Proxy-Authenticate",
        "Proxy-Authentication-Info",
        "Proxy-Authorization",
        "Proxy-Connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Set-Cookie",
        "Cache-Status",
    ],
)
def test_what_belongs_to_one_connection_is_not_stored(name):
    assert stored_fields(((name, "x"), ("Kept", "y"))) == (("Kept", "y"),)


def test_what_connection_lists_is_not_stored():
    headers = (("Connection", "a, B"), ("A", "1"), ("b", "2"), ("C", "3"))
    assert stored_fields(headers) == (("C", "3"),)


def test_what_no_cache_lists_is_not_stored():
    headers = (cc('max-age=60, no-cache="a, b"'), ("A", "1"), ("b", "2"), ("c", "3"))
    assert stored_fields(headers) == (headers[0], ("c", "3"))


@pytest.mark.parametrize(
    "name",
    [
        "Test-Header",
        "Content-Foo",
        "Content-Encoding",
        "Content-Location",
        "Content-Range",
        "Content-Security-Policy",
        "Content-Type",
        "Clear-Site-Data",
        "ETag",
        "Expires",
        "X-Frame-Options",
        "Cache-Control",
    ],
)
def test_everything_else_is_stored(name):
    assert stored_fields(((name, "x"),)) == ((name, "x"),)
