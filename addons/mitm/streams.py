"""An HTTP stream that lets an addon answer after an origin's failure, and retries once.

mitmproxy ignores a response that an addon sets in the `error` hook and sends its own 502. We considered three
solutions (FACTS): fetching pages ourselves in the `request` hook would duplicate the path to the origin and could not
stream; sending everything through a Squid parent works, but only with that parent. So we use a small subclass of
mitmproxy's `HttpStream`: when the origin fails before a byte was sent to the client, it sends the `flow.response` of
the `error` hook.

It also retries once, on a new connection, when a kept-alive one was closed just as we sent the request: mitmproxy
would report a failure of the origin, and the user would see a repair page for a page that exists.

And it runs hooks that need not wait itself (addons/mitm/inlinehooks.py): four times per request, a hook would
otherwise go through all layers above, and its completion back.
"""

import re
import time
from collections.abc import Generator
from typing import Any

from mitmproxy import flow as mitm_flow
from mitmproxy import http
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layer import Paused
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import HttpStream, ResponseProtocolError

from addons.flows import header_list
from addons.flowstate import BufferedBody, state_of
from addons.mitm.fasterheaders import validate_headers
from addons.mitm.http1heads import REQUEST_LINES
from addons.mitm.inlinehooks import BEGIN, Begin
from addons.mitm.originconnections import is_method
from addons.mitm.protocolerrors import request_error, response_error
from proxy.errors import StartError
from proxy.headers.navigation import expects_network_error

_NEEDED = (
    "handle_protocol_error",
    "make_server_connection",
    "send_response",
    "check_invalid",
    "check_body_size",
    "check_killed",
    "start_request_stream",
    "start_response_stream",
    "state_stream_request_body",
    "state_stream_response_body",
    "flow_done",
    "state_done",
    "state_errored",
    "state_wait_for_response_headers",
    "state_consume_response_body",
)
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})  # RFC 9110 9.2.2
HELD_BACK_S = 1.0
"""How long a page whose length is known is held back: it is judged whole, and a cut one becomes a repair page."""
FLOWING_HELD_BACK_S = 0.5
"""How long one of unknown length is, which its site may be making while we wait..."""
PAUSE_S = 0.15
"""... and it is passed on as soon as nothing has come for so long: then the site pauses, not the network."""
MISS_HELD_BACK_S = 10.0
"""How long a miss is, which has to be whole to become a repair page; what drips for longer is passed on as it is."""
_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_UNFIT_IN_TARGET = re.compile(rb"[\x00-\x20\x7f]")
_HTTP1 = (b"HTTP/1.1", b"HTTP/1.0")
_CLOSED = "server closed connection"


