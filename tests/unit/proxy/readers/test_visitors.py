"""proxy.readers.visitors: what is remembered of clients, and for how long."""

from proxy.readers.visitors import Visitors


def test_the_pages_a_client_opened_come_latest_first_and_once():
    visitors = Visitors()
    for url in ("http://a/", "http://b/", "http://a/"):
        visitors.opened("ann", url)
    assert visitors.recent("ann") == ("http://a/", "http://b/")


def test_one_client_sees_nothing_of_another():
    visitors = Visitors()
    visitors.opened("ann", "http://a/")
    visitors.offered("ann", "miss", ("http://b/",))
    assert visitors.recent("bob") == ()
    assert visitors.chose("bob", "http://b/") is None


def test_opening_an_offered_page_names_the_miss_it_answers_once():
    visitors = Visitors()
    visitors.offered("ann", "miss", ("http://b/",))
    assert visitors.chose("ann", "http://b/") == "miss"
    assert visitors.chose("ann", "http://b/") is None


def test_an_offer_is_forgotten_after_a_while():
    now = [0.0]
    visitors = Visitors(remember_s=60, clock=lambda: now[0])
    visitors.offered("ann", "miss", ("http://b/",))
    now[0] = 61.0
    assert visitors.chose("ann", "http://b/") is None


def test_memory_is_bounded_in_clients_pages_and_offers():
    visitors = Visitors(clients=2)
    for client in ("ann", "bob", "cy"):
        for number in range(100):
            visitors.opened(client, f"http://a/{number}")
        visitors.offered(client, "miss", tuple(f"http://b/{number}" for number in range(100)))
    assert visitors.recent("ann") == ()
    assert len(visitors.recent("cy")) == 30
    assert visitors.chose("cy", "http://b/0") is None


def test_who_was_led_away_from_an_address_is_known_there_for_a_while():
    now = 0.0
    visitors = Visitors(clock=lambda: now)
    assert not visitors.was_led("ada", "/old")
    visitors.led("ada", "/old", "/new")
    assert visitors.was_led("ada", "/old")
    assert not visitors.was_led("ben", "/old")
    now = 3600.0
    assert not visitors.was_led("ada", "/old")


def test_an_arrival_is_told_once_and_only_to_who_was_led_there_just_now():
    now = 0.0
    visitors = Visitors(clock=lambda: now)
    visitors.led("ada", "/old", "/new")
    assert visitors.arrives("ben", "/new") is None
    assert visitors.arrives("ada", "/new") == "/old"
    assert visitors.arrives("ada", "/new") is None
    assert not visitors.expects("ada")
    visitors.led("ada", "/old", "/new")
    now = 120.0
    assert visitors.arrives("ada", "/new") is None


def test_only_so_many_leadings_are_remembered():
    visitors = Visitors()
    for number in range(100):
        visitors.led("ada", f"/old/{number}", f"/new/{number}")
    assert visitors.arrives("ada", "/new/0") is None
    assert visitors.arrives("ada", "/new/99") == "/old/99"
