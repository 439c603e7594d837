"""A careless site, each of whose paths names a way to answer; every answer says which path it is for.

What it says to an ordinary request depends on the path alone (`expected_body`). What an attacker sends besides, such
as fields that no browser sends, a body, another Host, it takes at face value and repeats, as careless sites do.
"""

import asyncio
import contextlib
import gzip
import threading
from collections.abc import Mapping
from email.utils import formatdate

BEHAVIOURS = (
    "plain",
    "reflect",
    "ignores-bodies",
    "chunked",
    "trailers",
    "until-close",
    "head-with-body",
    "gzip",
    "vary",
    "tagged",
    "dated",
    "error",
    "moved",
    "slow-head",
)
SMUGGLED = b"SMUGGLED"
_ORDINARY = (
    "accept",
    "user-agent",
    "referer",
    "cache-control",
    "pragma",
    "range",
    "if-",
    "connection",
    "proxy-connection",
    "sec-",
    "upgrade-insecure-requests",
    "via",
    "content-length",
    "transfer-encoding",
)
_PAUSE = b"\0pause\0"
_DATE = "Mon, 02 Nov 2026 10:00:00 GMT"


def expected_body(path: str) -> bytes:
    """What an ordinary request for the path gets."""
    return f"<p>This is {path}, and nothing else.</p>".encode()


class CarelessOrigin:
    """Serves on a port of loopback, in a thread of its own."""

    def __enter__(self) -> "CarelessOrigin":
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        opened = asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**20)
        self._server = asyncio.run_coroutine_threadsafe(opened, self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.authority = f"127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while await self._answer(reader, writer):
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *lines = head.rstrip("\r\n").split("\r\n")
        method, _, rest = line.partition(" ")
        path = rest.rpartition(" ")[0]
        if "://" in path:
            path = "/" + path.partition("://")[2].partition("/")[2]
        fields = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
        behaviour = path.strip("/").partition("/")[0]
        body = b""
        if behaviour != "ignores-bodies":
            body = await _read_body(reader, fields)
        answer, goes_on = self._response(behaviour, method, path, fields, body)
        if behaviour == "slow-head":
            answer = answer[:20] + _PAUSE + answer[20:]
        if behaviour == "ignores-bodies":
            answer = _PAUSE + answer
        for number, piece in enumerate(answer.split(_PAUSE)):
            if number:  # long enough for the next request to be on its way
                await asyncio.sleep(0.03)
            writer.write(piece)
            await writer.drain()
        return goes_on

    def _response(
        self, behaviour: str, method: str, path: str, fields: Mapping[str, str], sent: bytes
    ) -> tuple[bytes, bool]:
        body, kind = expected_body(path), f"Content-Type: text/html\r\nDate: {formatdate(usegmt=True)}\r\n"
        life = "Cache-Control: max-age=600\r\n"
        odd = {name: value for name, value in fields.items() if not name.startswith(_ORDINARY)}
        host = odd.pop("host", None)
        if host != self.authority:
            body += f"<p>This is the default site, not {host!r}.</p>".encode()
        if odd or sent or method not in ("GET", "HEAD"):
            body += f"<p>{method} {odd} {sent!r}</p>".encode("latin-1", "replace")
        head_only = method == "HEAD"
        if behaviour == "chunked" or behaviour == "trailers":
            coded = b"" if head_only else b"%x\r\n%s\r\n0\r\n" % (len(body), body)
            trailer = b"X-Trailer: 1\r\n" if behaviour == "trailers" and not head_only else b""
            end = b"" if head_only else trailer + b"\r\n"
            return _head("200 OK", kind, life, "Transfer-Encoding: chunked\r\n") + coded + end, True
        if behaviour == "until-close":
            return _head("200 OK", kind, life, "Connection: close\r\n") + (b"" if head_only else body), False
        if behaviour == "gzip" and "gzip" in fields.get("accept-encoding", "").lower():
            kind, body = kind + "Content-Encoding: gzip\r\n", gzip.compress(body, mtime=0)
        if behaviour == "vary":
            life += "Vary: Accept-Language\r\n"
        if behaviour == "tagged":
            life = f'ETag: "{path}"\r\n{life}'
            if fields.get("if-none-match") == f'"{path}"':
                return _head("304 Not Modified", life), True
        if behaviour == "dated":
            life = f"Last-Modified: {_DATE}\r\n"
        status = {"error": "404 Not Found", "moved": "301 Moved Permanently"}.get(behaviour, "200 OK")
        if behaviour == "moved":
            life += f"Location: http://{host or 'default.invalid'}/plain/elsewhere\r\n"
        answer = _head(status, kind, life, f"Content-Length: {len(body)}\r\n")
        smuggled = _head("200 OK", life, f"Content-Length: {len(SMUGGLED)}\r\n") + SMUGGLED
        if behaviour == "head-with-body" and method.upper() == "HEAD":
            return answer + _PAUSE + smuggled, True
        if not head_only:
            answer += body
        return answer, True


async def _read_body(reader: asyncio.StreamReader, fields: Mapping[str, str]) -> bytes:
    if "chunked" in fields.get("transfer-encoding", "").lower():
        body = b""
        while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
            body += (await reader.readexactly(size + 2))[:-2]
        while (await reader.readline()).strip():
            pass
        return body
    length = fields.get("content-length", "0")
    return await reader.readexactly(int(length)) if length.isdecimal() else b""


def _head(status: str, *fields: str) -> bytes:
    return f"HTTP/1.1 {status}\r\n{''.join(fields)}\r\n".encode("latin-1", "replace")
