"""Nobody guesses the password, and nobody locks the admin out by trying."""

from proxy.admin.auth.loginlimits import LoginLimits


def count_tries(limits, client, times, *, known=False, now=0.0):
    """How many of so many tries were admitted."""
    return sum(limits.wait_s(client, known=known, now=now) == 0 for _ in range(times))


def test_one_client_has_five_tries_at_once():
    assert count_tries(LoginLimits(), "10.0.0.5", 100) == 5


def test_further_tries_come_every_half_minute():
    limits = LoginLimits()
    count_tries(limits, "10.0.0.5", 5)
    assert limits.wait_s("10.0.0.5", known=False, now=0.0) == 30.0
    assert count_tries(limits, "10.0.0.5", 10, now=29.0) == 0
    assert count_tries(limits, "10.0.0.5", 10, now=60.0) == 2


def test_unknown_clients_share_one_bucket():
    limits = LoginLimits()
    assert sum(count_tries(limits, f"10.0.{n // 250}.{n % 250}", 5) for n in range(1000)) == 50


def test_unknown_clients_do_not_lock_out_a_known_one():
    limits = LoginLimits()
    for number in range(100):
        count_tries(limits, f"10.0.0.{number}", 5)
    assert limits.wait_s("10.0.1.1", known=False, now=0.0) > 0
    assert limits.wait_s("127.0.0.1", known=True, now=0.0) == 0


def test_a_known_client_has_no_more_tries_than_others():
    assert count_tries(LoginLimits(), "127.0.0.1", 100, known=True) == 5


def test_success_resets_earlier_tries():
    limits = LoginLimits()
    count_tries(limits, "10.0.0.5", 5)
    limits.forget_failures("10.0.0.5")
    assert count_tries(limits, "10.0.0.5", 10) == 5


def test_client_records_are_bounded():
    limits = LoginLimits()
    for number in range(20_000):
        limits.wait_s(str(number), known=True, now=0.0)
    assert len(limits._each._buckets) <= 5_000
