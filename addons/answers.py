"""Writes what the cache has to say into a flow: an answer from the store, a refusal, or its marks on the origin's.

Large bodies come from our own body server on loopback, since mitmproxy sends a response set by an addon from memory.
"""

from mitmproxy import http

from addons.flows import OURS, make_response, mitm_headers, point_at
from addons.passage import Passage
from proxy.cache.entry import FileBody, Headers, StoredResponse
from proxy.cache.fields import has, write_date
from proxy.cache.reply import Reply, reply_from
from proxy.cache.status import CacheStatus, write_cache_status
from proxy.store.bodyserver import BodyServer

_VIA = ("Via", "1.1 linkmend")
_OUR_OWN_BUSINESS = (
    "range",
    "if-range",
    "if-none-match",
    "if-modified-since",
    "cache-control",
    "accept-encoding",
)


def dressed(headers: Headers, status: CacheStatus) -> Headers:
    """The headers with our Via and Cache-Status after those of the caches before us."""
    return (*headers, _VIA, ("Cache-Status", write_cache_status(status)))


async def answer(
    flow: http.HTTPFlow,
    passage: Passage,
    stored: StoredResponse,
    *,
    now: float,
    status: CacheStatus,
    body_server: BodyServer,
) -> bool:
    """Answer a request that was not sent on; False when the body's file is gone."""
    reply = reply_from(passage.request, stored, now)
    headers = dressed(reply.headers, status)
    if isinstance(reply.body, FileBody):
        offer = await body_server.offer(
            reply.body, headers=headers, status=reply.status, start=reply.start, stop=reply.stop
        )
        if offer is None:
            return False
        passage.file_headers = headers
        point_at(flow, offer.host, offer.port, offer.path)
        for name in _OUR_OWN_BUSINESS:
            flow.request.headers.pop(name, None)
        flow.metadata[OURS] = "hit"
        return True
    put_answer(flow, reply, headers)
    return True


def answer_in_memory(
    flow: http.HTTPFlow, passage: Passage, stored: StoredResponse, *, now: float, status: CacheStatus
) -> bool:
    """Answer a request that was sent on, in place of what came of it; False when the body is too large for that."""
    reply = reply_from(passage.request, stored, now)
    if isinstance(reply.body, FileBody):
        return False
    put_answer(flow, reply, dressed(reply.headers, status))
    return True


def put_answer(flow: http.HTTPFlow, reply: Reply, headers: Headers) -> None:
    """Set the response; its body is in memory."""
    flow.metadata[OURS] = "hit"
    body = reply.body if isinstance(reply.body, bytes) else b""
    flow.response = make_response(status=reply.status, reason=reply.reason, headers=headers, body=body)


def pass_file(response: http.Response, headers: Headers) -> None:
    """Let a body from our body server through, under the headers that belong to it."""
    response.headers = mitm_headers(headers)
    response.stream = True


def mark(response: http.Response, headers: Headers, status: CacheStatus, *, received_at: float) -> None:
    """Leave our marks on the origin's answer."""
    added = [_VIA, ("Cache-Status", write_cache_status(status))]
    if not has(headers, "date"):
        added.insert(0, ("Date", write_date(received_at)))
    response.headers.fields += mitm_headers(tuple(added)).fields


def refuse(flow: http.HTTPFlow, forward: str) -> None:
    """504: not held, and nobody may be asked. The repair addon makes a page of it."""
    body = b"" if flow.request.method == "HEAD" else b"linkmend: not held here, and nobody may be asked\n"
    headers = (
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
    )
    status = CacheStatus(forward=forward, detail="only-if-held")
    flow.metadata[OURS] = "offline"
    flow.response = make_response(
        status=504, reason="Gateway Timeout", headers=dressed(headers, status), body=body
    )
