import asyncio
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from proxy.errors import StoreError
from proxy.messages import FileBody, StoredResponse
from proxy.settings import CacheSettings
from proxy.store import responses
from proxy.store.directorylock import ABANDONED_AFTER_S
from proxy.store.diskstore import IN_ROW_BYTES, MAX_VARIANTS
from proxy.store.invalidation import SharedInvalidation
from proxy.store.responses import ResponseStore
from proxy.store.rows import DiskRows
from tests.examples import examples

KEY = "http://school.test/page"
MB = 1024**2


def a_response(body=b"hello", vary=(), **known):
    return StoredResponse(
        status=200,
        reason="OK",
        headers=(("Content-Type", "text/html"), ("X-Latin", "caf\xe9"), ("X-Latin", "twice")),
        body=body,
        vary=vary,
        requested_at=1.5,
        received_at=2.5,
        **known,
    )


@asynccontextmanager
async def opened(directory, *, changes=None, **chosen):
    """A store without memory unless asked for, so that the disk is what is tested."""
    store = ResponseStore.open(directory, CacheSettings(**({"memory_bytes": 0} | chosen)), changes=changes)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path) as store:
        yield store


async def a_spooled_body(store, content=b"x" * MB):
    spool = store.spool()
    spool.write(content)
    return await spool.finish()


def files_in(directory, pattern="*.body"):
    return [path for path in directory.rglob(pattern) if path.is_file()]


def overwrite(path, start):
    """In place, so that whoever has the file open sees it."""
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(os.urandom(path.stat().st_size - start))


def open_files_in(directory):
    links = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return [link for link in links if link.is_relative_to(directory)]


# Finding what was put.


@pytest.mark.parametrize("size", [0, 5, 65_536, 65_537, 900_000])
async def test_a_stored_response_is_found_byte_for_byte(store, size):
    response = a_response(os.urandom(size))
    assert await store.put(KEY, response)
    assert await store.lookup(KEY) == (response,)


async def test_an_unknown_key_is_not_found(store):
    assert store.recall(KEY) is None  # the disk must be asked
    assert await store.lookup(KEY) == ()
    assert store.recall(KEY) == ()  # and was, a moment ago


async def test_keys_that_begin_alike_are_kept_apart(store):
    keys = ["", "a", "a\x00", "a" * 17, "a" + "\x00" * 16, "b", "é", "\udcff", "a" * 70_000]
    for key in keys:
        await store.put(key, a_response(repr(key).encode()))
    for key in keys:
        assert [response.body for response in await store.lookup(key)] == [repr(key).encode()]


async def test_an_equal_variant_is_replaced_and_the_others_stay_newest_first(store):
    english, french = (("accept-language", "en"),), (("accept-language", "fr"),)
    for body, vary in ((b"1", english), (b"2", french), (b"3", ()), (b"4", english)):
        await store.put(KEY, a_response(body, vary))
    assert [response.body for response in await store.lookup(KEY)] == [b"4", b"3", b"2"]


async def test_the_number_of_variants_is_bounded_and_the_newest_stay(store, tmp_path):
    for number in range(MAX_VARIANTS + 5):
        await store.put(KEY, a_response(b"x" * 100_000 + bytes([number]), (("cookie", str(number)),)))
    found = await store.lookup(KEY)
    assert [response.body[-1] for response in found] == list(range(MAX_VARIANTS + 4, 4, -1))
    assert len(files_in(tmp_path)) == MAX_VARIANTS


async def test_a_variant_in_use_outlives_any_number_that_nobody_uses(store):
    used, vary = a_response(b"used", (("a", "used"),)), (("a", "used"),)
    await store.put(KEY, used)
    await store.put(KEY, a_response(b"idle", (("a", "idle"),)))
    store.note_variant(KEY, used)
    for number in range(MAX_VARIANTS * 3):
        await store.put(KEY, a_response(b"x", (("a", str(number)),)))
    found = [response.vary for response in await store.lookup(KEY)]
    assert len(found) == MAX_VARIANTS
    assert vary in found
    assert (("a", "idle"),) not in found
    assert found[0] == (("a", str(MAX_VARIANTS * 3 - 1)),)


async def test_removing_takes_every_variant_and_its_file(store, tmp_path):
    await store.put(KEY, a_response(b"x" * 100_000))
    await store.put(KEY, a_response(vary=(("accept", "a"),)))
    await store.remove(KEY)
    assert await store.lookup(KEY) == ()
    assert files_in(tmp_path) == []
    assert await store.count() == 0


