import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from proxy.privacy.clients import ClientHasher, network_code, network_of
from tests.make import A_MOMENT


class Clock:
    def __init__(self):
        self.now = A_MOMENT

    def __call__(self):
        return self.now


def test_a_client_has_one_code_all_day_and_another_the_next():
    clock = Clock()
    hasher = ClientHasher(clock=clock)
    first = hasher.hash("10.0.0.7")
    clock.now += timedelta(hours=8)
    assert hasher.hash("10.0.0.7") == first
    clock.now += timedelta(days=1)
    assert hasher.hash("10.0.0.7") != first


def test_two_clients_have_two_codes():
    hasher = ClientHasher(clock=Clock())
    assert hasher.hash("10.0.0.7") != hasher.hash("10.0.0.8")
    assert "10.0.0.7" not in hasher.hash("10.0.0.7")


def test_the_code_outlives_a_restart_but_not_the_day(tmp_path):
    clock = Clock()
    path = tmp_path / "salt"
    first = ClientHasher(path, clock=clock).hash("10.0.0.7")
    assert ClientHasher(path, clock=clock).hash("10.0.0.7") == first
    before = path.read_text()
    clock.now += timedelta(days=1)
    assert ClientHasher(path, clock=clock).hash("10.0.0.7") != first
    assert path.read_text() != before


def test_workers_that_meet_a_new_day_together_agree_on_its_salt(tmp_path):
    hashers = [ClientHasher(tmp_path / "salt", clock=Clock()) for _ in range(8)]
    together = threading.Barrier(len(hashers))

    def code(hasher):
        together.wait(10)
        return hasher.hash("10.0.0.7")

    with ThreadPoolExecutor(len(hashers)) as threads:
        assert len(set(threads.map(code, hashers))) == 1


def test_only_the_owner_may_read_the_salt(tmp_path):
    ClientHasher(tmp_path / "salt", clock=Clock()).hash("a")
    assert stat.S_IMODE((tmp_path / "salt").stat().st_mode) == 0o600


def test_a_damaged_salt_is_replaced(tmp_path):
    (tmp_path / "salt").write_text('{"day": "2026-05-03", "salt": "zz"}')
    assert len(ClientHasher(tmp_path / "salt", clock=Clock()).hash("a")) == 16


def test_without_a_place_for_the_salt_it_lives_in_memory(tmp_path):
    hasher = ClientHasher(tmp_path / "nowhere" / "salt", clock=Clock())
    assert hasher.hash("a") == hasher.hash("a")


def test_workers_that_could_not_write_one_day_agree_again_the_next(tmp_path):
    clock = Clock()
    path = tmp_path / "later" / "salt"
    hashers = [ClientHasher(path, clock=clock) for _ in range(2)]
    assert len({hasher.hash("10.0.0.7") for hasher in hashers}) == 2
    path.parent.mkdir()
    clock.now += timedelta(days=1)
    assert len({hasher.hash("10.0.0.7") for hasher in hashers}) == 1


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.0/24"),
        ("2001:db8:1:2:a:b:c:d", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_network_is_one_voice(address, network):
    assert network_of(address) == network


def test_the_codes_of_a_network_begin_alike_and_those_of_others_do_not():
    hasher = ClientHasher(clock=Clock())
    one, other, elsewhere = map(hasher.hash, ("fd00::1", "fd00::2", "fd00:0:0:1::1"))
    assert network_code(one) == network_code(other) != network_code(elsewhere)
    assert one != other
    assert network_code(hasher.hash("10.0.0.7")) == network_code(hasher.hash("::ffff:10.0.0.8"))
