"""addons.internals.draining: whoever reads slowly is waited for, and nobody else."""

import asyncio
from types import SimpleNamespace

from addons.internals.draining import drain_writers


class Transport:
    def __init__(self, waiting):
        self.waiting = waiting

    def get_write_buffer_size(self):
        return self.waiting

    def is_closing(self):
        return False

    def close(self):
        pass


class Protocol:
    """Lets go of who waits as soon as it is asked."""

    asked = 0

    async def _drain_helper(self):
        self.asked += 1


def a_connection(*waiting):
    """Connections with so many bytes each that have not gone out."""
    protocol = Protocol()
    loop = asyncio.get_running_loop()
    writers = [asyncio.StreamWriter(Transport(size), protocol, None, loop) for size in waiting]
    io = [SimpleNamespace(writer=writer, handler=None) for writer in (*writers, None)]
    return protocol, SimpleNamespace(transports=dict(enumerate(io)), _drain_lock=asyncio.Lock())


async def test_a_slow_reader_is_waited_for():
    protocol, handler = a_connection(0, 70_000)
    await drain_writers(handler)
    assert protocol.asked == 2


async def test_nobody_is_asked_when_all_has_gone_out():
    protocol, handler = a_connection(0, 0)
    await drain_writers(handler)
    assert protocol.asked == 0
