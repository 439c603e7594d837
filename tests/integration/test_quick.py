"""Hits over real connections, http and https: the fast path is taken, and answers like the slow path.

A request that comes in two pieces takes the slow path, so both can be tested on one proxy over one connection.
"""

import asyncio
import re
import ssl
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from addons.mitm.master import LeanMaster
from proxy.app.worker import WorkerContainer
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
    """Runs a coroutine function with the worker of a running proxy and a way to connect to a site through it."""

    def run(work, site, **known):
        async def within():
            here = {"reach": ("127.0.0.0/8",), "connect_ports": ("1-65535",)}
            proxy = ProxySettings(listen=f"127.0.0.1:{free_port()}", **here, **known)
            settings = replace(Settings(), proxy=proxy)
            worker = WorkerContainer(settings, tmp_path / "data")
            master = LeanMaster(settings.proxy, str(tmp_path / "data" / "ca"), worker.addons())
            await worker.start()
            running = asyncio.create_task(master.run())
            try:
                await master._wait_for_start(running)
                ca = tmp_path / "data" / "ca" / "mitmproxy-ca-cert.pem"
                port = int(master.listening_on().rpartition(":")[2])
                return await work(worker, lambda: Connection(site, ca).open(port))
            finally:
                master.shutdown()
                await running
                await worker.close()

        return asyncio.run(within())

    return run


async def _both_ways(worker, connect):
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
        before = worker._fast_path.answered
        assert await connection.ask(path, fields, method=method) == long_way
        assert worker._fast_path.answered == before + 1, (path, fields, method)
    connection.close()


def _fill(origin):
    kept = {"Cache_Control": "max-age=600", "ETag": '"a"'}
    origin.pages["/page"] = reply("<title>Rivers</title><p>Rivers run to the sea.</p>" * 20, **kept)
    origin.pages["/picture"] = reply("not really a picture", kind="image/png", **kept)


def test_fast_path_answers_like_slow_path_over_http(origin, proxied):
    _fill(origin)
    proxied(_both_ways, origin.url)


def test_fast_path_answers_like_slow_path_over_https(secure_origin, proxied):
    _fill(secure_origin)
    proxied(_both_ways, secure_origin.url, trusted_ca=str(secure_origin.pem))


def test_opened_pages_are_recorded_on_both_paths(origin, proxied):
    _fill(origin)

    async def opened(worker, connect):
        connection = await connect()
        for _ in range(4):
            await connection.ask("/page", NAVIGATION)
        assert worker._fast_path.answered > 0
        recent_pages = worker.backend.clients.recent_pages
        (client,) = {worker._harvest._hasher.hash("127.0.0.1")}
        assert recent_pages.recent(client) == (f"{origin.url}/page",)
        connection.close()

    proxied(opened, origin.url)


def test_fast_path_client_may_stay_idle(origin, proxied):
    _fill(origin)

    async def waits(worker, connect):
        first = await connect()
        for _ in range(2):
            await first.ask("/picture")
        second = await connect()
        await second.ask("/picture")
        assert worker._fast_path.answered > 0
        await asyncio.sleep(1.5)
        assert b" 200 " in await second.ask("/picture")

    proxied(waits, origin.url, request_timeout_s=1.0)
