"""Our side of an HTTP/1 connection to an origin: writes requests and reads responses.

- We frame requests ourselves, without hop-by-hop fields. - Interim responses are forwarded (interim.py here). A head
has a size limit (limits.py here), and one that ends with its connection is used as far as it goes. - After an
ambiguous exchange the connection is closed (proxy/headers/framing.py); the request already says so to the origin. -
The connection is free before the end of its response is reported. mitmproxy does it the other way round, and then
takes a pipelined next request for a part of the exchange that is ending.

`install` has mitmproxy use it for every origin.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import h11
from mitmproxy import http
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import _http2
from mitmproxy.proxy.layers.http._events import HttpEvent, RequestTrailers
from mitmproxy.proxy.layers.http._http1 import Http1Client

from addons.flows import field_pairs, header_list
from addons.mitm.http1heads import is_cut_head
from addons.mitm.http1messages import read_body, send_nothing
from addons.mitm.interim import read_past_interim
from addons.mitm.originconnections import carried_body, personal, retired, said_too_much
from addons.mitm.protocolerrors import response_error
from proxy.errors import StartError
from proxy.headers.framing import is_ambiguous_request, is_ambiguous_response
from proxy.headers.hopbyhop import asks_for_web_socket, forwarded_request

Steps = Generator[Any, Any, Any]
Pairs = tuple[tuple[bytes, bytes], ...]

_OURS = "linkmend_wrapped"
_HTTP1 = (b"HTTP/1.1", b"HTTP/1.0")
_LASTS = (b"keep-alive", b"close")
# Without any of these fields, and with a plain Connection, a request goes out as it is.
_TOUCHED = frozenset(
    (
        *(b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"http2-settings", b"proxy-authorization"),
        *(b"content-length", b"transfer-encoding", b"connection"),
    )
)
_LONGEST_NAME = 64
"""Bytes of the name of a field that is remembered."""


class OriginClient(Http1Client):
    """mitmproxy's client of an origin that speaks HTTP/1, with the above."""

    _status = 0  # of the last answer, which is forgotten once it is whole

    def send(self, event: HttpEvent) -> Steps:
        if isinstance(event, layers.RequestHeaders):
            event = self._outgoing(event)
        elif isinstance(event, RequestTrailers):
            return send_nothing()
        return super().send(event)

    def _outgoing(self, event: layers.RequestHeaders) -> layers.RequestHeaders:
        """The request as it goes out; the flow keeps its own, by which mitmproxy treats the client's connection."""
        request = event.request
        if event.end_stream and _is_plain(request):
            return event
        method, headers = request.method, header_list(request.headers)
        if is_ambiguous_request(method, headers, body_follows=not event.end_stream):
            retired.add(self.conn)
        if not event.end_stream:
            carried_body.add(self.conn)
        to_proxy = request.data.path.startswith((b"http:", b"https:")) or bool(
            self.context.server.via and request.data.authority and not self.context.server.tls
        )
        closes = self.conn in retired
        if asks_for_web_socket(method, headers):
            retired.add(self.conn)  # where it is refused; where not, the connection is no longer HTTP's
        fields = field_pairs(forwarded_request(method, headers, closes=closes, to_proxy=to_proxy))
        made = _with_fields(request, _with_framing(request, fields, end_stream=event.end_stream))
        return layers.RequestHeaders(event.stream_id, made, event.end_stream)

    def read_headers(self, event: events.ConnectionEvent) -> Steps:
        try:
            if isinstance(event, events.ConnectionClosed) and self._has_cut_head():
                self.buf += b"Cache-Control: no-store\r\n\r\n"  # what else it would have said, nobody knows
                yield from self._read_head(events.DataReceived(self.conn, b""))
                yield from self.state(event)
            else:
                yield from self._read_head(event)
        except h11.RemoteProtocolError as error:
            self.state = self.done
            yield commands.CloseConnection(self.conn)
            if self.stream_id is not None:
                message = f"malformed answer: {error}"
                yield layers.ReceiveHttp(
                    response_error(self.stream_id, message, "RESPONSE_VALIDATION_FAILED")
                )

    def _has_cut_head(self) -> bool:
        """Whether a head ended with its connection; over TLS somebody may have cut it, and browsers refuse it."""
        return self.request is not None and not self.conn.tls and is_cut_head(bytes(self.buf))

    def _read_head(self, event: events.ConnectionEvent) -> Steps:
        steps = read_past_interim(self, event)
        for command in steps:
            if isinstance(command, layers.ReceiveHttp) and isinstance(command.event, layers.ResponseHeaders):
                self._judge_head(command.event.response)
                yield command
                yield from steps  # its body, of which nothing is to be judged
                return
            yield command

    def _judge_head(self, response: http.Response) -> None:
        """Before any addon has touched it."""
        self._status = response.status_code
        if not self.request_done or is_ambiguous_response(
            response.status_code, header_list(response.headers), version=response.http_version
        ):
            retired.add(self.conn)

    read_body = read_body  # type: ignore[assignment]

    def end_message(self) -> Steps:
        """The answer is whole."""
        if self.stream_id is None:
            raise ValueError("an answer that belongs to no request")
        ended = layers.ReceiveHttp(layers.ResponseEndOfMessage(self.stream_id))
        is_connect = self.request is not None and self.request.data.method == b"CONNECT"
        if is_connect or (self.response is not None and self.response.status_code == 101):
            if not is_connect:
                yield ended
            yield from self.mark_done(response=True)
            return
        if self.request_done:
            yield from self.mark_done(response=True)
        else:
            # Nobody reads the rest of the upload: what is sent after an answer is no part of one.
            self.state = self.done
            self.response_done = True
        if self.buf:
            self._judge_rest(bytes(self.buf)[:5])
        yield ended

    def _judge_rest(self, left: bytes) -> None:
        """More came than the answer. It may begin another answer: then this one may be another's."""
        retired.add(self.conn)
        begun = left.lstrip(b"\r\n")
        if b"HTTP/".startswith(begun) or self._status != 200:  # else its length was wrong
            said_too_much.add(self.conn)

    def mark_done(self, *, request: bool = False, response: bool = False) -> Steps:
        request_sent, answer = self.request, self.response
        if response:
            if (
                request_sent is not None
                and request_sent.data.method == b"HEAD"
                and self.context.client not in personal
            ):
                retired.add(self.conn)  # some send a body all the same, a moment later
            if answer is not None and answer.status_code == 101 and not _requested_upgrade(request_sent):
                self.state = self.done
                yield commands.CloseConnection(self.conn)
                return
            if not self.request_done:
                self.state = self.done  # an answer to half a request: what else comes is nobody's
        yield from super().mark_done(request=request, response=response)
        if self.request is None and self.conn in retired and self.state == self.read_headers:
            self.state = self.done
            yield commands.CloseConnection(self.conn)


