import asyncio

import pytest

from repair.crawling.crawlstore import CrawlStore
from repair.crawling.frontier import FrontierLink
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from tests.desks import a_desk, an_admin

VOLCANOES = Topic(name="Volcanoes <b>", words=("lava",), max_pages=50)
PAGE = "http://a.test/lava"


@pytest.fixture
def database(tmp_path):
    opened = TopicDatabase(tmp_path / "topics")
    yield opened
    opened.close()


def on_the_desk(tmp_path, database, visit):
    async def visited():
        async with a_desk(tmp_path, topics=database) as desk, an_admin(desk) as browser:
            return await visit(browser)

    return asyncio.run(visited())


def test_topic_is_added_by_a_form_and_shown(tmp_path, database):
    async def visit(browser):
        fields = {
            "name": "Volcanoes",
            "subtopics": "Lava\n\nAsh\r\n",
            "words": "magma",
            "seeds": "a.test/lava",
            "pages": "40",
            "megabytes": "5",
        }
        response = await browser.post("/admin/topics/save", fields)
        return (
            response.status,
            await browser.text("/admin/topics"),
            await browser.text("/admin/topics/topic?name=Volcanoes"),
        )

    status, listed, shown = on_the_desk(tmp_path, database, visit)
    assert status == 303
    (topic,) = TopicStore(database).list()
    assert (topic.subtopics, topic.seeds) == (("Lava", "Ash"), ("https://a.test/lava",))
    assert (topic.max_pages, topic.max_bytes) == (40, 5_000_000)
    assert "0 of 40" in listed
    assert "Lava\nAsh</textarea>" in shown


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": ""}, "topic&#39;s name"),
        ({"name": "X", "seeds": "javascript:alert(1)"}, "not a web address"),
        ({"name": "X", "pages": "many"}, "expected a number"),
        ({"name": "X", "hours": "late"}, "expected hours"),
    ],
)
def test_wrong_form_comes_back_with_the_reason_and_changes_nothing(tmp_path, database, fields, said):
    async def visit(browser):
        response = await browser.post("/admin/topics/save", fields)
        return response.status, await response.text()

    status, text = on_the_desk(tmp_path, database, visit)
    assert status == 400
    assert said in text
    assert TopicStore(database).list() == ()


@pytest.mark.parametrize("syllabus", ["Soil\n  - Sand\nWater\n", "topic,subtopic\nSoil,Sand\nWater,\n"])
def test_syllabus_is_imported_as_outline_or_csv(tmp_path, database, syllabus):
    async def visit(browser):
        await browser.post("/admin/topics/import", {"syllabus": syllabus})
        return await browser.text("/admin/topics")

    assert "Topics imported: 2" in on_the_desk(tmp_path, database, visit)
    assert [(topic.name, topic.subtopics) for topic in TopicStore(database).list()] == [
        ("Soil", ("Sand",)),
        ("Water", ()),
    ]


def test_wrong_syllabus_imports_nothing_and_is_not_lost(tmp_path, database):
    async def visit(browser):
        response = await browser.post("/admin/topics/import", {"syllabus": "  - Sand first"})
        return response.status, await response.text()

    status, text = on_the_desk(tmp_path, database, visit)
    assert status == 400
    assert "expected a topic before its sub-topics" in text
    assert "- Sand first</textarea>" in text


def test_page_that_is_not_of_the_topic_is_taken_out(tmp_path, database):
    store = TopicStore(database)
    store.put(VOLCANOES)
    store.note_page(PAGE, VOLCANOES.name, 0.9)

    async def visit(browser):
        before = await browser.text("/admin/topics/topic?name=volcanoes%20%3Cb%3E")
        fields = {"name": VOLCANOES.name, "url": PAGE, "belongs": "no"}
        response = await browser.post("/admin/topics/judge", fields)
        return before, response.status

    before, status = on_the_desk(tmp_path, database, visit)
    assert "90 % sure" in before
    assert "<h1>Volcanoes &lt;b&gt;</h1>" in before
    assert status == 303
    assert (store.pages(VOLCANOES.name), store.verdicts(VOLCANOES.name)) == ((), {PAGE: False})


def test_crawl_in_progress_is_shown_with_its_links(tmp_path, database):
    TopicStore(database).put(VOLCANOES)
    frontier = CrawlStore(database, VOLCANOES.name)
    links = [FrontierLink(url=f"http://a.test/{n}", host="a.test", worth=0.5) for n in range(3)]
    frontier.put(links)
    frontier.claim(links[:1])

    async def visit(browser):
        return await browser.text("/admin/topics"), await browser.text(
            "/admin/topics/topic?name=Volcanoes%20%3Cb%3E"
        )

    listed, shown = on_the_desk(tmp_path, database, visit)
    assert "in progress" in listed
    assert 'data-moving="1"' in shown
    assert "1 being fetched" in shown
    assert "2 waiting" in shown


def test_topic_is_removed_and_an_unknown_one_is_not_found(tmp_path, database):
    TopicStore(database).put(VOLCANOES)

    async def visit(browser):
        await browser.post("/admin/topics/remove", {"name": VOLCANOES.name})
        return (await browser.get("/admin/topics/topic?name=Volcanoes")).status

    assert on_the_desk(tmp_path, database, visit) == 404
    assert TopicStore(database).list() == ()
