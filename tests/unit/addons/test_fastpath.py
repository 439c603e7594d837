"""addons.fastpath: the same answers as the long way gives, to the letter, or none."""

import asyncio
import gc
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from mitmproxy.connection import Server
from mitmproxy.proxy import commands, events

from addons.cache import Cache
from addons.fastpath import CLEARED_S, FastPath, FastPathListeners
from addons.flowstate import state_of
from addons.mitm.bufferlimits import AHEAD_BYTES
from addons.mitm.fastlayer import with_fast_path
from addons.mitm.master import LeanMaster
from proxy.cache.collapsing import RequestCollapser
from proxy.headers import fastrequest
from proxy.headers.fastrequest import PlainFields
from proxy.settings import CacheSettings, ProxySettings
from repair.soft404.detector import Soft404Finding
from repair.soft404.judge import ORDINARY
from tests.caching import HEADERS, NOW, a_request, a_stored, at, cc
from tests.examples import examples
from tests.fakes import FakeBodyServer, FakeClock, FakeStore
from tests.wires import Wire

SETTINGS = CacheSettings(stream_over_bytes=1000, max_body_bytes=5000)
URL = "http://school.test/page"
TUNNELLED = "https://school.test/page"
PLAIN = b"GET http://school.test/page HTTP/1.1\r\nHost: school.test\r\n\r\n"
IN_TUNNEL = b"GET /page HTTP/1.1\r\nHost: school.test\r\n\r\n"
IMAGE = ("Content-Type", "image/png")
PAGE = ("Content-Type", "text/html")
NAVIGATION = b"Accept: text/html\r\n"


@pytest.fixture(scope="module")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def options(loop, tmp_path_factory):
    async def made():
        return LeanMaster(ProxySettings(), str(tmp_path_factory.mktemp("ca")), []).options

    return loop.run_until_complete(made())


class Proxy:
    """A cache that holds these responses, with or without the quick way; everything else is of no matter."""

    def __init__(
        self,
        options,
        *held,
        quick=True,
        url=URL,
        offline=False,
        judges=False,
        redirected=False,
        ruled="",
        out_of_reach=False,
        on_disk=(),
        **wire,
    ):
        self.clock, self.opened, self.spoke = FakeClock(NOW), [], []
        store = FakeStore()
        store.held[url] = held
        store.on_disk = {url: on_disk} if on_disk else {}
        cache = Cache(
            SETTINGS,
            store,
            RequestCollapser(),
            FakeBodyServer(),
            offline=lambda: offline,
            clock=self.clock,
            replay=lambda flow: None,
        )
        asides = FastPathListeners(
            spoke=self.spoke.append,
            opened=lambda *what: self.opened.append(what),
            judges=lambda: judges,
            was_redirected=lambda address, url: redirected,
            in_reach=lambda url: not out_of_reach,
            may_answer=lambda url, address, content_type: not ruled or ruled not in content_type,
        )
        self.quick = FastPath(SETTINGS, store, asides, offline=lambda: offline, clock=self.clock)
        self.wire = Wire(options, [cache, self.quick], **wire)
        if quick:
            with_fast_path(self.wire.layer, self.quick.answer)

    async def exchange(self, *requests):
        await self.wire.start()
        return [await self.wire.receive(request) for request in requests]


@pytest.fixture
def ask(loop, options):
    """What a proxy says to requests, and the proxy."""

    def asked(*requests, held=(), **known):
        proxy = Proxy(options, *held, **known)
        return loop.run_until_complete(proxy.exchange(*requests)), proxy

    return asked


def a_fresh(*headers, **known):
    return a_stored(cc("max-age=100"), *headers, **{"received_s": -10, **known})


# What it answers


def test_a_fresh_response_is_sent_without_a_flow(ask):
    (said,), proxy = ask(PLAIN, held=[a_fresh(IMAGE)])
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert said.endswith(b"\r\n\r\nhello world")
    assert b"Cache-Status: linkmend;hit;ttl=90\r\n" in said
    assert proxy.quick.answered == 1
    assert proxy.wire.hooks == []
    assert proxy.spoke == [proxy.wire.client]


def test_in_a_tunnel_too(ask):
    (said,), proxy = ask(
        IN_TUNNEL, held=[a_fresh(IMAGE)], url=TUNNELLED, tunnel=("school.test", 443), sni="school.test"
    )
    assert said.endswith(b"hello world")
    assert proxy.quick.answered == 1


