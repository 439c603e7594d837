from repair.collection.database import Database
from repair.collection.index.fulltext import IndexEntry
from repair.collection.index.vectors import FIELDS, VectorStore, hashes

BODY, TITLE = FIELDS.index("body"), FIELDS.index("title")


def a_store(tmp_path, *bodies):
    store = VectorStore(Database(tmp_path / "c.sqlite3"))
    store.update(
        IndexEntry(page=at, fields={"body": body.split(), "title": ["t"]})
        for at, body in enumerate(bodies, 1)
    )
    return store


def tf(store, page, term):
    vectors = store.get((page,))
    wanted = vectors.term == hashes((term,))[0]
    return int(vectors.tf[wanted & (vectors.segment % len(FIELDS) == BODY)].sum())


def test_frequencies_and_lengths_are_exact(tmp_path):
    store = a_store(tmp_path, "a b a c", "b")
    assert (tf(store, 1, "a"), tf(store, 1, "b"), tf(store, 2, "a")) == (2, 1, 0)
    assert store.get((1, 2)).lengths[:, BODY].tolist() == [4, 1]
    assert store.get((1, 2)).distinct[:, BODY].tolist() == [3, 1]


def test_the_entries_of_one_field_are_found_without_the_others(tmp_path):
    vectors = a_store(tmp_path, "a b a c", "", "b").get((1, 2, 7, 3))
    for field in range(len(FIELDS)):
        expected = [
            at for at, segment in enumerate(vectors.segment.tolist()) if segment % len(FIELDS) == field
        ]
        assert vectors.entries_of(field).tolist() == expected
    assert len(vectors.entries_of(BODY)) == 4


def test_statistics_count_pages_and_occurrences(tmp_path):
    found = a_store(tmp_path, "a b a c", "b").statistics(hashes(("a", "b", "never")))
    assert found.pages == 2
    assert found.df[BODY].tolist() == [1, 2, 0]
    assert found.cf[BODY].tolist() == [2, 2, 0]
    assert found.mean_length(BODY) == 2.5


def test_a_page_put_again_counts_once(tmp_path):
    store = a_store(tmp_path, "a a", "a")
    store.update([IndexEntry(page=1, fields={"body": ["b"]})])
    found = store.statistics(hashes(("a", "b")))
    assert (found.df[BODY].tolist(), found.cf[BODY].tolist(), found.pages) == ([1, 1], [1, 1], 2)


def test_a_deleted_vector_leaves_no_counts(tmp_path):
    store = a_store(tmp_path, "a a", "a")
    store.update([IndexEntry(page=1)])
    found = store.statistics(hashes(("a",)))
    assert (found.df[BODY].tolist(), found.cf[BODY].tolist(), found.pages) == ([1], [1], 1)
    assert store.get((1,)).lengths.sum() == 0


def test_vectors_come_in_the_requested_order_and_unknown_ones_are_empty(tmp_path):
    assert a_store(tmp_path, "a", "a b").get((2, 9, 1)).lengths[:, BODY].tolist() == [2, 0, 1]


def test_two_terms_of_one_hash_are_counted_together(tmp_path):
    store = a_store(tmp_path, "plumless buckeroo plumless")
    assert hashes(("plumless",)) == hashes(("buckeroo",))
    assert tf(store, 1, "plumless") == 3


def test_counts_are_exact_however_often_they_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr("repair.collection.index.vectors._MAX_BUFFERED", 2)
    store = a_store(tmp_path, "a a b", "a", "b c")
    store.update([IndexEntry(page=2), IndexEntry(page=3, fields={"body": ["a"]})])
    found = store.statistics(hashes(("a", "b", "c")))
    assert (found.df[BODY].tolist(), found.cf[BODY].tolist(), found.pages) == ([2, 1, 0], [3, 1, 0], 2)
