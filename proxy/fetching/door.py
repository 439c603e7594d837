"""The door to the web for fetches: one GET at a time, bounded in size, time and speed, never where it must not go.

Where a connection leads is judged when its socket is made, by the address that the name has at that very moment. No
cookies, no redirects by themselves, nothing remembered.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
from yarl import URL

from proxy.fetching.entries import FetchTrouble, Lasting, NoLine, Passing, Refusal
from proxy.fetching.pace import Bandwidth
from proxy.trust.reach import Reach
from repair import urls
from repair.guard import guarded_sockets
from repair.memento.door import host_and_port
from repair.model import Page

AGENT = "linkmend"
_USER_AGENT = "linkmend (fetches single pages for a school's offline collection)"
_CONNECT_S = 15.0
_SILENCE_S = 30.0
_PIECE = 16_384
_OUT_OF_REACH = "leads to where linkmend does not go"
_NOBODY_THERE = frozenset((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ETIMEDOUT, errno.ENETDOWN))

OnBytes = Callable[[int, int], None]
"""Told how many bytes have come and how many are expected, 0 when the site does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large an answer may be, as it is sent, and how long it may take, not counting what we wait ourselves."""

    max_bytes: int
    timeout_s: float


class Door:
    """Asks sites. Begin with `start`, on the loop it will run on; end with `close`."""

    def __init__(
        self,
        *,
        reach: Callable[[], Reach],
        parent: Callable[[], str],
        bandwidth: Bandwidth,
        tls: ssl.SSLContext | bool = True,
    ) -> None:
        """`parent` is the proxy to go through, empty for none; it may be anywhere."""
        self._reach = reach
        self._parent = parent
        self._bandwidth = bandwidth
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        self._session = aiohttp.ClientSession(
            # A connection to each request: a kept one would still lead where its name led before.
            connector=aiohttp.TCPConnector(
                ssl=self._tls,
                socket_factory=guarded_sockets(self._may_connect),
                use_dns_cache=False,
                force_close=True,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S, sock_read=_SILENCE_S),
            headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "gzip, br"},
            auto_decompress=False,
            trust_env=False,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, url: str, *, limits: Limits, accept: str, on_bytes: OnBytes) -> Page:
        """What a site answers, whatever the status; FetchTrouble when it does not, or it may not be asked."""
        self._check(url)
        if self._session is None:
            raise NoLine("fetching has ended")
        try:
            async with asyncio.timeout(limits.timeout_s) as deadline:
                async with self._session.get(
                    URL(url, encoded=True),
                    headers={"Accept": accept},
                    allow_redirects=False,
                    proxy=self._parent() or None,
                ) as answer:
                    return await self._read(url, answer, limits.max_bytes, deadline, on_bytes)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
            raise _trouble(error) from error

    def _check(self, url: str) -> None:
        host, port = host_and_port(urls.parse(url))
        reach = self._reach()
        if not reach.may_name(host) or not reach.may_ask(port):
            raise Refusal(f"{_OUT_OF_REACH}: {host}:{port}")

    def _may_connect(self, address: str, port: int) -> bool:
        """With a parent, it is the only one connected to, and the admin has chosen it."""
        if self._parent() or self._reach().may_reach(address, port):
            return True
        raise OSError(
            None, f"{_OUT_OF_REACH}: {address}:{port}"
        )  # told apart from every other trouble by its words

    async def _read(
        self,
        url: str,
        answer: aiohttp.ClientResponse,
        max_bytes: int,
        deadline: asyncio.Timeout,
        on_bytes: OnBytes,
    ) -> Page:
        expected = answer.content_length or 0
        if expected > max_bytes:
            raise Lasting(f"larger than {max_bytes} bytes")
        body = bytearray()
        async for piece in answer.content.iter_chunked(_PIECE):
            body += piece
            if len(body) > max_bytes:
                raise Lasting(f"larger than {max_bytes} bytes")
            on_bytes(len(body), expected)
            wait_s = self._bandwidth.take(len(piece))
            deadline.reschedule((deadline.when() or 0.0) + wait_s)  # the site is not to blame for it
            await asyncio.sleep(wait_s)
        return Page(
            url=url,
            status=answer.status,
            headers=tuple((_clean(name), _clean(value)) for name, value in answer.headers.items()),
            body=bytes(body),
            fetched_at=datetime.now(UTC),
        )


def _trouble(error: Exception) -> FetchTrouble:
    """What an error of the connection means for the page."""
    if isinstance(error, TimeoutError):
        # aiohttp tells apart who did not take the connection from who took it and was slow.
        nobody = isinstance(error, aiohttp.ConnectionTimeoutError)
        return NoLine("no connection in time") if nobody else Passing("took too long")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Lasting(f"the site's certificate is not to be trusted: {_in_words(error)}")
    if _OUT_OF_REACH in str(error):
        return Refusal(_OUT_OF_REACH)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        unknown = _number(error) in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
        return Passing("no such host") if unknown else NoLine("the name could not be looked up")
    if isinstance(error, aiohttp.ClientConnectorError) and _number(error) in _NOBODY_THERE:
        return NoLine(_in_words(error))
    if isinstance(error, aiohttp.InvalidURL):
        return Lasting("not an address that can be asked")
    return Passing(_in_words(error))


def _number(error: aiohttp.ClientConnectorError) -> int | None:
    return error.os_error.errno


def _clean(text: str) -> str:
    """Plain text out of a header, in which aiohttp leaves bytes that are no UTF-8 as lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
