"""Notes pictures, sounds and videos that are gone, with the page that shows them; changes nothing.

What the fast path answers out of memory is not seen here; by then the file and its page are known.
"""

from urllib.parse import urlsplit

from mitmproxy import http

from addons.flows import header_list, is_contradicted, url_of
from addons.flowstate import AnsweredBy, state_of
from proxy.failures import PARENT_DOWN
from proxy.headers.navigation import wanted_medium
from proxy.privacy.clients import ClientHasher
from proxy.privacy.recentpages import RecentPages
from proxy.rpc.protocol import MissLogService
from repair.secrets.addresses import has_secret, without_secret
from repair.text import urls

_GONE = frozenset((404, 410))
_NO_SUCH_SITE = frozenset(("dns_error", "connection_refused", "tls_certificate_error"))
_NO_NAME_SERVER = "[Errno -3]"  # our line is down, not the site


class DeadMedia:
    """Notes them in the miss log."""

    def __init__(self, misses: MissLogService, recent_pages: RecentPages, hasher: ClientHasher) -> None:
        self._misses = misses
        self._recent_pages = recent_pages
        self._hasher = hasher

    def response(self, flow: http.HTTPFlow) -> None:
        if not _is_gone(flow):
            return  # nearly always
        url = url_of(flow)
        medium = wanted_medium(url, header_list(flow.request.headers))
        if not medium or has_secret(url) or flow.is_replay is not None or is_contradicted(flow):
            return
        client = self._hasher.hash(flow.client_conn.peername[0])
        page = self._page(client, flow.request.headers.get("referer", ""))
        self._misses.record_dead_medium(url, without_secret(page) if page else "", medium, client=client)

    def _page(self, client: str, referrer: str) -> str:
        """The page that shows it. Of another site's page browsers name only the site: then it is the page there that
        the client opened last."""
        if not urls.is_web_url(referrer):
            return ""
        parts = urlsplit(urls.normal(referrer))
        if parts.path != "/" or parts.query:
            return referrer
        site = f"{parts.scheme}://{parts.netloc}/"
        opened = (url for url in self._recent_pages.recent(client) if url.startswith(site))
        return next(opened, referrer)


def _is_gone(flow: http.HTTPFlow) -> bool:
    """Whether the site has no such file, or there is no such site. What will be back, as our line, is not gone."""
    state, response = state_of(flow), flow.response
    if response is None or flow.request.method != "GET":
        return False
    if (failure := state.failure) is not None:
        is_ours = failure.fault == PARENT_DOWN or _NO_NAME_SERVER in failure.detail
        return state.answered_by in (None, AnsweredBy.FAILURE) and (
            failure.error in _NO_SUCH_SITE and not is_ours
        )
    return response.status_code in _GONE and state.answered_by in (None, AnsweredBy.CACHE)
