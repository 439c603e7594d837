"""A plain HTTP client behind the proxy: every status is a response, redirects are not followed."""

import contextlib
import hashlib
import http.client
import json
import socket
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any

from tests.integration.processes import Linkmend

NAVIGATION = {
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
}
MACHINE = {"Accept": "application/json"}
PORTAL = "http://linkmend.internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def told(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def miss(self) -> str | None:
        """The kind of miss that a repair page names; None for any other response."""
        return self.headers.get("Linkmend-Miss")


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """The result of a download too large to keep in memory."""

    status: int
    headers: Message
    size: int
    sha256: str


class _Whatever(urllib.request.HTTPErrorProcessor):
    def http_response(self, request, response):
        return response

    https_response = http_response


class _From(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Connects from an address of our choice: on loopback each of 127.0.0.0/8 can be another client."""

    def __init__(self, source: str, context: ssl.SSLContext | None) -> None:
        urllib.request.HTTPSHandler.__init__(self, context=context)
        self._source = (source, 0)
        self._tls = context

    def http_open(self, request):
        return self.do_open(partial(http.client.HTTPConnection, source_address=self._source), request)

    def https_open(self, request):
        connection = partial(http.client.HTTPSConnection, source_address=self._source, context=self._tls)
        return self.do_open(connection, request)


class Client:
    """Sends requests through `proxy` (a URL, empty for none); `ca` is what it trusts for https, `source` its own
    address.
    """

    def __init__(self, proxy: str, ca: Path | None = None, *, source: str = "127.0.0.1") -> None:
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {}),
            _Whatever(),
            _From(source, ssl.create_default_context(cafile=str(ca)) if ca is not None else None),
        )

    def get(self, url: str, *, method: str = "GET", timeout_s: float = 30, **headers: str) -> Answer:
        """Header names are written with underscores."""
        with self._open(url, method, timeout_s, headers) as response:
            return Answer(status=response.status, headers=response.headers, body=response.read())

    def open_page(self, url: str, **headers: str) -> Answer:
        """Request a page as a browser opens it."""
        return self.get(url, **{**{k.replace("-", "_"): v for k, v in NAVIGATION.items()}, **headers})

    def repair(self, url: str, **headers: str) -> Answer:
        """Request the alternatives for a page as a program does."""
        return self.get(url, **{**MACHINE, **headers})

    def search(self, words: str) -> Answer:
        """Search the collection as a person does."""
        return self.open_page(f"{PORTAL}/search?{urllib.parse.urlencode({'q': words})}")

    def held_copy(self, url: str) -> Answer:
        """Open the saved copy of a page as a person does."""
        return self.open_page(f"{PORTAL}/copy?{urllib.parse.urlencode({'url': url})}")

    def download(
        self,
        url: str,
        *,
        timeout_s: float = 60,
        before_reading: Callable[[], object] = lambda: None,
        **headers: str,
    ) -> Download:
        """Read the body in pieces and keep none; `before_reading` is called once the headers are there."""
        digest, size = hashlib.sha256(), 0
        with self._open(url, "GET", timeout_s, headers) as response:
            before_reading()
            while piece := response.read(256 * 1024):
                digest.update(piece)
                size += len(piece)
            return Download(
                status=response.status, headers=response.headers, size=size, sha256=digest.hexdigest()
            )

    def _open(self, url, method, timeout_s, headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._opener.open(urllib.request.Request(url, headers=named, method=method), timeout=timeout_s)


@contextlib.contextmanager
def connection_to_site(
    running: Linkmend,
    site_port: int,
    *,
    tls: bool = True,
    alpn: Sequence[str] = (),
    source: str = "127.0.0.1",
) -> Iterator[socket.socket]:
    """A connection through the proxy for raw bytes; in a tunnel to a site on 127.0.0.1 if that has `tls`."""
    with socket.create_connection(("127.0.0.1", running.port), 20, (source, 0)) as plain:
        if not tls:
            yield plain
            return
        place = f"127.0.0.1:{site_port}"
        plain.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        said = b""
        while not said.endswith(b"\r\n\r\n"):
            said += (piece := plain.recv(1))
            assert piece, said
        assert said.startswith(b"HTTP/1.1 200 "), said
        context = ssl.create_default_context(cafile=str(running.ca))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            yield secure
