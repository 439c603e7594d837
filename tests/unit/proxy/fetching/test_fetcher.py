import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from proxy.fetching.entries import FetchRefused, NoConnectivity, PermanentFetchError, TemporaryFetchError
from proxy.fetching.fetcher import Fetcher
from proxy.fetching.politeness import HostSlots
from proxy.fetching.rulecheck import FetchRuleCheck
from proxy.http.errors import ForbiddenTarget, InvalidTarget, NoConnection, UntrustedCertificate
from repair.fetch import FetchError, FetchLimits, TooLarge
from tests.make import a_page

SITE = "http://school.test"
ALLOWED = FetchRuleCheck().check
LIMITS = FetchLimits(max_bytes=1_000, timeout_s=1.0)


class Site:
    """A client that knows one site: answers by path, everything else is a 404."""

    def __init__(self, **answers):
        self.answers = {f"{SITE}/{name}": answer for name, answer in answers.items()}
        self.asked = []

    async def get(self, url, *, limits, headers, on_bytes):
        self.asked.append(url)
        answer = self.answers.get(url, (404, ()))
        if isinstance(answer, FetchError):
            raise answer
        status, headers = answer
        return a_page(url, status=status, headers=headers, body=b"text")


def fetched(site, path="page", *, behind_parent=False):
    fetcher = Fetcher(
        site, HostSlots(), check=ALLOWED, pause_s=lambda: 0.0, behind_parent=lambda: behind_parent
    )
    return asyncio.run(fetcher.fetch(f"{SITE}/{path}", limits=LIMITS))


def location(url):
    return (302, (("Location", url),))


def test_a_page_comes_with_the_redirects_to_it():
    got = fetched(Site(page=location("/b"), b=location("c"), c=(200, ())))
    assert got.page.url == f"{SITE}/c"
    assert [hop.url for hop in got.redirects] == [f"{SITE}/page", f"{SITE}/b"]


def test_five_redirects_are_followed_and_no_more():
    ring = {f"p{number}": location(f"/p{number + 1}") for number in range(6)}
    assert fetched(Site(**{**ring, "p5": (200, ())}), "p0").page.url == f"{SITE}/p5"
    site = Site(**ring)
    with pytest.raises(PermanentFetchError, match="redirects"):
        fetched(site, "p0")
    assert f"{SITE}/p6" not in site.asked


def test_a_redirect_to_a_personal_address_is_not_followed():
    site = Site(page=location("/b?token=0123456789abcdef"))
    with pytest.raises(FetchRefused, match="personal"):
        fetched(site)


@pytest.mark.parametrize("inside", ["http://10.0.0.1/reboot", "http://printer.local/", "http://router/"])
def test_a_public_page_leads_nowhere_in_a_private_network(inside):
    site = Site(page=location(inside))
    with pytest.raises(FetchRefused, match="private network"):
        fetched(site)
    fetcher = Fetcher(site, HostSlots(), check=ALLOWED, pause_s=lambda: 0.0, behind_parent=lambda: False)
    with pytest.raises(FetchRefused, match="private network"):
        asyncio.run(fetcher.fetch_part(inside, of_page=f"{SITE}/page", limits=LIMITS))
    assert inside not in site.asked


@pytest.mark.parametrize("inside", ["http://10.0.0.1/robots.txt"])
def test_robots_txt_of_a_public_site_is_not_read_in_a_private_network(inside):
    site = Site(page=(200, ()), **{"robots.txt": location(inside)})
    with pytest.raises((FetchRefused, TemporaryFetchError)):
        fetched(site)
    assert inside not in site.asked


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, PermanentFetchError),
        (403, PermanentFetchError),
        (204, PermanentFetchError),
        (429, TemporaryFetchError),
        (408, TemporaryFetchError),
        (503, TemporaryFetchError),
    ],
)
def test_a_status_says_whether_it_is_worth_another_try(status, kind):
    with pytest.raises(kind, match=str(status)):
        fetched(Site(page=(status, ())))


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("120", 120, 120),
        ("99999999", 86_400, 86_400),
        (format_datetime(datetime(2001, 1, 1, tzinfo=UTC)), 0, 0),
        ("soon", 0, 0),
        ("-5", 0, 0),
    ],
)
def test_retry_after_is_heeded_as_seconds_or_date_for_a_day_at_most(said, least, most):
    with pytest.raises(TemporaryFetchError) as raised:
        fetched(Site(page=(503, (("Retry-After", said),))))
    assert least <= raised.value.after_s <= most


