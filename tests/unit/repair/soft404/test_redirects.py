"""repair.soft404.redirects: what a redirect says of the page that was asked for."""

import pytest

from repair.soft404.redirects import Landing, RecentRedirects, landing
from tests.fakes import FakeClock

SITE = "http://school.test"


@pytest.mark.parametrize(
    ("asked", "landed", "expected"),
    [
        ("/lessons/rivers.html", "/", Landing.ROOT),
        ("/lessons/rivers", "/index.html", Landing.ROOT),
        ("/en/lessons/rivers", "/en/", Landing.ROOT),
        ("/rivers-and-lakes-2012", "/", Landing.ROOT),
        ("/lessons/rivers.html", "/404", Landing.ERROR),
        ("/lessons/rivers.html", "/errors/not-found.html", Landing.ERROR),
        ("/lessons/rivers.html", "/search?q=rivers", Landing.SEARCH),
        ("/lessons/rivers.html", "/?s=rivers", Landing.SEARCH),
    ],
)
def test_a_deep_link_sent_astray_is_told(asked, landed, expected):
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
def test_other_redirects_say_nothing(asked, landed):
    assert landing(SITE + asked, SITE + landed) is None


def test_another_site_is_another_matter():
    assert landing(SITE + "/lessons/rivers.html", "http://other.test/") is None
    assert landing(SITE + "/lessons/rivers.html", "http://[") is None
    assert landing("nonsense", SITE) is None


def test_of_a_chain_the_first_address_counts_once_and_for_its_client():
    redirects = RecentRedirects(clock=FakeClock(0.0))
    redirects.note("ann", SITE + "/a/b.html", "/moved")
    redirects.note("ann", SITE + "/moved", "https://school.test/")
    assert redirects.taken("bob", "https://school.test/") is None
    assert redirects.taken("ann", "https://school.test/") == SITE + "/a/b.html"
    assert redirects.taken("ann", "https://school.test/") is None


def test_redirects_are_forgotten_by_time_and_by_number():
    clock = FakeClock(0.0)
    redirects = RecentRedirects(limit=2, remember_s=10.0, clock=clock)
    for name in ("a", "b", "c"):
        redirects.note("ann", f"{SITE}/old/{name}.html", f"/{name}")
    assert redirects.taken("ann", SITE + "/a") is None
    assert redirects.taken("ann", SITE + "/b") == SITE + "/old/b.html"
    clock.now = 11.0
    assert redirects.taken("ann", SITE + "/c") is None


def test_a_location_that_is_no_address_is_ignored():
    redirects = RecentRedirects()
    redirects.note("ann", SITE + "/a/b.html", "javascript:alert(1)")
    assert redirects.taken("ann", "javascript:alert(1)") is None


def test_a_redirect_to_the_address_an_application_has_for_a_page_tells_nothing():
    redirects = RecentRedirects()
    redirects.note("reader", f"{SITE}/lessons/lava", "/#/lessons/lava")
    assert redirects.taken("reader", f"{SITE}/") is None
    redirects.note("reader", f"{SITE}/lessons/lava", "/")
    assert redirects.taken("reader", f"{SITE}/") == f"{SITE}/lessons/lava"
