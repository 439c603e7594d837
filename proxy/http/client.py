"""The outgoing HTTP client: one GET at a time, bounded in size, time and speed, never where it must not go.

It sends no cookies and no referrer, follows no redirects (`redirects` does), reads no proxy from the environment and
unpacks no body: `repair.parse.decode` does that, with a bound of its own. Each user has a client with a guard of its
own.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from proxy.http.connector import CleanConnector
from proxy.http.errors import (
    ForbiddenTarget,
    InvalidTarget,
    NoConnection,
    UntrustedCertificate,
)
from proxy.http.guard import ConnectGuard
from proxy.reach.policy import OUT_OF_REACH
from repair.fetch import FetchError, FetchLimits, TooLarge
from repair.model import Page
from repair.text import urls

AGENT = "linkmend"
"""The name that robots.txt files call us by."""
_PIECE = 16_384
_DNS_CACHE_S = 60
_NOBODY_THERE = frozenset((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ETIMEDOUT, errno.ENETDOWN))
_UNKNOWN_HOST = frozenset((socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)))

OnBytes = Callable[[int, int], None]
"""Told how many bytes have come and how many are expected, 0 when the site does not say."""


def ignore_bytes(received: int, expected: int) -> None:
    """For callers that show no progress."""


class HttpClient:
    """Asks sites, on one event loop; connections are made when they are needed and end with `close`."""

    def __init__(
        self,
        guard: ConnectGuard,
        *,
        purpose: str,
        parent: Callable[[], str] = lambda: "",
        tls: ssl.SSLContext | bool = True,
        connections: int = 20,
        per_host: int = 6,
        keep_alive: bool = True,
        max_field_bytes: int = 8_190,
        pause_after: Callable[[int], float] = lambda received: 0.0,
        resolver: AbstractResolver | None = None,
    ) -> None:
        """`purpose` stands in the User-Agent. `parent` is the proxy to go through, empty for none; places that the
        admin chose are contacted without it. `pause_after` gives the seconds to wait after so many bytes have come.

        `resolver` looks names up, the system's unless given. Without `keep_alive`, each request looks its name up: a
        kept connection leads where its name led before.
        """
        self._guard = guard
        self._agent = f"{AGENT} ({purpose})"
        self._parent = parent
        self._tls = tls
        self._connections, self._per_host = connections, per_host
        self._keep_alive = keep_alive
        self._max_field_bytes = max_field_bytes
        self._pause_after = pause_after
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def close(self) -> None:
        """Close all connections; later requests raise NoConnection."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def get(
        self, url: str, *, limits: FetchLimits, headers: Mapping[str, str], on_bytes: OnBytes = ignore_bytes
    ) -> Page:
        """What a site answers, whatever the status; FetchError when it does not, or it may not be contacted."""
        if self._closed:
            raise NoConnection("closed")
        try:
            place = urls.host_and_port(url)
        except ValueError:
            raise InvalidTarget("not a web address") from None
        if not urls.is_printable(url):
            raise InvalidTarget("not an address that can be requested")
        self._guard.check(place)
        parent = "" if self._guard.is_chosen(place) else self._parent()
        try:
            async with asyncio.timeout(limits.timeout_s) as deadline:
                with self._guard.connecting(place, through_parent=bool(parent)):
                    async with self._opened_session().get(
                        URL(url, encoded=True),
                        headers=headers,
                        allow_redirects=False,
                        proxy=parent or None,
                        timeout=aiohttp.ClientTimeout(
                            total=None, connect=limits.connect_s, sock_read=limits.silence_s
                        ),
                    ) as answer:
                        body = await self._read(answer, limits.max_bytes, deadline, on_bytes)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
            raise _as_fetch_error(error) from error
        return Page(
            url=url,
            status=answer.status,
            headers=tuple((_clean(name), _clean(value)) for name, value in answer.headers.items()),
            body=body,
            fetched_at=datetime.now(UTC),
        )

    def _opened_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=CleanConnector(
                    ssl=self._tls,
                    resolver=self._resolver or ThreadedResolver(),
                    socket_factory=self._guard.make_socket,
                    limit=self._connections,
                    limit_per_host=self._per_host,
                    use_dns_cache=self._keep_alive,
                    ttl_dns_cache=_DNS_CACHE_S,
                    force_close=not self._keep_alive,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": self._agent},
                auto_decompress=False,
                trust_env=False,
                max_line_size=self._max_field_bytes,
                max_field_size=self._max_field_bytes,
            )
        return self._session

    async def _read(
        self, answer: aiohttp.ClientResponse, max_bytes: int, deadline: asyncio.Timeout, on_bytes: OnBytes
    ) -> bytes:
        expected = answer.content_length or 0
        if expected > max_bytes:
            raise TooLarge(f"larger than {max_bytes} bytes")
        body = bytearray()
        async for piece in answer.content.iter_chunked(_PIECE):
            body += piece
            if len(body) > max_bytes:
                raise TooLarge(f"larger than {max_bytes} bytes")
            on_bytes(len(body), expected)
            if (wait_s := self._pause_after(len(piece))) > 0:
                deadline.reschedule((deadline.when() or 0.0) + wait_s)  # the site is not to blame for it
                await asyncio.sleep(wait_s)
        return bytes(body)


def _as_fetch_error(error: Exception) -> FetchError:
    """What an error of the connection means."""
    if isinstance(error, TimeoutError):
        # aiohttp tells a server that did not accept the connection from one that was slow afterwards.
        unconnected = isinstance(error, aiohttp.ConnectionTimeoutError)
        return NoConnection("no connection in time") if unconnected else FetchError("took too long")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return UntrustedCertificate(f"the site's certificate is not trusted: {_in_words(error)}")
    if OUT_OF_REACH in str(error):
        return ForbiddenTarget(OUT_OF_REACH)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        unknown = error.os_error.errno in _UNKNOWN_HOST
        return FetchError("no such host") if unknown else NoConnection("the name could not be looked up")
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno in _NOBODY_THERE:
        return NoConnection(_in_words(error))
    if isinstance(error, aiohttp.InvalidURL):
        return InvalidTarget("not an address that can be requested")
    return FetchError(_in_words(error))


def _clean(text: str) -> str:
    """Plain text out of a header, in which aiohttp leaves bytes that are no UTF-8 as lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
