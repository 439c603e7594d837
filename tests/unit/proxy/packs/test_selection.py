import pytest

from proxy.packs.selection import select_pages
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from tests.holdings import a_collection, a_document

CLAY, SAND, OPERA = "http://soil.test/clay", "http://soil.test/sand", "http://music.test/opera"


@pytest.fixture
def collection(tmp_path):
    with a_collection(
        tmp_path,
        a_document(CLAY, "Clay", "Clay is wet soil. Clay holds water."),
        a_document(SAND, "Sand", "Sand drains."),
        a_document(OPERA, "Opera", "Singers on a stage."),
    ) as opened:
        yield opened


@pytest.fixture
def topics(tmp_path):
    database = TopicDatabase(tmp_path)
    store = TopicStore(database)
    store.put(Topic(name="Soil"))
    store.note_page(SAND, "Soil", 0.6)
    store.note_page(CLAY, "Soil", 0.9)
    yield store
    database.close()


@pytest.mark.parametrize(
    ("wanted", "kind", "found"),
    [
        ("soil", "topic", (CLAY, SAND)),
        ("soil.test", "site", (CLAY, SAND)),
        ("http://soil.test/c", "site", (CLAY,)),
        ("clay", "query", (CLAY,)),
        ("nothing of the kind", "query", ()),
    ],
)
def test_topic_comes_before_site_before_query(collection, topics, wanted, kind, found):
    selection = select_pages(wanted, collection, topics, limit=10)
    assert (selection.kind, selection.addresses) == (kind, found)


def test_selection_is_bounded_and_works_without_topics(collection):
    assert select_pages("soil.test", collection, None, limit=1).addresses == (CLAY,)
