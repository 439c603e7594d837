import pytest

from repair.collection.collection import Collection
from repair.crawling.classifier import learn_topic
from repair.crawling.heldpages import find_held_examples, note_members
from repair.crawling.pagejudge import BELONGS, PageJudge
from repair.crawling.topics import Topic
from repair.model import Document
from repair.settings import CollectionSettings
from tests.make import A_MOMENT
from tests.unit.repair.crawling.pages import OTHER, a_text, farm_texts, other_texts

FARM_PAGE = "http://a.test/farm"


@pytest.fixture
def collection(tmp_path):
    with Collection.open(tmp_path, CollectionSettings()) as collection:
        pages = {FARM_PAGE: "soil and crop " * 20}
        pages |= {f"http://b.test/{number}": a_text(OTHER, number) for number in range(30)}
        for url, text in pages.items():
            collection.add(Document(url=url, title="page", text=text, language="en"), fetched_at=A_MOMENT)
        collection.commit()
        yield collection


def test_best_held_pages_match_the_words_and_the_rest_is_drawn_at_random(collection):
    held = find_held_examples(collection, Topic(name="Soil", words=("crop",), subtopics=("tea ceremony",)))
    assert list(held.best) == [FARM_PAGE]
    assert len(held.background) == 31


def test_saved_pages_of_the_topic_do_not_speak_against_it(collection):
    members = {f"http://b.test/{number}": 0.9 for number in range(25)}
    held = find_held_examples(collection, Topic(name="Opera"), members=members)
    assert len(held.background) == 6


def test_what_an_earlier_crawl_saved_is_learnt_from(collection):
    members = {f"http://b.test/{number}": 0.9 for number in range(25)}
    topic = Topic(name="Plays")
    judge = PageJudge(topic, learn_topic, background=farm_texts(30))
    note_members(judge, collection, members)
    assert judge.learn()
    assert judge.judge(other_texts(1, start=90)[0]) > BELONGS > judge.judge(farm_texts(1, start=90)[0])


def test_page_in_another_language_is_no_example(collection):
    assert not find_held_examples(collection, Topic(name="Soil", words=("crop",), language="sw")).best


def test_empty_collection_has_no_examples(tmp_path):
    with Collection.open(tmp_path / "empty", CollectionSettings()) as empty:
        held = find_held_examples(empty, Topic(name="Soil"))
    assert (held.best, held.background) == ({}, ())
