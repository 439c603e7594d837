import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from proxy.admin.collection.pages import growth_chart
from proxy.fetching.queue import FetchQueue
from proxy.removal.remover import PageRemover
from repair.collection.pins import Pins
from repair.evidence.hints import Hints
from repair.model import Document, HeldCopy, Link
from tests.desks import a_desk, an_admin

URL = "http://school.test/heron"
NOW = datetime.now(UTC)


def fill(collection):
    link = Link(target_url=URL, anchor="the grey <i>bird</i>")
    pages = (
        (URL, "The heron <script>", "Herons wait in the shallow water for fish.", "en", ()),
        ("http://school.test/birds", "Birds", "All about birds.", "en", (link,)),
        ("http://school.test/agua", "El agua", "El agua es vida y corre por los rios.", "es", ()),
    )
    for url, title, text, language, links in pages:
        document = Document(url=url, title=title, text=text, language=language, links=links)
        copy = HeldCopy(url=url, content_type="text/html", body=text.encode(), fetched_at=NOW)
        collection.add(document, fetched_at=NOW, copy=copy)
    collection.commit()


def on_the_desk(tmp_path, visit):
    async def visited():
        queue = FetchQueue(tmp_path / "fetch" / "queue.sqlite")
        async with a_desk(tmp_path) as plain:
            fill(plain.collection)
            pins = Pins(plain.collection.database)
            remover = PageRemover(
                tmp_path,
                responses=plain.responses,
                collection=plain.collection,
                hints=Hints(plain.collection, plain.settings().repair),
                pins=pins,
                misses=plain.misses,
                fetches=queue,
                harvester=plain.harvester,
            )
            desk = replace(plain, pins=pins, remover=remover, fetches=queue)
            async with an_admin(desk) as browser:
                seen = await visit(browser)
            await remover.wait_until_done()
            held = desk.collection.holds(URL)
        queue.close()
        return seen, held

    return asyncio.run(visited())


def test_collection_page_shows_figures_and_search_results(tmp_path):
    async def visit(browser):
        return await browser.text("/admin/collection"), await browser.text(
            "/admin/collection?q=shallow+water"
        )

    (everything, found), _ = on_the_desk(tmp_path, visit)
    assert "<b>3</b>" in everything
    assert '<th scope="row">es</th><td class="number">1</td><td class="number">33 %</td>' in everything
    assert "The heron &lt;script&gt;" in everything
    assert "<mark>shallow</mark>" in found


def test_one_page_shows_its_links_and_never_its_markup(tmp_path):
    async def visit(browser):
        return await browser.text(f"/admin/collection/page?url={URL}")

    text, _ = on_the_desk(tmp_path, visit)
    assert "the grey &lt;i&gt;bird&lt;/i&gt;" in text
    assert "Herons wait" in text
    assert "<script>" not in text.replace("<script src", "")


def test_address_without_a_saved_page_says_so(tmp_path):
    async def visit(browser):
        missing = await browser.get("/admin/collection/page?url=http://school.test/none")
        odd = await browser.get("/admin/collection/page?url=javascript:alert(1)")
        return missing.status, odd.status

    assert on_the_desk(tmp_path, visit)[0] == (404, 400)


def test_removal_asks_for_confirmation(tmp_path):
    async def visit(browser):
        asked = await browser.text(f"/admin/collection/remove?url={URL}")
        return asked, await browser.text("/admin/collection?q=shallow")

    (asked, found), held = on_the_desk(tmp_path, visit)
    assert "Remove permanently" in asked
    assert held
    assert "The heron" in found


def test_a_page_is_removed_by_the_form_and_by_the_call(tmp_path):
    async def by_form(browser):
        response = await browser.post("/admin/collection/remove", {"url": URL, "misses": "yes"})
        return response.status, await browser.text("/admin/collection?q=shallow")

    async def by_call(browser):
        gone = await browser.call("DELETE", f"/admin/api/collection/page?url={URL}&misses=true")
        again = await browser.call("DELETE", f"/admin/api/collection/page?url={URL}")
        return await gone.json(), again.status

    (status, text), held = on_the_desk(tmp_path / "a", by_form)
    assert (status, held) == (303, False)
    assert "Page removed." in text
    assert "The heron" not in text
    (gone, again), held = on_the_desk(tmp_path / "b", by_call)
    assert (gone["held"], again, held) == (True, 404, False)


def test_api_returns_the_same_as_the_pages(tmp_path):
    async def visit(browser):
        answers = [
            await browser.call("GET", f"/admin/api/collection{path}")
            for path in ("", "/search?q=heron", f"/page?url={URL}", "/pins", "/page?url=x", "/search?q=")
        ]
        return [answer.status for answer in answers], [await answer.json() for answer in answers[:3]]

    (statuses, (summary, found, page)), _ = on_the_desk(tmp_path, visit)
    assert statuses == [200, 200, 200, 200, 404, 400]
    assert (summary["pages"], summary["languages"][0]) == (3, {"of": "en", "pages": 2})
    assert found[0]["url"] == URL
    assert page["links_in"] == [{"url": "http://school.test/birds", "anchor": "the grey <i>bird</i>"}]


def test_growth_has_a_column_for_every_day():
    now = datetime(2026, 5, 3, 12, tzinfo=UTC)
    yesterday = (now - timedelta(days=1)).date().isoformat()
    chart = growth_chart(((yesterday, 7),), now)
    assert [column.total for column in chart.columns[-2:]] == [7, 0]
    assert chart.columns[-1].label == "2026-05-03"
