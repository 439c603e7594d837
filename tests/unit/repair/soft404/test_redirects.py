"""repair.soft404.redirects: what a redirect shows about the requested page."""

import pytest

from repair.soft404.redirects import RecentRedirects, RedirectLanding, landing
from tests.fakes import FakeClock

SITE = "http://school.test"


@pytest.mark.parametrize(
    ("asked", "landed", "expected"),
    [
        ("/lessons/rivers.html", "/", RedirectLanding.ROOT),
        ("/lessons/rivers", "/index.html", RedirectLanding.ROOT),
        ("/en/lessons/rivers", "/en/", RedirectLanding.ROOT),
        ("/rivers-and-lakes-2012", "/", RedirectLanding.ROOT),
        ("/lessons/rivers.html", "/404", RedirectLanding.ERROR),
        ("/lessons/rivers.html", "/errors/not-found.html", RedirectLanding.ERROR),
        ("/lessons/rivers.html", "/search?q=rivers", RedirectLanding.SEARCH),
        ("/lessons/rivers.html", "/?s=rivers", RedirectLanding.SEARCH),
    ],
)
def test_redirects_of_deep_links_to_start_search_or_error_pages_are_recognised(asked, landed, expected):
    assert landing(SITE + asked, SITE + landed) is expected
    assert landing(SITE + asked, "https://www.school.test" + landed) is expected


@pytest.mark.parametrize(
    ("asked", "landed"),
    [
        ("/lessons/rivers", "/lessons/rivers/"),
        ("/lessons/rivers", "/en/lessons/rivers"),
        ("/lessons/rivers.php", "/lessons/rivers"),
        ("/lessons/rivers", "/science/rivers"),
        ("/home", "/"),
        ("/index.php", "/"),
        ("/en/", "/"),
        ("/rivers", "/"),
        ("/account/logout", "/"),
        ("/oauth/callback?code=1&state=2", "/"),
        ("/lessons/rivers?lang=en", "/"),
        ("/docs/error", "/docs/errors"),
        ("/search/old?q=a", "/search?q=a"),
    ],
)
def test_other_redirects_give_none(asked, landed):
    assert landing(SITE + asked, SITE + landed) is None


def test_redirects_to_another_site_give_none():
    assert landing(SITE + "/lessons/rivers.html", "http://other.test/") is None
    assert landing(SITE + "/lessons/rivers.html", "http://[") is None
    assert landing("nonsense", SITE) is None


def test_of_a_chain_the_first_address_counts_once_and_for_its_client():
    redirects = RecentRedirects(clock=FakeClock(0.0))
    redirects.note("ann", SITE + "/a/b.html", "/moved")
    redirects.note("ann", SITE + "/moved", "https://school.test/")
    assert redirects.pop_origin("bob", "https://school.test/") is None
    assert redirects.pop_origin("ann", "https://school.test/") == SITE + "/a/b.html"
    assert redirects.pop_origin("ann", "https://school.test/") is None


def test_redirects_are_bounded_by_age_and_number():
    clock = FakeClock(0.0)
    redirects = RecentRedirects(limit=2, remember_s=10.0, clock=clock)
    for name in ("a", "b", "c"):
        redirects.note("ann", f"{SITE}/old/{name}.html", f"/{name}")
    assert redirects.pop_origin("ann", SITE + "/a") is None
    assert redirects.pop_origin("ann", SITE + "/b") == SITE + "/old/b.html"
    clock.now = 11.0
    assert redirects.pop_origin("ann", SITE + "/c") is None


def test_a_location_that_is_no_address_is_ignored():
    redirects = RecentRedirects()
    redirects.note("ann", SITE + "/a/b.html", "javascript:alert(1)")
    assert redirects.pop_origin("ann", "javascript:alert(1)") is None


def test_redirects_to_a_fragment_of_an_application_give_none():
    redirects = RecentRedirects()
    redirects.note("reader", f"{SITE}/lessons/lava", "/#/lessons/lava")
    assert redirects.pop_origin("reader", f"{SITE}/") is None
    redirects.note("reader", f"{SITE}/lessons/lava", "/")
    assert redirects.pop_origin("reader", f"{SITE}/") == f"{SITE}/lessons/lava"
