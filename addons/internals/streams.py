"""An HTTP stream that lets an addon answer when the origin failed, and does not give up too early.

mitmproxy ignores a response that an addon sets in the `error` hook and sends its own 502. Three ways round it
were weighed (FACTS): fetching documents ourselves in the `request` hook would double the path to the origin and
could not stream; sending everything through a Squid parent works, but only with that parent. So the stream
itself is taught to answer: a small subclass of mitmproxy's `HttpStream` that, when the origin fails before a
byte was sent to the client, sends what the `error` hook left in `flow.response`.

It also tries once more, on a new connection, when a kept-alive one was closed just as we asked: mitmproxy would
call that a failure of the origin, and the reader would see a repair page for a page that is there.

And it runs the hooks that need not wait itself (addons/internals/inline.py): four times a request, a hook would
otherwise climb through all layers above, and its completion back down again.
"""

import time
from collections.abc import Generator
from typing import Any

from mitmproxy import flow as mitm_flow
from mitmproxy import http
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layer import Paused
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import HttpStream, ResponseProtocolError

from addons.flows import ANSWERABLE, KEPT, KEPT_BYTES, Kept
from addons.internals.inline import BEGIN, Begin
from addons.internals.shortcuts import validate_headers
from proxy.errors import StartError

_NEEDED = (
    "handle_protocol_error",
    "make_server_connection",
    "send_response",
    "check_invalid",
    "check_body_size",
    "check_killed",
    "flow_done",
    "state_done",
    "state_errored",
    "state_wait_for_response_headers",
    "state_consume_response_body",
)
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})  # RFC 9110 9.2.2
HELD_BACK_S = 1.0
"""How long a good page is held back, so that a connection cut meanwhile can become a repair page."""
MISS_HELD_BACK_S = 10.0
"""How long a miss is, which has to be whole to become one; what drips for longer is passed on as it is."""
_CLOSED = "server closed connection"


class AnsweringStream(HttpStream):
    """mitmproxy's stream, with a second try and with the last word left to the `error` hook."""

    _tried_again = False
    _held_since: float | None = None  # by a clock that nobody sets

    def handle_event(self, event: events.Event) -> Generator[Any, Any, None]:
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

    def flow_done(self) -> Generator[Any, Any, None]:
        yield from super().flow_done()
        if self.child_layer is None and self.client_state == self.state_done:
            self._let_go()

    def _let_go(self) -> None:
        """Hold on to itself no longer: what is done is then freed at once, and not searched for from time to time.

        That search took a tenth of the processor's time, and kept the last pages in memory until it came.
        """
        self.client_state = self.server_state = _gone
        self.context.layers.remove(self)

    def handle_protocol_error(self, event: Any) -> Generator[Any, Any, None]:
        if self._may_try_again(event):
            self._tried_again = True
            if (yield from self.make_server_connection()):
                yield from self._send_again()
        elif self._may_answer(event):
            yield from self._answer(event)
        else:
            yield from super().handle_protocol_error(event)

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
        self.flow.metadata[ANSWERABLE] = True
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
            return (yield from self._refused_upload())
        response = self.flow.response
        if response is None or response.stream or not self._held_long_enough(response):
            return False
        response.stream = self.flow.metadata[KEPT] = Kept()
        body = bytes(self.response_body_buf)
        self.response_body_buf.clear()
        yield from self.start_response_stream()
        yield from self.handle_event(layers.ResponseData(self.stream_id, body))
        return False

    def _refused_upload(self) -> Generator[Any, Any, bool]:
        """What is uploaded and may not be streamed (a GET with a body, anything off the line) has its bounds too."""
        if len(self.request_body_buf) <= KEPT_BYTES:
            return False
        self.request_body_buf.clear()
        self.flow.error = mitm_flow.Error("upload too large to be held")
        yield layers.HttpErrorHook(self.flow)
        refusal = _protocol_error(self.stream_id, "upload too large", 413, "REQUEST_TOO_LARGE")
        yield layers.SendHttp(refusal, self.context.client)
        self.client_state = self.state_errored
        self.flow.live = False
        return True

    def _held_long_enough(self, response: http.Response) -> bool:
        """A miss is held until it is whole or takes too long; a good page until it comes little by little."""
        if len(self.response_body_buf) > KEPT_BYTES:
            return True
        if self._held_since is None:
            self._held_since = time.monotonic()
        most_s = MISS_HELD_BACK_S if response.status_code >= 400 else HELD_BACK_S
        return bool(self.response_body_buf) and time.monotonic() - self._held_since > most_s

    def check_invalid(self, request: bool) -> Generator[Any, Any, bool]:
        """An origin whose headers are malformed has failed like any other, instead of ending in a bare 502."""
        if request or not self.context.options.validate_inbound_headers or self.flow.response is None:
            return (yield from super().check_invalid(request))
        try:
            validate_headers(self.flow.response)
        except ValueError as error:
            yield commands.CloseConnection(self.flow.server_conn)
            malformed = f"malformed answer: {error}"
            failed = _protocol_error(self.stream_id, malformed, 502, "RESPONSE_VALIDATION_FAILED")
            yield from self.handle_protocol_error(failed)
            self.server_state = self.state_errored  # what else it sends is nobody's
            return True
        return False


def _gone(event: events.Event) -> Generator[Any, Any, None]:
    """The state of a stream that is done; mitmproxy hands it no event any more."""
    yield from ()


def _protocol_error(stream_id: int, message: str, status: int, name: str) -> ResponseProtocolError:
    codes = getattr(layers, "ErrorCode", None)  # mitmproxy 12; version 11 has plain status codes
    return ResponseProtocolError(stream_id, message, status if codes is None else codes[name])


def install() -> None:
    """Have mitmproxy use our stream for every request. Raises StartError when its internals have changed."""
    missing = [name for name in _NEEDED if not callable(getattr(HttpStream, name, None))]
    if missing:
        raise StartError(f"this mitmproxy is not supported: HttpStream has no {', '.join(missing)}")
    layers.HttpStream = AnsweringStream  # type: ignore[misc]