def test_a_date_in_retry_after_is_heeded():
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(seconds=3_600))
    with pytest.raises(TemporaryFetchError) as raised:
        fetched(Site(page=(503, (("Retry-After", in_an_hour),))))
    assert 3_500 <= raised.value.after_s <= 3_600


def test_an_error_of_the_parent_is_the_lines_unless_the_site_refused():
    dns = (503, (("X-Squid-Error", "ERR_DNS_FAIL 0"),))
    refused = (503, (("X-Squid-Error", "ERR_CONNECT_FAIL 111"),))
    with pytest.raises(NoConnectivity):
        fetched(Site(page=dns), behind_parent=True)
    with pytest.raises(TemporaryFetchError):
        fetched(Site(page=refused), behind_parent=True)
    with pytest.raises(TemporaryFetchError):
        fetched(Site(page=dns))


def robots(text):
    """A robots.txt, by way of a body that is not `text`."""

    class WithRobots(Site):
        async def get(self, url, **more):
            page = await super().get(url, **more)
            if url.endswith("/robots.txt"):
                return a_page(url, content_type="text/plain", body=text.encode())
            return page

    return WithRobots(page=(200, ()), other=(200, ()))


def test_robots_txt_is_asked_for_once_and_obeyed():
    site = robots("User-agent: linkmend\nDisallow: /other\n\nUser-agent: *\nDisallow: /")
    fetcher = Fetcher(site, HostSlots(), check=ALLOWED, pause_s=lambda: 0.0, behind_parent=lambda: False)

    async def both():
        await fetcher.fetch(f"{SITE}/page", limits=LIMITS)
        await fetcher.fetch(f"{SITE}/other", limits=LIMITS)

    with pytest.raises(FetchRefused, match="robots.txt"):
        asyncio.run(both())
    assert site.asked == [f"{SITE}/robots.txt", f"{SITE}/page"]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_site_without_robots_txt_allows_everything(status):
    assert fetched(Site(**{"robots.txt": (status, ()), "page": (200, ())})).page.status == 200


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_site_that_cannot_say_is_asked_again_later(status):
    site = Site(**{"robots.txt": (status, ()), "page": (200, ())})
    with pytest.raises(TemporaryFetchError) as raised:
        fetched(site)
    assert raised.value.after_s >= 600
    assert site.asked == [f"{SITE}/robots.txt"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ForbiddenTarget, FetchRefused),
        (TooLarge, PermanentFetchError),
        (InvalidTarget, PermanentFetchError),
        (UntrustedCertificate, PermanentFetchError),
        (NoConnection, NoConnectivity),
        (FetchError, TemporaryFetchError),
    ],
)
def test_an_error_of_the_connection_says_whether_it_is_worth_another_try(error, kind):
    with pytest.raises(kind, match="why"):
        fetched(Site(page=error("why")))


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_holds_for_the_whole_host_and_for_no_other(status):
    other = "http://other.test/page"
    site = Site(page=(status, (("Retry-After", "3600"),)), next=(200, ()))
    site.answers[other] = (200, ())
    slots = HostSlots()
    fetcher = Fetcher(site, slots, check=ALLOWED, pause_s=lambda: 0.0, behind_parent=lambda: False)

    async def ask():
        with pytest.raises(TemporaryFetchError):
            await fetcher.fetch(f"{SITE}/page", limits=LIMITS)
        with pytest.raises(TemporaryFetchError, match="asks us to wait") as told:
            await fetcher.fetch(f"{SITE}/next", limits=LIMITS)
        assert (await fetcher.fetch(other, limits=LIMITS)).page.status == 200
        return told.value.after_s, slots.busy(for_s=30.0)

    after_s, resting = asyncio.run(ask())
    assert 3500 < after_s <= 3600
    assert resting == {"school.test"}
    assert f"{SITE}/next" not in site.asked
