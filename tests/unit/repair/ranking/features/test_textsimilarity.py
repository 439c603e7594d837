"""The company a page keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.collection.database import Database
from repair.collection.index.fulltext import IndexEntry
from repair.collection.index.idf import BUCKETS
from repair.collection.index.vectors import FIELDS, VectorStore
from repair.ranking.features.textsimilarity import _cosines_with_others, _Texts, _texts, default_edition

EVEN = np.ones(BUCKETS, np.float32)


@pytest.fixture
def vectors(tmp_path):
    """Two pages on water, one on castles."""
    store = VectorStore(Database(tmp_path / "v.sqlite3"))
    bodies = {1: ["water", "rain"], 2: ["water", "river"], 3: ["castle", "moat"]}
    store.update([IndexEntry(page=page, fields={"body": terms}) for page, terms in bodies.items()])
    return store.get([1, 2, 3])


def test_a_page_is_compared_with_the_others_not_with_itself(vectors):
    likeness = _cosines_with_others(*_texts([vectors], EVEN), np.array([1, 1, 0], np.float32))
    assert likeness.tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-3)


def test_without_related_pages_similarity_is_zero(vectors):
    assert _cosines_with_others(*_texts([vectors], EVEN), np.zeros(3, np.float32)).tolist() == [0, 0, 0]


@given(st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3))
def test_likeness_is_a_cosine_whatever_the_weights(weights):
    places = np.array([5, 6, 5, 7, 8, 9], np.int32)
    texts = _Texts(3, np.array([0, 0, 1, 1, 2, 2]), places, np.full(6, np.sqrt(0.5), np.float32))
    likeness = _cosines_with_others(texts, np.array(weights, np.float32))
    assert np.isfinite(likeness).all()
    assert ((likeness > -0.01) & (likeness < 1.01)).all()


def test_links_into_editions_that_name_a_language_count_against_the_default_one():
    fields = len(FIELDS)
    tf = {"lost": np.zeros((fields, 3, 2), np.float32), "editions": np.zeros((fields, 3, 1), np.float32)}
    links = FIELDS.index("links")
    tf["lost"][links, :, -1] = [4, 4, 0]  # links to the host
    tf["editions"][links, :, 0] = [0, 3, 0]
    assert default_edition(tf, np.array([True])).tolist() == pytest.approx([1.0, -0.5, 0.0])
    # Links to another host, that of a translation, are not among those to the host of the lost page.
    assert default_edition(tf, np.array([False])).tolist() == pytest.approx([1.0, 1 - 2 * 3 / 7, 0.0])
