"""A process that writes to the store is killed repeatedly: no response is damaged, nothing acknowledged is lost."""

import asyncio
import random
import signal
import sys
import zlib
from pathlib import Path

import pytest

from proxy.messages import FileBody
from proxy.settings import CacheSettings
from proxy.store.responses import ResponseStore

ROOT = Path(__file__).parents[2]
KEYS = 12
ROUNDS = 10

WRITER = """
import asyncio, itertools, sys, zlib
from pathlib import Path
from proxy.messages import StoredResponse
from proxy.store.responses import ResponseStore
from proxy.settings import CacheSettings

SIZES = (20, 15_000, 100_000, 400_000)

def content(number):
    line = b"%d %d\\n" % (number, zlib.crc32(b"%d" % number))
    return line * (SIZES[number % len(SIZES)] // len(line) + 1)

async def main(directory, start):
    store = ResponseStore.open(Path(directory), CacheSettings(memory_bytes=0))
    for number in itertools.count(int(start)):
        body = content(number)
        if number % len(SIZES) == 3:
            spool = store.spool()
            for begin in range(0, len(body), 50_000):
                spool.write(body[begin : begin + 50_000])
            body = await spool.finish()
        response = StoredResponse(
            status=200, reason="OK", headers=(("X-Number", str(number)),), body=body, vary=(),
            requested_at=1.0, received_at=2.0, pinned=number % 7 == 0,
        )
        assert await store.put(f"key {number % KEYS}", response)
        print(number, flush=True)
"""

KILLED_AT = {
    "the body is in place": "diskstore.DiskStore._place, after",
    "the row is about to be written": "rows.DiskRows.set, before",
    "the row is committed": "rows.DiskRows.set, after",
    "the old body is about to be removed": "rows._PlainDisk.remove, before",
    "the old body is removed": "rows._PlainDisk.remove, after",
}

KILL_AT = """
import os, signal
from proxy.store import rows, diskstore

def killing(where, when, after_calls):
    holder = getattr({"rows": rows, "diskstore": diskstore}[where[0]], where[1])
    real = getattr(holder, where[2])
    calls = 0
    def wrapped(*args, **kwargs):
        nonlocal calls
        calls += 1
        if when == "before" and calls == after_calls:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **kwargs)
        if when == "after" and calls == after_calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(holder, where[2], wrapped)

path, when = sys.argv[3].split(", ")
killing(path.split("."), when, int(sys.argv[4]))
"""


async def a_writer(directory, start, *more, extra=""):
    program = f"KEYS = {KEYS}\n{WRITER}\n{extra}\nasyncio.run(main(sys.argv[1], sys.argv[2]))"
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        str(directory),
        str(start),
        *more,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )


async def acknowledged(process):
    """Every number that the writer reported as stored before it died."""
    said = (await process.stdout.read()).decode().splitlines(keepends=True)
    assert await process.wait() == -signal.SIGKILL
    return [int(line) for line in said if line.endswith("\n")]


def whole_number(response):
    """The number a response was written with, after checking every byte of it."""
    number = int(response.headers[0][1])
    body = response.body.path.read_bytes() if isinstance(response.body, FileBody) else response.body
    line = b"%d %d\n" % (number, zlib.crc32(b"%d" % number))
    size = (20, 15_000, 100_000, 400_000)[number % 4]
    assert body == line * (size // len(line) + 1), f"torn: {number}"
    return number


async def check(directory, last):
    """Every response is complete, and each key holds the last acknowledged one, or the one being written."""
    store = ResponseStore.open(directory, CacheSettings(memory_bytes=0))
    try:
        await store.remove("so that the sweeping is over")
        with_files = 0
        for key in range(KEYS):
            found = await store.lookup(f"key {key}")
            numbers = {response.pinned: whole_number(response) for response in found}
            with_files += sum(number % 4 >= 2 for number in numbers.values())
            for pinned in (False, True):
                expected = max((n for n in last if n % KEYS == key and (n % 7 == 0) == pinned), default=None)
                if expected is not None:
                    assert numbers[pinned] >= expected, f"lost: {expected}"
        assert len(list(directory.glob("*/*/*/*.body"))) == with_files, "bodies that belong to nothing"
        assert len(list((directory / "spool").iterdir())) == 1, "spools of the dead"
    finally:
        await store.close()


async def test_writer_killed_at_random_loses_and_damages_nothing(tmp_path):
    seed = random.randrange(10**9)
    print(f"seed {seed}")  # noqa: T201  pytest shows it when the test fails
    chance = random.Random(seed)
    last = []
    for _ in range(ROUNDS):
        process = await a_writer(tmp_path, max(last, default=-1) + 2)
        try:
            last += [int(await process.stdout.readline()) for _ in range(chance.randint(1, 60))]
            # A random moment within the next few writes, not a wait for something.
            await asyncio.sleep(chance.uniform(0, 0.005))
        finally:
            process.kill()
        last += await acknowledged(process)
        await check(tmp_path, last)


@pytest.mark.parametrize("moment", KILLED_AT)
async def test_writer_killed_within_a_put_leaves_old_or_new_response(tmp_path, moment):
    last = []
    for call in (1, 2, 5):
        process = await a_writer(
            tmp_path, max(last, default=-1) + 2, KILLED_AT[moment], str(call), extra=KILL_AT
        )
        last += await acknowledged(process)
        await check(tmp_path, last)