async def test_a_replaced_body_leaves_no_file_behind(store, tmp_path):
    for number in range(5):
        await store.put(KEY, a_response(bytes([number]) * 100_000))
    assert len(files_in(tmp_path)) == 1


async def test_everything_is_there_after_opening_again(tmp_path):
    async with opened(tmp_path) as store:
        body = await a_spooled_body(store)
        await store.put("large", a_response(body))
        await store.put("small", a_response(vary=(("a", "b"),)))
    async with opened(tmp_path) as store:
        (large,) = await store.lookup("large")
        assert large.body.path.read_bytes() == b"x" * MB
        assert await store.lookup("small") == (a_response(vary=(("a", "b"),)),)


async def test_text_that_cannot_be_written_is_not_stored(store):
    assert not await store.put(KEY, replace(a_response(), reason="\udcff"))
    assert await store.lookup(KEY) == ()


# Large bodies.


async def test_a_spooled_body_is_moved_not_copied(store, tmp_path):
    body = await a_spooled_body(store)
    inode = body.path.stat().st_ino
    assert await store.put(KEY, a_response(body))
    (found,) = await store.lookup(KEY)
    assert found.body.path.stat().st_ino == inode
    assert found.body.size == MB
    assert not body.path.exists()


async def test_a_refreshed_response_keeps_its_large_body(store, tmp_path):
    await store.put(KEY, a_response(await a_spooled_body(store)))
    for moment in (10.0, 20.0):
        (found,) = await store.lookup(KEY)
        assert await store.put(KEY, replace(found, received_at=moment))
    (found,) = await store.lookup(KEY)
    assert found.received_at == 20.0
    assert found.body.path.read_bytes() == b"x" * MB
    assert len(files_in(tmp_path)) == 1


async def test_a_refreshed_response_whose_body_was_evicted_meanwhile_is_not_stored(store):
    await store.put(KEY, a_response(await a_spooled_body(store)))
    (found,) = await store.lookup(KEY)
    await store.remove(KEY)
    assert not await store.put(KEY, found)
    assert await store.lookup(KEY) == ()


async def test_a_file_of_somebody_else_is_copied(store, tmp_path_factory):
    theirs = tmp_path_factory.mktemp("theirs") / "page.html"
    theirs.write_bytes(b"before")
    await store.put(KEY, a_response(FileBody(path=theirs, size=6), pinned=True))
    theirs.write_bytes(b"after!")
    (found,) = await store.lookup(KEY)
    assert found.body.path.read_bytes() == b"before"


async def test_a_body_larger_than_the_whole_cache_is_not_stored_and_leaves_nothing(tmp_path):
    async with opened(tmp_path, max_bytes=MB) as store:
        await store.put("other", a_response())
        body = FileBody(path=store._room.directory / "late", size=2 * MB)
        body.path.write_bytes(b"x" * 2 * MB)
        assert not await store.put(KEY, a_response(body))
        assert not body.path.exists()
        assert await store.lookup("other") == (a_response(),)


async def test_a_spool_stops_at_what_the_cache_could_hold(tmp_path):
    async with opened(tmp_path, max_bytes=MB, max_body_bytes=10 * MB) as store:
        assert await a_spooled_body(store, b"x" * (MB + 1)) is None


# Memory.


async def test_a_second_lookup_needs_no_disk(tmp_path):
    async with opened(tmp_path, memory_bytes=MB) as store:
        await store.put(KEY, a_response())
        assert store.recall(KEY) is None
        await store.lookup(KEY)
        assert store.recall(KEY) == (a_response(),)


async def test_memory_never_returns_replaced_or_removed_responses(tmp_path):
    async with opened(tmp_path, memory_bytes=MB) as store:
        await store.put(KEY, a_response(b"old"))
        await store.lookup(KEY)
        await store.put(KEY, a_response(b"new"))
        assert await store.lookup(KEY) == (a_response(b"new"),)
        await store.remove(KEY)
        assert store.recall(KEY) is None
        assert await store.lookup(KEY) == ()


async def test_lookups_that_overlap_a_put_leave_nothing_outdated_in_memory(tmp_path):
    async with opened(tmp_path, memory_bytes=MB) as store:
        for number in range(100):
            response = a_response(str(number).encode())
            looking = [asyncio.create_task(store.lookup(KEY)) for _ in range(3)]
            await asyncio.sleep(0)
            putting = asyncio.create_task(store.put(KEY, response))
            looking += [asyncio.create_task(store.lookup(KEY)) for _ in range(3)]
            await putting
            assert store.recall(KEY) in (None, (response,))
            await asyncio.gather(*looking)
            assert store.recall(KEY) in (None, (response,))
            assert await store.lookup(KEY) == (response,)


