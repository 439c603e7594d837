"""The only door to archives: one GET at a time, bounded in size, without cookies or referrer, never redirected.

A request goes to the hosts of its archive and nowhere else; where those lie is `reach`'s to judge.
"""

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from repair import urls
from repair.decode import identity_body
from repair.guard import MayReach, anywhere, guarded_sockets
from repair.memento.archives import Archive, is_printable
from repair.memento.reach import GuardedResolver, is_public_host
from repair.model import Page

_AGENT = "linkmend (looks for archived copies of dead links)"
_CONNECTIONS = 20
_CONNECTIONS_PER_HOST = 6
_MAX_FIELD = 65_536  # some archives put a whole TimeMap into the Link header
_DEFAULT_PORTS = {"http": 80, "https": 443}


class NoAnswer(Exception):
    """An archive could not be asked, or what came back is no answer; the message is a few words for people."""


class TooLarge(NoAnswer):
    """The answer is more than we read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentProxy:
    """The proxy through which the web is reached: its URL, as http://HOST:PORT, and its host and port."""

    url: str
    host: str
    port: int


class Door:
    """Asks archives over HTTP; to be used as a context manager, on one event loop."""

    def __init__(
        self,
        archives: Iterable[Archive],
        *,
        parent: ParentProxy | None = None,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
        may_connect: MayReach = anywhere,
    ) -> None:
        """`resolver` is who resolves names, the system's unless given; what it says is checked in any case.

        `may_connect` is asked last, about the very address that is connected to, wherever an admin put the archive.
        """
        self._private = {place for archive in archives for place in private_places(archive)}
        self._parent = parent
        self._tls = tls
        self._resolver = resolver
        self._may_connect = may_connect
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Door":
        parents = [(self._parent.host, self._parent.port)] if self._parent else []
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=GuardedResolver((*self._private, *parents), self._resolver),
                socket_factory=guarded_sockets(self._may_connect),
                limit=_CONNECTIONS,
                limit_per_host=_CONNECTIONS_PER_HOST,
                ttl_dns_cache=60,
                ssl=self._tls or True,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_line_size=_MAX_FIELD,
            max_field_size=_MAX_FIELD,
            headers={"User-Agent": _AGENT},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(
        self, archive: Archive, url: str, *, max_bytes: int, headers: Mapping[str, str] | None = None
    ) -> Page:
        """What an archive answers under one of its addresses, whatever the status; NoAnswer when it does not.

        No time limit is set here: the caller has a deadline.
        """
        if self._session is None:
            raise NoAnswer("closed")
        place = self._place(archive, url)
        proxy = self._parent.url if self._parent and place not in self._private else None
        try:
            async with self._session.get(
                URL(url, encoded=True),
                headers={"Accept-Encoding": "gzip", **(headers or {})},
                allow_redirects=False,
                proxy=proxy,
                timeout=aiohttp.ClientTimeout(total=None),
            ) as response:
                return Page(
                    url=url,
                    status=response.status,
                    headers=tuple((_clean(name), _clean(value)) for name, value in response.headers.items()),
                    body=await _body(response, max_bytes),
                    fetched_at=datetime.now(UTC),
                )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoAnswer(_in_words(error)) from error

    def _place(self, archive: Archive, url: str) -> tuple[str, int]:
        """Host and port of a URL; NoAnswer unless it belongs to the archive and may be reached."""
        if not archive.owns(url):
            raise NoAnswer("leads to a foreign host")
        if not is_printable(url):
            raise NoAnswer("no address")
        parts = urls.parse(url)
        place = host_and_port(parts)
        if not is_public_host(parts.host) and place not in self._private:
            raise NoAnswer("leads into a private network")
        return place


def private_places(archive: Archive) -> frozenset[tuple[str, int]]:
    """The hosts and ports of an archive that the admin put into a private network: said so, or plain to see."""
    places = set()
    for template in (*(template for _, template in archive.questions), archive.memento, archive.raw):
        if template:
            parts = urls.parse(template.partition("{")[0])
            if archive.private or not is_public_host(parts.host):
                places.add(host_and_port(parts))
    return frozenset(places)


def host_and_port(parts: urls.Parts) -> tuple[str, int]:
    """As a connection needs them; an IPv6 address without its brackets."""
    port = parts.authority[len(parts.host) + 1 :]
    host = parts.host.removeprefix("[").removesuffix("]")
    return host, int(port) if port else _DEFAULT_PORTS[parts.scheme]


def text_of(page: Page, max_bytes: int) -> str:
    """The body of an answer as text; NoAnswer when it cannot be unpacked. Lists of archives are UTF-8 or ASCII."""
    body = identity_body(page, max_bytes)
    if body is None:
        raise NoAnswer("too large, or packed in a broken way")
    return body.decode("utf-8", "replace")


async def _body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    pieces, size = [], 0
    async for piece in response.content.iter_chunked(65_536):
        size += len(piece)
        if size > max_bytes:
            raise TooLarge(f"more than {max_bytes} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _clean(text: str) -> str:
    """Plain text out of a header, in which aiohttp leaves bytes that are no UTF-8 as lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
