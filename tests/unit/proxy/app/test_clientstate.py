from types import SimpleNamespace

import pytest

from proxy.app.clientstate import ClientState, SharedClientState
from proxy.privacy.suppressed import SuppressedPage
from repair.model import MissKind

CLIENT = "c0ffee"
URL = "http://school.test/page"


@pytest.fixture
def workers():
    """Two workers, of which each hears what the other broadcasts."""
    first = SharedClientState(Later(lambda: second), Readers())
    second = SharedClientState(Later(lambda: first), Readers())
    return first, second


class Readers:
    """Whoever counts readers."""

    def __init__(self):
        self.opened = []

    def page_opened(self, client, url):
        self.opened.append((client, url))


class Later:
    """Somebody who is made in a moment."""

    def __init__(self, other):
        self._other = other

    def __getattr__(self, name):
        return getattr(self._other(), name)


def test_the_pages_a_client_opened_are_known_to_both(workers):
    first, second = workers
    first.recent_pages.note_page(CLIENT, URL)
    second.recent_pages.note_page(CLIENT, URL + "2")
    assert first.recent_pages.recent(CLIENT) == second.recent_pages.recent(CLIENT) == (URL + "2", URL)


def test_a_page_opened_again_and_again_is_told_once():
    told, readers = [], Readers()
    state = SharedClientState(SimpleNamespace(client_opened=lambda *event: told.append(event)), readers)
    for _ in range(3):
        state.recent_pages.note_page(CLIENT, URL)
    assert told == readers.opened == [(CLIENT, URL)]


def test_only_the_worker_that_served_a_page_has_its_reader_counted(workers):
    first, second = workers
    first.recent_pages.note_page(CLIENT, URL)
    assert first.recent_pages._readership.opened == [(CLIENT, URL)]
    assert second.recent_pages._readership.opened == []


def test_readers_are_counted_where_there_is_one_worker():
    readers = Readers()
    ClientState(readers).recent_pages.note_page(CLIENT, URL)
    assert readers.opened == [(CLIENT, URL)]


def test_a_withheld_page_can_be_shown_by_both_to_its_reader_alone(workers):
    first, second = workers
    page = SuppressedPage(kind=MissKind.SOFT_404, missed=URL, url=URL)
    first.suppressed.note("miss", CLIENT, page)
    assert second.suppressed.of("miss", CLIENT) == page
    assert second.suppressed.of("miss", "another") is None


def test_a_redirect_is_recognised_where_the_client_lands_and_once(workers):
    first, second = workers
    first.redirects.note(CLIENT, URL, "/elsewhere")
    assert second.redirects.pop_origin(CLIENT, "http://school.test/elsewhere") == URL
    assert first.redirects.pop_origin(CLIENT, "http://school.test/elsewhere") is None


def test_of_a_chain_of_redirects_through_both_the_first_address_counts(workers):
    first, second = workers
    first.redirects.note(CLIENT, URL, "/second")
    second.redirects.note(CLIENT, "http://school.test/second", "/third")
    assert first.redirects.pop_origin(CLIENT, "http://school.test/third") == URL
