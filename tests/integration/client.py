"""A plain HTTP client behind the proxy: every status is an answer, redirects are not followed."""

import hashlib
import http.client
import json
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any

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
        """The kind of miss that a repair page names; None for any other answer."""
        return self.headers.get("Linkmend-Miss")


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """What came of a body too large to hold."""

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
    """Asks through `proxy` (a URL, empty for none); `ca` is what it trusts for https, `source` where it sits."""

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
        """As a browser opens a page."""
        return self.get(url, **{**{k.replace("-", "_"): v for k, v in NAVIGATION.items()}, **headers})

    def repair(self, url: str, **headers: str) -> Answer:
        """As a program asks what stands in for a page."""
        return self.get(url, **{**MACHINE, **headers})

    def search(self, words: str) -> Answer:
        """As a person searches the held pages."""
        return self.open_page(f"{PORTAL}/search?{urllib.parse.urlencode({'q': words})}")

    def held_copy(self, url: str) -> Answer:
        """As a person opens the copy that is held of a page."""
        return self.open_page(f"{PORTAL}/copy?{urllib.parse.urlencode({'url': url})}")

    def download(
        self,
        url: str,
        *,
        timeout_s: float = 60,
        before_reading: Callable[[], object] = lambda: None,
        **headers: str,
    ) -> Download:
        """The body piece by piece, none of it kept; `before_reading` is called once the headers are there."""
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
