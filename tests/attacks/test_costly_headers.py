"""Huge headers of a site or a client do not make later hits slow for everybody.

Nothing here measures absolute time: a huge header is not stored at all, and unit tests count what a request may
cost. Here a costly request and an ordinary one alternate, and the costly one may take ten times as long.
"""

import time

import pytest

from tests.attacks.attackers import send_raw
from tests.integration.origin import reply

HUGE = 200_000


def is_hit(answer):
    return "hit" in answer.headers["Cache-Status"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Cache-Control", 'max-age=600, x="' + "a" * HUGE + '"'),
        ("Cache-Control", "max-age=600" + ", a" * (HUGE // 3)),
        ("Cache-Control", 'max-age=600, no-cache="' + "a, " * (HUGE // 3) + '"'),
        ("Vary", ", ".join(f"a{number}" for number in range(HUGE // 8))),
        ("ETag", '"' + "a" * HUGE + '"'),
        ("Content-Language", "a, " * (HUGE // 3)),
        ("Content-Encoding", "identity, " * (HUGE // 10)),
        ("Age", "0, " * (HUGE // 3)),
        ("Link", "<a>, " * (HUGE // 5)),
        ("X-Anything", "a" * HUGE),
    ],
)
def test_a_response_with_a_huge_header_is_passed_on_and_not_stored(
    running, site, alice, bob, path, name, value
):
    said = reply("the page", Cache_Control="max-age=600", Last_Modified="Mon, 04 May 2020 12:00:00 GMT")
    head, _, body = said.partition(b"\r\n\r\n")
    site.pages[path] = head + f"\r\n{name}: {value}".encode() + b"\r\n\r\n" + body
    site.pages[path + "/usual"] = said
    asked = f"GET {site.url}{path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nConnection: close\r\n\r\n"
    for number in (1, 2):  # raw: a Python client takes no line of that length
        assert send_raw(running, asked.encode(), timeout_s=20).endswith(b"\r\n\r\nthe page")
        assert site.asked[path] == number
    alice.get(site.url + path + "/usual")
    assert is_hit(bob.get(site.url + path + "/usual"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("If-None-Match", ", ".join(f'"{number}"' for number in range(6000))),
        ("If-None-Match", '"' * 60_000),
        ("Accept-Language", ", ".join(f"a{number};q=0.5" for number in range(5000))),
        ("Accept-Encoding", "gzip, " * 10_000),
        ("Cache-Control", 'x="' + "a" * 60_000),
        ("Cache-Control", "a, " * 20_000),
        ("Pragma", "a, " * 20_000),
        ("Range", "bytes=" + ",".join("0-1" for _ in range(15_000))),
        ("Range", "bytes" + " " * 60_000 + "="),
        ("If-Range", '"' + "a" * 60_000),
        ("Cookie", "a=b; " * 12_000),
        ("Connection", "a, " * 20_000),
        ("X" * 60_000, "a"),
    ],
)
def test_a_huge_field_of_a_request_costs_little_more_than_reading_it(
    running, site, alice, bob, path, name, value
):
    """Compared with a field of the same size that no code reads."""
    for number in range(12):

        async def answer(exchange, number=number):
            said = {"Vary": "Accept-Language, Accept-Encoding, X-Kind", "ETag": f'"v{number}"'}
            await exchange.send(reply("the page", Cache_Control="max-age=600", **said))

        site.pages[path] = answer
        alice.get(site.url + path, Accept_Language=f"en;q=0.{number + 101}")
    usual = {"Accept_Language": "en;q=0.101"}
    assert is_hit(bob.get(site.url + path, **usual))

    def took(*field):
        lines = [f"GET {site.url}{path} HTTP/1.1", f"Host: 127.0.0.1:{site.port}", "Connection: close"]
        lines += [f"{key}: {said}" for key, said in (field,)]
        data = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        began = time.monotonic()
        assert send_raw(running, data, timeout_s=20).startswith(b"HTTP/1.1 ")
        return time.monotonic() - began

    costly, plain = [], []
    for _ in range(3):
        costly.append(took(name, value))
        plain.append(took("X-Unread", "a" * len(value)))
    assert min(costly) < 10 * max(min(plain), 0.02)
    assert is_hit(bob.get(site.url + path, **usual))
