"""proxy.privacy.portalredirect: what goes round by the portal comes back whole, for the same reader only, and
soon.
"""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from proxy.failures import Failure
from proxy.privacy.portalredirect import PortalRedirects, RedirectedMiss, split_mark
from repair.model import MissKind

URL = "http://school.test/gone?page=2"
MISSED = RedirectedMiss(
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


def leads_back(portal_redirects, marked, client):
    url, seal = split_mark(marked)
    return seal is not None and portal_redirects.open_seal(url, seal, client) is not None


def back(way):
    return parse_qs(urlsplit(way).query)["to"][0]


@pytest.mark.parametrize(
    "url", [URL, "http://school.test/gone", "http://school.test/gone?", "https://a.test/?b"]
)
def test_the_seal_returns_the_whole_miss(url):
    portal_redirects = PortalRedirects()
    way = portal_redirects.redirect_url(url, "reader", MISSED)
    assert way.startswith(f"{url.split(':')[0]}://linkmend.internal/.well-known/linkmend/detour?to=")
    bare, seal = split_mark(back(way))
    assert bare == url
    assert portal_redirects.open_seal(bare, seal, "reader") == MISSED
    assert leads_back(portal_redirects, back(way), "reader")


def test_a_seal_is_valid_for_one_client_one_address_and_a_minute():
    clock = Clock()
    portal_redirects = PortalRedirects(clock=clock)
    bare, seal = split_mark(back(portal_redirects.redirect_url(URL, "reader", MISSED)))
    assert portal_redirects.open_seal(bare, seal, "another") is None
    assert portal_redirects.open_seal("http://school.test/other", seal, "reader") is None
    assert PortalRedirects(clock=clock).open_seal(bare, seal, "reader") is None
    clock.now += 61
    assert portal_redirects.open_seal(bare, seal, "reader") is None


@pytest.mark.parametrize("seal", ["", ".", "x", "a.b", "a" * 5000, "ÿ.ÿ", "=.=", "a.b.c", "e30.e30"])
def test_a_forged_seal_is_refused(seal):
    assert PortalRedirects().open_seal(URL, seal, "reader") is None


def test_the_portal_redirects_only_to_addresses_with_a_valid_seal():
    assert not leads_back(PortalRedirects(), "http://evil.test/", "reader")
    assert not leads_back(PortalRedirects(), "http://evil.test/?linkmend-way=e30.e30", "reader")


def test_an_overlong_address_gets_no_portal_redirect():
    assert PortalRedirects().redirect_url("http://school.test/" + "x" * 3000, "reader", MISSED) is None


@pytest.mark.parametrize("lines", range(1, 12))
def test_the_portal_redirect_works_with_long_headers_too(lines):
    said = replace(MISSED, headers=tuple(("Via", "\xfc" * 300) for _ in range(lines)))
    portal_redirects = PortalRedirects()
    way = portal_redirects.redirect_url(URL, "reader", said)
    assert way is None or leads_back(portal_redirects, back(way), "reader")
