from dataclasses import replace

import pytest

from repair.crawling.topicdatabase import NAME, TopicDatabase, TopicDatabaseError
from repair.crawling.topics import Topic
from repair.crawling.topicstore import COUNTEREXAMPLES, TopicStore

SOIL = Topic(
    name="Soil",
    subtopics=("Sand", "Clay"),
    words=("earth",),
    seeds=("http://a.test/",),
    language="en",
    max_pages=7,
    max_bytes=9,
    hours="22:00-05:00",
    groups=("7a",),
)
PAGE = "http://a.test/clay"


@pytest.fixture
def store(tmp_path):
    database = TopicDatabase(tmp_path)
    yield TopicStore(database)
    database.close()


def test_topic_is_kept_whole_and_found_in_any_case(store):
    assert store.put(SOIL)
    assert not store.put(SOIL)
    assert store.get("Soil") == store.get("sOIL") == SOIL
    assert store.list() == (SOIL,)
    assert store.get("Water") is None


def test_page_knows_its_topics_by_probability(store):
    store.put(SOIL)
    store.put(Topic(name="Water"))
    store.note_page(PAGE, "Soil", 0.6)
    store.note_page(PAGE, "Water", 0.9)
    store.note_page("http://a.test/sand", "Soil", 0.8)
    assert [(page.topic, page.probability) for page in store.topics_of(PAGE)] == [
        ("Water", 0.9),
        ("Soil", 0.6),
    ]
    assert [page.url for page in store.pages("Soil")] == ["http://a.test/sand", PAGE]
    assert store.page_count("Soil") == 2


def test_page_that_a_person_takes_out_leaves_the_topic_at_once(store):
    store.put(SOIL)
    store.note_page(PAGE, "Soil", 0.9)
    store.note_verdict(PAGE, "Soil", belongs=False)
    assert (store.pages("Soil"), store.verdicts("Soil")) == ((), {PAGE: False})
    store.note_verdict(PAGE, "Soil", belongs=True)
    assert (store.page_count("Soil"), store.verdicts("Soil")) == (1, {PAGE: True})


def test_removed_topic_leaves_nothing(store):
    store.put(SOIL)
    store.note_verdict(PAGE, "Soil", belongs=True)
    assert store.remove("Soil")
    assert not store.remove("Soil")
    assert (store.topics_of(PAGE), store.verdicts("Soil")) == ((), {})


def test_damaged_file_is_an_error_and_stays_as_it_is(tmp_path):
    (tmp_path / NAME).write_bytes(b"not a database, but what a person wrote" * 100)
    with pytest.raises(TopicDatabaseError, match="cannot open the topics"):
        TopicDatabase(tmp_path)
    assert (tmp_path / NAME).read_bytes().startswith(b"not a database")


def test_topic_no_longer_begins_at_a_page_that_was_removed(tmp_path):
    database = TopicDatabase(tmp_path)
    store = TopicStore(database)
    store.put(replace(SOIL, seeds=(PAGE, "http://a.test/")))
    store.put(Topic(name="Water", seeds=("http://b.test/",)))
    database.forget(PAGE)
    assert [topic.seeds for topic in store.list()] == [("http://a.test/",), ("http://b.test/",)]
    database.close()


def test_of_pages_that_were_left_a_topic_keeps_the_latest_until_they_are_removed(tmp_path):
    database = TopicDatabase(tmp_path)
    store = TopicStore(database)
    for number in range(COUNTEREXAMPLES + 3):
        store.note_counterexample(f"http://a.test/{number}", "Soil", ["opera", "aria", "opera"])
    store.note_counterexample("http://a.test/3", "Water", ["aria"])
    kept = store.counterexamples("Soil")
    assert list(kept) == [f"http://a.test/{number}" for number in range(3, COUNTEREXAMPLES + 3)]
    assert sorted(kept["http://a.test/3"]) == ["aria", "opera", "opera"]
    database.forget("http://a.test/3")
    assert "http://a.test/3" not in store.counterexamples("Soil")
    assert store.counterexamples("Water") == {}
    store.remove("Soil")
    assert store.counterexamples("Soil") == {}
    database.close()
