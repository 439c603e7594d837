"""Writes what the cache has to say into a flow: an answer from the store, a refusal, or its marks on the origin's.

Large bodies come from our own body server on loopback, since mitmproxy sends a response set by an addon from memory.
"""

from mitmproxy import http

from addons.flows import OURS, field_pairs, header_list, make_response, mitm_headers, point_at
from addons.passage import FileAnswer, Passage
from proxy.cache.entry import FileBody, Headers, StoredResponse
from proxy.cache.fields import content_length, has, members, write_date
from proxy.cache.reply import Reply, reply_from
from proxy.cache.status import CacheStatus
from proxy.cache.wire import dressed
from proxy.store.bodyserver import BodyServer


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
    headers = dressed((*reply.headers, *passage.set_cookies), status)
    if isinstance(reply.body, FileBody):
        offer = await body_server.offer(
            reply.body, headers=headers, status=reply.status, start=reply.start, stop=reply.stop
        )
        if offer is None:
            return False
        passage.file = FileAnswer(
            address=(offer.host, offer.port),
            status=reply.status,
            length=reply.stop - reply.start,
            headers=headers,
        )
        point_at(flow, offer.host, offer.port, offer.path)
        _ask_for_no_more(flow.request)
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
    put_answer(flow, reply, dressed((*reply.headers, *passage.set_cookies), status))
    return True


def put_answer(flow: http.HTTPFlow, reply: Reply, headers: Headers) -> None:
    """Set the response; its body is in memory."""
    flow.metadata[OURS] = "hit"
    body = reply.body if isinstance(reply.body, bytes) else b""
    flow.response = make_response(status=reply.status, reason=reply.reason, headers=headers, body=body)


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
    told = (flow.server_conn.address, response.status_code, stated)
    if told != (file.address, file.status, file.length):
        flow.kill()  # type: ignore[no-untyped-call]
        return
    response.headers = mitm_headers(file.headers)
    response.stream = True


def mark(response: http.Response, headers: Headers, status: CacheStatus, *, received_at: float) -> None:
    """Leave our marks on the origin's answer."""
    dated: Headers = () if has(headers, "date") else (("Date", write_date(received_at)),)
    response.headers.fields += field_pairs(dressed(dated, status))


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


def try_later(flow: http.HTTPFlow) -> None:
    """503: the origin contradicted itself, and could not be asked again. The next request will be a plain one."""
    body = b"linkmend: the site gave no answer that fits the question\n"
    headers = (
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("Retry-After", "1"),
    )
    status = CacheStatus(forward="vary-miss", detail="contradiction")
    flow.response = make_response(status=503, headers=dressed(headers, status), body=body)
