import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.leases import LeaseTable, WorkerLeases

KEY, OTHER = "http://school.test/", "http://library.test/"


@pytest.fixture
def workers():
    table = LeaseTable()
    return WorkerLeases(table, 1), WorkerLeases(table, 2)


def test_one_worker_fetches_and_the_other_waits_until_it_is_done(workers):
    one, two = workers
    assert one.take(KEY)
    assert not two.take(KEY)
    assert two.is_taken(KEY)
    one.free(KEY)
    assert not two.is_taken(KEY)
    assert two.take(KEY)


def test_a_workers_own_lease_does_not_hold_it_up(workers):
    one, _ = workers
    assert one.take(KEY)
    assert not one.is_taken(KEY)
    assert one.take(KEY)


def test_other_keys_are_free(workers):
    one, two = workers
    one.take(KEY)
    assert two.take(OTHER)


def test_a_lease_is_ended_only_by_its_owner_or_by_revoking_it(workers):
    one, two = workers
    one.take(KEY)
    two.free(KEY)
    assert two.is_taken(KEY)
    two.revoke(KEY)
    assert two.take(KEY)
    one.free(KEY)
    assert one.is_taken(KEY), "the first has lost its lease, and must not end that of the second"


def test_leases_of_a_killed_worker_end_when_it_is_replaced():
    table = LeaseTable()
    dead, other = WorkerLeases(table, 1), WorkerLeases(table, 2)
    dead.take(KEY)
    other.take(OTHER)
    replacement = WorkerLeases(table, 1)
    assert other.take(KEY)
    assert replacement.is_taken(OTHER)


def test_keys_that_share_a_place_are_both_fetched(workers, monkeypatch):
    one, two = workers
    monkeypatch.setattr(WorkerLeases, "_of", lambda self, key: (7, self._owner | len(key)))
    assert one.take("a")
    assert two.take("bb"), "the place is taken, but for something else"
    two.free("bb")
    assert two.is_taken("a"), "what was not leased cannot be freed"


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from("abc"), st.booleans()), max_size=50))
def test_never_two_workers_hold_a_lease(steps):
    table = LeaseTable()
    leases, held = (WorkerLeases(table, 1), WorkerLeases(table, 2)), {}
    for worker, key, takes in steps:
        if takes:
            assert leases[worker].take(key) is (held.get(key) in (None, worker))
            held.setdefault(key, worker)
        else:
            leases[worker].free(key)
            if held.get(key) == worker:
                del held[key]
