"""Forwards interim responses (103 Early Hints, 102, 100) and waits for the final one (RFC 9110 15.2).

mitmproxy takes an HTTP/1 interim response for the final one: the client then waits for ever. So our response reader
(addons/mitm/originclient.py) skips them: it sends them to an HTTP/1.1 client at once, past hooks and cache, and
drops them for other clients. Their number is limited, since an origin could send nothing else. `check` checks the
internals this relies on.
"""

import re
from collections.abc import Generator
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.net.http import http1
from mitmproxy.proxy import events
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers.http._events import ResponseHeaders
from mitmproxy.proxy.layers.http._http1 import Http1Client

from proxy.errors import StartError

# 101 is final: the protocol changes.
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)[0-9][0-9][ \r\n]")
_MOST = 10
_COUNT = "linkmend_interims"


def check() -> None:
    """Raises StartError when mitmproxy's internals have changed."""
    if not callable(getattr(http_layers, "SendHttp", None)) or not hasattr(ReceiveBuffer(), "_data"):
        raise StartError("this mitmproxy is not supported: no SendHttp, or another ReceiveBuffer")


def read_past_interim(self: Http1Client, event: events.ConnectionEvent) -> Generator[Any, Any, None]:
    """mitmproxy's reader of response heads, past interim ones. Raises RemoteProtocolError for a flood of them."""
    while isinstance(event, events.DataReceived) and self.request and _INTERIM.match(self.buf._data):
        head = self.buf.maybe_extract_lines()
        if head is None:
            return  # the rest of it is on its way
        _count(self)
        yield from _pass_on(self, [bytes(line) for line in head])
    yield from Http1Client.read_headers(self, event)


def _count(self: Http1Client) -> None:
    """Count the interim responses to one request, of which a connection may carry many."""
    request, seen = vars(self).get(_COUNT, (None, 0))
    seen = seen + 1 if request is self.request else 1
    if seen > _MOST:
        raise h11.RemoteProtocolError(f"more than {_MOST} interim responses")
    vars(self)[_COUNT] = (self.request, seen)


def _pass_on(self: Http1Client, head: list[bytes]) -> Generator[Any, Any, None]:
    if self.request is None or self.stream_id is None or not self.request.is_http11:
        return  # HTTP/1.0 knows no interim responses
    try:
        response = http1.read_response_head(head)
    except ValueError:
        return
    yield http_layers.SendHttp(
        ResponseHeaders(self.stream_id, response, end_stream=False), self.context.client
    )
