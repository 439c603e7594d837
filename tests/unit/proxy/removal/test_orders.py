import asyncio
import sqlite3

import pytest

from proxy.errors import LinkmendError
from proxy.removal.orders import Order, RemovalOrders
from proxy.removal.removing import NotRemoved, Removed

GONE = Removed(url="http://a.test/", held=True, responses=2, misses=1, left=("a file",))


class Remover:
    def __init__(self):
        self.told = []

    async def start(self):
        pass

    async def remove(self, url, *, from_log):
        self.told.append((url, from_log))
        if url == "x":
            raise NotRemoved("not an address of the web: 'x'")
        if url == "full":
            raise sqlite3.OperationalError("database or disk is full")
        return GONE


def given(folder, *orders):
    """What comes of orders that are given while somebody serves."""

    async def serving():
        remover, orders_taken = Remover(), RemovalOrders(folder)
        await orders_taken.start(remover)
        await asyncio.sleep(0.1)
        assert RemovalOrders(folder).is_taken_care_of()
        try:
            results = [await asyncio.to_thread(RemovalOrders(folder).give, order) for order in orders]
        finally:
            await orders_taken.close()
        return results, remover.told

    return asyncio.run(serving())


def test_an_order_is_carried_out_by_whoever_serves_and_leaves_no_file(tmp_path):
    results, told = given(tmp_path, Order(url="http://a.test/", from_log=True))
    assert (results, told) == ([GONE], [("http://a.test/", True)])
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_what_cannot_be_removed_is_told(tmp_path):
    with pytest.raises(LinkmendError, match="not an address"):
        given(tmp_path, Order(url="x"))


def test_a_full_disk_is_told_and_the_next_order_is_carried_out_all_the_same(tmp_path):
    (tmp_path / "a.order").write_bytes(b'{"url": "full"}')
    results, told = given(tmp_path, Order(url="http://a.test/"))
    assert results == [GONE]
    assert b"disk is full" in (tmp_path / "a.result").read_bytes()
    assert [url for url, _ in told] == ["full", "http://a.test/"]


def test_an_order_that_cannot_be_written_is_told_in_a_line(tmp_path):
    orders = RemovalOrders(tmp_path / "removals")
    with pytest.raises(LinkmendError, match="the order cannot be written: No such file or directory"):
        orders.give(Order(url="http://a.test/"))


def test_who_gave_an_order_does_not_wait_for_a_result_that_cannot_be_written(tmp_path):
    async def serving():
        taken = RemovalOrders(tmp_path)
        taken._write = lambda path, data: (_ for _ in ()).throw(OSError("no space left"))
        await taken.start(Remover())
        await asyncio.sleep(0.1)
        given = RemovalOrders(tmp_path)
        given.answer_within_s = 0.1
        try:
            await asyncio.to_thread(given.give, Order(url="http://a.test/"))
        finally:
            await taken.close()

    with pytest.raises(LinkmendError, match="could not write what came of it"):
        asyncio.run(serving())


def test_a_look_that_fails_is_not_the_last_one(tmp_path):
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
        await asyncio.sleep(0.1)
        try:
            return await asyncio.to_thread(RemovalOrders(tmp_path).give, Order(url="http://a.test/"))
        finally:
            await taken.close()

    assert asyncio.run(serving()) == GONE


def test_nobody_takes_care_where_nobody_serves(tmp_path):
    assert not RemovalOrders(tmp_path / "removals").is_taken_care_of()
    with pytest.raises(LinkmendError, match="did not carry it out"):
        RemovalOrders(tmp_path / "removals").give(Order(url="http://a.test/"))
    assert [path.name for path in (tmp_path / "removals").iterdir()] == ["lock"]


def test_an_order_that_makes_no_sense_is_answered_and_put_away(tmp_path):
    async def serving():
        orders = RemovalOrders(tmp_path)
        (tmp_path / "a.order").write_bytes(b"{")
        await orders.start(Remover())
        while not (tmp_path / "a.result").exists():
            await asyncio.sleep(0.01)
        await orders.close()

    asyncio.run(asyncio.wait_for(serving(), 5))
    assert not (tmp_path / "a.order").exists()
