"""When an origin cannot be reached, the reader gets an answer all the same.

mitmproxy ignores a response that an addon sets in the `error` hook and sends its own 502. Three ways round it
were weighed (FACTS): fetching documents ourselves in the `request` hook would double the path to the origin and
could not stream; sending everything through a Squid parent works, but only with that parent. So the stream
itself is taught to answer: a small subclass of mitmproxy's `HttpStream` that, when the origin fails before a
byte was sent to the client, sends what the `error` hook left in `flow.response`. It relies on a few internals,
which `install` checks at start-up and tests/integration/test_failures.py exercises on each mitmproxy we support.

An `error` hook that wants to answer sets `flow.response`; the `response` hooks then see it like any other.
"""

from collections.abc import Generator
from typing import Any

from mitmproxy import flow as mitm_flow
from mitmproxy import http
from mitmproxy.net.http.validate import validate_headers
from mitmproxy.proxy import commands
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers.http import HttpStream, ResponseProtocolError
from proxy.navigation import asks_for_repair

from addons.flows import FAILURE, OURS, TIMED_OUT, header_list, make_response
from proxy.errors import StartError
from proxy.failures import Failure, failure_of, proxy_status

_NEEDED = (
    "handle_protocol_error",
    "send_response",
    "check_invalid",
    "check_killed",
    "state_done",
    "state_errored",
    "state_wait_for_response_headers",
    "state_consume_response_body",
)


class AnsweringStream(HttpStream):
    """An HTTP stream that lets the `error` hook answer for an origin that failed."""

    def handle_protocol_error(self, event: Any) -> Generator[Any, Any, None]:
        if not self._may_answer(event):
            yield from super().handle_protocol_error(event)
            return
        self.flow.response = None  # half an answer must not be taken for one set by the hook
        self.response_body_buf.clear()
        self.flow.error = mitm_flow.Error(event.message)
        yield http_layers.HttpErrorHook(self.flow)
        if (yield from self.check_killed(False)):
            return
        if self.flow.response is not None:
            yield from self.send_response()
            return
        yield http_layers.SendHttp(event, self.context.client)
        self.server_state = self.state_errored
        self.flow.live = False
        yield http_layers.DropStream(self.stream_id)

    def _may_answer(self, event: Any) -> bool:
        """The whole request has arrived, the origin failed, and the client has seen nothing of an answer yet."""
        return (
            isinstance(event, ResponseProtocolError)
            and self.client_state == self.state_done
            and self.server_state in (self.state_wait_for_response_headers, self.state_consume_response_body)
        )

    def check_invalid(self, request: bool) -> Generator[Any, Any, bool]:
        """An origin whose headers are malformed has failed like any other, instead of ending in a bare 502."""
        if request or not self.context.options.validate_inbound_headers or self.flow.response is None:
            return (yield from super().check_invalid(request))
        try:
            validate_headers(self.flow.response)
        except ValueError as error:
            yield commands.CloseConnection(self.flow.server_conn)
            yield from self.handle_protocol_error(
                _protocol_error(self.stream_id, f"malformed answer: {error}")
            )
            return True
        return False


def _protocol_error(stream_id: int, message: str) -> ResponseProtocolError:
    codes = getattr(http_layers, "ErrorCode", None)  # mitmproxy 12; version 11 has plain status codes
    if codes is None:
        return ResponseProtocolError(stream_id, message, 502)  # type: ignore[arg-type]
    return ResponseProtocolError(stream_id, message, codes.RESPONSE_VALIDATION_FAILED)


def install() -> None:
    """Have mitmproxy use our stream for every request. Raises StartError when its internals have changed."""
    missing = [name for name in _NEEDED if not callable(getattr(HttpStream, name, None))]
    if missing:
        raise StartError(f"this mitmproxy is not supported: HttpStream has no {', '.join(missing)}")
    http_layers.HttpStream = AnsweringStream  # type: ignore[misc]


class Failures:
    """Gives every failed request an honest answer: short for sub-resources, the start of a repair for pages."""

    def error(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None or flow.error is None:
            return  # the cache has answered with a stale copy
        failure = failure_of(flow.error.msg, timed_out=bool(flow.metadata.get(TIMED_OUT)))
        flow.metadata[FAILURE] = failure
        flow.metadata[OURS] = "failure"
        flow.response = failure_response(failure, flow)

    def response(self, flow: http.HTTPFlow) -> None:
        """mitmproxy remembers a failed connection as long as the client's lasts: without this, trying again would
        meet the old error (`HttpLayer.get_connection`)."""
        if FAILURE in flow.metadata and flow.response is not None and flow.request.is_http11:
            flow.response.headers["connection"] = "close"


def failure_response(failure: Failure, flow: http.HTTPFlow) -> http.Response:
    """The short form: a line of text. The repair addon replaces it where a person is waiting for a page."""
    body = b"" if flow.request.method == "HEAD" else f"linkmend: {failure.error.replace('_', ' ')}\n".encode()
    if asks_for_repair(flow.request.method, header_list(flow.request.headers)):
        body = b""
    return make_response(
        status=failure.status,
        headers=(
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Proxy-Status", proxy_status(failure)),
        ),
        body=body,
    )
