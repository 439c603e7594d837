"""The live view, as a stream, as a page and as a call."""

import asyncio

import msgspec
import pytest

from proxy.misses.feed import MissFeed
from tests.desks import a_desk, a_miss, an_admin, through_proxy

NASTY = "http://evil.test/<script>alert(1)</script>?\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def missing():
    return MissFeed()


async def message(response):
    """The next message of a stream: its id and its data."""
    lines = {}
    async for line in response.content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        lines[name] = value
        if not name and "data" in lines:
            return int(lines["id"]), msgspec.json.decode(lines["data"])
    return None


async def test_a_miss_is_streamed_as_it_happens(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        response = await browser.get("/admin/live/stream")
        assert response.content_type == "text/event-stream"
        missing.note(a_miss(NASTY))
        number, (missed,) = await message(response)
        assert (number, missed["url"], missed["reason"]) == (1, NASTY, "Not found")
        missing.note(a_miss())
        assert (await message(response))[0] == 2
        response.close()


async def test_stream_resumes_after_the_last_id(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        for page in "abc":
            missing.note(a_miss(f"http://school.test/{page}"))
        response = await browser.get("/admin/live/stream", headers={"Last-Event-ID": "2"})
        number, missed = await message(response)
        assert (number, [each["url"] for each in missed]) == (3, ["http://school.test/c"])
        response.close()


async def test_through_the_proxy_a_stream_ends_with_its_first_message(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        missing.note(a_miss())
        cookie = next(iter(browser.client.session.cookie_jar))
        headers = {**through_proxy("10.0.0.5", secure=False), "Cookie": f"{cookie.key}={cookie.value}"}
        response = await browser.get("/admin/live/stream", headers=headers)
        async with asyncio.timeout(5):
            assert b"data: " in await response.read()


async def test_the_page_shows_the_latest_first_and_escaped(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        missing.note(a_miss("http://school.test/older"))
        missing.note(a_miss(NASTY))
        text = await browser.text("/admin/live")
        assert 'data-last="2"' in text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert text.index("evil.test") < text.index("older")


async def test_without_scripts_the_page_reloads_itself(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        assert '<noscript><meta http-equiv="refresh"' in await browser.text("/admin/live")


async def test_call_returns_newer_misses(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        missing.note(a_miss("http://school.test/a"))
        missing.note(a_miss("http://school.test/b"))
        told = await (await browser.get("/admin/api/live?after=1")).json()
        assert [each["url"] for each in told] == ["http://school.test/b"]


async def test_viewers_are_bounded(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        watching = [asyncio.create_task(missing.newer(0, within_s=10)) for _ in range(20)]
        await asyncio.sleep(0)
        assert (await browser.get("/admin/live/stream")).status == 503
        missing.close()
        await asyncio.gather(*watching)


async def test_the_page_has_words_for_the_reason_and_marks_a_guessed_source(tmp_path, missing):
    async with a_desk(tmp_path, missing_now=missing) as desk, an_admin(desk) as browser:
        missing.note(a_miss(source_url="http://school.test/list", source_guessed=True))
        text = await browser.text("/admin/live")
        assert "<td>Not found</td>" in text
        assert "not_found" not in text
        assert 'probably <bdi dir="ltr">school.test/list</bdi>' in text
        assert 'href="/admin/misses/address?url=' in text