async def test_a_cancelled_put_is_still_finished_and_memory_knows(tmp_path):
    async with opened(tmp_path, memory_bytes=MB) as store:
        await store.put(KEY, a_response(b"old"))
        await store.lookup(KEY)
        putting = asyncio.create_task(store.put(KEY, a_response(b"new")))
        await asyncio.sleep(0)
        putting.cancel()
        await asyncio.gather(putting, return_exceptions=True)
        await store.put("another", a_response())
        assert await store.lookup(KEY) == (a_response(b"new"),)


# Pins.


async def test_pinned_responses_come_after_the_others_and_survive_removal(store):
    await store.put(KEY, a_response(b"pinned", pinned=True))
    await store.put(KEY, a_response(b"fetched"))
    assert [response.body for response in await store.lookup(KEY)] == [b"fetched", b"pinned"]
    await store.remove(KEY)
    assert [response.body for response in await store.lookup(KEY)] == [b"pinned"]


async def test_a_stored_response_can_be_pinned_with_its_body(store, tmp_path):
    await store.put(KEY, a_response(await a_spooled_body(store)))
    assert await store.pin(KEY)
    await store.remove(KEY)
    (found,) = await store.lookup(KEY)
    assert found.pinned
    assert found.body.path.read_bytes() == b"x" * MB
    assert len(files_in(tmp_path)) == 1
    assert not await store.pin("never seen")


async def test_an_unpinned_response_can_be_removed(store):
    await store.put(KEY, a_response(pinned=True))
    assert await store.unpin(KEY)
    assert await store.lookup(KEY) == (a_response(),)
    await store.remove(KEY)
    assert await store.lookup(KEY) == ()
    assert not await store.unpin(KEY)


async def test_unpinning_does_not_bring_back_an_older_response(store):
    await store.put(KEY, a_response(b"imported", pinned=True))
    await store.put(KEY, a_response(b"fetched"))
    await store.unpin(KEY)
    assert [response.body for response in await store.lookup(KEY)] == [b"fetched"]


# Eviction.


