import asyncio
import errno
import threading

import pytest

from proxy.messages import FileBody
from proxy.store import spool as spool_module
from proxy.store.spool import BACKLOG_BYTES, IN_MEMORY_BYTES, SpoolPool

CHUNK = bytes(range(256)) * 256  # 64 KB


@pytest.fixture
def room(tmp_path):
    room = SpoolPool(tmp_path, max_body_bytes=100 * 1024**2)
    yield room
    room.pool.shutdown(wait=True)


def written(room):
    """Waits until the threads have nothing left to do; the files then there."""
    room.pool.shutdown(wait=True)
    return list(room.directory.iterdir())


class HeldDisk:
    """A room whose threads stand still until `go`."""

    def __init__(self, room):
        self._gate = threading.Event()
        for _ in range(spool_module._THREADS):
            room.pool.submit(self._gate.wait)

    def go(self):
        self._gate.set()


async def test_a_small_body_never_touches_the_disk(room):
    spool = room.spool()
    for _ in range(4):
        spool.write(CHUNK)
    assert await spool.finish() == CHUNK * 4
    assert written(room) == []


async def test_an_empty_body_is_a_body(room):
    assert await room.spool().finish() == b""


async def test_a_large_body_comes_back_as_a_file_with_every_byte_in_order(room):
    spool = room.spool()
    parts = [bytes([number % 256]) * 50_000 for number in range(60)]
    for part in parts:
        spool.write(part)
        await asyncio.sleep(0)
    body = await spool.finish()
    assert isinstance(body, FileBody)
    assert body.size == 3_000_000
    assert body.path.read_bytes() == b"".join(parts)


@pytest.mark.parametrize("size", [IN_MEMORY_BYTES, IN_MEMORY_BYTES + 1])
async def test_no_byte_is_lost_at_the_border(room, size):
    spool = room.spool()
    spool.write(b"x" * (size - 1))
    spool.write(b"y")
    body = await spool.finish()
    found = body.path.read_bytes() if isinstance(body, FileBody) else body
    assert found == b"x" * (size - 1) + b"y"


async def test_writing_does_not_wait_for_the_disk_and_too_long_a_backlog_gives_up(room):
    disk = HeldDisk(room)
    spool = room.spool()
    for _ in range(BACKLOG_BYTES // len(CHUNK)):
        spool.write(CHUNK)
    assert not spool.abandoned
    spool.write(CHUNK)
    assert spool.abandoned
    disk.go()
    assert await spool.finish() is None
    assert written(room) == []
    assert room.waiting_bytes == 0


async def test_all_backlogs_together_are_bounded(room, monkeypatch):
    monkeypatch.setattr(spool_module, "ALL_BACKLOGS_BYTES", 10 * len(CHUNK))
    disk = HeldDisk(room)
    spools = [room.spool() for _ in range(4)]
    for spool in spools:
        for _ in range(5):
            spool.write(CHUNK)
    assert [spool.abandoned for spool in spools] == [False, False, True, True]
    disk.go()
    assert [await spool.finish() is None for spool in spools] == [False, False, True, True]


async def test_a_body_longer_than_may_be_stored_is_given_up_and_its_file_removed(tmp_path):
    room = SpoolPool(tmp_path, max_body_bytes=1024**2)
    spool = room.spool()
    for _ in range(16):
        spool.write(CHUNK)
    assert not spool.abandoned
    spool.write(b"x")
    assert spool.abandoned
    spool.write(CHUNK)
    assert await spool.finish() is None
    assert written(room) == []


async def test_a_full_disk_gives_up_and_says_so_once(room, monkeypatch, caplog):
    def full(self, chunks):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool_module.Spool, "_write_out", full)
    for _ in range(3):
        spool = room.spool()
        for _ in range(10):
            spool.write(CHUNK)
        assert await spool.finish() is None
        assert spool.abandoned
    assert caplog.text.count("No space left") == 1
    assert room.waiting_bytes == 0


async def test_a_directory_that_vanished_gives_up(tmp_path):
    room = SpoolPool(tmp_path / "gone", max_body_bytes=10**9)
    spool = room.spool()
    for _ in range(10):
        spool.write(CHUNK)
    assert await spool.finish() is None
    room.pool.shutdown(wait=True)


@pytest.mark.parametrize("chunks", [0, 1, 40])
async def test_an_abandoned_body_leaves_nothing(room, chunks):
    spool = room.spool()
    for _ in range(chunks):
        spool.write(CHUNK)
    spool.abandon()
    spool.abandon()
    assert await spool.finish() is None
    assert written(room) == []
    assert room.waiting_bytes == 0


async def test_a_finished_body_can_still_be_abandoned(room):
    spool = room.spool()
    for _ in range(10):
        spool.write(CHUNK)
    body = await spool.finish()
    assert body.path.exists()
    spool.abandon()
    assert written(room) == []


async def test_a_cancelled_finish_leaves_nothing(room):
    disk = HeldDisk(room)
    spool = room.spool()
    for _ in range(10):
        spool.write(CHUNK)
    finishing = asyncio.create_task(spool.finish())
    await asyncio.sleep(0)
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing
    disk.go()
    assert written(room) == []


async def test_a_closed_room_gives_up(room):
    spool = room.spool()
    room.close()
    for _ in range(10):
        spool.write(CHUNK)
    assert spool.abandoned
    assert await spool.finish() is None


async def test_many_bodies_at_once_do_not_mix(room):
    async def one(number):
        spool = room.spool()
        for _ in range(20):
            spool.write(bytes([number]) * 30_000)
            await asyncio.sleep(0)
        body = await spool.finish()
        return body.path.read_bytes() == bytes([number]) * 600_000

    assert all(await asyncio.gather(*(one(number) for number in range(20))))