def test_age_and_lifetime_go_on_between_two_answers(ask, loop):
    _, proxy = ask(PLAIN, held=[a_fresh(IMAGE)])
    proxy.clock.now = NOW + 5
    said = loop.run_until_complete(proxy.wire.receive(PLAIN))
    assert b"Age: 15\r\n" in said
    assert b"ttl=85\r\n" in said
    proxy.clock.now = NOW + 91
    loop.run_until_complete(proxy.wire.receive(PLAIN))
    assert proxy.quick.answered == 2  # and not a third time, once it is stale


def test_new_settings_hold_for_what_is_in_memory(ask, loop):
    _, proxy = ask(PLAIN, held=[a_stored(IMAGE, ("Last-Modified", at(-1000)))])
    assert proxy.quick.answered == 1
    proxy.quick.settings = CacheSettings(heuristic_fraction=0.0)
    loop.run_until_complete(proxy.wire.receive(PLAIN))
    assert proxy.quick.answered == 1


def test_a_whole_request_after_one_in_pieces_is_answered_again(ask):
    said, proxy = ask(PLAIN[:20], PLAIN[20:], PLAIN, held=[a_fresh(IMAGE)])
    assert said[0] == b""
    assert said[1] == said[2]
    assert proxy.quick.answered == 1


# What is on disk


def test_what_is_on_disk_is_sent_without_a_flow_too(ask):
    (said,), proxy = ask(PLAIN, on_disk=(a_fresh(IMAGE),))
    assert said.endswith(b"hello world")
    assert proxy.quick.answered == 1
    assert proxy.wire.hooks == ["read_stored"]
    assert proxy.quick.reading == 0


def test_a_page_that_has_to_be_judged_is_not_read_first(ask, loop):
    _, proxy = ask(a_navigation(), on_disk=(a_fresh(PAGE),), judges=True)
    assert proxy.wire.hooks[0] == "requestheaders"
    proxy.wire.addons.insert(1, Judge(Soft404Finding(judgement=ORDINARY)))
    loop.run_until_complete(proxy.wire.receive(a_navigation()))
    proxy.wire.hooks.clear()
    loop.run_until_complete(proxy.wire.receive(a_navigation()))
    assert proxy.wire.hooks == ["read_stored"]


def test_in_a_tunnel_it_is_too(ask):
    known = {"url": TUNNELLED, "tunnel": ("school.test", 443), "sni": "school.test"}
    (said,), proxy = ask(IN_TUNNEL, on_disk=(a_fresh(IMAGE),), **known)
    assert said.endswith(b"hello world")
    assert proxy.quick.answered == 1


def test_what_is_stale_on_disk_takes_the_long_way_with_the_same_request(ask):
    stale = a_stored(cc("max-age=5"), IMAGE, received_s=-10)
    quick, proxy = ask(PLAIN, on_disk=(stale,))
    usual, plain = ask(PLAIN, on_disk=(stale,), quick=False)
    assert quick == usual
    assert proxy.wire.hooks == ["read_stored", *plain.wire.hooks]


def test_what_arrives_while_the_disk_is_read_is_answered_afterwards(ask, loop):
    _, proxy = ask(held=[], on_disk=(a_fresh(IMAGE),))
    layer, client = proxy.wire.layer, proxy.wire.client
    (reading,) = layer.handle_event(events.DataReceived(client, PLAIN))
    proxy.quick._store.held[URL] = (a_fresh(IMAGE, body=b"newer"),)
    assert list(layer.handle_event(events.DataReceived(client, PLAIN + PLAIN))) == []
    loop.run_until_complete(proxy.quick.read_stored(reading.request))
    first, *rest = layer.handle_event(events.HookCompleted(reading))
    assert first.data.endswith(b"hello world")
    assert [command.name for command in rest] == ["requestheaders"]  # the second one, in its turn


