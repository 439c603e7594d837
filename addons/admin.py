"""Passes what is asked of http://linkmend.internal/admin on to the desk, and says for whom.

The desk may be in another process, so it is asked over loopback, by us and not by mitmproxy: nothing of it then
passes the cache, the harvest or the parent. An answer is held in memory while it passes, which is why the desk ends
its live streams after a while when it is asked this way.
"""

import logging
from collections import Counter
from collections.abc import Callable

import aiohttp
from mitmproxy import http
from yarl import URL

from addons.flows import header_list, url_of, write_page
from proxy.desk.app import MAX_BODY_BYTES
from proxy.desk.door import HEADERS, Door
from proxy.pages.render import RenderedPage, text_page
from proxy.portal.helper import PORTAL_HOST

log = logging.getLogger(__name__)

_ADDRESSES = (f"http://{PORTAL_HOST}/admin", f"https://{PORTAL_HOST}/admin")
_BELOW = tuple(f"{address}/" for address in _ADDRESSES)
_MAX_ANSWER_BYTES = 64 * 1024**2
_AT_ONCE = 6  # of one client; a browser opens as many connections
_TIMEOUT = aiohttp.ClientTimeout(total=60, sock_connect=5)
# Of one connection, or set by us; a client's own word for who it is never passes.
_NOT_PASSED = frozenset(
    {
        *(name.lower() for name in HEADERS),
        *(
            "host",
            "connection",
            "proxy-connection",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
        ),
        *("content-length", "proxy-authorization", "accept-encoding", "expect"),
    }
)
_NOT_RETURNED = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "date"})


class Admin:
    """Stands before the helper. On any other host /admin is the site's own."""

    def __init__(
        self, address: Callable[[], str], door: Callable[[], Door], *, portal: Callable[[], bool]
    ) -> None:
        """`address` is where the desk answers us, HOST:PORT; empty while there is none."""
        self._address = address
        self._door = door
        self._portal = portal
        self._asking: Counter[str] = Counter()
        self._session: aiohttp.ClientSession | None = None

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not self._is_asked(flow):
            return
        length = flow.request.headers.get("content-length", "0")
        too_large = not length.isdecimal() or int(length[:20]) > MAX_BODY_BYTES
        if too_large or "transfer-encoding" in flow.request.headers:
            flow.request.stream = False
            write_page(flow, _words(413, "this is more than the desk takes"), ours="desk")
            _end_connection(flow)

    def request_now(self, flow: http.HTTPFlow) -> bool:
        """Nearly always: nothing for the desk."""
        return flow.response is not None or not self._is_asked(flow)

    async def request(self, flow: http.HTTPFlow) -> None:
        if self.request_now(flow):
            return
        client = flow.client_conn.peername[0].removeprefix("::ffff:")
        if self._asking[client] >= _AT_ONCE:
            write_page(flow, _words(429, "too many requests of the desk at once"), ours="desk")
            return
        self._asking[client] += 1
        try:
            page = await self._answer(flow, client)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            log.warning("the desk does not answer: %s", error)
            page = _words(503, "the desk does not answer; linkmend's log tells more")
        finally:
            self._asking[client] -= 1
            if not self._asking[client]:
                del self._asking[client]
        write_page(flow, page, ours="desk")

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _is_asked(self, flow: http.HTTPFlow) -> bool:
        if not flow.request.path.startswith("/admin"):
            return False  # nearly always
        base = url_of(flow).partition("?")[0]
        return self._portal() and (base in _ADDRESSES or base.startswith(_BELOW))

    async def _answer(self, flow: http.HTTPFlow, client: str) -> RenderedPage:
        address = self._address()
        if not address:
            return _words(404, "the desk is not open")
        request = flow.request
        headers = [
            (name, value) for name, value in header_list(request.headers) if name.lower() not in _NOT_PASSED
        ]
        mark = self._door().headers_for(client, secure=url_of(flow).startswith("https:"))
        async with self._asker().request(
            request.method,
            URL(f"http://{address}{request.path}", encoded=True),
            headers=[*headers, *mark.items()],
            data=request.raw_content or None,
            allow_redirects=False,
        ) as answer:
            body = await _read(answer)
            kept = tuple(
                (name, value) for name, value in answer.headers.items() if name.lower() not in _NOT_RETURNED
            )
            return RenderedPage(status=answer.status, headers=kept, body=body)

    def _asker(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=_TIMEOUT,
                connector=aiohttp.TCPConnector(limit=100),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        return self._session


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The whole body. Raises ValueError when it is more than we hold in memory."""
    body = bytearray()
    async for chunk in answer.content.iter_chunked(64 * 1024):
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            raise ValueError("an answer of the desk is too large to pass on")
    return bytes(body)


def _words(status: int, words: str) -> RenderedPage:
    return text_page(status, f"linkmend: {words}\n")


def _end_connection(flow: http.HTTPFlow) -> None:
    """What is left of the body must not be taken for the next request."""
    if flow.response is not None and flow.request.is_http11:
        flow.response.headers["connection"] = "close"
