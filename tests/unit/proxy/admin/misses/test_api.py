"""The API of missed pages."""

import json
from urllib.parse import quote

import pytest

from repair.model import MissKind
from tests.desks import an_admin
from tests.holdings import SITE
from tests.make import A_MOMENT
from tests.missed import HOUR, a_miss, note
from tests.unit.proxy.admin.misses.test_pages import RIVERS, UNIT, WATER, a_full_desk

API = "/admin/api/misses"


@pytest.fixture
async def desk(tmp_path):
    async with a_full_desk(tmp_path) as desk:
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


async def asked(browser, path, status=200):
    answer = await browser.get(API + path)
    assert answer.status == status, await answer.text()
    return await answer.json()


async def test_lists_say_whether_there_is_more(browser):
    found = await asked(browser, "/addresses?days=0&limit=1")
    assert found["more"]
    (first,) = found["addresses"]
    assert (first["url"], first["tally"]) == (WATER, {"times": 2, "nothing": 0, "offered": 1, "opened": 1})
    found = await asked(browser, "/addresses?days=0&limit=1&offset=1")
    assert (found["more"], found["addresses"][0]["kind"]) == (False, "soft_404")
    assert (await asked(browser, "/addresses?days=0&order=latest"))["addresses"][0]["url"] == RIVERS


async def test_every_list_can_be_requested(browser):
    assert [miss["url"] for miss in (await asked(browser, "?days=0"))["misses"]] == [RIVERS, WATER, WATER]
    summary = await asked(browser, "/summary?days=0")
    assert (summary["addresses"], [kind["kind"] for kind in summary["kinds"]]) == (
        2,
        ["not_found", "soft_404"],
    )
    assert (await asked(browser, "/sites?days=0"))["groups"][0]["name"] == "school.test"
    assert (await asked(browser, "/sources?days=0"))["groups"][0]["addresses"] == 2
    assert (await asked(browser, "/choices?days=0"))["choices"] == [
        {"url": WATER, "chosen": "http://b.test/", "times": 1}
    ]
    assert [moment["tally"]["times"] for moment in await asked(browser, "/trend?days=0")] == [1, 1, 1]
    assert (await asked(browser, f"/summary?days=0&url={quote(RIVERS)}"))["tally"]["nothing"] == 1


@pytest.mark.parametrize(
    "query", ["?kind=x", "?limit=0", "?nonsense=1", "?since=x", "/trend?limit=5", "/address"]
)
async def test_invalid_query_is_refused(browser, query):
    await asked(browser, query, status=400)


async def test_address_call_returns_everything_known(browser, desk):
    desk.pins.pin(WATER, f"{SITE}/water", "admin", A_MOMENT)
    desk.review.marks.put(WATER, "ignored", "admin", A_MOMENT)
    about = await asked(browser, f"/address?url={quote(WATER)}")
    assert about["missed"]["tally"]["times"] == 2
    assert (about["pin"]["target"], about["marks"]) == (f"{SITE}/water", ["ignored"])
    assert about["offers"][0] == {"url": f"{SITE}/water", "title": "", "confidence": 1.0, "held": False}
    assert (await asked(browser, "/address?url=http%3A%2F%2Fnew.test%2F"))["missed"] is None


async def test_pins_are_added_listed_and_removed(browser):
    pinned = await browser.call("POST", f"{API}/pins", {"url": WATER, "target": f"{SITE}/water"})
    assert (pinned.status, (await pinned.json())["target"]) == (200, f"{SITE}/water")
    assert [pin["url"] for pin in await asked(browser, "/pins")] == [WATER]
    path = f"{API}/pins?url={quote(WATER)}"
    assert [(await browser.call("DELETE", path)).status for _ in range(2)] == [204, 404]
    refused = await browser.call("POST", f"{API}/pins", {"url": WATER, "target": "javascript:alert(1)"})
    assert refused.status == 400


async def test_marks_are_added_listed_and_removed(browser):
    for mark in ("ignored", "wrong"):
        assert (await browser.call("POST", f"{API}/marks", {"url": RIVERS, "mark": mark})).status == 204
        assert [each["url"] for each in await asked(browser, f"/marks?mark={mark}")] == [RIVERS]
        path = f"{API}/marks?url={quote(RIVERS)}&mark={mark}"
        assert (await browser.call("DELETE", path)).status == 204
        assert await asked(browser, f"/marks?mark={mark}") == []
    assert (await browser.call("POST", f"{API}/marks", {"url": RIVERS, "mark": "nonsense"})).status == 400


async def test_a_redirect_becomes_a_rule(browser, desk):
    sent = {"url": WATER, "to": f"{SITE}/water"}
    assert (await browser.call("POST", f"{API}/redirects", sent)).status == 204
    assert len(desk.rules.versions()) == 1


async def test_address_or_user_is_erased(browser, desk):
    erased = await browser.call("POST", f"{API}/erase", {"url": RIVERS})
    assert await erased.json() == {"misses": 1}
    erased = await browser.call("POST", f"{API}/erase", {"client": "0123456789abcdef"})
    assert await erased.json() == {"misses": 2}
    assert desk.misses.count() == 0
    for sent in ({}, {"url": WATER, "client": "x"}):
        assert (await browser.call("POST", f"{API}/erase", sent)).status == 400


async def test_exports_are_streams(browser):
    answer = await browser.get(f"{API}/export.jsonl?days=0&outcome=opened")
    assert [json.loads(line)["url"] for line in (await answer.text()).splitlines()] == [WATER]
    answer = await browser.get(f"{API}/export.csv?days=0")
    assert len((await answer.text()).splitlines()) == 4


async def test_every_call_is_described(browser):
    described = await (await browser.get("/admin/api/openapi.json")).json()
    paths = {path for path in described["paths"] if path.startswith(API)}
    assert {f"{API}/addresses", f"{API}/pins", f"{API}/marks", f"{API}/erase", f"{API}/export.csv"} <= paths
