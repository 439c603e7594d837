import asyncio
import socket

import pytest

from proxy.reach.proxyprotocol import NoProxyHeader, read_client

_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
_PORTS = (41_000).to_bytes(2, "big") + (8_080).to_bytes(2, "big")


def binary(command, family, block, length=None):
    size = len(block) if length is None else length
    return _SIGNATURE + bytes((command, family)) + size.to_bytes(2, "big") + block


def block4(client):
    return socket.inet_aton(client) + socket.inet_aton("10.0.0.2") + _PORTS


def block6(client):
    return socket.inet_pton(socket.AF_INET6, client) + socket.inet_pton(socket.AF_INET6, "::1") + _PORTS


async def told(data):
    reader = asyncio.StreamReader()
    reader.feed_data(data + b"GET http://a.test/ HTTP/1.1\r\n")
    reader.feed_eof()
    return await read_client(reader), await reader.read()


@pytest.mark.parametrize(
    ("header", "client"),
    [
        (b"PROXY TCP4 10.1.2.3 10.0.0.2 41000 8080\r\n", ("10.1.2.3", 41_000)),
        (b"PROXY TCP6 fd00::7 ::1 41000 8080\r\n", ("fd00::7", 41_000, 0, 0)),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN ffff:: ffff:: 1 2\r\n", None),
        (binary(0x21, 0x11, block4("10.1.2.3")), ("10.1.2.3", 41_000)),
        (binary(0x21, 0x21, block6("fd00::7")), ("fd00::7", 41_000, 0, 0)),
        (binary(0x21, 0x21, block6("::ffff:10.1.2.3")), ("10.1.2.3", 41_000)),
        (binary(0x21, 0x11, block4("10.1.2.3") + b"\x04\x00\x03abc"), ("10.1.2.3", 41_000)),
        (binary(0x20, 0x00, b""), None),
        (binary(0x21, 0x00, b""), None),
    ],
)
async def test_the_client_is_told_and_what_it_sends_stays_unread(header, client):
    assert await told(header) == (client, b"GET http://a.test/ HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"PROXY TCP4 10.1.2.3\r\n",
        b"PROXY TCP4 fd00::7 ::1 41000 8080\r\n",
        b"PROXY TCP4 10.1.2.300 10.0.0.2 41000 8080\r\n",
        b"PROXY TCP4 10.1.2.3 10.0.0.2 99999 8080\r\n",
        b"PROXY TCP4 10.1.2.3 10.0.0.2 41000 8080\n",
        b"PROXY UNKNOWN" + b" " * 200 + b"\r\n",
        b"PROXY " + b"x" * 100_000,
        binary(0x11, 0x11, block4("10.1.2.3")),
        binary(0x22, 0x11, block4("10.1.2.3")),
        binary(0x21, 0x31, block4("10.1.2.3")),
        binary(0x21, 0x11, b"\x0a\x01\x02\x03"),
        binary(0x21, 0x21, block4("10.1.2.3")),
        binary(0x21, 0x11, b"", length=60_000),
        binary(0x21, 0x11, b"", length=4_000),
    ],
)
async def test_anything_else_is_refused(header):
    with pytest.raises(NoProxyHeader):
        await told(header)