class AnsweringStream(HttpStream):
    """mitmproxy's stream, with a second try and with the last word left to the `error` hook."""

    _tried_again = False
    _held_since: float | None = None  # monotonic time
    _last_piece_at = 0.0
    _may_flow = False
    _timer: commands.RequestWakeup | None = None

    def handle_event(self, event: events.Event) -> Generator[Any, Any, None]:
        if (
            isinstance(event, events.Wakeup) and event.command is self._timer
        ):  # others are of layers in a tunnel
            return self._wake_up()
        begin = vars(self.context).get(BEGIN)
        if begin is None or self._paused:
            return super().handle_event(event)
        return self._handle_inline(event, begin)

    def _handle_inline(self, event: events.Event, begin: Begin) -> Generator[Any, Any, None]:
        """As mitmproxy's layers handle an event, but for hooks that are done at once."""
        steps = self._handle_event(event)
        for command in steps:
            while command.blocking is True:
                if not isinstance(command, commands.StartHook) or not begin(command):
                    command.blocking = self
                    self._paused = Paused(command, steps)
                    yield command
                    return
                try:
                    command = steps.send(None)
                except StopIteration:
                    return
            yield command

    def start_request_stream(self) -> Generator[Any, Any, None]:
        if state_of(self.flow).expects_continue:
            self.flow.request.headers["expect"] = "100-continue"
        yield from super().start_request_stream()

    def send_response(self, already_streamed: bool = False) -> Generator[Any, Any, None]:
        steps: Generator[Any, Any, None] = super().send_response(already_streamed)  # type: ignore[no-untyped-call]
        return self._send_early(steps) if self.client_state == self.state_stream_request_body else steps

    def _send_early(self, steps: Generator[Any, Any, None]) -> Generator[Any, Any, None]:
        yield from steps
        if self.client_state == self.state_stream_request_body and self.server_state == self.state_done:
            yield from self._end_early()

    def _end_early(self) -> Generator[Any, Any, None]:
        """The origin has answered before the upload was whole, as with 413: what is left of it is for nobody.

        The connection to the origin is worth nothing any more. The client's goes on once the client has sent the
        rest, which is dropped: were it ended now, the client might never read the answer.
        """
        self.flow.live = False
        self.client_state = self.state_errored
        cut = request_error(self.stream_id, "answered before the upload was whole")
        yield layers.SendHttp(cut, self.context.server)
        yield layers.DropStream(self.stream_id)
        yield layers.SendHttp(layers.ResponseEndOfMessage(self.stream_id), self.context.client)

    def flow_done(self) -> Generator[Any, Any, None]:
        yield from super().flow_done()
        if self.child_layer is None and self.client_state == self.state_done:
            self._let_go()

    def _let_go(self) -> None:
        """Hold on to itself no longer: what is done is then freed at once, and not searched for from time to time.

        That search took a tenth of the processor's time, and kept the last pages in memory until it came.
        """
        self.client_state = self.server_state = _state_done
        self.context.layers.remove(self)

    def handle_protocol_error(self, event: Any) -> Generator[Any, Any, None]:
        if self._may_try_again(event):
            self._tried_again = True
            if (yield from self.make_server_connection()):
                yield from self._send_again()
        elif self._may_answer(event):
            yield from self._answer(event)
        else:
            yield from super().handle_protocol_error(self._handle_origin_failure(event))

    def _handle_origin_failure(self, event: Any) -> Any:
        """The origin failed while the client was still sending: mitmproxy would answer with a page of its own."""
        if isinstance(event, ResponseProtocolError) and expects_network_error(
            header_list(self.flow.request.headers)
        ):
            return response_error(self.stream_id, event.message, "KILL")
        return event

    def _may_try_again(self, event: Any) -> bool:
        """The connection was open before this request came, and closed before anything of an answer."""
        request, opened_at = self.flow.request, self.flow.server_conn.timestamp_tcp_setup
        return (
            not self._tried_again
            and isinstance(event, ResponseProtocolError)
            and event.message == _CLOSED
            and self.client_state == self.state_done
            and self.server_state == self.state_wait_for_response_headers
            and request.method in _IDEMPOTENT
            and not request.stream
            and not request.trailers
            and not state_of(self.flow).timed_out  # it was us who closed it
            and self.context.client.state is not ConnectionState.CLOSED
            and opened_at is not None
            and opened_at < request.timestamp_start
        )

    def _send_again(self) -> Generator[Any, Any, None]:
        content, server = self.flow.request.raw_content, self.context.server
        head = layers.RequestHeaders(self.stream_id, self.flow.request, end_stream=not content)
        yield layers.SendHttp(head, server)
        if content:
            yield layers.SendHttp(layers.RequestData(self.stream_id, content), server)
        yield layers.SendHttp(layers.RequestEndOfMessage(self.stream_id), server)

    def _may_answer(self, event: Any) -> bool:
        """The whole request has arrived, the origin failed, and the client has seen nothing of an answer."""
        return (
            isinstance(event, ResponseProtocolError)
            and self.client_state == self.state_done
            and self.server_state in (self.state_wait_for_response_headers, self.state_consume_response_body)
        )

    def _answer(self, event: Any) -> Generator[Any, Any, None]:
        self.flow.response = None  # half an answer must not be taken for one set by the hook
        self.response_body_buf.clear()
        self.flow.error = mitm_flow.Error(event.message)
        state_of(self.flow).is_answerable = True
        yield layers.HttpErrorHook(self.flow)
        if (yield from self.check_killed(False)):
            return
        if self.flow.response is not None:
            yield from self.send_response()
            return
        yield layers.SendHttp(event, self.context.client)
        self.server_state = self.state_errored
        self.flow.live = False
        yield layers.DropStream(self.stream_id)

    def check_body_size(self, request: bool) -> Generator[Any, Any, bool]:
        """When an answer that we hold back, to repair or store it, is to be passed on before it is whole.

        mitmproxy's own parses its options anew with every piece of a body. Uploads, and answers whose length is
        known to be great, are streamed by our addons; this is for the rest.
        """
        if request:
            return (yield from self._refuse_large_upload())
        response = self.flow.response
        if response is None or response.stream or not self.response_body_buf:
            return False
        now = self._last_piece_at = time.monotonic()
        if self._held_since is None:
            self._held_since = now
            # Its site may still be making a page. What it has made and does not send is given up in time.
            self._may_flow = response.status_code < 400 and "content-length" not in response.headers
        until = self._held_until(response)
        if len(self.response_body_buf) > BufferedBody.MAX_BYTES or until <= now:
            yield from self._pass_on(response)
        elif self._timer is None and self._may_flow:
            self._timer = commands.RequestWakeup(max(until - now, 0.0))
            yield self._timer
        return False

    def _held_until(self, response: http.Response) -> float:
        """A miss is held until it is whole or takes too long; a good page until it comes little by little."""
        since = self._held_since or 0.0
        if response.status_code >= 400:
            return since + MISS_HELD_BACK_S
        if not self._may_flow:
            return since + HELD_BACK_S
        return min(since + FLOWING_HELD_BACK_S, self._last_piece_at + PAUSE_S)

    def _wake_up(self) -> Generator[Any, Any, None]:
        """Nothing may have come for a while: what is there is passed on, if it is time."""
        self._timer = None
        # A stream that is paused, or in another state by now, has no body that waits.
        if self._paused or self.server_state != self.state_consume_response_body:
            return
        response, now = self.flow.response, time.monotonic()
        if response is None or response.stream or not self.response_body_buf:
            return
        left_s = self._held_until(response) - now
        if left_s > 0:
            self._timer = commands.RequestWakeup(left_s)
            yield self._timer
        else:
            yield from self._pass_on(response)

    def _pass_on(self, response: http.Response) -> Generator[Any, Any, None]:
        """Send what there is of the body, and the rest as it comes."""
        response.stream = state_of(self.flow).kept_body = BufferedBody()
        body = bytes(self.response_body_buf)
        self.response_body_buf.clear()
        yield from self.start_response_stream()
        yield from self.state_stream_response_body(layers.ResponseData(self.stream_id, body))

    def _refuse_large_upload(self) -> Generator[Any, Any, bool]:
        """Refuse an upload that is too large to hold and may not be streamed: a GET's body, any while offline."""
        if len(self.request_body_buf) <= BufferedBody.MAX_BYTES:
            return False
        self.request_body_buf.clear()
        self.flow.error = mitm_flow.Error("upload too large to be held")
        yield layers.HttpErrorHook(self.flow)
        refusal = response_error(self.stream_id, "upload too large", "REQUEST_TOO_LARGE")
        yield layers.SendHttp(refusal, self.context.client)
        self.client_state = self.state_errored
        self.flow.live = False
        return True

    def _refuse_request(self) -> Generator[Any, Any, None]:
        self.flow.error = mitm_flow.Error("malformed request")
        yield layers.HttpRequestHeadersHook(self.flow)
        yield layers.HttpErrorHook(self.flow)
        why = "no method, control character in a header, or too many headers"
        refusal = response_error(self.stream_id, why, "REQUEST_VALIDATION_FAILED")
        yield layers.SendHttp(refusal, self.context.client)
        self.flow.live = False
        self.client_state = self.server_state = self.state_errored

    def check_invalid(self, request: bool) -> Generator[Any, Any, bool]:
        """An origin whose headers are malformed has failed like any other, instead of ending in a bare 502."""
        if request and self.flow.request.data.http_version not in _HTTP1 and _is_unfit(self.flow.request):
            yield from self._refuse_request()
            return True
        if request or self.flow.response is None:
            return (yield from super().check_invalid(request))
        try:
            validate_headers(self.flow.response)
            if self.flow.response.is_http2 and _has_unfit_fields(self.flow.response.headers):
                raise ValueError("control character in a header")
            if not 100 <= self.flow.response.status_code <= 999:  # browsers take what is above 599, too
                raise ValueError("no status that there is")
        except ValueError as error:
            yield commands.CloseConnection(self.flow.server_conn)
            malformed = f"malformed answer: {error}"
            failed = response_error(self.stream_id, malformed, "RESPONSE_VALIDATION_FAILED")
            yield from self.handle_protocol_error(failed)
            self.server_state = self.state_errored  # what else it sends is nobody's
            return True
        return False


def _is_unfit(request: http.Request) -> bool:
    """Whether a request that came by HTTP/2 could not be written as HTTP/1 without becoming another, or several."""
    data = request.data
    if len(data.headers.fields) > REQUEST_LINES or not is_method(data.method):
        return True
    target = b"".join((data.scheme, data.authority, data.path))
    return _UNFIT_IN_TARGET.search(target) is not None or _has_unfit_fields(request.headers)


def _has_unfit_fields(headers: http.Headers) -> bool:
    return _UNFIT.search(b"".join(part for field in headers.fields for part in field)) is not None


def _state_done(event: events.Event) -> Generator[Any, Any, None]:
    """The state of a stream that is done; mitmproxy hands it no event any more."""
    yield from ()


def install() -> None:
    """Have mitmproxy use our stream for every request. Raises StartError when its internals have changed."""
    missing = [name for name in _NEEDED if not callable(getattr(HttpStream, name, None))]
    if missing:
        raise StartError(f"this mitmproxy is not supported: HttpStream has no {', '.join(missing)}")
    layers.HttpStream = AnsweringStream  # type: ignore[misc]
