import asyncio

import pytest

from proxy.http.errors import RobotsDisallowed, RobotsUnavailable
from proxy.http.robots import RobotsRules
from repair.fetch import TooLarge
from tests.make import a_page

SITE = "http://school.test"


class Site:
    """Answers with one robots.txt."""

    def __init__(self, text="", *, status=200):
        self.text, self.status, self.asked = text, status, []

    async def get(self, url, max_bytes):
        self.asked.append(url)
        return a_page(url, status=self.status, content_type="text/plain", body=self.text.encode())


async def test_rules_for_us_count_and_are_asked_for_once_a_day():
    now = [0.0]
    site = Site("User-agent: linkmend\nDisallow: /other\n\nUser-agent: *\nDisallow: /")
    robots = RobotsRules(site.get, clock=lambda: now[0])
    assert await robots.check(f"{SITE}/page") == 0.0
    with pytest.raises(RobotsDisallowed):
        await robots.check(f"{SITE}/other")
    assert site.asked == [f"{SITE}/robots.txt"]
    now[0] = 86_400.0
    await robots.check(f"{SITE}/page")
    assert len(site.asked) == 2


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_a_site_without_robots_txt_allows_everything(status):
    assert await RobotsRules(Site(status=status).get).check(f"{SITE}/page") == 0.0


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_site_that_cannot_say_is_left_alone_for_now(status):
    with pytest.raises(RobotsUnavailable, match=str(status)):
        await RobotsRules(Site(status=status).get).check(f"{SITE}/page")


async def test_an_error_says_that_it_is_about_robots_txt():
    async def get(url, max_bytes):
        raise TooLarge("larger than 9 bytes")

    with pytest.raises(TooLarge, match="robots.txt: larger"):
        await RobotsRules(get).check(f"{SITE}/page")


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: *\nDisallow: /other",
        "User-agent: *\nDisallow: /*other",
        "#" * 3_000 + "\nUser-agent: *\nDisallow: /other",
    ],
    ids=["plain", "pattern", "long"],
)
async def test_plain_rules_are_obeyed_like_those_that_take_long_to_match(text):
    robots = RobotsRules(Site(text).get)
    assert await robots.check(f"{SITE}/page") == 0.0
    with pytest.raises(RobotsDisallowed):
        await robots.check(f"{SITE}/other")


async def test_only_few_rules_without_patterns_are_matched_on_the_event_loop(monkeypatch):
    used = []

    async def in_thread(work, *arguments):
        used.append(work.__name__)
        return work(*arguments)

    monkeypatch.setattr(asyncio, "to_thread", in_thread)
    for text in (
        "User-agent: *\nDisallow: /o",
        "User-agent: *\nDisallow: /*a*b",
        "User-agent: *\n" + "#" * 3_000,
    ):
        await RobotsRules(Site(text).get).check(f"{SITE}/page")
    assert used.count("can_fetch") == 2


def test_a_crawl_delay_is_kept_but_not_for_ever():
    async def asked(url, max_bytes):
        return a_page(url, content_type="text/plain", body=b"User-agent: *\nCrawl-delay: 100000")

    assert asyncio.run(RobotsRules(asked).check(f"{SITE}/page")) == 30.0


def test_rules_are_forgotten_before_they_fill_the_memory():
    async def asked(url, max_bytes):
        return a_page(url, content_type="text/plain", body=b"# " + b"x" * 500_000)

    async def many():
        rules = RobotsRules(asked)
        for number in range(20):
            await rules.check(f"http://{number}.test/")
        return len(rules._known)

    assert asyncio.run(many()) <= 4