@pytest.mark.parametrize("size", [5_000, 200_000])
async def test_the_limit_is_kept_after_every_put(tmp_path, size):
    async with opened(tmp_path, max_bytes=2 * MB) as store:
        for number in range(3 * 2 * MB // size):
            assert await store.put(str(number), a_response(os.urandom(size)))
            assert store._tiers._responses.volume() <= 2 * MB
        held = await store.count()
        assert held * size > MB, "no more goes than must"
        assert await store.lookup(str(number)) != ()
        assert await store.lookup("0") == ()
        assert sum(path.stat().st_size for path in files_in(tmp_path)) <= 2 * MB


async def test_one_large_body_pushes_out_many_small_ones(tmp_path):
    async with opened(tmp_path, max_bytes=4 * MB) as store:
        for number in range(200):
            await store.put(str(number), a_response(os.urandom(15_000)))
        assert await store.put("large", a_response(await a_spooled_body(store, b"x" * 3 * MB)))
        assert store._tiers._responses.volume() <= 4 * MB
        assert await store.lookup("large") != ()
        assert await store.lookup("199") != ()


@pytest.mark.parametrize("memory_bytes", [0, MB], ids=["used on disk", "used in memory"])
async def test_the_least_recently_used_go_first(tmp_path, memory_bytes):
    async with opened(tmp_path, max_bytes=MB, memory_bytes=memory_bytes) as store:
        await store.put("used", a_response(os.urandom(20_000)))
        await store.put("unused", a_response(os.urandom(20_000)))
        for number in range(200):
            assert await store.lookup("used") != ()
            await store.put(str(number), a_response(os.urandom(20_000)))
        assert await store.lookup("unused") == ()


async def test_use_is_remembered_across_a_restart(tmp_path):
    async with opened(tmp_path, max_bytes=MB) as store:
        for key in ("used", "unused"):
            await store.put(key, a_response(os.urandom(400_000)))
        await store.lookup("used")
    async with opened(tmp_path, max_bytes=MB) as store:
        await store.put("new", a_response(os.urandom(400_000)))
        assert await store.lookup("unused") == ()
        assert await store.lookup("used") != ()


async def test_pinned_responses_are_never_evicted_nor_counted(tmp_path):
    async with opened(tmp_path, max_bytes=MB) as store:
        for number in range(10):
            await store.put(f"pin {number}", a_response(os.urandom(200_000), pinned=True))
        for number in range(50):
            await store.put(str(number), a_response(os.urandom(50_000)))
        for number in range(10):
            assert await store.lookup(f"pin {number}") != ()
        assert await store.lookup("49") != ()
        assert await store.volume() > 2 * MB


async def test_a_lowered_limit_is_kept_from_the_start(tmp_path):
    async with opened(tmp_path, max_bytes=4 * MB) as store:
        for number in range(30):
            await store.put(str(number), a_response(os.urandom(100_000)))
    async with opened(tmp_path, max_bytes=MB) as store:
        await store.remove("so that the sweeping is over")
        assert store._tiers._responses.volume() <= MB


# A disk that is full, damaged, or not ours.


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_database(*_, **__):
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


@pytest.mark.parametrize("fault", [full_disk, full_database])
async def test_a_full_disk_stores_nothing_says_so_once_and_goes_on_serving(store, monkeypatch, caplog, fault):
    await store.put(KEY, a_response())
    with monkeypatch.context() as patched:
        patched.setattr(DiskRows, "set", fault)
        for number in range(5):
            assert not await store.put(f"new {number}", a_response(b"x" * 100_000))
        body = await a_spooled_body(store)
        assert not await store.put(KEY, a_response(body))
    assert caplog.text.count("cache: cannot write ") == 1
    assert await store.lookup(KEY) == (a_response(),)
    assert files_in(store._room.directory.parent.parent) == []
    assert not body.path.exists()
    assert await store.put(KEY, a_response(b"later")), "once there is room again"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of four megabytes."""
    mount = shutil.which("mount")
    where = tmp_path / "small"
    where.mkdir()
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=4m", "none", where], capture_output=True
    )
    if not made or made.returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield where
    subprocess.run(["umount", "--lazy", where], check=False)


async def test_a_disk_that_is_really_full_keeps_serving_and_recovers(small_disk):
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * MB)
    async with opened(small_disk) as store:
        await store.put(KEY, a_response())
        stored = [await store.put(str(number), a_response(os.urandom(50_000))) for number in range(200)]
        assert not stored[-1]
        for number in [number for number, kept in enumerate(stored) if kept]:
            assert await store.lookup(str(number)) != (), number
        assert await store.lookup(KEY) == (a_response(),)
        assert await a_spooled_body(store, b"x" * 3 * MB) is None
        ballast.unlink()
        assert await store.put(KEY, a_response(b"x" * 100_000))
        assert await store.lookup(KEY) == (a_response(b"x" * 100_000),)


async def test_a_damaged_record_counts_as_absent_and_is_deleted(tmp_path, caplog):
    async with opened(tmp_path) as store:
        await store.put(KEY, a_response())
        await store.put(KEY, a_response(vary=(("a", "b"),)))
    database = next(tmp_path.rglob("responses/*/cache.db"))
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE Cache SET value = x'02' || value WHERE rowid = 1")
    async with opened(tmp_path) as store:
        assert await store.lookup(KEY) == (a_response(vary=(("a", "b"),)),)
        await store.lookup(KEY)
        assert await store.count() == 1
    assert caplog.text.count("dropped a damaged response") == 1


@pytest.mark.parametrize("harm", ["shorter", "changed", "gone"])
async def test_a_body_file_that_is_not_what_it_was_counts_as_absent(tmp_path, harm):
    async with opened(tmp_path) as store:
        await store.put(KEY, a_response(b"x" * 100_000))
        (file,) = files_in(tmp_path)
        if harm == "gone":
            file.unlink()
        else:
            file.write_bytes(b"y" * (100_000 if harm == "changed" else 99_999))
        assert await store.lookup(KEY) == ()
        assert await store.count() == 0
        assert files_in(tmp_path) == []


async def test_a_truncated_streamed_body_counts_as_absent(store):
    await store.put(KEY, a_response(await a_spooled_body(store)))
    (found,) = await store.lookup(KEY)
    os.truncate(found.body.path, 5)
    assert await store.lookup(KEY) == ()


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 1000, b"SQLite format 3\x00" + b"\xff" * 9000]
)
async def test_a_database_damaged_at_the_start_is_left_aside(tmp_path, caplog, content):
    async with opened(tmp_path) as store:
        await store.put(KEY, a_response(b"x" * 100_000))
    next(tmp_path.rglob("responses/*/cache.db")).write_bytes(content)
    async with opened(tmp_path) as store:
        assert await store.lookup(KEY) == ()
        assert await store.put(KEY, a_response(b"new"))
    async with opened(tmp_path) as store:
        assert await store.lookup(KEY) == (a_response(b"new"),)
        assert files_in(tmp_path) == [], "bodies that nothing refers to"
    assert caplog.text.count("left aside, started a new one") == 1
    assert [path.read_bytes() for path in tmp_path.rglob("responses/1/cache.db")] == [content]


async def test_a_database_with_other_tables_is_left_aside(tmp_path):
    (tmp_path / "responses" / "1").mkdir(parents=True)
    with sqlite3.connect(tmp_path / "responses" / "1" / "cache.db") as connection:
        connection.execute("CREATE TABLE Cache (something_else)")
    async with opened(tmp_path) as store:
        assert await store.put(KEY, a_response())
        assert await store.lookup(KEY) == (a_response(),)


def cut_short(path, start):
    os.truncate(path, start)


@pytest.mark.parametrize("harm", [overwrite, cut_short])
async def test_a_database_damaged_while_running_is_begun_anew(tmp_path, caplog, harm):
    async with opened(tmp_path) as store:
        for number in range(200):
            await store.put(str(number), a_response(os.urandom(5_000)))
        await store.put("pinned", a_response(pinned=True))
    async with opened(tmp_path) as store:
        database = next(tmp_path.rglob("responses/*/cache.db"))
        harm(database, start=4096)
        for number in range(200):
            await store.lookup(str(number))
        for _ in range(2):
            await store.put(KEY, a_response())
        assert await store.lookup(KEY) == (a_response(),)
        assert await store.lookup("pinned") == (a_response(pinned=True),)
    assert caplog.text.count("left aside, started a new one") == 1


async def test_a_directory_that_cannot_be_used_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file/cache: cannot open the cache"):
        ResponseStore.open(tmp_path / "file" / "cache", CacheSettings())


async def test_writes_that_pile_up_are_refused_rather_than_held(store, monkeypatch):
    monkeypatch.setattr("proxy.store.responses.QUEUED_BYTES", 250_000)
    putting = [store.put(str(number), a_response(b"x" * 100_000)) for number in range(5)]
    assert sorted(await asyncio.gather(*putting)) == [False, False, False, True, True]
    assert await store.put("later", a_response(b"x" * 100_000))


# Opening, closing, and other processes.


async def test_closing_waits_for_what_is_being_written(tmp_path):
    store = ResponseStore.open(tmp_path, CacheSettings())
    putting = [asyncio.create_task(store.put(str(number), a_response())) for number in range(50)]
    await asyncio.sleep(0)
    await store.close()
    assert all(await asyncio.gather(*putting))
    async with opened(tmp_path) as store:
        assert await store.count() == 50


async def test_a_closed_store_finds_and_stores_nothing(tmp_path):
    store = ResponseStore.open(tmp_path, CacheSettings())
    await store.close()
    await store.close()
    assert await store.lookup(KEY) == ()
    assert not await store.put(KEY, a_response())
    await store.remove(KEY)


async def test_no_file_stays_open_after_closing(tmp_path):
    async with opened(tmp_path) as store:
        await asyncio.gather(*(store.lookup(str(number)) for number in range(50)))
        await store.put(KEY, a_response())
    assert open_files_in(tmp_path) == []
    assert files_in(tmp_path, "*-wal") == [], "the last one out has tidied up"


async def test_files_of_a_killed_process_are_removed_at_the_start(tmp_path):
    async with opened(tmp_path) as store:
        await store.put(KEY, a_response(b"x" * 100_000))
        (kept,) = files_in(tmp_path)
    orphan = kept.parent / "0123.body"
    left = tmp_path / "spool" / "dead" / "half"
    left.parent.mkdir()
    for path in (orphan, left):
        path.write_bytes(b"half a body")
    async with opened(tmp_path) as store:
        assert await store.lookup(KEY) != ()
        await store.put("so that the sweeping is over", a_response())
        assert files_in(tmp_path) == [kept]
        assert not left.parent.exists()


async def test_while_another_process_is_there_only_old_leftovers_are_removed(tmp_path, monkeypatch):
    async with opened(tmp_path) as first:
        spooled = await a_spooled_body(first)
        await first.put(
            "so that its own sweeping is over", a_response()
        )  # alone, it takes every orphan for old
        orphan = tmp_path / "responses" / "1" / "aa" / "new.body"
        orphan.parent.mkdir()
        orphan.write_bytes(b"perhaps being put")
        async with opened(tmp_path) as second:
            await second.put("so that the sweeping is over", a_response())
        assert spooled.path.exists()
        assert orphan.exists()
        tomorrow = orphan.stat().st_ctime + ABANDONED_AFTER_S + 60
        monkeypatch.setattr("proxy.store.directorylock.now", lambda: tomorrow)
        async with opened(tmp_path) as second:
            await second.put("so that the sweeping is over", a_response())
        assert spooled.path.exists()  # whose process is there
        assert not orphan.exists()


async def test_the_spool_of_a_killed_worker_is_removed_while_others_run(tmp_path):
    async with opened(tmp_path) as first:
        spooled = await a_spooled_body(first)
        left = tmp_path / "spool" / "dead" / "half"
        left.parent.mkdir()
        left.write_bytes(b"half a body")
        async with opened(tmp_path) as second:
            await second.put("so that the sweeping is over", a_response())
            assert not left.parent.exists()
            assert spooled.path.exists()


async def test_two_stores_on_one_directory_see_each_other(tmp_path):
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        await one.put(KEY, a_response(b"fetched"))
        await other.put(KEY, a_response(b"imported", pinned=True))
        for store in (one, other):
            assert [response.body for response in await store.lookup(KEY)] == [b"fetched", b"imported"]
        await other.remove(KEY)
        assert [response.body for response in await one.lookup(KEY)] == [b"imported"]


ANOTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from proxy.messages import StoredResponse
from proxy.store.invalidation import SharedInvalidation
from proxy.store.responses import ResponseStore
from proxy.settings import CacheSettings

def response(body):
    return StoredResponse(status=200, reason="OK", headers=(), body=body, vary=(), requested_at=1, received_at=2,
                          pinned=body[0] % 2 == 0)

async def main(directory, who):
    store = ResponseStore.open(Path(directory), CacheSettings(memory_bytes=0))
    for number in range(100):
        body = bytes([number]) * (1000 if number % 3 else 100_000)
        assert await store.put(f"shared {number % 10}", response(body)), "put"
        assert await store.put(f"{who} {number}", response(body)), "put"
        for found in await store.lookup(f"shared {(number + 5) % 10}"):
            assert len(set(found.body)) == 1 and len(found.body) in (1000, 100_000), "torn"
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
async def test_processes_that_write_at_the_same_time_lose_and_tear_nothing(tmp_path):
    root = Path(__file__).parents[4]
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            ANOTHER_PROCESS,
            str(tmp_path),
            who,
            cwd=root,
            stderr=asyncio.subprocess.PIPE,
        )
        for who in ("first", "second", "third")
    ]
    errors = [(await process.communicate())[1].decode() for process in processes]
    assert errors == ["", "", ""]
    async with opened(tmp_path) as store:
        for who in ("first", "second", "third"):
            for number in range(100):
                (found,) = await store.lookup(f"{who} {number}")
                assert set(found.body) == {number}


async def test_many_lookups_and_puts_at_once_return_only_whole_responses(store):
    async def write(number):
        await store.put(str(number % 5), a_response(bytes([number]) * (100 if number % 2 else 100_000)))

    async def read(number):
        for response in await store.lookup(str(number % 5)):
            assert len(set(response.body)) == 1
            assert len(response.body) == (100 if response.body[0] % 2 else 100_000)

    await asyncio.gather(*(step(number) for number in range(100) for step in (write, read, read)))


async def _put_soon(store, key, response, written=lambda: None):
    assert store.put_soon(key, response, written)


async def test_what_is_written_soon_is_found_at_once_and_by_others_once_it_is_written(tmp_path):
    changes, written = SharedInvalidation(), asyncio.Event()
    async with opened(tmp_path, changes=changes) as store:
        await store.volume()  # until it has swept and lets others in
        other = await asyncio.to_thread(ResponseStore.open, tmp_path, CacheSettings(), changes=changes)
        try:
            assert await other.lookup(KEY) == ()
            await _put_soon(store, KEY, a_response(), written.set)
            assert store.recall(KEY) == (a_response(),)
            await written.wait()
            assert await store.lookup(KEY) == (a_response(),)
            assert await other.lookup(KEY) == (a_response(),)
        finally:
            await other.close()


async def test_what_another_worker_removes_before_it_is_written_does_not_come_back(tmp_path):
    changes, written = SharedInvalidation(), asyncio.Event()
    async with opened(tmp_path, changes=changes) as store:
        await store.volume()  # until it has swept and lets others in
        other = await asyncio.to_thread(ResponseStore.open, tmp_path, CacheSettings(), changes=changes)
        try:
            await _put_soon(store, KEY, a_response(), written.set)
            await other.erase(KEY)
            await written.wait()
            assert await store.lookup(KEY) == ()
            assert await other.lookup(KEY) == ()
            assert await store.count() == 0
        finally:
            await other.close()


async def test_many_that_are_written_soon_share_a_commit_and_one_that_cannot_be_written_spoils_none(
    tmp_path, monkeypatch
):
    commits = []
    rows = DiskRows.set_many
    monkeypatch.setattr(DiskRows, "set_many", lambda self, many: commits.append(rows(self, many)))
    async with opened(tmp_path) as store:
        for number in range(50):
            await _put_soon(store, f"{KEY}{number}", a_response(str(number).encode()))
        await _put_soon(store, KEY, replace(a_response(), reason="\udcff"))
        assert await store.count() == 50
        assert len(commits) == 1
        assert await store.lookup(KEY) == ()
        assert await store.lookup(f"{KEY}7") == (a_response(b"7"),)


async def test_what_is_written_soon_is_on_disk_after_closing(tmp_path):
    async with opened(tmp_path) as store:
        await _put_soon(store, KEY, a_response())
    async with opened(tmp_path) as store:
        assert await store.lookup(KEY) == (a_response(),)


@pytest.mark.parametrize("remove", [ResponseStore.remove, ResponseStore.erase])
async def test_a_removal_just_after_it_wins(tmp_path, remove):
    async with opened(tmp_path) as store:
        await _put_soon(store, KEY, a_response())
        await remove(store, KEY)
        assert await store.lookup(KEY) == ()
        assert await store.count() == 0


async def test_a_search_for_keys_sees_what_is_not_written_yet(store):
    await _put_soon(store, KEY, a_response())
    assert await store.keys_with("school") == {KEY}


async def test_a_full_disk_stores_nothing_soon_either_and_lets_those_go_on_who_wait(
    store, monkeypatch, caplog
):
    written = asyncio.Event()
    monkeypatch.setattr(DiskRows, "set_many", full_database)
    await _put_soon(store, KEY, a_response(), written.set)
    await written.wait()
    assert await store.lookup(KEY) == ()
    assert "cannot write" in caplog.text


async def test_what_needs_a_file_of_its_own_is_not_written_soon(store):
    assert not store.put_soon(KEY, a_response(b"x" * (IN_ROW_BYTES + 1)), lambda: None)
    assert store.put_soon(KEY, a_response(b"x" * IN_ROW_BYTES), lambda: None)
    assert await store.count() == 1
    assert len((await store.lookup(KEY))[0].body) == IN_ROW_BYTES


async def test_of_what_waits_for_a_slow_disk_headers_count_too(store, monkeypatch):
    monkeypatch.setattr(responses, "QUEUED_BYTES", 100_000)
    redirect = replace(a_response(b""), status=308, headers=(("Location", "x" * 1_000),))
    kept = sum(store.put_soon(f"{KEY}{number}", redirect, lambda: None) for number in range(90))
    assert 10 < kept < 60
    await store.count()  # the writer is done
    await asyncio.sleep(0)
    assert store.put_soon(KEY, redirect, lambda: None)


# The store against a dictionary.

KEYS = st.sampled_from(["http://a/", "http://a/b", "http://ä/"])
VARIES = st.sampled_from([(), (("accept", "html"),), (("accept", "json"),)])
BODIES = st.sampled_from([b"", b"small", b"m" * 70_000])


class StoreMachine(RuleBasedStateMachine):
    """Whatever is done in whatever order, the store holds what a dictionary would."""

    @initialize(memory_bytes=st.sampled_from([0, MB]))
    def begin(self, memory_bytes):
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp(prefix="linkmend-store-"))
        self.settings = CacheSettings(memory_bytes=memory_bytes)
        self.held = {}
        self.put_count = 0
        self.open()

    def open(self):
        async def opening():
            return ResponseStore.open(self.directory, self.settings)

        self.store = self.runner.run(opening())

    def teardown(self):
        if hasattr(self, "store"):
            self.runner.run(self.store.close())
            self.runner.close()
            shutil.rmtree(self.directory)

    def expected(self, key):
        """Evictable newest first, then pinned newest first; dictionaries keep the order of putting."""
        newest_first = list(reversed(self.held.get(key, {}).values()))
        return tuple(sorted(newest_first, key=lambda response: response.pinned))

    def note(self, key, response):
        variants = self.held.setdefault(key, {})
        variants.pop((response.pinned, response.vary), None)
        variants[response.pinned, response.vary] = response

    @rule(key=KEYS, vary=VARIES, body=BODIES, pinned=st.booleans())
    def put(self, key, vary, body, pinned):
        self.put_count += 1
        response = a_response(body + str(self.put_count).encode(), vary, pinned=pinned)
        assert self.runner.run(self.store.put(key, response))
        self.note(key, response)

    @rule(key=KEYS, body=st.sampled_from([b"", b"small"]))
    def put_soon(self, key, body):
        if self.expected(key):
            return  # it is for what was not stored before
        self.put_count += 1
        response = a_response(body + str(self.put_count).encode())
        self.runner.run(_put_soon(self.store, key, response))
        self.note(key, response)

    @rule(key=KEYS)
    def remove(self, key):
        self.runner.run(self.store.remove(key))
        self.held[key] = {name: held for name, held in self.held.get(key, {}).items() if held.pinned}

    @rule(key=KEYS)
    def pin(self, key):
        moving = [held for held in self.held.get(key, {}).values() if not held.pinned]
        assert self.runner.run(self.store.pin(key)) == bool(moving)
        for response in moving:
            del self.held[key][False, response.vary]
            self.note(key, replace(response, pinned=True))

    @rule(key=KEYS)
    def unpin(self, key):
        moving = [held for held in self.held.get(key, {}).values() if held.pinned]
        assert self.runner.run(self.store.unpin(key)) == bool(moving)
        for response in moving:
            del self.held[key][True, response.vary]
            if (False, response.vary) not in self.held[key]:
                self.note(key, replace(response, pinned=False))

    @rule(key=KEYS)
    def lookup(self, key):
        assert self.runner.run(self.store.lookup(key)) == self.expected(key)
        assert self.store.recall(key) in (None, self.expected(key))

    @rule()
    def reopen(self):
        self.runner.run(self.store.close())
        self.open()

    @invariant()
    def the_count_is_right(self):
        if hasattr(self, "store"):
            assert self.runner.run(self.store.count()) == sum(map(len, self.held.values()))


TestStoreAgainstADictionary = StoreMachine.TestCase
TestStoreAgainstADictionary.settings = examples(
    12, stateful_step_count=25, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("size", [10, 10_000, 200_000])
async def test_an_erased_response_is_gone_from_memory_and_every_file(tmp_path, size):
    secret = b"Quetzalmoth" * (size // 11 + 1)
    async with opened(tmp_path, memory_bytes=MB) as store:
        for number in range(30):
            await store.put(f"{KEY}/{number}", a_response(b"x" * (number * 700)))
            await store.put(KEY, a_response(secret))
            await store.put(KEY, a_response(secret, vary=(("accept", str(number % 3)),)))
            await store.put(KEY, a_response(secret, pinned=True))
        assert await store.lookup(KEY)
        assert any(b"Quetzalmoth" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert await store.erase(KEY)
        assert store.recall(KEY) in (None, ())
        assert await store.lookup(KEY) == ()
        assert not any(b"Quetzalmoth" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert await store.count() == 30


async def test_erasing_throws_away_generations_left_aside(tmp_path):
    aside = tmp_path / "pinned" / "1"
    async with opened(tmp_path) as store:
        await store.put(KEY, a_response(pinned=True))
    (tmp_path / "pinned" / "2").mkdir()
    async with opened(tmp_path) as store:
        assert aside.exists()
        assert await store.erase(KEY)
        assert not aside.exists()


async def test_a_change_by_one_worker_invalidates_the_memory_of_another(tmp_path):
    changes = SharedInvalidation()
    chosen = CacheSettings(memory_bytes=MB)
    first = ResponseStore.open(tmp_path, chosen, changes=changes)
    await first.volume()  # until it has swept and lets others in
    second = await asyncio.to_thread(ResponseStore.open, tmp_path, chosen, changes=changes)
    try:
        await first.put(KEY, a_response(b"old"))
        assert [each.body for each in await second.lookup(KEY)] == [b"old"]
        assert second.recall(KEY) is not None
        await first.put(KEY, a_response(b"new"))
        assert second.recall(KEY) is None
        assert [each.body for each in await second.lookup(KEY)] == [b"new"]
        await first.remove(KEY)
        assert await second.lookup(KEY) == ()
        await first.put(KEY, a_response(b"again"))
        assert [each.body for each in await second.lookup(KEY)] == [b"again"]
    finally:
        await first.close()
        await second.close()
