"""proxy.privacy.recentpages: what is remembered of clients, and for how long."""

from proxy.privacy.recentpages import RecentPages


def test_the_pages_a_client_opened_come_latest_first_and_once():
    recent_pages = RecentPages()
    for url in ("http://a/", "http://b/", "http://a/"):
        recent_pages.note_page("ann", url)
    assert recent_pages.recent("ann") == ("http://a/", "http://b/")


def test_one_client_sees_nothing_of_another():
    recent_pages = RecentPages()
    recent_pages.note_page("ann", "http://a/")
    assert recent_pages.recent("bob") == ()


def test_memory_is_bounded_in_clients_and_pages():
    recent_pages = RecentPages(clients=2)
    for client in ("ann", "bob", "cy"):
        for number in range(100):
            recent_pages.note_page(client, f"http://a/{number}")
    assert recent_pages.recent("ann") == ()
    assert len(recent_pages.recent("cy")) == 30


def test_a_redirected_client_is_remembered_for_a_limited_time():
    now = 0.0
    recent_pages = RecentPages(clock=lambda: now)
    assert not recent_pages.was_redirected("ada", "/old")
    recent_pages.note_redirect("ada", "/old", "/new")
    assert recent_pages.was_redirected("ada", "/old")
    assert not recent_pages.was_redirected("ben", "/old")
    now = 3600.0
    assert not recent_pages.was_redirected("ada", "/old")


def test_an_arrival_is_returned_once_and_only_to_the_redirected_client():
    now = 0.0
    recent_pages = RecentPages(clock=lambda: now)
    recent_pages.note_redirect("ada", "/old", "/new")
    assert recent_pages.take_arrival("ben", "/new") is None
    assert recent_pages.take_arrival("ada", "/new") == "/old"
    assert recent_pages.take_arrival("ada", "/new") is None
    assert not recent_pages.expects("ada")
    recent_pages.note_redirect("ada", "/old", "/new")
    now = 120.0
    assert recent_pages.take_arrival("ada", "/new") is None


def test_the_number_of_remembered_redirects_is_limited():
    recent_pages = RecentPages()
    for number in range(100):
        recent_pages.note_redirect("ada", f"/old/{number}", f"/new/{number}")
    assert recent_pages.take_arrival("ada", "/new/0") is None
    assert recent_pages.take_arrival("ada", "/new/99") == "/old/99"
