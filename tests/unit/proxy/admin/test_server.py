"""Listening: an occupied port costs only the admin pages, and silent connections are closed."""

import asyncio

import pytest
from aiohttp import web

from proxy.admin import server
from proxy.admin.server import HttpListener
from proxy.settings import split_address


@pytest.fixture
async def listener():
    async def hello(request):
        return web.Response(text="hello")

    app = web.Application()
    app.router.add_get("/", hello)
    listener = HttpListener(app, what="desk")
    yield listener
    await listener.stop()


async def conversed(address, sent):
    """What comes back until the other side closes, in whichever way."""
    reader, writer = await asyncio.open_connection(*split_address(address))
    writer.write(sent)
    try:
        async with asyncio.timeout(5):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


HELLO = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def test_listen_returns_the_assigned_port(listener):
    address = await listener.listen("127.0.0.1:0")
    assert b"hello" in await conversed(address, HELLO)


async def test_occupied_port_is_logged(listener, caplog):
    address = await listener.listen("127.0.0.1:0")
    assert await listener.listen(address) == ""
    assert f"desk: cannot listen on {address}" in caplog.text


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_connection_without_a_request_is_closed(listener, monkeypatch, sent):
    monkeypatch.setattr(server, "_FIRST_REQUEST_S", 0.1)
    address = await listener.listen("127.0.0.1:0")
    assert await conversed(address, sent) == b""


async def test_connection_with_a_request_stays_open(listener, monkeypatch):
    monkeypatch.setattr(server, "_FIRST_REQUEST_S", 0.1)
    address = await listener.listen("127.0.0.1:0")
    reader, writer = await asyncio.open_connection(*split_address(address))
    for _ in range(2):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"hello")
        await asyncio.sleep(0.15)
    writer.close()


async def test_connection_above_the_limit_is_closed(listener, monkeypatch):
    monkeypatch.setattr(server, "_MAX_CONNECTIONS", 1)
    address = await listener.listen("127.0.0.1:0")
    reader, writer = await asyncio.open_connection(*split_address(address))
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"hello")
    assert await conversed(address, HELLO) == b""
    writer.close()


async def test_a_head_that_is_too_large_is_refused(listener):
    address = await listener.listen("127.0.0.1:0")
    sent = b"GET / HTTP/1.1\r\nHost: x\r\nX-Large: " + b"a" * 100_000 + b"\r\n\r\n"
    assert b"400 Bad Request" in await conversed(address, sent)


@pytest.mark.parametrize(
    "sent",
    [b"no HTTP at all\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", b"\x16\x03\x01" * 50],
)
async def test_malformed_request_is_not_logged(listener, caplog, sent):
    address = await listener.listen("127.0.0.1:0")
    assert b"400" in await conversed(address, sent)
    assert caplog.text == ""
