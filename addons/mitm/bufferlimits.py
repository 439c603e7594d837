"""What one peer may send before it has said anything that can be answered: bounds on heads and chunk-size lines.

mitmproxy keeps whatever arrives until a head or a line is complete, and both may never be. So its HTTP/1 layers get
a buffer that refuses to wait for more than a bound, and joins folded lines (RFC 9112 5.2), which would otherwise be
passed on. What stands in the lines is for addons/internals/heads.py. A client is told so and let go; an origin has
failed, and the reader gets our page. `install` checks the internals this relies on.
"""

from collections.abc import Generator
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Connection, Http1Server

from addons.internals.heads import RESPONSE_LINES, is_cut_head
from addons.internals.interim import read_past_interim
from proxy.errors import StartError

HEAD_BYTES = 256 * 1024
"""Past what any browser or server sends or takes; whole heads may be longer by what came in the same read."""
HEAD_LINES = RESPONSE_LINES + 1
LINE_BYTES = 16 * 1024
"""Of a line with a chunk's size."""
AHEAD_BYTES = 1024 * 1024
"""What a client may send ahead while an answer is under way."""

_BLANKS = (b" ", b"\t")
_NEEDED = ("read_headers", "read_body", "wait", "done")
_read_request = Http1Server.read_headers
_wait = Http1Connection.wait


class BoundedBuffer(ReceiveBuffer):
    """h11's buffer, which never waits for more than the bounds; raises RemoteProtocolError past them.

    mitmproxy's reader of bodies expects that error; its readers of heads are wrapped below.
    """

    def maybe_extract_lines(self) -> list[bytearray] | None:
        lines = super().maybe_extract_lines()
        # An empty line ahead of a head is skipped one at a time: a flood of them must not pile up either.
        if not lines and len(self) > HEAD_BYTES:
            raise h11.RemoteProtocolError(f"header section of more than {HEAD_BYTES} bytes", 431)
        if lines and len(lines) > HEAD_LINES:
            raise h11.RemoteProtocolError(f"header section of more than {HEAD_LINES} lines", 431)
        return lines and _unfolded(lines)

    def maybe_extract_next_line(self) -> bytearray | None:
        line = super().maybe_extract_next_line()
        if line is None and len(self) > LINE_BYTES:
            raise h11.RemoteProtocolError(f"chunk header of more than {LINE_BYTES} bytes")
        return line


def _unfolded(lines: list[bytearray]) -> list[bytearray]:
    if not any(line.startswith(_BLANKS) for line in lines):
        return lines
    whole: list[bytearray] = []
    for line in lines:
        if line.startswith(_BLANKS) and len(whole) > 1:
            whole[-1] += b" " + line.strip(b" \t")
        else:
            whole.append(line)
    return whole


def install() -> None:
    """Have mitmproxy bound what it waits for; after interim.install(). Raises StartError for other internals."""
    missing = [name for name in _NEEDED if not callable(getattr(Http1Connection, name, None))]
    if missing or getattr(_http1, "ReceiveBuffer", None) not in (ReceiveBuffer, BoundedBuffer):
        raise StartError("this mitmproxy is not supported: another Http1Connection or ReceiveBuffer")
    _http1.ReceiveBuffer = BoundedBuffer  # type: ignore[misc]
    Http1Server.read_headers = _read_bounded_request  # type: ignore[method-assign]
    Http1Server.wait = _wait_bounded  # type: ignore[method-assign,assignment]
    Http1Client.read_headers = _read_bounded_answer  # type: ignore[method-assign]


def _read_bounded_request(self: Http1Server, event: events.ConnectionEvent) -> Generator[Any, Any, None]:
    try:
        yield from _read_request(self, event)
    except h11.RemoteProtocolError as error:
        self.state = self.done
        answer = _http1.make_error_response(error.error_status_hint, str(error))
        yield commands.SendData(self.conn, answer)
        yield commands.CloseConnection(self.conn)


def _read_bounded_answer(self: Http1Client, event: events.ConnectionEvent) -> Generator[Any, Any, None]:
    try:
        if isinstance(event, events.ConnectionClosed) and _is_all_there_is(self):
            yield from _read_cut_answer(self, event)
        else:
            yield from read_past_interim(self, event)
    except h11.RemoteProtocolError as error:
        self.state = self.done
        yield commands.CloseConnection(self.conn)
        if self.stream_id is not None:
            yield layers.ReceiveHttp(_malformed(self.stream_id, f"malformed answer: {error}"))


def _is_all_there_is(self: Http1Client) -> bool:
    """Whether a head ended with its connection; over TLS somebody may have cut it, and browsers refuse it."""
    return self.request is not None and not self.conn.tls and is_cut_head(bytes(self.buf))


def _read_cut_answer(self: Http1Client, event: events.ConnectionClosed) -> Generator[Any, Any, None]:
    self.buf += b"Cache-Control: no-store\r\n\r\n"  # what else it would have said, nobody knows
    yield from read_past_interim(self, events.DataReceived(self.conn, b""))
    yield from self.state(event)


def _malformed(stream_id: int, message: str) -> layers.ResponseProtocolError:
    codes = getattr(layers, "ErrorCode", None)  # mitmproxy 12; version 11 has plain status codes
    code = 502 if codes is None else codes.RESPONSE_VALIDATION_FAILED
    return layers.ResponseProtocolError(stream_id, message, code)


def _wait_bounded(self: Http1Server, event: events.Event) -> Generator[Any, Any, None]:
    if isinstance(event, events.DataReceived) and len(self.buf) > AHEAD_BYTES:
        yield from _wait(self, events.ConnectionClosed(self.conn))  # as if it had left
        self.state = self.done
    else:
        yield from _wait(self, event)
