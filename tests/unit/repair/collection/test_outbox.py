from dataclasses import replace

from repair.collection.collection import Collection
from repair.model import Document
from repair.settings import CollectionSettings
from tests.unit.repair.opensearch.pages import DAY, a_collection

_NEW = Document(url="https://topics.example.org/new", title="New", text="new words", language="en")


def waiting(collection):
    return [(row.url.rpartition("/")[2], row.removed) for row in collection.outbox.batch(100)]


def test_a_school_alone_notes_nothing(tmp_path):
    with a_collection(tmp_path) as collection:
        assert not collection.outbox.is_open()
        assert collection.remove("https://topics.example.org/1")
        assert collection.outbox.count() == 0


def test_a_school_that_joins_sends_what_it_has_then_what_changes(tmp_path):
    with a_collection(tmp_path) as collection:
        collection.outbox.open()
        collection.outbox.open()
        assert waiting(collection) == [(str(at), False) for at in range(4)]
        collection.outbox.mark_sent(collection.outbox.batch(100))
        collection.add(_NEW, fetched_at=DAY)
        collection.add(replace(_NEW, text="other words"), fetched_at=DAY)
        assert waiting(collection) == [("new", False)]


def test_a_page_that_changes_while_it_is_sent_is_sent_again(tmp_path):
    with a_collection(tmp_path) as collection:
        collection.outbox.open()
        rows = collection.outbox.batch(100)
        collection.add(Document(url=rows[0].url, title="Page", text="changed", language="en"), fetched_at=DAY)
        collection.outbox.mark_sent(rows)
        assert waiting(collection) == [("0", False)]


def test_a_page_seen_again_unchanged_is_not_sent_again(tmp_path):
    with a_collection(tmp_path) as collection:
        collection.add(_NEW, fetched_at=DAY, raw_digest=b"same")
        collection.outbox.open()
        collection.outbox.mark_sent(collection.outbox.batch(100))
        collection.add(_NEW, fetched_at=DAY, raw_digest=b"same")
        assert collection.seen_again(_NEW.url, b"same", seen_at=DAY)
        assert waiting(collection) == []


def test_another_process_that_imports_notes_its_pages_too(tmp_path):
    with a_collection(tmp_path) as collection:
        collection.outbox.open()
        collection.outbox.mark_sent(collection.outbox.batch(100))
        with Collection.open(tmp_path, CollectionSettings()) as other:
            other.add(_NEW, fetched_at=DAY)
        assert waiting(collection) == [("new", False)]


def test_a_removed_page_is_to_be_buried(tmp_path):
    with a_collection(tmp_path) as collection:
        collection.outbox.open()
        collection.remove("https://topics.example.org/2")
        assert ("2", True) in waiting(collection)
        assert ("2", False) not in waiting(collection)


def test_a_school_that_leaves_notes_nothing_more(tmp_path):
    with a_collection(tmp_path) as collection:
        collection.outbox.open()
        collection.outbox.close()
        collection.add(_NEW, fetched_at=DAY)
        assert collection.outbox.count() == 0