def test_what_an_origin_sends_while_the_disk_is_read_comes_before_the_request(ask):
    _, proxy = ask(on_disk=(a_fresh(IMAGE),))
    layer, origin = proxy.wire.layer, Server(address=("school.test", 80))
    handled = []
    layer.connections[origin] = SimpleNamespace(handle_event=lambda event: handled.append(event) or ())
    assert len(list(layer.handle_event(events.DataReceived(proxy.wire.client, PLAIN)))) == 1
    unasked = events.DataReceived(origin, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    list(layer.handle_event(unasked))
    assert handled == [unasked]


def test_a_client_that_sends_too_much_while_the_disk_is_read_is_cut_off(ask):
    _, proxy = ask(on_disk=(a_fresh(IMAGE),))
    layer, client = proxy.wire.layer, proxy.wire.client
    list(layer.handle_event(events.DataReceived(client, PLAIN)))
    assert list(layer.handle_event(events.DataReceived(client, b"x"))) == []
    (cut,) = layer.handle_event(events.DataReceived(client, b"x" * AHEAD_BYTES))
    assert isinstance(cut, commands.CloseConnection)


# What it leaves alone


@pytest.mark.parametrize(
    "held",
    [
        (),
        (a_stored(cc("max-age=5"), IMAGE, received_s=-10),),
        (a_stored(cc("max-age=100"), IMAGE, status=404),),
        (a_stored(cc("max-age=100"), ("Location", "/new"), status=301),),
        (a_stored(cc("no-cache, max-age=100"), IMAGE),),
        (a_fresh(IMAGE, ("Vary", "Accept-Language"), request=a_request(("Accept-Language", "de"))),),
        (a_fresh(IMAGE, received_s=100),),
    ],
    ids=["nothing", "stale", "missing", "moved", "no-cache", "another variant", "from the future"],
)
def test_these_take_the_long_way(ask, held):
    _, proxy = ask(PLAIN, held=held)
    assert proxy.quick.answered == 0
    assert proxy.wire.hooks[0] == "requestheaders"


def _changed(old, new):
    return PLAIN.replace(old, new, 1)


SMUGGLED = {
    "two requests at once": PLAIN + PLAIN,
    "a body": _changed(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\nabc"),
    "no body, but a length": _changed(b"\r\n\r\n", b"\r\nContent-Length: 0\r\n\r\n"),
    "chunks": _changed(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "chunks, disguised": _changed(b"\r\n\r\n", b"\r\nTransfer-Encoding : chunked\r\n\r\n"),
    "chunks, after a tab": _changed(b"\r\n\r\n", b"\r\nTransfer-Encoding:\tchunked\r\n\r\n"),
    "a folded line": _changed(b"\r\n\r\n", b"\r\nX-A: b\r\n c\r\n\r\n"),
    "a bare line feed": _changed(b"test\r\n\r\n", b"test\nX-A: b\r\n\r\n"),
    "bare line feeds": PLAIN.replace(b"\r\n", b"\n"),
    "a bare return": _changed(b"Host: school.test", b"X-A: b\rHost: evil.test\r\nHost: school.test"),
    "a NUL": _changed(b"\r\n\r\n", b"\r\nX-A: b\0\r\n\r\n"),
    "two hosts": _changed(b"\r\n\r\n", b"\r\nHost: school.test\r\n\r\n"),
    "another host": _changed(b"Host: school.test", b"Host: evil.test"),
    "no host": b"GET http://school.test/page HTTP/1.1\r\nAccept: */*\r\n\r\n",
    "a host with a port": _changed(b"Host: school.test", b"Host: school.test:80"),
    "a name before the host": _changed(b"http://school", b"http://user@school"),
    "a space in the line": _changed(b" HTTP/1.1", b"  HTTP/1.1"),
    "a tab in the line": _changed(b" HTTP/1.1", b"\tHTTP/1.1"),
    "HTTP/1.0": _changed(b"HTTP/1.1", b"HTTP/1.0"),
    "a lower-case method": _changed(b"GET", b"get"),
    "a fragment": _changed(b"/page", b"/page#part"),
    "an empty line first": b"\r\n" + PLAIN,
    "the end of the connection": _changed(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
    "fields of the connection": _changed(b"\r\n\r\n", b"\r\nConnection: keep-alive, x-a\r\n\r\n"),
    "another protocol": _changed(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
    "a question before a body": _changed(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"),
    "too many fields": _changed(b"\r\n\r\n", b"\r\nX: y" * 150 + b"\r\n\r\n"),
    "a long field": _changed(b"\r\n\r\n", b"\r\nX: " + b"y" * 9000 + b"\r\n\r\n"),
    "other letters": _changed(b"\r\n\r\n", b"\r\nX-A: \xe9\r\n\r\n"),
}


@pytest.mark.parametrize("data", SMUGGLED.values(), ids=SMUGGLED.keys())
def test_what_others_might_read_differently_takes_the_long_way_and_leaves_nothing_behind(ask, data):
    quick, proxy = ask(data, PLAIN, held=[a_fresh(IMAGE)])
    usual, plain = ask(data, PLAIN, held=[a_fresh(IMAGE)], quick=False)
    assert quick == usual
    assert proxy.wire.closed == plain.wire.closed
    assert not proxy.wire.hooks or proxy.wire.hooks == plain.wire.hooks[: len(proxy.wire.hooks)]
    assert proxy.quick.answered <= 1  # the second request only


@pytest.mark.parametrize(
    ("data", "wire"),
    [
        (IN_TUNNEL, {}),
        (PLAIN, {"tunnel": ("school.test", 443), "sni": "school.test", "url": TUNNELLED}),
        (IN_TUNNEL, {"tunnel": ("school.test", 443), "sni": "evil.test", "url": TUNNELLED}),
        (IN_TUNNEL, {"tunnel": ("evil.test", 443), "sni": "evil.test", "url": TUNNELLED}),
        (
            IN_TUNNEL.replace(b"school", b"evil"),
            {"tunnel": ("school.test", 443), "sni": "school.test", "url": TUNNELLED},
        ),
        (IN_TUNNEL, {"tunnel": ("school.test", 8443), "sni": "school.test", "url": TUNNELLED}),
        (
            IN_TUNNEL,
            {"tunnel": ("school.test", 443), "mode": "reverse:https://school.test", "url": TUNNELLED},
        ),
        (IN_TUNNEL, {"tunnel": ("192.0.2.1", 80), "mode": "transparent", "tls": False, "url": URL}),
    ],
)
def test_where_the_site_is_in_doubt_the_long_way_is_taken(ask, data, wire):
    _, proxy = ask(data, held=[a_fresh(IMAGE)], **wire)
    assert proxy.quick.answered == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://school.test/.well-known/linkmend/search",
        "http://linkmend.internal/",
        "http://10.0.0.1:8080/page",
    ],
)
def test_what_is_for_linkmend_itself_takes_the_long_way(ask, url):
    host = url.split("/")[2]
    _, proxy = ask(f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode(), held=[a_fresh(IMAGE)], url=url)
    assert proxy.quick.answered == 0


def test_what_an_admin_has_a_rule_for_takes_the_long_way(ask):
    _, proxy = ask(PLAIN, held=[a_fresh(IMAGE)], ruled="image/png")
    assert proxy.quick.answered == 0
    _, proxy = ask(PLAIN, held=[a_fresh(IMAGE)], ruled="video")
    assert proxy.quick.answered == 1


def test_what_is_out_of_reach_takes_the_long_way_though_it_is_held(ask):
    _, proxy = ask(PLAIN, held=[a_fresh(IMAGE)], out_of_reach=True)
    assert proxy.quick.answered == 0


def test_a_page_in_memory_keeps_nothing_of_the_requests_it_has_answered(ask):
    fields = b"Accept-Encoding: gzip\r\nCookie: visit=%04d\r\n"
    requests = [PLAIN.replace(b"\r\n\r\n", b"\r\n" + fields % n + b"\r\n") for n in range(20)]
    varied = a_fresh(IMAGE, ("Vary", "Accept-Encoding"), request=a_request(("Accept-Encoding", "gzip")))
    fastrequest._plain_fields_cached.cache_clear()
    _, proxy = ask(*requests, held=[varied])
    assert proxy.quick.answered == 20
    fastrequest._plain_fields_cached.cache_clear()
    gc.collect()
    assert not [kept for kept in gc.get_objects() if isinstance(kept, PlainFields)]


def test_whatever_fails_there_is_still_the_long_way(ask, caplog):
    _, proxy = ask(held=[a_fresh(IMAGE)])
    proxy.quick._clock = None
    assert asyncio.run(proxy.wire.receive(PLAIN)).endswith(b"hello world")
    assert "fast path failed" in caplog.text


# Pages that are looked at, and clients who look


def a_navigation():
    return _changed(b"\r\n\r\n", b"\r\n" + NAVIGATION + b"\r\n")


class Judge:
    """Stands for Soft404: finds what it is told to."""

    def __init__(self, found):
        self.found = found

    def response(self, flow):
        state_of(flow).finding = self.found


def judged(ask, loop, found):
    _, proxy = ask(held=[a_fresh(PAGE)], judges=True)
    proxy.wire.addons.insert(1, Judge(found))
    for _ in range(2):
        loop.run_until_complete(proxy.wire.receive(a_navigation()))
    return proxy


def test_a_page_is_looked_at_once_in_a_while(ask, loop):
    proxy = judged(ask, loop, Soft404Finding(judgement=ORDINARY))
    assert proxy.quick.answered == 1
    proxy.clock.now += CLEARED_S
    loop.run_until_complete(proxy.wire.receive(a_navigation()))
    assert proxy.quick.answered == 1


def test_a_page_in_doubt_is_looked_at_each_time(ask, loop):
    assert judged(ask, loop, Soft404Finding(judgement=replace(ORDINARY, unsure=True))).quick.answered == 0


def test_a_page_is_not_taken_for_there_when_the_client_was_sent_to_it(ask, loop):
    _, proxy = ask(held=[a_fresh(PAGE)], judges=True, redirected=True)
    proxy.wire.addons.insert(1, Judge(Soft404Finding(judgement=ORDINARY)))
    for _ in range(2):
        loop.run_until_complete(proxy.wire.receive(a_navigation()))
    assert proxy.quick.answered == 0


def test_a_picture_is_not_looked_at_even_when_a_person_opens_it(ask):
    _, proxy = ask(a_navigation(), held=[a_fresh(IMAGE)], judges=True)
    assert proxy.quick.answered == 1


def test_what_a_person_opens_is_told_and_what_a_page_loads_is_not(ask):
    _, proxy = ask(a_navigation(), PLAIN, held=[a_fresh(PAGE)])
    assert proxy.quick.answered == 2
    assert proxy.opened == [("10.0.0.9", URL, True)]


def test_a_page_found_unchanged_is_not_told_as_shown(ask):
    asked = a_navigation().replace(b"\r\n\r\n", b'\r\nIf-None-Match: "a"\r\n\r\n')
    (said,), proxy = ask(asked, held=[a_fresh(PAGE, ("ETag", '"a"'))])
    assert said.startswith(b"HTTP/1.1 304 Not Modified\r\n")
    assert proxy.opened == [("10.0.0.9", URL, False)]


# The same bytes


def _lines(method, target, version, host, fields):
    return b"".join((method, b" ", target, b" ", version, b"\r\n", host, *fields, b"\r\n"))


TAME_FIELDS = st.sampled_from(
    [
        b"Accept: text/html\r\n",
        b"Accept: */*\r\n",
        b"Accept-Encoding: gzip, deflate\r\n",
        b"Accept-Encoding: gzip;q=1, br\r\n",
        b"accept-language: de, en;q=0.5\r\n",
        b"Cookie: a=b\r\n",
        b"Cache-Control: max-age=20\r\n",
        b"Cache-Control: max-stale\r\n",
        b"Cache-Control: only-if-cached, min-fresh=5\r\n",
        b"Range: bytes=0-3\r\n",
        b"Range: bytes=99-\r\n",
        b'If-Range: "a"\r\n',
        b'If-None-Match: W/"a"\r\n',
        b'If-None-Match: "b"\r\n',
        b"If-Modified-Since: Sun, 03 May 2026 11:59:00 GMT\r\n",
        b"Authorization: Basic YTpi\r\n",
        b"Connection: keep-alive\r\n",
        b"Proxy-Connection: keep-alive\r\n",
        b"Sec-Fetch-Dest: document\r\n",
        b"Sec-Fetch-Mode: navigate\r\n",
        b"X-Forwarded-Host: evil.test\r\n",
        b"X-A:b\r\n",
    ]
)
FIELDS = TAME_FIELDS | st.sampled_from(
    [
        b"Cache-Control: max-age=0\r\n",
        b"Cache-Control: no-store\r\n",
        b"Pragma: no-cache\r\n",
        b'If-Match: "a"\r\n',
        b"Connection: close\r\n",
        b"Sec-Purpose: prefetch\r\n",
        b"Content-Length: 0\r\n",
        b"Content-Length: 1\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"X-A:  b \r\n",
        b"X-A:\r\n",
        b"X-A : b\r\n",
        b" folded\r\n",
        b"X-A: b\n",
        b"X-A: \xff\r\n",
        b"Host: school.test\r\n",
    ]
)
TAME = st.builds(
    lambda method, fields: _lines(
        method, b"http://school.test/page", b"HTTP/1.1", b"Host: school.test\r\n", fields
    ),
    st.sampled_from([b"GET", b"HEAD"]),
    st.lists(TAME_FIELDS, max_size=4),
)
REQUESTS = st.builds(
    _lines,
    st.sampled_from([b"GET"] * 6 + [b"HEAD"] * 3 + [b"POST", b"get"]),
    st.sampled_from(
        [b"http://school.test/page"] * 8
        + [b"http://school.test:80/page", b"http://SCHOOL.test/page", b"http://school.test/page#a", b"/page"]
        + [b"http://school.test/page?", b"https://school.test/page", b"http://school.test//page", b"*"]
    ),
    st.sampled_from([b"HTTP/1.1"] * 8 + [b"HTTP/1.0", b"HTTP/1.2"]),
    st.sampled_from([b"Host: school.test\r\n"] * 8 + [b"host:school.test\r\n", b"Host: other.test\r\n", b""]),
    st.lists(FIELDS, max_size=4),
)
SPOILT = st.builds(
    lambda request, at, junk: request[: at % len(request)] + junk + request[at % len(request) :],
    REQUESTS,
    st.integers(0, 500),
    st.binary(min_size=1, max_size=3),
)
HELD = st.lists(
    st.builds(
        lambda fields, status, received_s, asked, body: a_stored(
            *fields, status=status, received_s=received_s, request=a_request(*asked), body=body
        ),
        st.sampled_from(
            [
                (cc("max-age=100"), ("ETag", '"a"')),
                (cc("max-age=100"), ("Vary", "Accept-Encoding"), ("Content-Encoding", "gzip")),
                (cc("max-age=100"), ("Vary", "Accept-Language, Cookie")),
                (cc("max-age=5, stale-while-revalidate=50"),),
                (cc("s-maxage=30, no-cache=foo"), ("Age", "7"), ("Last-Modified", at(-100))),
                (("Last-Modified", at(-1000)), ("Set-Cookie", "a=b")),
                (("Expires", at(50)), ("Date", at(-20)), ("X-Caf\xe9", "\xe9")),
            ]
        )
        | HEADERS,
        st.sampled_from([200] * 8 + [204, 301, 404]),
        st.sampled_from([-30, -10, -0.5, 0, 90]),
        st.sampled_from(
            [(), (("Accept-Encoding", "gzip, deflate"),), (("Accept-Language", "de, en;q=0.5"),)]
        ),
        st.sampled_from([b"hello world", b"", b"\r\n\r\n"]),
    ),
    min_size=1,
    max_size=3,
)


@examples(600)
@given(
    held=HELD,
    requests=st.lists(TAME | REQUESTS | SPOILT, min_size=1, max_size=3),
    offline=st.booleans(),
    on_disk=st.booleans(),
)
def test_both_ways_say_the_same(loop, options, held, requests, offline, on_disk):
    where = {"on_disk": tuple(held)} if on_disk else {}
    in_memory = () if on_disk else held
    proxies = [Proxy(options, *in_memory, quick=quick, offline=offline, **where) for quick in (True, False)]
    said = [loop.run_until_complete(proxy.exchange(*requests)) for proxy in proxies]
    event(f"{proxies[0].quick.answered} of {len(requests)} quickly")
    assert said[0] == said[1]
    assert proxies[0].wire.wanted == proxies[1].wire.wanted
    assert proxies[0].wire.closed == proxies[1].wire.closed


@examples(200)
@given(held=HELD, fields=st.lists(TAME_FIELDS, max_size=4))
def test_both_ways_say_the_same_in_a_tunnel(loop, options, held, fields):
    request = _lines(b"GET", b"/page", b"HTTP/1.1", b"Host: school.test\r\n", fields)
    known = {"url": TUNNELLED, "tunnel": ("school.test", 443), "sni": "school.test"}
    proxies = [Proxy(options, *held, quick=quick, **known) for quick in (True, False)]
    said = [loop.run_until_complete(proxy.exchange(request)) for proxy in proxies]
    assert said[0] == said[1]
