"""The short cut for first visits stores what the usual way stores, whatever is asked and answered."""

import asyncio

from hypothesis import example, given
from hypothesis import strategies as st

from tests.caching import cc
from tests.examples import examples
from tests.unit.addons.test_cache import Proxy, told

SESSION, BROWSER = "session=4f1c9a77d2e05b83", "Browser/4f1c9a77"
COOKIE = ("Cookie", SESSION)
PLAIN = ("Accept", "text/html")
ASKED = st.lists(
    st.sampled_from(
        [
            PLAIN,
            COOKIE,
            ("Accept-Language", "de"),
            ("Authorization", "Basic dTpw"),
            ("Cache-Control", "no-store"),
            ("If-None-Match", '"a"'),
            ("Origin", "http://other.test"),
            ("Range", "bytes=0-"),
            ("User-Agent", BROWSER),
            ("X-Forwarded-Host", "evil.test"),
        ]
    ),
    max_size=2,
    unique_by=lambda field: field[0],
)
CACHED = st.sampled_from(
    [
        *3 * [cc("max-age=60")],
        *3 * [cc("public, max-age=60")],
        *map(cc, ("private", "no-store", "must-understand, no-store, max-age=60", "s-maxage=0", "no-cache")),
    ]
)
SAID = st.lists(
    st.sampled_from(
        [
            ("Content-Encoding", "gzip"),
            ("Content-Location", "/page"),
            ("Content-Range", "bytes 0-4/5"),
            ("ETag", '"a"'),
            ("Location", "http://school.test/else"),
            ("Set-Cookie", "a=1"),
            ("Vary", "*"),
            ("Vary", "Accept-Language"),
            ("Vary", "Cookie"),
            ("X-You", SESSION),
        ]
    ),
    max_size=2,
)
EXCHANGES = st.lists(
    st.tuples(
        st.sampled_from([*8 * ["GET"], "HEAD", "POST"]),
        ASKED,
        st.sampled_from([*8 * [200], 203, 204, 206, 301, 304, 404, 410, 500, 503]),
        CACHED,
        SAID,
        st.sampled_from([b"hello", b"hello", b"", f"{SESSION} {BROWSER}".encode()]),
    ),
    min_size=1,
    max_size=3,
)


async def outcome(exchanges, *, short_cut):
    """What clients are told, and what is stored after each answer."""
    proxy, seen = Proxy(), []
    if not short_cut:
        proxy.cache.response_now = lambda flow: False
    for method, asked, status, cached, said, body in exchanges:
        flow = await proxy.ask(*asked, method=method)
        if flow.response is None:
            length = ("Content-Length", str(len(body)))  # of what is streamed nothing takes the short cut
            await proxy.say(flow, status, cached, *said, length, body=b"" if method == "HEAD" else body)
        proxy.clock.now += 100
        seen.append((told(flow), flow.response.status_code, proxy.held, len(proxy.replayed)))
    return seen


def first(*asked, status=200, cached="public, max-age=60", body=b"hello"):
    return ("GET", asked, status, cc(cached), (), body)


@given(EXCHANGES)
@example([first(PLAIN, status=204)])
@example([first(("User-Agent", BROWSER), body=BROWSER.encode())])
@example([first(COOKIE, cached="max-age=60")])
@example([first(PLAIN, cached="max-age=60"), first(COOKIE, cached="max-age=60")])
@examples(300)
def test_the_short_cut_stores_what_the_usual_way_stores(exchanges):
    assert asyncio.run(outcome(exchanges, short_cut=True)) == asyncio.run(outcome(exchanges, short_cut=False))
