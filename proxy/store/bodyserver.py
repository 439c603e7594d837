"""A small HTTP server on loopback from which mitmproxy streams large cached bodies.

mitmproxy sends an addon's response from memory; it streams only responses from a server. So a large hit is redirected
to this server. Each body is offered once, under a name that cannot be guessed. The file is open from then on, so that
eviction cannot break the response. The server has its own thread and event loop: reading a cold file blocks, and must
delay no other client.
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

from proxy.eventloops import end_quietly, stop_accepting
from proxy.messages import FileBody, Headers

HOST = "127.0.0.1"
_MAX_OFFERS = 1024
_MAX_HEAD_BYTES = 64 * 1024
"""For a request: mitmproxy forwards the browser's own headers."""
_FIRST_REQUEST_S = 10.0
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "trailer", "upgrade"})
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimeBody:
    """The address of one response, which can be fetched once."""

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
    """`start`, `offer` and `stop` run in the caller's event loop; the rest runs in the server's own."""

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
    ) -> OneTimeBody | None:
        """Offers the bytes from `start` up to, not including, `stop`, with these headers and a Content-Length.

        None when the file is gone or has the wrong length, or when the range is outside of it.
        """
        end = body.size if stop is None else stop
        loop = self._loop
        if loop is None or len(self._offers) >= _MAX_OFFERS or not 0 <= start <= end <= body.size:
            return None
        file = await asyncio.wrap_future(self._openers.submit(_open_body, body))
        if file is None:
            return None
        token = token_urlsafe(32)
        head = _head(status, headers, end - start)
        self._offers[token] = _Answer(head=head, file=file, start=start, length=end - start)
        loop.call_soon_threadsafe(loop.call_later, self._unused_after_s, self._withdraw, token)
        return OneTimeBody(host=HOST, port=self.port, path=f"/{token}")

    async def stop(self) -> None:
        """Ends responses in flight and withdraws all offers."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            await asyncio.wrap_future(self._openers.submit(self._thread.join))
        self._loop = None
        self._openers.shutdown(wait=False)
        for token in list(self._offers):
            self._withdraw(token)

    async def _serve(self, listening: "Future[int]") -> None:
        try:
            server = await asyncio.start_server(self._serve_connection, HOST, 0, limit=_MAX_HEAD_BYTES)
        except OSError as error:
            listening.set_exception(error)
            return
        self._loop = asyncio.get_running_loop()
        end_quietly(self._loop)
        listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopping.wait()
        await stop_accepting(server)  # asyncio.run cancels the conversations

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of one connection. mitmproxy keeps it open as long as its client's connection."""
        try:
            async with asyncio.timeout(_FIRST_REQUEST_S):
                request = await reader.readuntil(b"\r\n\r\n")
            while await self._answer(request, writer):
                request = await reader.readuntil(b"\r\n\r\n")
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is gone, too slow or does not speak HTTP
        finally:
            writer.close()

    async def _answer(self, request: bytes, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; returns whether another may follow on this connection."""
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
        # We do not read a request body, so its bytes would look like the next request.
        return re.search(rb"(?i)\r\n(content-length|transfer-encoding) *:", request) is None

    def _withdraw(self, token: str) -> None:
        answer = self._offers.pop(token, None)
        if answer is not None:
            answer.file.close()


def _open_body(body: FileBody) -> BinaryIO | None:
    try:
        file = open(body.path, "rb")  # noqa: SIM115  closed when sent or withdrawn
    except OSError:
        return None
    if os.fstat(file.fileno()).st_size != body.size:
        file.close()
        return None
    return file


def _head(status: int, headers: Headers, length: int) -> bytes:
    """The response head, without headers that contain line breaks."""
    lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}"]
    for name, value in headers:
        if name.lower() not in _OURS and not re.search(r"[\r\n\0]", name + value):
            lines.append(f"{name}: {value}")
    lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
