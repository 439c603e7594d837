"""The API of topics."""

import pytest

from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topicstore import TopicStore
from tests.desks import a_desk, an_admin

API = "/admin/api/topics"
PAGE = "http://a.test/lava"


@pytest.fixture
def database(tmp_path):
    opened = TopicDatabase(tmp_path / "topics")
    yield opened
    opened.close()


@pytest.fixture
async def browser(tmp_path, database):
    async with a_desk(tmp_path, topics=database) as desk, an_admin(desk) as browser:
        yield browser


async def answer(browser, method, path="", status=200, **more):
    response = await browser.call(method, API + path, **more)
    assert response.status == status, await response.text()
    return await response.json() if status != 204 else None


async def test_topic_is_put_listed_and_removed(browser):
    sent = {"name": "Arts / Music", "words": ["violin"], "max_pages": 7}
    put = await answer(browser, "POST", json=sent)
    assert (put["topic"]["words"], put["topic"]["max_pages"], put["in_progress"]) == (["violin"], 7, False)
    assert [each["topic"]["name"] for each in await answer(browser, "GET")] == ["Arts / Music"]
    await answer(browser, "DELETE", "/topic?name=Arts%20%2F%20Music", status=204)
    await answer(browser, "DELETE", "/topic?name=Arts%20%2F%20Music", status=404)
    assert await answer(browser, "GET") == []


async def test_wrong_topic_is_refused(browser):
    await answer(browser, "POST", json={"name": "X", "hours": "late"}, status=409)
    await answer(browser, "POST", json={"name": "X", "seeds": ["javascript:x"]}, status=409)
    await answer(browser, "POST", json={"name": "X", "unknown": 1}, status=400)


async def test_verdict_changes_the_pages_of_a_topic(browser, database):
    await answer(browser, "POST", json={"name": "Volcanoes"})
    await answer(browser, "POST", "/verdicts", json={"name": "Volcanoes", "url": PAGE, "belongs": True})
    found = await answer(browser, "GET", "/topic?name=Volcanoes")
    assert found["likeliest"] == [{"url": PAGE, "probability": 1.0}]
    await answer(browser, "POST", "/verdicts", json={"name": "Volcanoes", "url": PAGE, "belongs": False})
    assert TopicStore(database).pages("Volcanoes") == ()
    await answer(
        browser, "POST", "/verdicts", json={"name": "None", "url": PAGE, "belongs": True}, status=404
    )
    await answer(
        browser, "POST", "/verdicts", json={"name": "Volcanoes", "url": "x", "belongs": True}, status=409
    )


async def test_syllabus_is_imported_or_refused_as_a_whole(browser):
    imported = await answer(browser, "POST", "/import", json={"text": "Soil\n - Sand\nWater"})
    assert [topic["name"] for topic in imported] == ["Soil", "Water"]
    await answer(browser, "POST", "/import", json={"text": "Air\n hours: late"}, status=409)
    assert len(await answer(browser, "GET")) == 2
