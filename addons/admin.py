"""Forwards requests for the admin UI, the teachers' pages and lessons at http://linkmend.internal/ to the admin
server, with the address of the client.

The admin UI runs in the backend. We send these requests over a unix socket ourselves, without mitmproxy, so that
they never pass the cache, the harvest or the parent proxy. A response is buffered in memory on its way, which is why
the admin UI ends its live streams after a while when it is reached like this.
"""

import errno
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import aiohttp
from mitmproxy import http
from yarl import URL

from addons.flows import header_list, url_of, write_page
from addons.flowstate import AnsweredBy
from proxy.admin.app import MAX_BODY_BYTES
from proxy.admin.gateway import HEADERS, UPLOAD_BYTES, UPLOAD_PATH, gateway_headers
from proxy.pages.render import RenderedPage, text_page
from proxy.portal.addresses import PORTAL_HOST

log = logging.getLogger(__name__)

_PATHS = ("/admin", "/teach", "/l")
_ADDRESSES = tuple(f"{scheme}://{PORTAL_HOST}{path}" for scheme in ("http", "https") for path in _PATHS)
_BELOW = tuple(f"{address}/" for address in _ADDRESSES)
_MAX_UPLOADS = 4  # of a worker at a time: each is held in memory
_MAX_ANSWER_BYTES = 64 * 1024**2
_AT_ONCE = 6  # of one client; a browser opens as many connections
_TIMEOUT = aiohttp.ClientTimeout(total=60, sock_connect=5)
# Fields of one connection, or set by us; what a client claims about its own address is never forwarded.
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


class AdminGateway:
    """Comes before the portal addon. On any other host /admin is the site's own."""

    def __init__(self, socket: Path, *, portal: Callable[[], bool]) -> None:
        """`socket` is the admin UI's unix socket; it does not exist while the admin UI is off."""
        self._socket = socket
        self._portal = portal
        self._asking: Counter[str] = Counter()
        self._session: aiohttp.ClientSession | None = None
        self._uploads = set[str]()

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not self._is_asked(flow):
            return
        length = flow.request.headers.get("content-length", "0")
        size = int(length[:20]) if length.isdecimal() else UPLOAD_BYTES + 1
        most = UPLOAD_BYTES if self._is_upload(flow) else MAX_BODY_BYTES
        if MAX_BODY_BYTES < size <= most:
            flow.request.stream = False
            self._uploads.add(flow.id)
        if size > most or "transfer-encoding" in flow.request.headers:
            flow.request.stream = False
            write_page(flow, _words(413, "the request is too large for the desk"), by=AnsweredBy.ADMIN)
            _end_connection(flow)

    def request_now(self, flow: http.HTTPFlow) -> bool:
        """Return at once for nearly all requests: they are not for the admin UI."""
        return flow.response is not None or not self._is_asked(flow)

    async def request(self, flow: http.HTTPFlow) -> None:
        if self.request_now(flow):
            return
        client = flow.client_conn.peername[0].removeprefix("::ffff:")
        if self._asking[client] >= _AT_ONCE:
            self._uploads.discard(flow.id)
            write_page(flow, _words(429, "too many requests to the desk at once"), by=AnsweredBy.ADMIN)
            return
        self._asking[client] += 1
        try:
            page = await self._answer(flow, client)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno == errno.ENOENT:
                page = _words(404, "the desk is not running")
            else:
                log.warning("desk: no answer: %s", error)
                page = _words(503, "the desk does not answer; see linkmend's log")
        finally:
            self._uploads.discard(flow.id)
            self._asking[client] -= 1
            if not self._asking[client]:
                del self._asking[client]
        write_page(flow, page, by=AnsweredBy.ADMIN)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def error(self, flow: http.HTTPFlow) -> None:
        """A client that gave up no longer takes the place of others."""
        self._uploads.discard(flow.id)

    def _is_upload(self, flow: http.HTTPFlow) -> bool:
        """Whether a worksheet may come: from somebody who seems to be logged in, a few at a time."""
        is_worksheet = flow.request.method == "POST" and flow.request.path.partition("?")[0] == UPLOAD_PATH
        return is_worksheet and "cookie" in flow.request.headers and len(self._uploads) < _MAX_UPLOADS

    def _is_asked(self, flow: http.HTTPFlow) -> bool:
        if not flow.request.path.startswith(_PATHS):
            return False  # nearly always
        base = url_of(flow).partition("?")[0]
        return self._portal() and (base in _ADDRESSES or base.startswith(_BELOW))

    async def _answer(self, flow: http.HTTPFlow, client: str) -> RenderedPage:
        request = flow.request
        headers = [
            (name, value) for name, value in header_list(request.headers) if name.lower() not in _NOT_PASSED
        ]
        mark = gateway_headers(client, secure=url_of(flow).startswith("https:"))
        async with self._client().request(
            request.method,
            URL(f"http://{PORTAL_HOST}{request.path}", encoded=True),
            headers=[*headers, *mark.items()],
            data=request.raw_content or None,
            allow_redirects=False,
        ) as answer:
            body = await _read_body(answer)
            kept = tuple(
                (name, value) for name, value in answer.headers.items() if name.lower() not in _NOT_RETURNED
            )
            return RenderedPage(status=answer.status, headers=kept, body=body)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=_TIMEOUT,
                connector=aiohttp.UnixConnector(str(self._socket), limit=100),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        return self._session


async def _read_body(answer: aiohttp.ClientResponse) -> bytes:
    """The whole body. Raises ValueError when it is more than we hold in memory."""
    body = bytearray()
    async for chunk in answer.content.iter_chunked(64 * 1024):
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            raise ValueError("the desk's response is too large")
    return bytes(body)


def _words(status: int, words: str) -> RenderedPage:
    return text_page(status, f"linkmend: {words}\n")


def _end_connection(flow: http.HTTPFlow) -> None:
    """What is left of the body must not be taken for the next request."""
    if flow.response is not None and flow.request.is_http11:
        flow.response.headers["connection"] = "close"
