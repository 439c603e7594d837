"""The admin pages about missed pages, over real stores, as an admin's browser sees them."""

import contextlib
import json
from dataclasses import replace
from urllib.parse import quote, urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser

from proxy.fetching.queue import FetchQueue
from proxy.misses.review import MissReview
from proxy.rules.history import RuleEdits
from proxy.rules.live import LiveRules
from proxy.settings import MissesSettings, Settings
from repair.collection.pins import Pins
from repair.evidence.hints import Hints
from repair.model import MissKind
from repair.soft404.sitestore import SiteStore
from tests.desks import a_desk, an_admin
from tests.holdings import SITE, a_document, a_link
from tests.make import A_MOMENT
from tests.missed import HOUR, a_miss, note

WATER, RIVERS = f"{SITE}/old/water", f"{SITE}/old/rivers"
UNIT = f"{SITE}/unit"
HOSTILE = (
    "http://a.test/<script>alert(1)</script>",
    'http://a.test/"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "http://a.test/{{ 7 * 7 }}",
    "http://a.test/\u202egnp.exe",
    "' onmouseover='alert(1)",
)
ABOUT = "/admin/misses/address?url="
SETTINGS = Settings(misses=MissesSettings(retention_days=9_000))


@contextlib.asynccontextmanager
async def a_full_desk(folder):
    async with a_desk(folder, settings=SETTINGS) as desk:
        sites = SiteStore(folder / "sites.sqlite")
        live = LiveRules(folder / "rules.d", kept=folder / "in-force")
        queue = FetchQueue(folder / "fetch.sqlite")
        yield replace(
            desk,
            review=MissReview.over(desk.misses, sites),
            pins=Pins(desk.collection.database),
            hints=Hints(desk.collection, SETTINGS.repair),
            fetches=queue,
            rules=RuleEdits(live, folder / "history"),
        )
        queue.close()
        sites.close()


@pytest.fixture
async def desk(tmp_path):
    async with a_full_desk(tmp_path) as desk:
        for document in (
            a_document("/water", title="Water", text="Water moves round and round."),
            a_document("/unit", title="A unit", text="Read about water.", links=[a_link(WATER, "water")]),
        ):
            desk.collection.add(document, fetched_at=A_MOMENT)
        desk.collection.commit()
        note(
            desk.misses,
            a_miss(1, WATER, source_url=UNIT),
            a_miss(2, WATER, A_MOMENT + HOUR, source_url=UNIT, chosen="http://b.test/"),
            a_miss(3, RIVERS, A_MOMENT + 2 * HOUR, source_url=UNIT, offered=(), kind=MissKind.SOFT_404),
        )
        yield desk


@pytest.fixture
async def browser(desk):
    async with an_admin(desk) as browser:
        yield browser


async def page(browser, path):
    return LexborHTMLParser(await browser.text(path))


def listed(found):
    return [
        item.css_first(".address").text() for item in found.css("ol.missed > li, table.addresses tbody tr")
    ]


async def test_the_list_shows_what_was_missed_most_first(browser):
    found = await page(browser, "/admin/misses?days=0")
    assert listed(found) == ["school.test/old/water", "school.test/old/rivers"]
    assert [tile.css_first("b").text() for tile in found.css(".tile")] == ["3", "2", "67 %", "33 %"]
    assert found.css_first("svg[role=img] desc").text().startswith("3 in total")


async def test_pictures_that_are_gone_are_listed_with_their_page(browser, desk):
    desk.misses.record_dead_medium(f"{SITE}/gone.png", UNIT, "image", client="one")
    desk.misses.record_dead_medium(HOSTILE[0], "", "video", client="one")
    desk.misses.flush()
    found = await page(browser, "/admin/misses?by=media")
    rows = ["".join(row.text().split()) for row in found.css("table.dense tbody tr")]
    assert any("/unit" in row and "/gone.pngPicture1" in row for row in rows)
    assert any(row.startswith("notknown") and "Video1" in row for row in rows)
    assert not found.css("table.dense script")
    assert "/gone.png" not in await browser.text("/admin/misses?by=media&until=2020-01-01")


