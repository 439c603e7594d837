import asyncio

import pytest

from proxy.fetching.entries import FetchState
from proxy.fetching.queue import FetchQueue
from proxy.settings import ProxySettings, Settings
from tests.desks import a_desk, an_admin

URL = "http://school.test/lesson"


@pytest.fixture
def queue(tmp_path):
    made = FetchQueue(tmp_path / "fetch" / "queue.sqlite")
    yield made
    made.close()


def on_the_desk(tmp_path, queue, visit, settings=None):
    async def visited():
        async with a_desk(tmp_path, fetches=queue, settings=settings) as desk, an_admin(desk) as browser:
            return await visit(browser)

    return asyncio.run(visited())


def test_addresses_are_added_one_a_line(tmp_path, queue):
    async def visit(browser):
        response = await browser.post("/admin/fetch/add", {"urls": f"{URL}\n\n{URL}/2\r\n", "when": "night"})
        return response.status, await browser.text("/admin/fetch")

    status, text = on_the_desk(tmp_path, queue, visit)
    assert status == 303
    assert "Added to the queue: 2. When: At night." in text
    assert [entry.url for entry in queue.list()] == [URL, f"{URL}/2"]


def test_invalid_addresses_come_back_with_a_reason_and_the_rest_is_added(tmp_path, queue):
    async def visit(browser):
        lines = f"javascript:alert(1)\n{URL}\nhttp://a.test/?session=12345678"
        response = await browser.post("/admin/fetch/add", {"urls": lines, "when": "now"})
        return response.status, await response.text()

    status, text = on_the_desk(tmp_path, queue, visit)
    assert status == 400
    assert "not a web address" in text
    assert "personal" in text
    assert "javascript:alert(1)\nhttp://a.test/?session=12345678</textarea>" in text
    assert [entry.url for entry in queue.list()] == [URL]


def test_progress_failures_and_their_reasons_are_shown(tmp_path, queue):
    first, second = queue.add(f"{URL}/1", when="now"), queue.add(f"{URL}/2", when="now")
    queue.claim(("now",))
    queue.progress(first.id, 500, 2_000)
    queue.finish(second.id, FetchState.FAILED, error="the site answered with status 404 <b>")

    async def visit(browser):
        return await browser.text("/admin/fetch"), await browser.text("/admin/fetch?state=failed")

    everything, failed = on_the_desk(tmp_path, queue, visit)
    assert '<progress value="25" max="100"' in everything
    assert "the site answered with status 404 &lt;b&gt;" in everything
    assert "<progress" not in failed
    assert "404" in failed


def test_failed_page_is_retried_and_another_removed(tmp_path, queue):
    first, second = queue.add(f"{URL}/1"), queue.add(f"{URL}/2")
    queue.finish(first.id, FetchState.FAILED, error="404")

    async def visit(browser):
        await browser.post("/admin/fetch/retry", {"id": str(first.id)})
        await browser.post("/admin/fetch/remove", {"id": str(second.id)})

    on_the_desk(tmp_path, queue, visit)
    assert [(entry.url, entry.state, entry.when) for entry in queue.list()] == [
        (f"{URL}/1", FetchState.WAITING, "now")
    ]


@pytest.mark.parametrize("number", ["", "x", "-1", "9" * 30])
def test_invalid_entry_number_is_refused(tmp_path, queue, number):
    async def visit(browser):
        return (await browser.post("/admin/fetch/remove", {"id": number})).status

    assert on_the_desk(tmp_path, queue, visit) == 400


def test_offline_the_page_says_that_nothing_is_fetched(tmp_path, queue):
    async def visit(browser):
        return await browser.text("/admin/fetch")

    settings = Settings(proxy=ProxySettings(offline=True))
    assert "runs in offline mode" in on_the_desk(tmp_path, queue, visit, settings)


def test_api_adds_lists_retries_and_removes(tmp_path, queue):
    async def visit(browser):
        added = await browser.call("POST", "/admin/api/fetches", {"url": URL, "when": "line", "why": "x"})
        entry = await added.json()
        one = f"/admin/api/fetches/{entry['id']}"
        listed = await (await browser.call("GET", "/admin/api/fetches?state=waiting")).json()
        statuses = [
            added.status,
            (await browser.call("GET", one)).status,
            (await browser.call("POST", f"{one}/retry")).status,
            (await browser.call("DELETE", one)).status,
            (await browser.call("DELETE", one)).status,
            (await browser.call("POST", "/admin/api/fetches", {"url": "ftp://a.test/"})).status,
            (await browser.call("POST", "/admin/api/fetches", {"url": URL, "when": "never"})).status,
        ]
        return listed, statuses

    listed, statuses = on_the_desk(tmp_path, queue, visit)
    assert listed["counts"]["waiting"] == 1
    assert listed["fetches"][0]["url"] == URL
    assert statuses == [201, 200, 200, 204, 404, 409, 400]
