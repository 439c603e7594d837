"""Anchors that lead anywhere."""

import pytest

from repair.collection.collection import Collection
from repair.collection.database import Database
from repair.collection.stopanchors import LearntStopAnchors, learn
from repair.settings import CollectionSettings
from repair.text.words import is_stop_anchor
from tests.holdings import a_document, a_link
from tests.make import A_MOMENT


def links(anchor, targets, sources=1):
    return [
        (f"s{source}-{target}", f"t{target}", anchor)
        for target in range(targets)
        for source in range(sources)
    ]


def test_anchors_of_many_different_pages_are_stop_anchors():
    assert learn([*links("Details", 20), *links("Water cycle", 1, sources=20)]) == ("details",)


def test_anchors_on_which_most_pages_agree_are_not_stop_anchors():
    one_for_all = [(f"s{number}", "t0", "Water") for number in range(100)]
    assert learn([*one_for_all, *links("Water", 13)]) == ()


def test_case_and_punctuation_do_not_matter():
    assert learn([*links("See also:", 6), *[(s, t + "x", "see ALSO") for s, t, _ in links("", 6)]]) == (
        "see also",
    )


def test_long_anchors_are_kept():
    assert learn(links("word " * 20, 20)) == ()


@pytest.fixture
def collection(tmp_path):
    with Collection.open(tmp_path, CollectionSettings()) as collection:
        yield collection


def test_stop_anchors_learnt_from_saved_pages_can_be_loaded(collection, tmp_path):
    for number in range(15):
        page = a_document(f"/{number}", links=[a_link(f"/t{number}", "Figure"), a_link("/w", "Water")])
        collection.add(page, fetched_at=A_MOMENT)
    database = Database(tmp_path / "collection.sqlite3")
    assert LearntStopAnchors(database).load() == ()
    assert LearntStopAnchors(database).learn() == ("figure",)
    assert is_stop_anchor("Figure", LearntStopAnchors(database).load())
    database.close()


def test_learning_is_due_when_the_links_have_grown_by_a_tenth(collection):
    learnt = LearntStopAnchors(collection.database)
    assert not learnt.is_outgrown()
    collection.add(a_document("/start", links=[a_link(f"/{n}") for n in range(30)]), fetched_at=A_MOMENT)
    assert learnt.is_outgrown()
    learnt.learn()
    assert learnt.learnt_at() == 31
    assert not learnt.is_outgrown()
    collection.add(a_document("/more", links=[a_link(f"/m{n}") for n in range(5)]), fetched_at=A_MOMENT)
    assert learnt.is_outgrown()