async def test_source_page_shows_its_dead_links(browser):
    found = await page(browser, "/admin/misses?days=0&by=source")
    (row,) = found.css("ol.missed > li")
    assert row.css_first(".times").text() == "2dead links"
    further = await page(browser, row.css_first("a").attributes["href"])
    assert listed(further) == ["school.test/old/water", "school.test/old/rivers"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("days=0&kind=soft_404", ["school.test/old/rivers"]),
        ("days=0&outcome=opened", ["school.test/old/water"]),
        ("days=0&text=WATER", ["school.test/old/water"]),
        ("days=0&site=www.School.test", ["school.test/old/water", "school.test/old/rivers"]),
        (
            "since=2026-05-03&until=2026-05-03&kind=&text=",
            ["school.test/old/water", "school.test/old/rivers"],
        ),
        ("since=2026-05-05", []),
        ("until=2026-05-01", []),
        ("since=0001-01-01&until=9999-12-31", ["school.test/old/water", "school.test/old/rivers"]),
        ("days=0&limit=1", ["school.test/old/water"]),
        ("days=0&limit=1&offset=1", ["school.test/old/rivers"]),
        ("days=0&order=latest", ["school.test/old/rivers", "school.test/old/water"]),
        ("days=0&order=nothing", ["school.test/old/rivers", "school.test/old/water"]),
        ("days=0&by=site", ["school.test"]),
        ("days=0&by=choice", ["b.test"]),
    ],
)
async def test_list_can_be_filtered_and_sorted(browser, query, expected):
    assert listed(await page(browser, f"/admin/misses?{query}")) == expected


@pytest.mark.parametrize(
    "query", ["kind=nonsense", "days=-1", "limit=9999999", "offset=x", "since=yesterday", "by=x"]
)
async def test_invalid_filter_is_refused(browser, query):
    assert (await browser.get(f"/admin/misses?{query}")).status == 400


async def test_further_rows_are_linked(browser):
    found = await page(browser, "/admin/misses?days=0&limit=1&kind=not_found")
    assert found.css_first("a[rel=next]") is None
    found = await page(browser, "/admin/misses?days=0&limit=1")
    further = await page(browser, found.css_first("a[rel=next]").attributes["href"])
    assert listed(further) == ["school.test/old/rivers"]
    assert further.css_first("a[rel=prev]") is not None


async def test_an_address_shows_its_history_offers_choices_and_pages(browser):
    found = await page(browser, ABOUT + quote(WATER))
    assert found.css_first("ol.offers > li a").text() == "Water"
    assert len(found.css("section table tbody tr")) >= 2
    assert "b.test" in found.css_first("ol.missed").text()
    assert "school.test/unit" in found.css_first("ul.plain").text()


async def test_a_page_is_pinned_from_the_offers_and_unpinned(browser, desk):
    fields = {"url": WATER, "target": f"{SITE}/water", "back": ABOUT + quote(WATER)}
    answer = await browser.post("/admin/misses/pin", fields)
    assert (answer.status, answer.headers["Location"]) == (303, fields["back"])
    assert desk.pins.of(WATER).target == f"{SITE}/water"
    assert "Pinned" in await browser.text("/admin/misses?days=0")
    await browser.post("/admin/misses/unpin", {"url": WATER})
    assert desk.pins.of(WATER) is None


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "", "ftp://a.test/", "//a.test/", "http://u:p@a.test/", WATER]
)
async def test_only_another_web_page_can_be_pinned(browser, desk, target):
    answer = await browser.post("/admin/misses/pin", {"url": WATER, "target": target})
    assert answer.status == 400
    assert desk.pins.count() == 0


async def test_form_without_a_csrf_token_changes_nothing(browser, desk):
    for name in ("pin", "unpin", "ignore", "heed", "wrong", "right", "fetch", "redirect", "erase"):
        fields = {
            "url": WATER,
            "target": f"{SITE}/water",
            "to": f"{SITE}/water",
            "sure": "yes",
            "when": "now",
        }
        answer = await browser.post(f"/admin/misses/{name}", fields, token="stolen")
        assert answer.status == 403
    assert desk.pins.count() == 0
    assert desk.misses.count() == 3


async def test_redirect_after_an_action_stays_on_the_admin_pages(browser):
    for back in ("http://evil.test/", "//evil.test/", "/admin/\r\nX: y", "/elsewhere"):
        answer = await browser.post("/admin/misses/ignore", {"url": WATER, "back": back})
        assert answer.headers["Location"] == "/admin"


