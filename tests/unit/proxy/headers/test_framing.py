"""proxy.headers.framing: after which exchanges a connection is used again."""

import pytest

from proxy.headers.framing import asks_to_close, is_ambiguous_request, is_ambiguous_response, is_token

HOST = ("Host", "school.test")


@pytest.mark.parametrize(
    ("method", "headers", "body_follows"),
    [
        ("GET", (HOST, ("Connection", "keep-alive")), False),
        ("GET", (HOST, ("Content-Length", "0")), False),
        ("HEAD", (HOST,), False),
        ("POST", (HOST, ("Content-Length", "3")), True),
        ("PUT", (HOST, ("Transfer-Encoding", "chunked")), True),
        ("PROPFIND", (HOST, ("Content-Length", "3")), True),
        ("DELETE", (HOST,), False),
    ],
)
def test_plain_requests_are_not_ambiguous(method, headers, body_follows):
    assert not is_ambiguous_request(method, headers, body_follows=body_follows)


@pytest.mark.parametrize(
    ("method", "headers", "body_follows"),
    [
        ("GET", (HOST, ("Content-Length", "3")), True),
        ("GET", (HOST, ("Transfer-Encoding", "chunked")), False),
        ("GET", (HOST,), True),
        ("HEAD", (HOST, ("Content-Length", "3")), True),
        ("DELETE", (HOST, ("Content-Length", "3")), True),
        ("get", (HOST,), False),
        ("hEaD", (HOST,), False),
        ("Post", (HOST, ("Content-Length", "3")), True),
        ("FOO", (HOST,), False),
        ("TRACE", (HOST,), False),
        ("GET", (HOST, ("Content_Length", "3")), False),
        ("POST", (HOST, ("Transfer.Encoding", "chunked")), False),
        ("GET", (HOST, ("Connection", "Cookie"), ("Cookie", "a=b")), False),
    ],
)
def test_requests_that_origins_read_differently_are_ambiguous(method, headers, body_follows):
    assert is_ambiguous_request(method, headers, body_follows=body_follows)


@pytest.mark.parametrize(
    ("status", "headers", "version"),
    [
        (200, (("Content-Length", "3"),), "HTTP/1.1"),
        (200, (("Transfer-Encoding", "chunked"),), "HTTP/1.1"),
        (204, (), "HTTP/1.1"),
        (304, (("Content-Length", "0"),), "HTTP/1.1"),
        (200, (("Content-Length", "3"), ("Connection", "keep-alive")), "HTTP/1.0"),
    ],
)
def test_a_response_with_a_clear_end_is_not_ambiguous(status, headers, version):
    assert not is_ambiguous_response(status, headers, version=version)


@pytest.mark.parametrize(
    ("status", "headers", "version"),
    [
        (204, (("Content-Length", "3"),), "HTTP/1.1"),
        (304, (("Transfer-Encoding", "chunked"),), "HTTP/1.1"),
        (200, (("Content-Length", "3"), ("Content-Length", "3")), "HTTP/1.1"),
        (200, (("Content-Length", "3,3"),), "HTTP/1.1"),
        (200, (("Content-Length", "3"), ("Transfer-Encoding", "chunked")), "HTTP/1.1"),
        (200, (("Transfer-Encoding", "gzip, chunked"),), "HTTP/1.1"),
        (200, (("Transfer-Encoding", "chunked"),), "HTTP/1.0"),
        (200, (("Content-Length", "3"),), "HTTP/1.9"),
        (200, (("Content-Length", "3"), ("Connection", "CLOSE")), "HTTP/1.1"),
        (101, (), "HTTP/1.1"),
    ],
)
def test_an_answer_that_may_go_on_leaves_doubt(status, headers, version):
    assert is_ambiguous_response(status, headers, version=version)


def test_the_end_of_a_connection_is_known_in_any_spelling():
    assert asks_to_close((("Connection", "keep-alive, Close"),))
    assert asks_to_close((("Proxy-Connection", "close"),))
    assert not asks_to_close((("Connection", "keep-alive"), ("X-Connection", "close")))


def test_a_method_is_a_token():
    assert is_token("GET")
    assert not any(map(is_token, ("", "G T", "GET:", "GET(", "G\x80T", "GET\r\n")))
