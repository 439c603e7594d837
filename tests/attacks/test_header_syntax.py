"""Malformed header sections: docs/http.md has the table.

Clients are parsed strictly. Origins are parsed as browsers do, so that no site breaks that works without linkmend,
except what two parsers could read differently.
"""

import pytest

from tests.attacks.attackers import send_raw
from tests.integration.origin import reply


def asked_for(running, site, path, *lines, target=None):
    head = f"GET {target or site.url + path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n".encode()
    return send_raw(running, head + b"".join(line + b"\r\n" for line in lines) + b"Connection: close\r\n\r\n")


def answer(*lines, body=b"hello", length=True):
    stated = [b"Content-Length: %d" % len(body)] if length else []
    return b"\r\n".join([b"HTTP/1.1 200 OK", *lines, *stated, b"", body])


@pytest.mark.parametrize(
    "value", [b"a\x01b", b"a\x7f", b"a\x0b", b"\x0ca", b"a\x1fb", b"a\0b", b"a\rb"], ids=repr
)
def test_a_request_with_a_control_character_is_refused_and_goes_nowhere(running, site, path, value):
    site.pages[path] = reply("hello")
    got = asked_for(running, site, path, b"X-Sent: " + value)
    assert got.startswith(b"HTTP/1.1 400 ")
    assert site.asked[path] == 0
    got = asked_for(running, site, path, b"X-Sent: a\tb \xc3\xa4 c")
    assert got.startswith(b"HTTP/1.1 200 ")
    assert site.seen[-1].headers["x-sent"] == "a\tb \xc3\xa4 c"


@pytest.mark.parametrize(
    "lines",
    [
        [b"X-Foo : bar"],
        [b"Content-Length: 0", b"Content-Length: 0"],
        [b"Content-Length: 0, 0"],
        [b"no colon here"],
        [b"X: 1"] * 501,
    ],
    ids=["space", "two lengths", "a list of lengths", "no field", "many"],
)
def test_a_request_is_read_strictly(running, site, path, lines):
    site.pages[path] = reply("hello")
    assert asked_for(running, site, path, *lines)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431")
    assert site.asked[path] == 0
    assert asked_for(running, site, path, *[b"X: 1"] * 400).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"], ids=["CRLF", "LF"])
def test_thousands_of_empty_lines_end_the_connection_and_a_few_do_not(running, site, path, line_end):
    site.pages[path] = reply("hello")
    head = (
        f"GET {site.url}{path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nConnection: close\r\n\r\n".encode()
    )
    assert send_raw(running, line_end * 3 + head).startswith(b"HTTP/1.1 200 ")
    assert site.asked[path] == 1
    # Skipped one by one, they kept the event loop busy: everybody else waited for seconds.
    assert send_raw(running, line_end * 500 + head).startswith(b"HTTP/1.1 431 ")
    assert site.asked[path] == 1


@pytest.mark.parametrize(
    ("sent", "passed_on"),
    [
        ([b"Content-Length: 5", b"Content-Length: 5"], b"\r\nContent-Length: 5\r\n"),
        ([b"Content-Length: 5, 5"], b"\r\nContent-Length: 5\r\n"),
        ([b"X-Foo : bar", b"Content-Length: 5"], b"\r\nX-Foo: bar\r\n"),
        ([b"what is this", b"X-Foo: bar", b"Content-Length: 5"], b"\r\nX-Foo: bar\r\n"),
        ([*(b"X-%d: a" % n for n in range(1200)), b"Content-Length: 5"], b"\r\nX-1199: a\r\n"),
        ([b"X-True: true\x0b", b"Content-Length: 5"], b"\r\nX-True: true\x0b\r\n"),
        ([b"X-True: \x0ctrue\x0c \t", b"Content-Length: 5"], b"\r\nX-True: \x0ctrue\x0c\r\n"),
        ([b"X-One: a\x01b\x7f", b"Content-Length: 5"], b"\r\nX-One: a\x01b\x7f\r\n"),
    ],
    ids=["two lengths", "a list of lengths", "space", "no field", "many", "VT", "FF", "other controls"],
)
def test_response_faults_that_browsers_tolerate_are_normalised(running, site, path, sent, passed_on):
    site.pages[path] = answer(*sent, length=False)
    got = asked_for(running, site, path)
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert passed_on in got
    assert got.lower().count(b"\r\ncontent-length") == 1
    assert got.endswith(b"\r\n\r\nhello")


@pytest.mark.parametrize(
    "line",
    [
        b"Content-Length: 6",
        b"Content-Length: 5, 6",
        b"Content-Length: +5",
        b"Transfer-Encoding: \x0bchunked",
        b"Transfer-Encoding : chunked",
        b"X: a\0b",
        b"X: a\rb",
    ],
    ids=repr,
)
def test_ambiguous_response_is_an_error(running, site, path, line):
    site.pages[path] = answer(line)
    assert asked_for(running, site, path).startswith(b"HTTP/1.1 502 ")
    site.pages[path] = answer(b"X: ab")
    assert asked_for(running, site, path).startswith(b"HTTP/1.1 200 ")


def test_truncated_header_section_is_an_empty_unstored_response(running, site, path):
    head = b"HTTP/1.1 200 OK\r\nX-Foo: bar\r\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\n"

    async def cut(exchange):
        await exchange.send(head + cut.rest)
        exchange.writer.close()

    site.pages[path] = cut
    for rest, status in (
        (b"", b"200"),
        (b"Set-Cookie: a=b; Sec", b"502"),
        (b"Content-Length: 9\r\n", b"502"),
    ):
        cut.rest = rest
        assert asked_for(running, site, path).startswith(b"HTTP/1.1 %s " % status), rest
    assert site.asked[path] == 3
    site.pages[path] = head + b"Content-Length: 5\r\n\r\nhello"
    for _ in range(2):
        assert asked_for(running, site, path).endswith(b"hello")
    assert site.asked[path] == 4  # a whole one is kept
