"""Headers for the next proxy: a parent, or the proxy of upstream mode.

It gets our mark, so that we recognise and answer a looping request (proxy/reach/loops.py). And it is told not to
store what we would not share ourselves: it shares responses to requests with a Cookie, and would return them to us as
public.
"""

import logging
from weakref import WeakKeyDictionary

from mitmproxy import http
from mitmproxy.connection import Client

from addons.connections import is_unshared
from addons.flows import identity_of, is_in_tunnel, named_truly, request_of, write_page
from addons.flowstate import AnsweredBy, state_of
from proxy.cache.storage import may_share_answer
from proxy.pages.render import text_page
from proxy.reach.identity import normal_host
from proxy.reach.loops import FIELD, LoopMarks, read_marks
from proxy.settings import CacheSettings
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

_STATUS = ("Proxy-Status", "linkmend; error=proxy_loop_detected")  # RFC 9209 2.3.24
_WORDS = (
    "linkmend: this request has come back to where it began: proxy.parent or proxy.mode leads, by way of other"
    " proxies or directly, to this linkmend itself. The admin has to change one of them.\n"
)


class LoopCheck:
    """Takes the marks out of what comes in. It comes before the addons that store or forward."""

    def __init__(self, marks: LoopMarks) -> None:
        self._marks = marks
        self._found = RateLimitedLogger(log)
        self._by_client: WeakKeyDictionary[Client, tuple[str, ...]] = WeakKeyDictionary()
        """Those of the latest request that had any: within a tunnel, those of its CONNECT."""

    def http_connect(self, flow: http.HTTPFlow) -> None:
        self._check(flow, normal_host(flow.request.host), flow.request.port)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.request.method == "CONNECT" or flow.error is not None:
            return
        mode = flow.client_conn.proxy_mode.type_name
        if flow.is_replay is not None:
            flow.request.headers.pop(FIELD, None)  # our own, of the request that this is a copy of
        elif flow.response is None:
            state_of(flow).goes_upstream = mode == "upstream" and not is_in_tunnel(flow)
            identity = identity_of(flow)
            self._check(flow, identity.host, identity.port)

    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        """We ask a parent or an upstream proxy for a tunnel."""
        host, port = normal_host(flow.request.host), flow.request.port
        flow.request.headers[FIELD] = self._marks.add(self._by_client.get(flow.client_conn, ()), host, port)

    def _check(self, flow: http.HTTPFlow, host: str, port: int) -> None:
        if FIELD in flow.request.headers:
            self._by_client[flow.client_conn] = read_marks(flow.request.headers.get_all(FIELD))
            del flow.request.headers[FIELD]
        marks = self._by_client.get(flow.client_conn, ()) if self._by_client else ()
        state_of(flow).loop_marks = marks
        if self._marks.show_loop(marks, host, port):
            self._found.warning("a request came back to where it began: see proxy.parent and proxy.mode")
            write_page(
                flow, text_page(508, _WORDS), by=AnsweredBy.REFUSED, also=(_STATUS, ("Connection", "close"))
            )


class NextProxy:
    """Comes after `Upstream`, which decides what goes to the parent."""

    def __init__(self, marks: LoopMarks, settings: CacheSettings) -> None:
        self.settings = settings
        self._marks = marks

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.request.stream:  # an upload that is on its way before its `request` hook
            self.request(flow)

    def request(self, flow: http.HTTPFlow) -> None:
        is_to_proxy = _goes_to_proxy(flow)
        if flow.response is not None or not (is_to_proxy or _is_reverse(flow)):
            return
        if is_to_proxy and not self._may_be_shared(flow):
            cache_control = flow.request.headers.get("cache-control")
            flow.request.headers["cache-control"] = (
                f"{cache_control}, no-store" if cache_control else "no-store"
            )
        identity, came_with = identity_of(flow), state_of(flow).loop_marks
        flow.request.headers[FIELD] = self._marks.add(came_with, identity.host, identity.port)

    def _may_be_shared(self, flow: http.HTTPFlow) -> bool:
        request = request_of(flow)
        return named_truly(flow) and not is_unshared(flow) and may_share_answer(request, self.settings)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """A proxy loop is no failure of the site, so it gets no repair page."""
        response = flow.response
        if response is None or response.status_code != 508 or not (_goes_to_proxy(flow) or _is_reverse(flow)):
            return
        if response.headers.get(_STATUS[0]) == _STATUS[1]:
            state_of(flow).answered_by = AnsweredBy.REFUSED


def _goes_to_proxy(flow: http.HTTPFlow) -> bool:
    return state_of(flow).goes_by_parent or state_of(flow).goes_upstream


def _is_reverse(flow: http.HTTPFlow) -> bool:
    """Whether the admin has named the one site that is requested. It may be a linkmend, too."""
    return flow.client_conn.proxy_mode.type_name == "reverse"
