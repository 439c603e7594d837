from pathlib import Path

from proxy.messages import FileBody, StoredResponse
from proxy.store.memory import MemoryStore


def responses(body=b"x" * 100):
    return (
        StoredResponse(
            status=200, reason="OK", headers=(), body=body, vary=(), requested_at=1.0, received_at=2.0
        ),
    )


def test_a_stored_response_is_found():
    memory = MemoryStore(1_000_000)
    memory.put("a", responses(b"hello"))
    assert memory.get("a").responses == responses(b"hello")


def test_the_least_recently_used_goes_first():
    memory = MemoryStore(100_000)
    memory.put("a", responses(b"x" * 4000))
    for number in range(30):
        memory.put(str(number), responses(b"x" * 4000))
        assert memory.get("a") is not None
    assert memory.get("0") is None
    assert memory.get("29") is not None


def test_the_limit_is_kept_and_the_count_of_bytes_returns_to_nothing():
    memory = MemoryStore(100_000)
    for number in range(100):
        memory.put(str(number % 40), responses(b"x" * (number * 37)))
        assert memory.used_bytes <= 100_000
    for number in range(40):
        memory.pop(str(number))
    assert (memory.used_bytes, len(memory)) == (0, 0)


def test_one_large_response_does_not_push_out_the_others():
    memory = MemoryStore(100_000)
    memory.put("a", responses())
    memory.put("large", responses(b"x" * 50_000))
    assert memory.get("large") is None
    assert memory.get("a") is not None


def test_a_large_replacement_removes_what_it_replaces():
    memory = MemoryStore(100_000)
    memory.put("a", responses())
    memory.put("a", responses(b"x" * 50_000))
    assert memory.get("a") is None


def test_bodies_on_disk_are_left_to_the_disk():
    memory = MemoryStore(100_000)
    memory.put("a", responses(FileBody(path=Path("large"), size=3)))
    assert memory.get("a") is None


def test_no_memory_holds_nothing():
    memory = MemoryStore(0)
    memory.put("a", responses())
    assert memory.get("a") is None
