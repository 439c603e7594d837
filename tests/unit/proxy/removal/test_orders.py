import asyncio
import sqlite3

import pytest

from proxy.errors import LinkmendError
from proxy.removal.orders import RemovalOrder, RemovalOrders
from proxy.removal.remover import RemovalFailed, RemovalReport

GONE = RemovalReport(url="http://a.test/", held=True, responses=2, misses=1, left=("a file",))


class Remover:
    def __init__(self):
        self.told = []

    async def start(self):
        pass

    async def remove(self, url, *, from_log):
        self.told.append((url, from_log))
        if url == "x":
            raise RemovalFailed("not an address of the web: 'x'")
        if url == "full":
            raise sqlite3.OperationalError("database or disk is full")
        return GONE


async def taken_care_of(folder):
    """Wait until the running proxy polls for orders."""
    async with asyncio.timeout(5):
        while not RemovalOrders(folder).has_running_proxy():
            await asyncio.sleep(0.005)


def given(folder, *orders):
    """The result of orders submitted while a proxy runs."""

    async def serving():
        remover, orders_taken = Remover(), RemovalOrders(folder)
        await orders_taken.start(remover)
        await taken_care_of(folder)
        try:
            results = [await asyncio.to_thread(RemovalOrders(folder).submit, order) for order in orders]
        finally:
            await orders_taken.close()
        return results, remover.told

    return asyncio.run(serving())


def test_order_is_carried_out_by_the_running_proxy_and_leaves_no_file(tmp_path):
    results, told = given(tmp_path, RemovalOrder(url="http://a.test/", from_log=True))
    assert (results, told) == ([GONE], [("http://a.test/", True)])
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_failed_removal_is_reported(tmp_path):
    with pytest.raises(LinkmendError, match="not an address"):
        given(tmp_path, RemovalOrder(url="x"))


def test_full_disk_is_reported_and_the_next_order_is_carried_out(tmp_path):
    (tmp_path / "a.order").write_bytes(b'{"url": "full"}')
    results, told = given(tmp_path, RemovalOrder(url="http://a.test/"))
    assert results == [GONE]
    assert b"disk is full" in (tmp_path / "a.result").read_bytes()
    assert [url for url, _ in told] == ["full", "http://a.test/"]


def test_unwritable_order_is_one_error_line(tmp_path):
    orders = RemovalOrders(tmp_path / "removals")
    with pytest.raises(LinkmendError, match="cannot write the removal order: No such file or directory"):
        orders.submit(RemovalOrder(url="http://a.test/"))


def test_submit_does_not_wait_for_an_unwritable_result(tmp_path):
    async def serving():
        taken = RemovalOrders(tmp_path)
        taken._write = lambda path, data: (_ for _ in ()).throw(OSError("no space left"))
        await taken.start(Remover())
        await taken_care_of(tmp_path)
        given = RemovalOrders(tmp_path)
        given.answer_within_s = 0.1
        try:
            await asyncio.to_thread(given.submit, RemovalOrder(url="http://a.test/"))
        finally:
            await taken.close()

    with pytest.raises(LinkmendError, match="could not report the result"):
        asyncio.run(serving())


def test_polling_continues_after_a_failure(tmp_path):
    async def serving():
        taken = RemovalOrders(tmp_path)
        looks, waiting = [], taken._waiting

        def look():
            looks.append(1)
            if len(looks) == 1:
                raise OSError("no space left")
            return waiting()

        taken._waiting = look
        await taken.start(Remover())
        await taken_care_of(tmp_path)
        try:
            return await asyncio.to_thread(RemovalOrders(tmp_path).submit, RemovalOrder(url="http://a.test/"))
        finally:
            await taken.close()

    assert asyncio.run(serving()) == GONE


def test_without_a_running_proxy_nobody_polls(tmp_path):
    assert not RemovalOrders(tmp_path / "removals").has_running_proxy()
    with pytest.raises(LinkmendError, match="did not remove the page"):
        RemovalOrders(tmp_path / "removals").submit(RemovalOrder(url="http://a.test/"))
    assert [path.name for path in (tmp_path / "removals").iterdir()] == ["lock"]


def test_invalid_order_is_answered_and_deleted(tmp_path):
    async def serving():
        orders = RemovalOrders(tmp_path)
        (tmp_path / "a.order").write_bytes(b"{")
        await orders.start(Remover())
        while not (tmp_path / "a.result").exists():
            await asyncio.sleep(0.01)
        await orders.close()

    asyncio.run(asyncio.wait_for(serving(), 5))
    assert not (tmp_path / "a.order").exists()
