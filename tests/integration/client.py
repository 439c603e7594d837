"""A plain HTTP client behind the proxy: every status is an answer, redirects are not followed."""

import ssl
import urllib.request
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

NAVIGATION = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Dest": "document"}
MACHINE = {"Accept": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def miss(self) -> str | None:
        """The kind of miss that a repair page names; None for any other answer."""
        return self.headers.get("Linkmend-Miss")


class _Whatever(urllib.request.HTTPErrorProcessor):
    def http_response(self, request, response):
        return response

    https_response = http_response


class Client:
    """Asks through `proxy` (a URL, empty for none); `ca` is what it trusts for https."""

    def __init__(self, proxy: str, ca: Path | None = None) -> None:
        handlers: list[urllib.request.BaseHandler] = [
            urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {}),
            _Whatever(),
        ]
        if ca is not None:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(ca))))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, url: str, *, method: str = "GET", timeout_s: float = 30, **headers: str) -> Answer:
        """Header names are written with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(url, headers=named, method=method)
        with self._opener.open(request, timeout=timeout_s) as response:
            return Answer(status=response.status, headers=response.headers, body=response.read())

    def open_page(self, url: str, **headers: str) -> Answer:
        """As a browser opens a page."""
        return self.get(url, **{**{k.replace("-", "_"): v for k, v in NAVIGATION.items()}, **headers})
