"""repair.crawling.topicguide: the best pages of topics and sub-topics."""

from contextlib import closing
from datetime import date

import pytest

from repair.collection.listing import PageListing
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topicguide import TopicGuide
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import A_MOMENT

VOLCANOES = Topic(name="Volcanoes", subtopics=("Hot springs", "Famous eruptions"))


@pytest.fixture
def collection(tmp_path):
    links = [a_link("/linked"), a_link("/springs")]
    with a_collection(
        tmp_path / "collection",
        a_document("/plain", title="Volcanoes", text="Lava and ash."),
        a_document("/linked", title="More about volcanoes", text="Magma."),
        a_document("/springs", title="Hot springs", text="Hot water springs from a volcano."),
        a_document("/hub1", title="Links", text="Volcano links.", links=links),
        a_document("/hub2", title="Links", text="More volcano links.", links=links[:1]),
        a_document("/bar", title="Volcano bar", text="Hot drinks; springs on the menu."),
        a_document("/other", title="Rivers", text="Springs feed rivers, hot or cold."),
    ) as made:
        yield made


@pytest.fixture
def guide(tmp_path, collection):
    return TopicGuide(tmp_path / "topics", collection, PageListing(collection.database))


@pytest.fixture
def store(tmp_path):
    with closing(TopicDatabase(tmp_path / "topics")) as database:
        made = TopicStore(database)
        made.put(VOLCANOES)
        yield made


def judge(store, *paths, probability=0.9):
    for path in paths:
        store.note_page(SITE + path, "Volcanoes", probability)


def paths(section):
    return [page.url.removeprefix(SITE) for page in section.pages]


def test_without_topics_there_is_nothing_and_no_file_is_made(guide, tmp_path):
    assert guide.topics() == ()
    assert guide.sections("Volcanoes", limit=5) == ()
    assert guide.urls_of("Volcanoes") == frozenset()
    assert not (tmp_path / "topics").exists()


def test_topics_are_listed_with_their_number_of_pages(guide, store):
    judge(store, "/plain", "/linked")
    judge(store, "/bar", probability=0.2)
    (topic,) = guide.topics()
    assert (topic.name, topic.pages, topic.subtopics) == ("Volcanoes", 2, VOLCANOES.subtopics)
    assert guide.urls_of("volcanoes") == {f"{SITE}/plain", f"{SITE}/linked"}


def test_pages_that_others_link_to_come_first(guide, store):
    judge(store, "/plain", "/linked", "/springs", "/hub1", "/hub2")
    assert paths(guide.sections("Volcanoes", limit=3)[0])[:2] == ["/linked", "/springs"]


def test_a_link_from_a_page_of_the_topic_counts_more_than_one_from_elsewhere(guide, store, collection):
    for source, target in (("/elsewhere", "/plain"), ("/hub3", "/bar")):
        page = a_document(source, title="More links", text="Links.", links=[a_link(target)])
        collection.add(page, fetched_at=A_MOMENT)
    judge(store, "/plain", "/bar", "/hub3")
    assert paths(guide.sections("Volcanoes", limit=3)[0])[:2] == ["/bar", "/plain"]


def test_pages_that_users_open_come_before_equal_ones(guide, store, collection):
    judge(store, "/plain", "/bar")
    assert paths(guide.sections("Volcanoes", limit=3)[0]) == ["/plain", "/bar"]
    PageListing(collection.database).note_readers(
        {collection.page_number(f"{SITE}/bar"): 9}, date(2026, 11, 18)
    )
    assert paths(guide.sections("Volcanoes", limit=3)[0]) == ["/bar", "/plain"]


def test_a_sub_topic_has_the_pages_of_the_topic_with_its_words(guide, store):
    judge(store, "/plain", "/linked", "/springs")
    whole = guide.sections("Volcanoes", limit=5)
    assert [section.subtopic for section in whole] == ["", "Hot springs"]
    assert paths(whole[1]) == ["/springs"]
    (alone,) = guide.sections("Volcanoes", subtopic="Hot springs", limit=5)
    assert paths(alone) == ["/springs"]
    assert guide.sections("Volcanoes", subtopic="Never heard of", limit=5) == ()


def test_a_topic_that_was_never_crawled_has_pages_with_all_its_words(guide, store):
    sections = {section.subtopic: paths(section) for section in guide.sections("Volcanoes", limit=9)}
    assert set(sections["Hot springs"]) == {"/springs", "/bar", "/other"}
    assert "/plain" in sections[""]
    assert "Famous eruptions" not in sections


def test_long_lists_come_in_pages(guide, store):
    judge(store, "/plain", "/linked", "/springs")
    (first,) = guide.sections("Volcanoes", subtopic="", limit=2)
    (second,) = guide.sections("Volcanoes", subtopic="", limit=2, offset=2)
    assert first.total == second.total == 3
    assert len(first.pages) == 2
    assert len(second.pages) == 1