def _requested_upgrade(request: http.Request | None) -> bool:
    return request is not None and asks_for_web_socket(request.method, header_list(request.headers))


def _is_plain(request: http.Request) -> bool:
    """Whether a request without a body goes out as it is."""
    data = request.data
    if data.http_version not in _HTTP1 or data.method not in (b"GET", b"HEAD"):
        return False
    for name, value in data.headers.fields:
        if len(name) <= _LONGEST_NAME and _is_plain_name(name):
            continue
        if value not in _LASTS or name.lower() != b"connection":
            return False
    return True


@lru_cache(maxsize=4096)
def _is_plain_name(name: bytes) -> bool:
    return name.lower() not in _TOUCHED and b"_" not in name


def _with_framing(request: http.Request, fields: Pairs, *, end_stream: bool) -> Pairs:
    """The fields, with the length that the body really has. HTTP/2 needs to tell none, and may tell another.

    A body that comes without its length is sent in chunks: bare, its origin would take it for the next request.
    """
    names = {name.lower(): value for name, value in fields}
    if b"transfer-encoding" in names:
        return fields
    if not request.stream:
        declared, real = names.get(b"content-length"), b"%d" % len(request.raw_content or b"")
        if declared == real or (declared is None and end_stream):
            return fields
        kept = tuple(field for field in fields if field[0].lower() != b"content-length")
        return (*kept, (b"Content-Length", real))
    if not end_stream and b"content-length" not in names:
        return (*fields, (b"Transfer-Encoding", b"chunked"))
    return fields


def _with_fields(request: http.Request, fields: Pairs) -> http.Request:
    made = object.__new__(http.Request)
    vars(made).update(vars(request))
    made.data = replace(request.data, headers=http.Headers(fields))
    return made


def _formatting(form: Callable[..., Steps]) -> Callable[..., Steps]:
    """HTTP/2 has no fields of one connection either."""

    def format_request(context: Any, event: layers.RequestHeaders) -> Steps:
        request = event.request
        kept = forwarded_request(
            request.method, header_list(request.headers), closes=False, to_proxy=False, http2=True
        )
        made = _with_fields(request, field_pairs(kept))
        return (yield from form(context, layers.RequestHeaders(event.stream_id, made, event.end_stream)))

    return format_request


_NEEDED = ("send", "read_headers", "read_body", "mark_done", "passthrough", "done")


def install() -> None:
    """Have mitmproxy speak to origins so. Raises StartError when its internals have changed."""
    missing = [name for name in _NEEDED if not callable(getattr(Http1Client, name, None))]
    form = getattr(_http2, "format_h2_request_headers", None)
    if missing or form is None or getattr(layers, "Http1Client", None) not in (Http1Client, OriginClient):
        raise StartError(f"this mitmproxy is not supported: another client of origins ({', '.join(missing)})")
    layers.Http1Client = OriginClient  # type: ignore[misc]
    if not hasattr(form, _OURS):
        wrapped = _formatting(form)
        setattr(wrapped, _OURS, True)
        _http2.format_h2_request_headers = wrapped
