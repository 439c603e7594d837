import asyncio

import pytest

from proxy.fetching.hostturns import HostTurns
from proxy.http.prober import SiteProber
from repair.fetch import FetchError
from tests.make import a_page

SITE = "http://school.test"


class Site:
    """A client that knows one site: what is not named is a 404."""

    def __init__(self, **answers):
        self.answers = {f"{SITE}/{name.replace('_', '.')}": answer for name, answer in answers.items()}
        self.asked = []

    async def get(self, url, *, limits, headers):
        assert headers["Accept-Encoding"] == "identity"
        self.asked.append(url)
        answer = self.answers.get(url, {"status": 404})
        if isinstance(answer, Exception):
            raise answer
        return a_page(url, **answer)


def location(url):
    return {"status": 302, "headers": (("Location", url),)}


async def test_a_site_is_asked_and_may_redirect_within_itself():
    site = Site(page=location("/b"), b={"status": 200})
    assert (await SiteProber(site).ask(f"{SITE}/page")).status == 200
    assert site.asked == [f"{SITE}/robots.txt", f"{SITE}/page", f"{SITE}/b"]


@pytest.mark.parametrize("elsewhere", ["http://other.test/", f"{SITE}:8080/", "https://school.test:444/"])
async def test_no_other_host_or_port_is_asked(elsewhere):
    site = Site(page=location(elsewhere))
    assert await SiteProber(site).ask(f"{SITE}/page") is None
    assert elsewhere not in site.asked
    guarded = Site(robots_txt=location(elsewhere), page={"status": 200})
    assert await SiteProber(guarded).ask(f"{SITE}/page") is None
    assert guarded.asked == [f"{SITE}/robots.txt"]


@pytest.mark.parametrize(
    "robots",
    [
        {"status": 503},
        FetchError("hung up"),
        {"status": 200, "content_type": "text/plain", "body": b"User-agent: *\nDisallow: /"},
    ],
)
async def test_a_site_is_left_alone_where_its_robots_txt_forbids_it_or_cannot_be_read(robots):
    site = Site(robots_txt=robots, page={"status": 200})
    assert await SiteProber(site).ask(f"{SITE}/page") is None
    assert site.asked == [f"{SITE}/robots.txt"]


async def test_a_site_that_does_not_answer_is_no_answer():
    assert await SiteProber(Site(page=FetchError("hung up"))).ask(f"{SITE}/page") is None
    assert await SiteProber(Site()).ask("http://[::1") is None


async def test_probe_waits_for_its_turn_at_a_host_that_a_crawl_asks(tmp_path):
    """Seen from the site: while another of our processes asks it, no probe comes."""
    crawl, site = HostTurns(tmp_path), Site(page={"status": 200})
    prober = SiteProber(site, lambda host: HostTurns(tmp_path).at(host, pause_s=0.0))
    async with crawl.at("school.test", pause_s=0.0):
        probe = asyncio.create_task(prober.ask(f"{SITE}/page"))
        other = asyncio.create_task(prober.ask("http://elsewhere.test/page"))
        await other
        assert site.asked == ["http://elsewhere.test/robots.txt", "http://elsewhere.test/page"]
        site.asked.clear()
    assert (await probe).status == 200
    assert site.asked == [f"{SITE}/robots.txt", f"{SITE}/page"]


async def test_probe_gives_up_when_the_host_is_busy_for_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr("proxy.http.prober._TURN_S", 0.01)
    site = Site(page={"status": 200})
    prober = SiteProber(site, lambda host: HostTurns(tmp_path).at(host, pause_s=0.0))
    async with HostTurns(tmp_path).at("school.test", pause_s=0.0):
        assert await prober.ask(f"{SITE}/page") is None
    assert site.asked == []
