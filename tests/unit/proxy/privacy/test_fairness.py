"""proxy.privacy.fairness: what is bounded is shared out."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from proxy.privacy.fairness import DailyShare, FairMemory
from tests.make import A_MOMENT

HERE, THERE = "aaaaaa", "bbbbbb"


def test_the_newest_things_are_remembered():
    memory = FairMemory(2)
    for number in range(3):
        memory.put(number, f"{HERE}1", str(number))
    assert [memory.get(number) for number in range(3)] == [None, "1", "2"]


def test_a_network_with_many_clients_pushes_out_its_own():
    memory = FairMemory(10)
    memory.put("theirs", f"{THERE}1", 0)
    for number in range(100):
        memory.put(number, f"{HERE}{number}", number)
    assert memory.get("theirs") == 0
    assert [memory.get(number) for number in range(90, 100)] == [None, *range(91, 100)]


def test_within_a_network_the_client_with_most_makes_room():
    memory = FairMemory(10)
    memory.put("another's", f"{HERE}1", 0)
    for number in range(100):
        memory.put(number, f"{HERE}2", number)
    assert memory.get("another's") == 0
    assert len(memory) == 10


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([HERE, THERE, f"{HERE}1", f"{THERE}2"]))))
def test_it_never_holds_more_than_its_limit_and_always_the_newest(steps):
    memory = FairMemory(3)
    for key, client in steps:
        memory.put(key, client, client)
        assert memory.get(key) == client
        assert len(memory) <= 3
    for key, _ in steps:
        memory.forget(key)
    assert (len(memory), memory._keys, dict(memory._sizes)) == (0, {}, {})


def test_a_network_has_its_share_of_a_day():
    now = [A_MOMENT]
    share = DailyShare(2, clock=lambda: now[0])
    assert [share.take(f"{HERE}{number}") for number in range(3)] == [True, True, False]
    assert share.is_spent(f"{HERE}9")
    assert share.take(f"{THERE}1", 2)
    assert not share.take(f"{THERE}1", 1)
    now[0] += timedelta(days=1)
    assert share.take(f"{HERE}1")


def test_a_thing_put_again_is_the_last_of_its_network_to_go():
    memory = FairMemory(3)
    for client in ("1", "2", "3"):
        memory.put(client, f"{HERE}{client}", "first")
    memory.put("1", f"{HERE}1", "second")
    memory.put("4", f"{HERE}4", "first")
    assert [memory.get(client) for client in ("1", "2", "3", "4")] == ["second", None, "first", "first"]
