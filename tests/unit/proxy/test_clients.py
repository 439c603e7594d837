import stat
from datetime import timedelta

from proxy.clients import ClientHasher
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


def test_only_the_owner_may_read_the_salt(tmp_path):
    ClientHasher(tmp_path / "salt", clock=Clock()).hash("a")
    assert stat.S_IMODE((tmp_path / "salt").stat().st_mode) == 0o600


def test_a_damaged_salt_is_replaced(tmp_path):
    (tmp_path / "salt").write_text('{"day": "2026-05-03", "salt": "zz"}')
    assert len(ClientHasher(tmp_path / "salt", clock=Clock()).hash("a")) == 16


def test_without_a_place_for_the_salt_it_lives_in_memory(tmp_path):
    hasher = ClientHasher(tmp_path / "nowhere" / "salt", clock=Clock())
    assert hasher.hash("a") == hasher.hash("a")
