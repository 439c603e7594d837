import pytest

from repair.collection.database import Database
from repair.collection.index.pending import NEW_WORDS_WAIT_S, PendingPages
from repair.collection.pages import PageStore
from tests.holdings import a_document
from tests.make import A_MOMENT


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "db")
    yield database
    database.close()


def _due(pending, now=None, limit=10):
    return [note.page for note in pending.due(limit=limit, now=now)]


def test_pages_are_due_in_the_order_of_their_time(database):
    pending = PendingPages(database)
    pending.add([1], due_at=50.0)
    pending.add([2], due_at=10.0)
    assert _due(pending, now=100.0) == [2, 1]
    assert _due(pending, now=20.0) == [2]
    assert _due(pending) == [2, 1]


def test_a_page_marked_while_the_clock_was_ahead_is_due_now(database):
    pending = PendingPages(database)
    pending.add([1], due_at=100.0 + 86_400.0)
    pending.add([2], due_at=100.0 + NEW_WORDS_WAIT_S)
    assert _due(pending, now=100.0) == [1]


def test_a_page_that_was_due_earlier_stays_due_earlier(database):
    pending = PendingPages(database)
    pending.add([1], due_at=10.0)
    pending.add([1], due_at=50.0)
    assert _due(pending, now=20.0) == [1]
    assert pending.count() == 1


def test_indexed_pages_are_no_longer_pending(database):
    pending = PendingPages(database)
    pending.add([1, 2], due_at=0.0)
    pending.mark_indexed(pending.due(limit=1, now=None))
    assert _due(pending) == [2]


def test_a_page_that_changed_meanwhile_stays_pending(database):
    pending = PendingPages(database)
    pending.add([1], due_at=0.0)
    taken = pending.due(limit=10, now=None)
    pending.add([1], due_at=0.0)
    pending.mark_indexed(taken)
    assert _due(pending) == [1]


def test_all_pages_can_be_marked_pending_at_once(database):
    pages = PageStore(database)
    held = [pages.put(a_document(path), fetched_at=A_MOMENT, seen_at=A_MOMENT) for path in ("/a", "/b")]
    pending = PendingPages(database)
    pending.add_all()
    assert _due(pending) == held
