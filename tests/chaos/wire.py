"""A strict HTTP/1.1 client through a proxy: an answer counts as complete only if its framing says so."""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_MOST_HEAD = 256 * 1024


class Unanswered(Exception):
    """The connection ended, or sent garbage, before the answer was complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A complete answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def get(self, name: str) -> str:
        """All values of a header, joined; empty without it."""
        return ", ".join(value for known, value in self.headers if known == name)


@dataclass(slots=True, kw_only=True)
class Line:
    """A client's connection to the proxy, plain or as a tunnel to one https site."""

    proxy_port: int
    source: str
    tls: ssl.SSLContext
    tunnel_to: str = ""
    has_begun: bool = field(default=False, init=False)
    """Whether the head of an answer has arrived."""
    _reader: asyncio.StreamReader | None = field(default=None, init=False)
    _writer: asyncio.StreamWriter | None = field(default=None, init=False)

    @property
    def is_open(self) -> bool:
        return self._writer is not None and not self._writer.is_closing() and not self._reader.at_eof()

    async def ask(
        self, url: str, headers: dict[str, str], *, method: str = "GET", body: bytes = b""
    ) -> Answer:
        """The complete answer. Raises Unanswered or OSError."""
        self.has_begun = False
        if not self.is_open:
            await self._open()
        place = urlsplit(url)
        target = url if not self.tunnel_to else place.path
        fields = {"Host": place.netloc, **headers, **({"Content-Length": str(len(body))} if body else {})}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        self._writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        try:
            answer = await self._answer(method)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            raise Unanswered(f"{type(error).__name__}: {error}") from error
        if "close" in answer.get("connection").lower():
            self.close()
        return answer

    async def send_raw(self, data: bytes) -> bytes:
        """Send bytes; what comes back until the proxy hangs up."""
        if not self.is_open:
            await self._open()
        self._writer.write(data)
        return await self._reader.read()

    def close(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.close()
        self._reader = self._writer = None

    async def _open(self) -> None:
        self.close()
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self.proxy_port, local_addr=(self.source, 0), limit=_MOST_HEAD
        )
        if self.tunnel_to:
            self._writer.write(
                f"CONNECT {self.tunnel_to} HTTP/1.1\r\nHost: {self.tunnel_to}\r\n\r\n".encode()
            )
            try:
                status, _ = await self._head()
                if status != 200:
                    raise Unanswered(f"CONNECT was answered with {status}")
                await self._writer.start_tls(self.tls, server_hostname=self.tunnel_to.rpartition(":")[0])
            except (asyncio.IncompleteReadError, ValueError) as error:
                raise Unanswered(f"no tunnel: {error}") from error

    async def _answer(self, method: str) -> Answer:
        status, headers = await self._head()
        while 100 <= status < 200:
            status, headers = await self._head()
        self.has_begun = True
        named = dict(headers)
        body = b""
        if method != "HEAD" and status not in (204, 304):
            body = await self._body(named)
        return Answer(status=status, headers=headers, body=body)

    async def _head(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        version, status, *_ = lines[0].split(" ", 2)
        if version != "HTTP/1.1":
            raise Unanswered(f"no HTTP: {lines[0][:60]!r}")
        fields = (line.partition(":") for line in lines[1:] if line)
        return int(status), tuple((name.strip().lower(), value.strip()) for name, _, value in fields)

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        if "content-length" in headers:
            return await self._reader.readexactly(int(headers["content-length"]))
        self._writer.close()
        raise Unanswered("nobody says where the body ends")

    async def _chunks(self) -> bytes:
        pieces = []
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            pieces.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return b"".join(pieces)
