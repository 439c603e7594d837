import pytest

from proxy.headers.fields import has
from proxy.headers.hopbyhop import (
    forwarded_request,
    forwarded_response,
    names_end_to_end_fields,
    names_other_fields,
    stored_fields,
)
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
def test_hop_by_hop_fields_are_not_stored(name):
    assert stored_fields(((name, "x"), ("Kept", "y"))) == (("Kept", "y"),)


def test_fields_named_in_connection_are_not_stored():
    headers = (("Connection", "a, B"), ("A", "1"), ("b", "2"), ("C", "3"))
    assert stored_fields(headers) == (("C", "3"),)


def test_fields_named_in_no_cache_are_not_stored():
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


SENT = (
    ("Host", "a"),
    ("Connection", "keep-alive, X-A, Host"),
    ("X-A", "1"),
    ("TE", "trailers"),
    ("X-B", "2"),
)


def test_a_request_is_forwarded_without_hop_by_hop_fields():
    kept = forwarded_request("GET", SENT, closes=False, to_proxy=False)
    assert kept == (("Host", "a"), ("X-B", "2"), ("Connection", "keep-alive"))
    assert forwarded_request("GET", SENT, closes=True, to_proxy=False)[-1] == ("Connection", "close")
    assert forwarded_request("GET", SENT, closes=False, to_proxy=False, http2=True) == (
        *(("Host", "a"), ("X-B", "2"), ("te", "trailers")),
    )


def test_only_a_proxy_gets_proxy_authorization():
    headers = (("Proxy-Authorization", "Basic YTpi"),)
    assert forwarded_request("GET", headers, closes=False, to_proxy=True) == headers
    assert forwarded_request("GET", headers, closes=False, to_proxy=False) == ()


def test_a_web_socket_is_asked_for_and_nothing_else():
    socket = (("Connection", "keep-alive, upgrade"), ("Upgrade", "WebSocket"))
    assert forwarded_request("GET", socket, closes=True, to_proxy=False) == (
        *(("Upgrade", "WebSocket"), ("Connection", "Upgrade")),
    )
    for method, headers in (
        ("POST", socket),
        ("GET", (*socket, ("Content-Length", "3"))),
        ("GET", (("Connection", "upgrade"), ("Upgrade", "websocket, h2c"))),
        ("GET", (("Upgrade", "websocket"),)),
    ):
        assert not has(forwarded_request(method, headers, closes=False, to_proxy=False), "upgrade")


def test_a_response_is_forwarded_without_hop_by_hop_fields():
    said = (
        *(
            ("Connection", "close, X-A, Set-Cookie"),
            ("X-A", "1"),
            ("Set-Cookie", "a"),
            ("Keep-Alive", "timeout=5"),
        ),
        *(("Proxy-Authenticate", "Basic"), ("Upgrade", "h2")),
    )
    kept = forwarded_response(200, said, from_proxy=False, lasts=False)
    assert kept == (("Set-Cookie", "a"), ("Connection", "close"))
    assert forwarded_response(200, said, from_proxy=False, lasts=True) == (("Set-Cookie", "a"),)
    assert has(forwarded_response(407, said, from_proxy=True, lasts=False), "proxy-authenticate")
    changed = (("Connection", "Upgrade"), ("Upgrade", "websocket"))
    assert set(forwarded_response(101, changed, from_proxy=False, lasts=True)) == set(changed)


def test_fields_are_named_only_where_they_are():
    assert not names_other_fields((("Connection", "keep-alive, upgrade, x"),))
    assert names_other_fields((("Connection", "x"), ("X", "1")))
    assert names_end_to_end_fields((("Connection", "vary"),))
    assert not names_end_to_end_fields((("Connection", "x-a, close"),))
