"""A tiny HTTP server on loopback, out of which mitmproxy streams large cached bodies.

mitmproxy sends a response made by an addon whole from memory; only what comes from a server is streamed. So the
request for a large hit is pointed here. What may be fetched is offered beforehand, once, under a name that cannot
be guessed; the file is open from then on, so that eviction cannot break the answer. The server has a thread and
an event loop of its own: reading a cold file blocks, and must hold up nobody but those who wait for it.
"""

import asyncio
import http.client
import os
import re
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import BinaryIO

from proxy.cache.entry import FileBody, Headers
from proxy.processes.loops import close_door, end_quietly

HOST = "127.0.0.1"
_MAX_OFFERS = 1024
_MAX_HEAD_BYTES = 64 * 1024
"""Of a request: mitmproxy passes the browser's own headers on."""
_FIRST_REQUEST_S = 10.0
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "trailer", "upgrade"})
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Where one answer can be fetched, once."""

    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    head: bytes
    file: BinaryIO
    start: int
    length: int


class BodyServer:
    """`start`, `offer` and `stop` belong to the caller's event loop; the rest runs in the server's own."""

    def __init__(self, *, unused_after_s: float = 30.0) -> None:
        self._unused_after_s = unused_after_s
        self._offers: dict[str, _Answer] = {}
        self._openers = ThreadPoolExecutor(2, thread_name_prefix="linkmend-body-open")
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self.port = 0

    async def start(self) -> None:
        """Listens on a free port. Raises OSError."""
        listening: Future[int] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), name="linkmend-bodies", daemon=True
        )
        self._thread.start()
        self.port = await asyncio.wrap_future(listening)

    async def offer(
        self, body: FileBody, *, status: int, headers: Headers, start: int = 0, stop: int | None = None
    ) -> Offer | None:
        """Offers the bytes from `start` up to, not including, `stop`, with these headers and their own length.

        None when the file is gone or not as long as it should be, or when there is no such part of it.
        """
        end = body.size if stop is None else stop
        loop = self._loop
        if loop is None or len(self._offers) >= _MAX_OFFERS or not 0 <= start <= end <= body.size:
            return None
        file = await asyncio.wrap_future(self._openers.submit(_opened, body))
        if file is None:
            return None
        token = token_urlsafe(32)
        head = _head(status, headers, end - start)
        self._offers[token] = _Answer(head=head, file=file, start=start, length=end - start)
        loop.call_soon_threadsafe(loop.call_later, self._unused_after_s, self._withdraw, token)
        return Offer(host=HOST, port=self.port, path=f"/{token}")

    async def stop(self) -> None:
        """Ends answers under way; offers are withdrawn."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            await asyncio.wrap_future(self._openers.submit(self._thread.join))
        self._loop = None
        self._openers.shutdown(wait=False)
        for token in list(self._offers):
            self._withdraw(token)

    async def _serve(self, listening: "Future[int]") -> None:
        try:
            server = await asyncio.start_server(self._converse, HOST, 0, limit=_MAX_HEAD_BYTES)
        except OSError as error:
            listening.set_exception(error)
            return
        self._loop = asyncio.get_running_loop()
        end_quietly(self._loop)
        listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopping.wait()
        await close_door(server)  # asyncio.run cancels the conversations

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request after another. mitmproxy keeps the connection for as long as its own client does."""
        try:
            async with asyncio.timeout(_FIRST_REQUEST_S):
                request = await reader.readuntil(b"\r\n\r\n")
            while await self._answer(request, writer):
                request = await reader.readuntil(b"\r\n\r\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # gone, too slow or not HTTP: nothing to tell it
        finally:
            writer.close()

    async def _answer(self, request: bytes, writer: asyncio.StreamWriter) -> bool:
        """Whether another request may follow on this connection."""
        line = re.match(rb"(GET|HEAD) (?:http://[^/ ]+)?/([A-Za-z0-9_-]+) HTTP/1\.[01]\r\n", request)
        answer = self._offers.pop(line[2].decode(), None) if line else None
        if line is None or answer is None:
            writer.write(_NOT_FOUND)
            await writer.drain()
            return False
        with answer.file:
            writer.write(answer.head)
            await writer.drain()
            if line[1] == b"GET" and answer.length:
                loop = asyncio.get_running_loop()
                await loop.sendfile(writer.transport, answer.file, answer.start, answer.length)
        # A request with a body of its own cannot be told from the next request without reading it.
        return re.search(rb"(?i)\r\n(content-length|transfer-encoding) *:", request) is None

    def _withdraw(self, token: str) -> None:
        answer = self._offers.pop(token, None)
        if answer is not None:
            answer.file.close()


def _opened(body: FileBody) -> BinaryIO | None:
    try:
        file = open(body.path, "rb")  # noqa: SIM115  closed when sent or withdrawn
    except OSError:
        return None
    if os.fstat(file.fileno()).st_size != body.size:
        file.close()
        return None
    return file


def _head(status: int, headers: Headers, length: int) -> bytes:
    """The head of the answer. A header that would break out of its line is left out."""
    lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}"]
    for name, value in headers:
        if name.lower() not in _OURS and not re.search(r"[\r\n\0]", name + value):
            lines.append(f"{name}: {value}")
    lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