async def test_ignored_address_is_hidden_until_it_is_unmarked(browser):
    await browser.post("/admin/misses/ignore", {"url": WATER})
    assert listed(await page(browser, "/admin/misses?days=0")) == ["school.test/old/rivers"]
    assert listed(await page(browser, "/admin/misses?days=0&shown=ignored")) == ["school.test/old/water"]
    assert "school.test/old/water" in (await page(browser, "/admin/misses/decisions")).body.text()
    await browser.post("/admin/misses/heed", {"url": WATER})
    assert len(listed(await page(browser, "/admin/misses?days=0"))) == 2


async def test_only_our_own_verdict_can_be_marked_as_wrong(browser, desk):
    assert 'action="/admin/misses/wrong"' not in await browser.text(ABOUT + quote(WATER))
    assert 'action="/admin/misses/wrong"' in await browser.text(ABOUT + quote(RIVERS))
    await browser.post("/admin/misses/wrong", {"url": RIVERS})
    assert desk.review.marks.of(RIVERS) == {"wrong"}
    assert "Check again" in await browser.text("/admin/misses/decisions")


async def test_filter_is_saved_under_a_name_and_removed(browser):
    query = "kind=soft_404&text=rivers&days=0&by=address&nonsense=%22%3E%3Cb%3E"
    response = await browser.post("/admin/misses/filters", {"name": " Rivers <b> ", "query": query})
    assert response.headers["Location"] == "/admin/misses?kind=soft_404&text=rivers&days=0#list"
    found = await page(browser, "/admin/misses")
    link = found.css_first('ul[aria-label="Saved filters"] a')
    assert link.text() == "Rivers <b>"
    assert listed(await page(browser, link.attributes["href"])) == ["school.test/old/rivers"]
    for wrong in ({"name": "", "query": "days=0"}, {"name": "a", "query": "days=many"}):
        assert (await browser.post("/admin/misses/filters", wrong)).status == 400
    await browser.post("/admin/misses/filters/remove", {"name": "Rivers <b>"})
    assert "Rivers" not in await browser.text("/admin/misses")


async def test_a_page_is_put_into_the_fetch_queue(browser, desk):
    await browser.post("/admin/misses/fetch", {"url": WATER, "when": "now"})
    await browser.post("/admin/misses/fetch", {"url": RIVERS, "when": "line"})
    assert {(entry.url, entry.when.value) for entry in desk.fetches.list()} == {
        (WATER, "now"),
        (RIVERS, "line"),
    }
    assert (await browser.post("/admin/misses/fetch", {"url": "nonsense", "when": "now"})).status == 400


async def test_a_redirect_becomes_a_rule(browser, desk):
    await browser.post("/admin/misses/redirect", {"url": WATER, "to": f"{SITE}/water"})
    (version,) = desk.rules.versions()
    assert f"{SITE}/water" in version.after
    assert "Remove the redirect" in await browser.text(ABOUT + quote(WATER, safe=""))
    assert (await browser.post("/admin/misses/unredirect", {"url": WATER})).status == 303
    assert "Remove the redirect" not in await browser.text(ABOUT + quote(WATER, safe=""))
    assert (await browser.post("/admin/misses/unredirect", {"url": WATER})).status == 404
    for to in ("javascript:alert(1)", "", f"{WATER}/"):
        assert (await browser.post("/admin/misses/redirect", {"url": WATER, "to": to})).status == 400


async def test_networks_behind_a_choice_are_shown_and_the_choice_can_be_forgotten(browser, desk):
    chosen = f"{SITE}/water"
    for network in ("one", "two"):
        desk.hints.note_choice(WATER, chosen, A_MOMENT, network=network)
    page = await (await browser.get("/admin/misses/address", params={"url": WATER})).text()
    assert "<b>2</b><span>networks</span>" in page
    await browser.post("/admin/misses/forget-choice", {"url": WATER, "chosen": chosen})
    assert desk.hints.choices.of(WATER) == ()


