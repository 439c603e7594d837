"""Nobody guesses the password, and nobody keeps the admin out by trying."""

from proxy.desk.limits import LoginLimits


def tried(limits, client, times, *, known=False, now=0.0):
    """How many of so many tries were looked at."""
    return sum(limits.wait_s(client, known=known, now=now) == 0 for _ in range(times))


def test_one_client_has_five_tries_at_once():
    assert tried(LoginLimits(), "10.0.0.5", 100) == 5


def test_then_one_every_half_minute():
    limits = LoginLimits()
    tried(limits, "10.0.0.5", 5)
    assert limits.wait_s("10.0.0.5", known=False, now=0.0) == 30.0
    assert tried(limits, "10.0.0.5", 10, now=29.0) == 0
    assert tried(limits, "10.0.0.5", 10, now=60.0) == 2


def test_a_thousand_addresses_share_what_strangers_have():
    limits = LoginLimits()
    assert sum(tried(limits, f"10.0.{n // 250}.{n % 250}", 5) for n in range(1000)) == 50


def test_strangers_do_not_keep_a_known_client_out():
    limits = LoginLimits()
    for number in range(100):
        tried(limits, f"10.0.0.{number}", 5)
    assert limits.wait_s("10.0.1.1", known=False, now=0.0) > 0
    assert limits.wait_s("127.0.0.1", known=True, now=0.0) == 0


def test_a_known_client_has_no_more_tries_than_others():
    assert tried(LoginLimits(), "127.0.0.1", 100, known=True) == 5


def test_a_success_forgives_the_tries_before():
    limits = LoginLimits()
    tried(limits, "10.0.0.5", 5)
    limits.succeeded("10.0.0.5")
    assert tried(limits, "10.0.0.5", 10) == 5


def test_what_is_remembered_of_clients_is_bounded():
    limits = LoginLimits()
    for number in range(20_000):
        limits.wait_s(str(number), known=True, now=0.0)
    assert len(limits._each._buckets) <= 5_000
