import pytest

from proxy.office.shared import SharedKnowledge
from proxy.readers.withheld import Withheld
from repair.model import MissKind

CLIENT = "c0ffee"
URL = "http://school.test/page"


@pytest.fixture
def workers():
    """Two workers, of which each hears what the other shares."""
    first = SharedKnowledge(lambda news: second.hear(news))
    second = SharedKnowledge(lambda news: first.hear(news))
    return first, second


def test_the_pages_a_client_opened_are_known_to_both(workers):
    first, second = workers
    first.visitors.opened(CLIENT, URL)
    second.visitors.opened(CLIENT, URL + "2")
    assert first.visitors.recent(CLIENT) == second.visitors.recent(CLIENT) == (URL + "2", URL)


def test_a_page_opened_again_and_again_is_told_once():
    told = []
    knowledge = SharedKnowledge(told.append)
    for _ in range(3):
        knowledge.visitors.opened(CLIENT, URL)
    assert len(told) == 1


def test_a_withheld_page_can_be_shown_by_both_to_its_reader_alone(workers):
    first, second = workers
    page = Withheld(kind=MissKind.SOFT_404, missed=URL, url=URL)
    first.withheld.note("miss", CLIENT, page)
    assert second.withheld.of("miss", CLIENT) == page
    assert second.withheld.of("miss", "another") is None


def test_a_redirect_is_recognised_where_the_client_lands_and_once(workers):
    first, second = workers
    first.redirects.note(CLIENT, URL, "/elsewhere")
    assert second.redirects.taken(CLIENT, "http://school.test/elsewhere") == URL
    assert first.redirects.taken(CLIENT, "http://school.test/elsewhere") is None


def test_of_a_chain_of_redirects_through_both_the_first_address_counts(workers):
    first, second = workers
    first.redirects.note(CLIENT, URL, "/second")
    second.redirects.note(CLIENT, "http://school.test/second", "/third")
    assert first.redirects.taken(CLIENT, "http://school.test/third") == URL
