"""Size limits of message heads and chunk-size lines.

mitmproxy buffers data until a head or a line is complete, which may be never. So its HTTP/1 layers get a buffer with
a limit, which also joins folded lines (RFC 9112 5.2). addons/mitm/http1heads.py parses the lines. A client beyond the
limit gets an error and is closed; an origin counts as failed, and the user gets our page. `install` checks the
internals this relies on.
"""

from collections.abc import Generator
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.layers.http._http1 import Http1Connection, Http1Server

from addons.mitm.http1heads import RESPONSE_LINES
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

    mitmproxy's reader of bodies expects that error. Its reader of requests is wrapped below, that of answers in
    addons/mitm/originclient.py.
    """

    def maybe_extract_lines(self) -> list[bytearray] | None:
        lines = super().maybe_extract_lines()
        # An empty line ahead of a head is skipped one at a time: a flood of them must not pile up either.
        if not lines and len(self) > HEAD_BYTES:
            raise h11.RemoteProtocolError(f"header section of more than {HEAD_BYTES} bytes", 431)
        if lines and len(lines) > HEAD_LINES:
            raise h11.RemoteProtocolError(f"header section of more than {HEAD_LINES} lines", 431)
        return lines and _unfold(lines)

    def maybe_extract_next_line(self) -> bytearray | None:
        line = super().maybe_extract_next_line()
        if line is None and len(self) > LINE_BYTES:
            raise h11.RemoteProtocolError(f"chunk header of more than {LINE_BYTES} bytes")
        return line


def _unfold(lines: list[bytearray]) -> list[bytearray]:
    joined = b"\n".join(lines)
    if b"\n " not in joined and b"\n\t" not in joined:
        return lines
    whole: list[bytearray] = []
    for line in lines:
        if line.startswith(_BLANKS) and len(whole) > 1:
            whole[-1] += b" " + line.strip(b" \t")
        else:
            whole.append(line)
    return whole


def install() -> None:
    """Have mitmproxy bound what it waits for. Raises StartError for other internals."""
    missing = [name for name in _NEEDED if not callable(getattr(Http1Connection, name, None))]
    if missing or getattr(_http1, "ReceiveBuffer", None) not in (ReceiveBuffer, BoundedBuffer):
        raise StartError("this mitmproxy is not supported: another Http1Connection or ReceiveBuffer")
    _http1.ReceiveBuffer = BoundedBuffer  # type: ignore[misc]
    Http1Server.read_headers = _read_bounded_request  # type: ignore[method-assign]
    Http1Server.wait = _wait_bounded  # type: ignore[method-assign,assignment]


def _read_bounded_request(self: Http1Server, event: events.ConnectionEvent) -> Generator[Any, Any, None]:
    try:
        yield from _read_request(self, event)
    except h11.RemoteProtocolError as error:
        yield from refuse_head(self, error.error_status_hint, str(error))


def refuse_head(self: Http1Server, status: int, reason: str) -> Generator[Any, Any, None]:
    """Answer a request head that cannot be read with an error, and close the connection."""
    self.state = self.done
    yield commands.SendData(self.conn, _http1.make_error_response(status, reason))
    yield commands.CloseConnection(self.conn)


def _wait_bounded(self: Http1Server, event: events.Event) -> Generator[Any, Any, None]:
    if isinstance(event, events.DataReceived) and len(self.buf) > AHEAD_BYTES:
        yield from _wait(self, events.ConnectionClosed(self.conn))  # as if it had left
        self.state = self.done
    else:
        yield from _wait(self, event)
