"""proxy.readers.detour: what goes round by the portal comes back whole, for the same reader only, and soon."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from proxy.failures import Failure
from proxy.readers.detour import Detours, Missed, unmarked
from repair.model import MissKind

URL = "http://school.test/gone?page=2"
MISSED = Missed(
    kind=MissKind.UNREACHABLE,
    status=502,
    miss_id="a" * 22,
    headers=(("Cache-Status", 'linkmend; fwd=miss; detail="\xfc"'),),
    referrer="http://school.test/start",
    missed="http://school.test/asked",
    failure=Failure(kind=MissKind.UNREACHABLE, error="dns_error", status=502, detail="x", fault="y"),
)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def leads_back(detours, marked, client):
    url, seal = unmarked(marked)
    return seal is not None and detours.arrived(url, seal, client) is not None


def back(way):
    return parse_qs(urlsplit(way).query)["to"][0]


@pytest.mark.parametrize(
    "url", [URL, "http://school.test/gone", "http://school.test/gone?", "https://a.test/?b"]
)
def test_what_was_missed_comes_back_whole(url):
    detours = Detours()
    way = detours.way(url, "reader", MISSED)
    assert way.startswith(f"{url.split(':')[0]}://linkmend.internal/.well-known/linkmend/detour?to=")
    bare, seal = unmarked(back(way))
    assert bare == url
    assert detours.arrived(bare, seal, "reader") == MISSED
    assert leads_back(detours, back(way), "reader")


def test_it_is_good_for_one_reader_one_address_and_a_minute():
    clock = Clock()
    detours = Detours(clock=clock)
    bare, seal = unmarked(back(detours.way(URL, "reader", MISSED)))
    assert detours.arrived(bare, seal, "another") is None
    assert detours.arrived("http://school.test/other", seal, "reader") is None
    assert Detours(clock=clock).arrived(bare, seal, "reader") is None
    clock.now += 61
    assert detours.arrived(bare, seal, "reader") is None


@pytest.mark.parametrize("seal", ["", ".", "x", "a.b", "a" * 5000, "ÿ.ÿ", "=.=", "a.b.c", "e30.e30"])
def test_what_nobody_sealed_is_nothing(seal):
    assert Detours().arrived(URL, seal, "reader") is None


def test_the_portal_sends_nobody_to_an_address_of_somebody_elses_making():
    assert not leads_back(Detours(), "http://evil.test/", "reader")
    assert not leads_back(Detours(), "http://evil.test/?linkmend-way=e30.e30", "reader")


def test_an_address_too_long_for_the_way_is_not_sent():
    assert Detours().way("http://school.test/" + "x" * 3000, "reader", MISSED) is None


@pytest.mark.parametrize("lines", range(1, 12))
def test_whoever_is_sent_comes_back_however_much_the_site_said(lines):
    said = replace(MISSED, headers=tuple(("Via", "\xfc" * 300) for _ in range(lines)))
    detours = Detours()
    way = detours.way(URL, "reader", said)
    assert way is None or leads_back(detours, back(way), "reader")
