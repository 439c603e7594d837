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
    assert visitors.recent("bob") == ()


def test_memory_is_bounded_in_clients_and_pages():
    visitors = Visitors(clients=2)
    for client in ("ann", "bob", "cy"):
        for number in range(100):
            visitors.opened(client, f"http://a/{number}")
    assert visitors.recent("ann") == ()
    assert len(visitors.recent("cy")) == 30


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
