"""The origin: it serves the lessons over http and https, edits them, and records its answers."""

import asyncio
import contextlib
import gzip
import math
import random
import ssl
import time
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.chaos.lessons import PAGES, lesson
from tests.integration.processes import free_port

KINDS = ("page", "picture", "large", "own", "lost")
EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nCache-Control: max-age=600\r\n\r\nEVIL SMUGGLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as the site received it."""

    method: str
    url: str
    path: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def linger(self, seconds: float) -> None:
        """Send nothing more until the other side hangs up or the time is over; then hang up."""
        with contextlib.suppress(OSError):  # a timeout is one
            async with asyncio.timeout(seconds):
                await self.reader.read(1)
        self.writer.close()

    async def send(self, data: bytes) -> None:
        if self.writer.is_closing():
            raise ConnectionResetError
        self.writer.write(data)
        await self.writer.drain()


Answering = Callable[["Site", Asked, bytes, bytes], Awaitable[None]]
"""Sends a head and a body, well or badly."""


async def well(site: "Site", asked: Asked, head: bytes, body: bytes) -> None:
    await asked.send(head + body)


@dataclass(slots=True, kw_only=True)
class Site:
    """A site on several ports. `badly` says how some requests are answered at the moment."""

    luck: random.Random
    is_shared_with_squid: bool
    versions: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: 1))
    said_at: dict[tuple[str, int], float] = field(default_factory=dict)
    """When the site last sent or confirmed a version of a page."""
    troubled_at: dict[str, float] = field(default_factory=dict)
    """When a page was last served badly; while it is, that never ends."""
    badly: tuple[Answering, float] | None = None
    forbidden: list[str] = field(default_factory=list)
    past: deque[tuple[float, str, str]] = field(default_factory=lambda: deque(maxlen=4000))
    """When which page was asked for, and how it was answered."""
    _spoiling: Counter[str] = field(default_factory=Counter)
    _servers: list[asyncio.Server] = field(default_factory=list)
    _places: list[tuple[int, ssl.SSLContext | None]] = field(default_factory=list)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def listen(self, tls: ssl.SSLContext | None = None, port: int = 0) -> int:
        # Outside the ephemeral ports: it must still be free when a site that refused comes back.
        port = port or free_port()
        server = await asyncio.start_server(self._serve, "127.0.0.1", port, ssl=tls)
        self._servers.append(server)
        self._places.append((port, tls))
        return port

    async def refuse(self) -> None:
        """Accept no connections, and drop the open ones."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        for writer in tuple(self._writers):
            writer.close()

    async def accept(self) -> None:
        """Accept connections again on the same ports."""
        places, self._places = self._places, []
        for port, tls in places:
            await self.listen(tls, port)

    def edit(self) -> None:
        """Give a page a new version."""
        self.versions[f"/{self.luck.choice(KINDS)}/{self.luck.randrange(PAGES)}"] += 1

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(OSError, EOFError, ValueError, asyncio.CancelledError):
            while not writer.is_closing() and (asked := await _asked(reader, writer)):
                await self._answer(asked)
        self._writers.discard(writer)
        writer.close()

    async def _answer(self, asked: Asked) -> None:
        head, body = self._said(asked)
        answering: Answering = well
        # Only answers with a body: half of an empty body is complete, and the next request would have to wait.
        # Not for POST: a browser does not repeat it, so the fault could not be seen.
        may_fail = asked.method == "GET" and body
        if self.badly is not None and may_fail and self.luck.random() < self.badly[1]:
            answering = self.badly[0]
        status = head.split(b"\r\n", 1)[0].decode()
        told = f"{asked.method} {asked.headers.get('if-none-match', '')}: {status}, {answering.__name__}"
        self.past.append((time.monotonic(), asked.url, told))
        sent = b"" if asked.method == "HEAD" else body
        if answering is well:
            await well(self, asked, head, sent)
        else:
            await self._spoil(answering, asked, head, sent)

    async def _spoil(self, badly: Answering, asked: Asked, head: bytes, body: bytes) -> None:
        """Answer badly. A request during a slow answer may share that answer: Squid does that."""
        self._spoiling[asked.url] += 1
        self.troubled_at[asked.url] = math.inf
        try:
            await badly(self, asked, head, body)
        finally:
            self._spoiling[asked.url] -= 1
            if not self._spoiling[asked.url]:
                self.troubled_at[asked.url] = time.monotonic()

    def _said(self, asked: Asked) -> tuple[bytes, bytes]:
        _, kind, number, *_ = (asked.path + "//").split("/")
        if kind == "loop":
            return head("302 Found", 0, Location=f"/loop/{int(number) + 1}"), b""
        if kind == "echo":
            return head("200 OK", len(asked.body), Cache_Control="no-store"), asked.body
        if kind not in KINDS:
            self.forbidden += [asked.path] if kind == "forbidden" else []
            return head("404 Not Found", 0), b""
        return self._page(asked, kind)

    def _page(self, asked: Asked, kind: str) -> tuple[bytes, bytes]:
        version = self.versions[asked.path]
        who = asked.headers.get("cookie", "").removeprefix("who=") if kind == "own" else ""
        self.said_at[asked.url, version] = time.monotonic()
        tag = f'"{version}{who}"'
        fields = {"ETag": tag, **self._policy(asked, kind, who)}
        if asked.headers.get("if-none-match") == tag and asked.method in ("GET", "HEAD"):
            return head("304 Not Modified", None, **fields), b""
        body = lesson(asked.url, version, who)
        if kind == "picture":
            fields["Vary"] = "Accept-Encoding"
            if "gzip" in asked.headers.get("accept-encoding", ""):
                fields["ETag"] = f'"{version}z"'
                fields["Content-Encoding"] = "gzip"
                body = gzip.compress(body, 1, mtime=0)
        status = "404 Not Found" if kind == "lost" else "200 OK"
        media = "image/x-chaos" if kind == "picture" else "text/html; charset=utf-8"
        return head(status, len(body), Content_Type=media, **fields), body

    def _policy(self, asked: Asked, kind: str, who: str) -> dict[str, str]:
        number = int(asked.path.split("/")[2])
        if kind != "own":
            return {"Cache-Control": f"public, max-age={(2, 8, 60, 600)[number % 4]}"}
        # Squid stores answers that set a cookie and linkmend does not: such answers are cacheable only without Squid.
        own = "private, max-age=60" if self.is_shared_with_squid else "max-age=60"
        return (
            {"Cache-Control": "private, max-age=60"},
            {"Cache-Control": "no-store"},
            {"Cache-Control": own, "Set-Cookie": f"seen={who}"},
            {"Cache-Control": "max-age=60", "Vary": "Cookie"},
            {"Cache-Control": own},
        )[number % 5]


def head(status: str, length: int | None, **fields: str) -> bytes:
    """Header names may be written with underscores."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    lines += [f"Content-Length: {length}"] if length is not None else []
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    fields = (line.partition(":") for line in lines[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    scheme = "https" if writer.get_extra_info("ssl_object") else "http"
    return Asked(
        method=method,
        url=f"{scheme}://{headers.get('host', '')}{path}",
        path=path,
        headers=headers,
        body=body,
        reader=reader,
        writer=writer,
    )
