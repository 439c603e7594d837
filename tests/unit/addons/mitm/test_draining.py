"""addons.mitm.draining: whoever reads slowly is waited for, and nobody else."""

import asyncio
from types import SimpleNamespace

from addons.mitm.draining import drain_writers


class Transport:
    def __init__(self, waiting, closing=False):
        self.waiting, self.closing = waiting, closing

    def get_write_buffer_size(self):
        return self.waiting

    def is_closing(self):
        return self.closing

    def close(self):
        pass


class Protocol:
    """Lets go of who waits as soon as it is asked."""

    asked = 0

    async def _drain_helper(self):
        self.asked += 1


def a_connection(*waiting, closing=False, broken=None):
    """Connections with so many bytes each that have not gone out."""
    protocol = Protocol()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    if broken is not None:
        reader.set_exception(broken)
    cancelled = []
    task = SimpleNamespace(cancel=cancelled.append)
    writers = [asyncio.StreamWriter(Transport(size, closing), protocol, reader, loop) for size in waiting]
    io = [SimpleNamespace(writer=writer, reader=reader, handler=task) for writer in (*writers, None)]
    handler = SimpleNamespace(transports=dict(enumerate(io)), _drain_lock=asyncio.Lock(), cancelled=cancelled)
    return protocol, handler


async def test_a_slow_reader_is_waited_for():
    protocol, handler = a_connection(0, 70_000)
    await drain_writers(handler)
    assert protocol.asked == 2


async def test_nobody_is_asked_when_all_has_gone_out():
    protocol, handler = a_connection(0, 0)
    await drain_writers(handler)
    assert protocol.asked == 0


async def test_a_connection_that_broke_is_noticed():
    _, handler = a_connection(0, broken=ConnectionResetError("gone"))
    await drain_writers(handler)
    assert handler.cancelled == ["Error sending data: gone"]


async def test_a_connection_that_is_being_closed_is_asked():
    protocol, handler = a_connection(0, closing=True)
    await drain_writers(handler)
    assert protocol.asked == 1
