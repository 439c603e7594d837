"""A small, fast web server, so that a benchmark measures the proxy: every answer is prebuilt bytes.

`python -m benchmarks.origin PORT` listens on loopback until it is stopped.
"""

import asyncio
import ssl
import sys
from email.utils import formatdate

from benchmarks.processes import first_in_line

PAGE_BYTES = 20_000
LARGE_BYTES = 300 * 1024**2
LARGE_BYTES_A_SECOND = 110 * 1000**2
"""Large bodies come as fast as a gigabit line brings them: on loopback they would come faster than disks write."""

# Prefixes of paths; the rest is free, so that each request may have its own URL.
PASSING = "/passing/"
CACHEABLE = "/cacheable/"
LARGE_PASSING = "/large-passing/"
LARGE_CACHEABLE = "/large-cacheable/"

_CHUNK = bytes(256 * 1024)


def _page() -> bytes:
    head = b"<!doctype html><html lang=en><title>The water cycle</title><body><h1>The water cycle</h1>\n"
    paragraph = (
        b"<p>Water rises as vapour, gathers in <a href=/clouds.html>clouds</a> and falls as rain.</p>\n"
    )
    return (head + paragraph * (PAGE_BYTES // len(paragraph)))[:PAGE_BYTES].ljust(PAGE_BYTES)


def _head(status: str, length: int, cache_control: str) -> bytes:
    fields = (
        f"HTTP/1.1 {status}",
        f"Date: {formatdate(usegmt=True)}",
        "Server: origin",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {length}",
        f"Cache-Control: {cache_control}",
        "\r\n",
    )
    return "\r\n".join(fields).encode()


def _answers() -> dict[str, bytes]:
    return {
        PASSING: _head("200 OK", PAGE_BYTES, "no-store") + _page(),
        CACHEABLE: _head("200 OK", PAGE_BYTES, "public, max-age=86400") + _page(),
        LARGE_PASSING: _head("200 OK", LARGE_BYTES, "no-store"),
        LARGE_CACHEABLE: _head("200 OK", LARGE_BYTES, "public, max-age=86400"),
    }


_NOT_FOUND = _head("404 Not Found", 10, "no-store") + b"not found\n"


class Connection(asyncio.Protocol):
    """One client, one request at a time, kept alive; unknown paths get 404."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self._answers = answers
        self._received = b""
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._sending: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._sending is not None:
            self._sending.cancel()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode("latin-1")
            prefix = path[: path.find("/", 1) + 1]
            self._transport.write(self._answers.get(prefix, _NOT_FOUND))
            if prefix in (LARGE_PASSING, LARGE_CACHEABLE):
                self._sending = asyncio.create_task(self._send_large())

    async def _send_large(self) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        for sent in range(0, LARGE_BYTES, len(_CHUNK)):
            await asyncio.sleep(started + sent / LARGE_BYTES_A_SECOND - loop.time())
            await self._may_write.wait()
            self._transport.write(_CHUNK)


async def main(port: int, pem: str | None = None) -> None:
    """Serve, over https when a file with key and certificate is given."""
    answers, context = _answers(), None
    if pem is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(answers), "127.0.0.1", port, ssl=context)
    await server.serve_forever()


if __name__ == "__main__":
    first_in_line()
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:3]))
