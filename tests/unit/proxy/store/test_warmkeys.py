"""proxy.store.warmkeys: which responses are read without a thread, and when that ends."""

from contextlib import asynccontextmanager

import pytest

from proxy.messages import StoredResponse
from proxy.settings import CacheSettings
from proxy.store import warmkeys
from proxy.store.responses import ResponseStore

KEY = "http://school.test/page"


def a_response(body=b"hello", vary=()):
    return StoredResponse(
        status=200, reason="OK", headers=(), body=body, vary=vary, requested_at=1.0, received_at=2.0
    )


@asynccontextmanager
async def opened(directory):
    store = ResponseStore.open(directory, CacheSettings(memory_bytes=0))
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path) as store:
        yield store


async def test_what_was_just_stored_or_read_is_read_at_once(store, tmp_path):
    await store.put(KEY, a_response())
    assert store.read_warm(KEY).responses == (a_response(),)
    async with opened(tmp_path) as later:
        assert later.read_warm(KEY) is None
        await later.read(KEY)
        assert later.read_warm(KEY).responses == (a_response(),)


async def test_a_change_shows_at_once(store):
    await store.put(KEY, a_response())
    await store.put(KEY, a_response(b"newer"))
    assert store.read_warm(KEY).responses[0].body == b"newer"
    await store.remove(KEY)
    assert store.read_warm(KEY) is None


async def test_large_bodies_and_many_variants_are_left_to_threads(store):
    await store.put(KEY, a_response(b"x" * 100_000))
    await store.read(KEY)
    assert store.read_warm(KEY) is None
    for language in ("de", "en", "fr"):
        await store.put("http://school.test/many", a_response(vary=(("accept-language", language),)))
    await store.read("http://school.test/many")
    assert store.read_warm("http://school.test/many") is None


async def test_the_first_read_that_had_to_wait_for_the_disk_is_the_last(store, monkeypatch):
    await store.put(KEY, a_response())
    await store.put("http://school.test/other", a_response())
    waited = iter((0, 3))
    monkeypatch.setattr(warmkeys, "_blocks_waited_for", lambda: next(waited))
    assert store.read_warm(KEY) is not None
    assert store.read_warm(KEY) is None
    assert store.read_warm("http://school.test/other") is None


async def test_it_ends_after_a_while(store, monkeypatch):
    await store.put(KEY, a_response())
    monkeypatch.setattr(warmkeys, "WARM_S", 0.0)
    await store.read(KEY)
    assert store.read_warm(KEY) is None


async def test_it_waits_for_no_lock(store):
    await store.put(KEY, a_response())
    assert store.read_warm(KEY) is not None
    assert store._tiers._responses._rows._sql("PRAGMA busy_timeout").fetchone() == (0,)


async def absent(store, count):
    for number in range(count):
        await store.read(f"http://school.test/absent-{number}")


async def test_absent_keys_need_no_thread_once_the_index_is_warm(store):
    await store.put(KEY, a_response())
    assert store.may_be_on_disk("http://school.test/new")
    await absent(store, 20)
    assert store.recall("http://school.test/new") == ()
    assert store.may_be_on_disk(KEY)
    assert store.recall(KEY) is None
    await store.put("http://school.test/new", a_response())
    assert store.recall("http://school.test/new") is None
    assert (await store.lookup("http://school.test/new")) == (a_response(),)


async def test_an_index_that_had_to_be_waited_for_is_left_to_threads(store, monkeypatch):
    await absent(store, 20)
    waited = iter(range(10))
    monkeypatch.setattr(warmkeys, "_blocks_waited_for", lambda: next(waited))
    store.recall("http://school.test/new")
    assert next(waited) == 2
    assert store.recall("http://school.test/other") is None
    assert next(waited) == 3
