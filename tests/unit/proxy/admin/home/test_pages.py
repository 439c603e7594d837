"""The first page of the desk, over real stores, as an admin's browser sees it."""

import logging
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser

from proxy.fetching.connectivity import Connectivity
from proxy.misses.review import MissReview
from proxy.monitoring.health import HealthSources, model_beside
from proxy.monitoring.metrics import MetricsSnapshot
from proxy.monitoring.recentproblems import RecentProblems
from proxy.monitoring.traffic import TrafficHistory
from repair.collection.pins import Pins
from repair.soft404.sitestore import SiteStore
from tests.desks import a_desk, an_admin
from tests.holdings import SITE, a_document
from tests.make import A_MOMENT
from tests.missed import a_miss, note

WATER, RIVERS = f"{SITE}/old/water", f"{SITE}/old/rivers"
HOSTILE = 'http://a.test/"><script>alert(1)</script>'


def sources_of(folder, now):
    history = TrafficHistory()
    counted = MetricsSnapshot(
        requests={"hit": 30, "miss": 8, "passed": 2, "error": 5}, cache_bytes=3_000_000, origin_bytes=1_000
    )
    history.note(counted, now)
    return HealthSources(
        snapshot=lambda: counted,
        connectivity=Connectivity(),
        problems=RecentProblems(),
        model=model_beside(folder / "collection"),
        workers=list,
        started_at=now,
        data=folder,
        traffic=lambda: history.hours(now),
    )


@pytest.fixture
async def desk(tmp_path):
    now = datetime.now(UTC)
    async with a_desk(tmp_path) as desk:
        sites = SiteStore(tmp_path / "sites.sqlite")
        desk.collection.add(
            a_document("/water", title="Water", text="Water moves round."), fetched_at=A_MOMENT
        )
        desk.collection.commit()
        note(
            desk.misses,
            *(a_miss(number, WATER, now, client="one") for number in range(4)),
            *(a_miss(10 + number, RIVERS, now, client=f"user {number}") for number in range(3)),
            a_miss(20, HOSTILE, now),
        )
        yield replace(
            desk,
            review=MissReview.over(desk.misses, sites),
            pins=Pins(desk.collection.database),
            health=sources_of(tmp_path, now),
        )
        sites.close()


@pytest.fixture
async def browser(desk):
    async with an_admin(desk) as browser:
        yield browser


async def page(browser, path="/admin"):
    return LexborHTMLParser(await browser.text(path))


def listed(found):
    return [item.css_first(".address").text() for item in found.css("ol.missed > li")]


async def test_dead_links_of_most_users_come_first_not_those_of_most_visits(browser):
    found = await page(browser)
    assert listed(found)[:2] == ["school.test/old/rivers", "school.test/old/water"]
    assert [times.text() for times in found.css("ol.missed .times")] == ["3users", "1user", "1user"]


async def test_a_page_for_a_dead_link_is_found_and_pinned_in_place(browser, desk):
    found = await page(browser, f"/admin?{urlencode({'for': RIVERS, 'q': 'water'})}")
    (offer,) = found.css(".instead li")
    assert offer.css_first("b").text() == "Water"
    target = offer.css_first("input[name=target]").attributes["value"]
    answer = await browser.post("/admin/misses/pin", {"url": RIVERS, "target": target, "back": "/admin"})
    assert answer.status in (200, 303)
    assert desk.pins.of(RIVERS).target == target
    assert listed(await page(browser))[0] == "school.test/old/water"


async def test_search_that_finds_nothing_says_so(browser):
    found = await page(browser, f"/admin?{urlencode({'for': RIVERS, 'q': 'volcano'})}")
    assert "No saved page has these words" in found.css_first(".instead").text()


async def test_ignored_dead_link_leaves_the_list(browser):
    await browser.post("/admin/misses/ignore", {"url": WATER, "back": "/admin"})
    assert "school.test/old/water" not in listed(await page(browser))


async def test_traffic_of_the_day_is_shown_as_figures_and_chart(browser):
    found = await page(browser)
    tiles = [tile.css_first("b").text() for tile in found.css("#now .tile")]
    assert tiles[1:3] == ["75 %", "3.0 MB"]
    assert found.css_first("#now svg desc").text().startswith("45 in total")


async def test_errors_of_one_kind_are_one_line_with_a_count(browser, desk):
    for number in range(7):
        desk.health.problems.emit(
            logging.LogRecord("proxy.x", logging.ERROR, "", 0, "no answer from host%d.test", (number,), None)
        )
    for path in ("/admin", "/admin/health"):
        found = (await page(browser, path)).css("ul.lines li")
        (line,) = (each.text() for each in found if "no answer" in each.text())
        assert "7 times" in line


async def test_an_address_not_in_the_list_opens_nothing(browser):
    found = await page(browser, f"/admin?{urlencode({'for': 'http://elsewhere.test/', 'q': 'water'})}")
    assert found.css(".instead") == []


async def test_hostile_addresses_are_shown_as_text(browser):
    text = await browser.text(f"/admin?{urlencode({'for': HOSTILE, 'q': '<img src=x>'})}")
    assert "<script>alert" not in text
    assert "<img" not in text