async def test_erased_address_is_gone(browser, desk, tmp_path):
    desk.pins.pin(WATER, f"{SITE}/water", "admin", A_MOMENT)
    desk.hints.note_choice(WATER, f"{SITE}/water", A_MOMENT, network="one")
    assert (await browser.post("/admin/misses/erase", {"url": WATER})).status == 400
    assert desk.misses.count() == 3
    await browser.post("/admin/misses/erase", {"url": WATER, "sure": "yes"})
    assert desk.misses.count() == 1
    assert desk.pins.of(WATER) is None
    assert all(b"old/water" not in path.read_bytes() for path in (tmp_path / "misses").iterdir())


@pytest.mark.parametrize("url", HOSTILE)
async def test_hostile_addresses_are_inert_wherever_they_are_shown(browser, desk, url):
    note(
        desk.misses,
        a_miss(
            9, url, source_url=url, offered=(url,), chosen=url, query=url, client=url, kind=MissKind.PARKED
        ),
        a_miss(10, WATER, source_url=url, chosen=url, offered=(url,)),
    )
    desk.review.marks.put(url, "wrong", url, A_MOMENT)
    shown = [f"/admin/misses?days=0&by={by}" for by in ("address", "source", "site", "choice", "record")]
    further = ["/admin/misses/decisions", ABOUT + quote(WATER), ABOUT + quote(url)]
    for path in (
        *shown,
        *further,
        f"/admin/misses?{urlencode({'days': 0, 'source': url, 'text': url[:200]})}",
    ):
        text = await browser.text(path)
        assert "\u202e" not in LexborHTMLParser(text).body.text()
        found = LexborHTMLParser(text)
        assert found.css("script, img, iframe, [onerror], [onmouseover], [style]") == []
        links = [node.attributes["href"] or "" for node in found.css("a[href]")]
        assert all(link.startswith(("/admin", "http://", "https://", "#")) for link in links), links
        assert "49" not in found.css_first("main").text().replace("{{ 7 * 7 }}", "")


async def test_export_contains_the_filtered_list(browser):
    answer = await browser.get("/admin/misses/export.csv?days=0&kind=soft_404")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="missed-pages.csv"'
    assert answer.content_type == "text/csv"
    lines = (await answer.text()).splitlines()
    assert len(lines) == 2
    assert RIVERS in lines[1]
    answer = await browser.get("/admin/misses/export.jsonl?days=0")
    assert [json.loads(line)["url"] for line in (await answer.text()).splitlines()] == [WATER, WATER, RIVERS]


async def test_an_address_that_nobody_missed_can_still_be_pinned(browser):
    assert "Nobody has reached this dead link" in await browser.text(f"{ABOUT}http%3A%2F%2Fnew.test%2F")
    assert (await browser.get(f"{ABOUT}nonsense")).status == 404
    assert (await browser.get("/admin/misses/address")).status == 400


async def test_without_a_miss_log_there_are_no_miss_pages(tmp_path):
    async with a_desk(tmp_path) as bare, an_admin(bare) as browser:
        assert (await browser.get("/admin/misses")).status == 404


async def test_several_addresses_are_ignored_and_heeded_at_once(browser):
    both = [("url", WATER), ("url", RIVERS), ("do", "ignore")]
    await browser.post("/admin/misses/several", both)
    assert listed(await page(browser, "/admin/misses?days=0")) == []
    assert len(listed(await page(browser, "/admin/misses?days=0&shown=ignored"))) == 2
    await browser.post("/admin/misses/several", [("listed", WATER), ("all", "yes"), ("do", "heed")])
    assert listed(await page(browser, "/admin/misses?days=0")) == ["school.test/old/water"]


async def test_several_addresses_are_fetched_and_those_that_cannot_be_are_named(browser, desk):
    await browser.post(
        "/admin/misses/several", [("url", WATER), ("url", "javascript:alert(1)"), ("do", "night")]
    )
    assert [entry.url for entry in desk.fetches.list()] == [WATER]
    notice = (await page(browser, "/admin/misses")).css_first(".notice").text()
    assert "Done. Addresses: 1." in notice
    assert "Not done: 1 (javascript:alert(1)" in notice


@pytest.mark.parametrize("fields", [[("do", "ignore")], [("url", WATER)], [("url", WATER), ("do", "erase")]])
async def test_bulk_form_without_address_or_known_action_changes_nothing(browser, fields):
    answer = await browser.post("/admin/misses/several", fields)
    assert answer.status == 400
    assert len(listed(await page(browser, "/admin/misses?days=0"))) == 2
