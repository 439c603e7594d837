"""Writes what the cache has to say into a flow: an answer from the store, a refusal, or its marks on the origin's.

Large bodies come from our own body server on loopback, since mitmproxy sends a response set by an addon from memory.
"""

from mitmproxy import http

from addons.flows import field_pairs, header_list, make_response, mitm_headers, point_at
from addons.flowstate import AnsweredBy, state_of
from proxy.cache.exchange import FileAnswer
from proxy.cache.hits import HitAnswer
from proxy.cache.serialize import with_cache_headers
from proxy.cache.status import CacheStatus
from proxy.headers.fields import content_length, has, members, write_date
from proxy.messages import FileBody, Headers
from proxy.store.bodyserver import BodyServer


async def answer(flow: http.HTTPFlow, hit: HitAnswer, body_server: BodyServer) -> FileAnswer | bool:
    """Answer a request that was not sent on; False when the body's file is gone."""
    fixed, headers = hit.fixed, hit.headers
    if not isinstance(fixed.body, FileBody):
        return answer_in_memory(flow, hit)
    offer = await body_server.offer(
        fixed.body, headers=headers, status=fixed.status, start=fixed.start, stop=fixed.stop
    )
    if offer is None:
        return False
    point_at(flow, offer.host, offer.port, offer.path)
    _ask_for_no_more(flow.request)
    state_of(flow).answered_by = AnsweredBy.CACHE
    length = fixed.stop - fixed.start
    return FileAnswer(address=(offer.host, offer.port), status=fixed.status, length=length, headers=headers)


def answer_in_memory(flow: http.HTTPFlow, hit: HitAnswer) -> bool:
    """Set the response, in place of whatever came of the request; False when the body is too large for that."""
    fixed = hit.fixed
    if isinstance(fixed.body, FileBody):
        return False
    state_of(flow).answered_by = AnsweredBy.CACHE
    flow.response = make_response(
        status=fixed.status, reason=fixed.reason, headers=hit.headers, body=fixed.body
    )
    return True


def _ask_for_no_more(request: http.Request) -> None:
    """Leave of a client's headers what the body server needs: it takes no more than a few kilobytes of them."""
    options = {option.lower() for option in members(header_list(request.headers), "connection")}
    host = request.headers.get("host")
    kept: Headers = (("Host", host),) if host is not None else ()
    # mitmproxy reads here, too, whether the client's own connection lasts.
    lasts = tuple(("Connection", option) for option in ("close", "keep-alive") if option in options)
    request.headers = mitm_headers((*kept, *lasts[:1]))


def pass_file(flow: http.HTTPFlow, response: http.Response, file: FileAnswer) -> None:
    """Let a body from our body server through, under the headers that belong to it.

    Whatever else arrived would run on into the next answer on the client's connection: that is ended instead.
    """
    stated = content_length(header_list(response.headers))
    actual = (flow.server_conn.address, response.status_code, stated)
    if actual != (file.address, file.status, file.length):
        flow.kill()  # type: ignore[no-untyped-call]
        return
    response.headers = mitm_headers(file.headers)
    response.stream = True


def mark(response: http.Response, headers: Headers, status: CacheStatus, *, received_at: float) -> None:
    """Leave our marks on the origin's answer."""
    dated: Headers = () if has(headers, "date") else (("Date", write_date(received_at)),)
    response.headers.fields += field_pairs(with_cache_headers(dated, status))


def refuse(flow: http.HTTPFlow, forward: str) -> None:
    """504: not stored, and no site may be contacted. The repair addon makes a page of it."""
    body = (
        b""
        if flow.request.method == "HEAD"
        else b"linkmend: not in the cache, and the site may not be asked\n"
    )
    headers = (
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
    )
    status = CacheStatus(forward=forward, detail="only-if-held")
    state_of(flow).answered_by = AnsweredBy.OFFLINE
    flow.response = make_response(
        status=504, reason="Gateway Timeout", headers=with_cache_headers(headers, status), body=body
    )


def try_later(flow: http.HTTPFlow) -> None:
    """503: the origin contradicted itself, and no second request was possible. The next one has no conditions."""
    body = b"linkmend: the site gave no answer that fits the question\n"
    headers = (
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("Retry-After", "1"),
    )
    status = CacheStatus(forward="vary-miss", detail="contradiction")
    flow.response = make_response(status=503, headers=with_cache_headers(headers, status), body=body)
