"""Hits over real connections, http and https: the quick way is taken, and says what the long way says.

A request that comes in two pieces takes the long way, so both can be asked of one proxy over one connection.
"""

import asyncio
import re
import ssl
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from addons.master import LeanMaster
from addons.parts import Parts
from proxy.settings import ProxySettings, Settings
from tests.integration.origin import reply
from tests.integration.processes import free_port

NAVIGATION = "Accept: text/html\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n"
_BY_THE_SECOND = re.compile(rb"(?<=Age: )[0-9]+|(?<=ttl=)[0-9]+")


class Connection:
    """One kept-alive connection through the proxy to a site; for https in a tunnel, its certificate checked."""

    def __init__(self, site, ca):
        self._site = urlsplit(site)
        self._ca = ca

    async def open(self, port):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        if self._site.scheme == "https":
            self._writer.write(
                f"CONNECT {self._site.netloc} HTTP/1.1\r\nHost: {self._site.netloc}\r\n\r\n".encode()
            )
            await self._reader.readuntil(b"\r\n\r\n")
            await self._writer.start_tls(
                ssl.create_default_context(cafile=str(self._ca)), server_hostname="127.0.0.1"
            )
        return self

    async def ask(self, path, fields="", *, method="GET", pieces=1):
        target = path if self._site.scheme == "https" else f"{self._site.geturl()}{path}"
        data = f"{method} {target} HTTP/1.1\r\nHost: {self._site.netloc}\r\n{fields}\r\n".encode()
        half = len(data) // pieces
        self._writer.write(data[:half])
        if pieces > 1:
            await asyncio.sleep(0.05)
            self._writer.write(data[half:])
        async with asyncio.timeout(10):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"(?i)content-length: ([0-9]+)", head)[1]) if b" 200 " in head else 0
            body = await self._reader.readexactly(0 if method == "HEAD" else length)
        return _BY_THE_SECOND.sub(b"N", head + body)

    def close(self):
        self._writer.close()


@pytest.fixture
def proxied(tmp_path):
    """Runs a coroutine function with the parts of a running proxy and a way to connect to a site through it."""

    def run(work, site, **known):
        async def within():
            here = {"reach": ("127.0.0.0/8",), "connect_ports": ("1-65535",)}
            proxy = ProxySettings(listen=f"127.0.0.1:{free_port()}", **here, **known)
            settings = replace(Settings(), proxy=proxy)
            parts = Parts(settings, tmp_path / "data")
            master = LeanMaster(settings.proxy, str(tmp_path / "data" / "ca"), parts.addons())
            await parts.start()
            running = asyncio.create_task(master.run())
            try:
                await master._started(running)
                ca = tmp_path / "data" / "ca" / "mitmproxy-ca-cert.pem"
                port = int(master.listening_on().rpartition(":")[2])
                return await work(parts, lambda: Connection(site, ca).open(port))
            finally:
                master.shutdown()
                await running
                await parts.close()

        return asyncio.run(within())

    return run


async def _both_ways(parts, connect):
    connection = await connect()
    for _ in range(2):  # fetched and stored, then read from disk
        await connection.ask("/page", NAVIGATION)
        await connection.ask("/picture")
    asked = [
        ("/picture", "", "GET"),
        ("/picture", "", "HEAD"),
        ("/picture", 'If-None-Match: "a"\r\n', "GET"),
        ("/picture", "Cookie: a=b\r\nConnection: keep-alive\r\n", "GET"),
        ("/page", NAVIGATION, "GET"),
    ]
    for path, fields, method in asked:
        long_way = await connection.ask(path, fields, method=method, pieces=2)
        before = parts._quick.answered
        assert await connection.ask(path, fields, method=method) == long_way
        assert parts._quick.answered == before + 1, (path, fields, method)
    connection.close()


def _fill(origin):
    kept = {"Cache_Control": "max-age=600", "ETag": '"a"'}
    origin.pages["/page"] = reply("<title>Rivers</title><p>Rivers run to the sea.</p>" * 20, **kept)
    origin.pages["/picture"] = reply("not really a picture", kind="image/png", **kept)


def test_over_http_both_ways_say_the_same(origin, proxied):
    _fill(origin)
    proxied(_both_ways, origin.url)


def test_over_https_both_ways_say_the_same(secure_origin, proxied):
    _fill(secure_origin)
    proxied(_both_ways, secure_origin.url, trusted_ca=str(secure_origin.pem))


def test_what_a_person_opens_is_remembered_either_way(origin, proxied):
    _fill(origin)

    async def opened(parts, connect):
        connection = await connect()
        for _ in range(4):
            await connection.ask("/page", NAVIGATION)
        assert parts._quick.answered > 0
        visitors = parts.office.visitors
        (client,) = {parts._harvest._hasher.hash("127.0.0.1")}
        assert visitors.recent(client) == (f"{origin.url}/page",)
        connection.close()

    proxied(opened, origin.url)


def test_a_client_that_was_answered_quickly_is_not_cut_off_for_saying_nothing(origin, proxied):
    _fill(origin)

    async def waits(parts, connect):
        first = await connect()
        for _ in range(2):
            await first.ask("/picture")
        second = await connect()
        await second.ask("/picture")
        assert parts._quick.answered > 0
        await asyncio.sleep(1.5)
        assert b" 200 " in await second.ask("/picture")

    proxied(waits, origin.url, request_timeout_s=1.0)
