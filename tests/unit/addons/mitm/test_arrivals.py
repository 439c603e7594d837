"""addons.mitm.arrivals: what an origin sent before it was asked is noticed, wherever it lies."""

import asyncio
import socket
from types import SimpleNamespace

import pytest
from mitmproxy.connection import Server

from addons.mitm import arrivals


@pytest.fixture
async def reused(monkeypatch):
    """A connection to an origin as mitmproxy holds it, and the origin's end of it."""
    own, origin = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=own)
    connection = Server(address=("school.test", 80))
    monkeypatch.setitem(arrivals._open, connection.id, SimpleNamespace(reader=reader, writer=writer))
    yield connection, origin
    writer.close()
    origin.close()


async def test_a_connection_on_which_nothing_has_arrived_is_used_again(reused):
    connection, _ = reused
    assert not arrivals.has_unread(connection)


async def test_bytes_that_the_system_still_holds_are_noticed(reused):
    connection, origin = reused
    origin.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    assert arrivals.has_unread(connection)  # the event loop has not had its turn


async def test_bytes_that_the_event_loop_has_read_are_noticed(reused):
    connection, origin = reused
    origin.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    await asyncio.sleep(0.05)
    assert arrivals.has_unread(connection)


async def test_the_end_is_noticed(reused):
    connection, origin = reused
    origin.close()
    assert arrivals.has_unread(connection)


def test_a_connection_that_nobody_reads_from_has_nothing():
    assert not arrivals.has_unread(Server(address=("school.test", 80)))
