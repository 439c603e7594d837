"""Tags of URLs, and the evidence they are."""

import pytest

from repair.collection.collection import Collection
from repair.collection.database import Database
from repair.collection.tags import TagStore
from repair.evidence.tags import Tags
from repair.settings import CollectionSettings
from tests.holdings import SITE, a_document, a_link
from tests.make import A_MOMENT, a_broken_link

GONE = f"{SITE}/weather/gone"


@pytest.fixture
def collection(tmp_path):
    with Collection.open(tmp_path, CollectionSettings()) as collection:
        yield collection


@pytest.fixture
def store(collection, tmp_path):
    database = Database(tmp_path / "collection.sqlite3")
    yield TagStore(database)
    database.close()


def hold(collection, *documents):
    for document in documents:
        collection.add(document, fetched_at=A_MOMENT)


def tags(store, collection, **known):
    return [tag for tag, _ in Tags(store, collection).tags(a_broken_link(GONE, **known))]


def test_keywords_that_pages_of_the_directory_share_are_tags(store, collection):
    hold(
        collection,
        a_document("/weather/rain", keywords=("Rain", "climate")),
        a_document("/weather/snow", keywords=("climate",)),
        a_document("/animals/cat", keywords=("cats", "climate")),
    )
    assert tags(store, collection) == ["climate"]


def test_keywords_of_pages_that_link_there_count(store, collection):
    links = [a_link(GONE, "that page")]
    hold(collection, *[a_document(f"/s{at}", keywords=("floods",), links=links) for at in range(2)])
    assert tags(store, collection) == ["floods"]


def test_breadcrumbs_name_the_directory(store, collection):
    crumb = a_link("/weather/", "Weather & climate", nav=True)
    hold(collection, *[a_document(f"/s{at}", links=[crumb, a_link("/weather/", "here")]) for at in range(2)])
    assert tags(store, collection) == ["weather & climate"]


def test_a_person_s_tag_comes_first(store, collection):
    hold(collection, *[a_document(f"/weather/{at}", keywords=("climate",)) for at in range(5)])
    assert store.attach(GONE, "  Water   Cycle ")
    assert tags(store, collection) == ["water cycle", "climate"]
    store.detach(GONE, "water cycle")
    assert tags(store, collection) == ["climate"]


def test_there_are_at_most_seven(store, collection):
    words = tuple(f"word{at}" for at in range(12))
    hold(collection, *[a_document(f"/weather/{at}", keywords=words) for at in range(2)])
    assert len(tags(store, collection)) == 7


def test_tags_are_evidence_by_how_many_attach_them(store, collection):
    hold(
        collection,
        *[
            a_document(f"/weather/{at}", keywords=("climate", "rain") if at else ("climate",))
            for at in range(4)
        ],
    )
    evidence = Tags(store, collection).find(a_broken_link(GONE))
    assert evidence is not None
    assert evidence.terms == (("climat", 1.0), ("rain", 0.75))
    assert evidence.text == "climate, rain"


def test_without_tags_there_is_no_evidence(store, collection):
    assert Tags(store, collection).find(a_broken_link(GONE)) is None
    assert Tags(store, collection).find(a_broken_link("nonsense")) is None


def test_what_is_no_url_or_no_tag_is_refused(store):
    assert not store.attach("nonsense", "tag")
    assert not store.attach(GONE, "   ")
    assert not store.attach(GONE, "x" * 100)


def test_all_tags_of_an_address_can_be_removed(store, collection):
    store.attach(GONE, "rain")
    store.attach(f"{SITE}/other", "rain")
    store.forget(GONE)
    assert store.tags(GONE) == ()
    assert store.tags(f"{SITE}/other") == (("rain", 1),)


def test_stop_breadcrumbs_can_be_configured(store, collection):
    pages = [a_document(f"/p{n}", links=[a_link("/weather/", "All pages")]) for n in range(3)]
    hold(collection, *pages)
    assert "all pages" in tags(store, collection)
    silent = Tags(store, collection, lambda anchor: anchor == "All pages")
    assert silent.tags(a_broken_link(GONE)) == ()
