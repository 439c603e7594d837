"""Limits of HTTP/2 connections: fair scheduling, protection against floods, and flow control.

One HTTP/2 connection carries many requests and control frames. mitmproxy handles all received frames before any other
connection, accepts any number of useless frames (streams that are reset at once, pings, settings), and buffers
without limit what a peer does not read. Here

- a few frames are handled at a time; the rest waits until other connections had their turn, and nothing more is read;
- useless frames are counted, and a peer that floods us with them is disconnected;
- a peer may send more on a stream only as far as the other side has read the earlier data.

This holds for clients and for origins. `install` checks the internals this relies on.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from typing import Any
from weakref import WeakKeyDictionary

import h2.errors
import h2.exceptions
from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http import HttpLayer, ResponseData, _http2
from mitmproxy.proxy.layers.http._http2 import Http2Client, Http2Connection, Http2Server
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection
from mitmproxy.proxy.server import ConnectionHandler

from addons.mitm.connectionset import ConnectionSet
from proxy.errors import StartError

Steps = Generator[Any, Any, None]

TURN = 32
"""What is handled at a time: headers count by their size, for four at least, other frames for one."""
IDLE_FRAMES, IDLE_FRAMES_PER_S = 1000, 100
"""Frames that lead nowhere: so many at once, and so many in a second. A stream that is reset counts for four."""
WINDOW_BYTES = 2 * 1024 * 1024
"""What a peer may send on one stream ahead of the other side."""
MOST_WAITING = 64
"""Pieces of at most 16 KiB that wait for a slow client on one stream, before its origin is read no further."""
_LOOK_AGAIN_S = 0.005
_PREFACE = 24  # bytes that a client sends ahead of its first frame
_HEAD = 9
_LARGE = 512
_DATA, _HEADERS, _RESET, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 7, 8, 9
_END_STREAM = 1
_STATE = "linkmend_turns"
_OURS = "linkmend_wrapped"

_speaking: "WeakKeyDictionary[Connection, Http2Connection]" = WeakKeyDictionary()
_waiting_turn = ConnectionSet()
_feeding: "WeakKeyDictionary[Connection, set[int]]" = WeakKeyDictionary()
"""Origins of HTTP/1, and the streams of the client for which they send faster than it reads."""


class Http2Frames:
    """Finds out where frames begin in what one peer sends, and how many of them lead nowhere."""

    def __init__(self, preface: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._left = preface
        self._head = b""
        self._clock = clock
        self._credit = float(IDLE_FRAMES)
        self._counted_at = clock()

    def cut(self, data: bytes) -> int:
        """How much of what comes next may be handled in one turn."""
        at, work, idle = 0, 0, 0
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                continue
            if work >= TURN and not self._head:
                break
            head = self._head + data[at : at + _HEAD - len(self._head)]
            at += len(head) - len(self._head)
            if len(head) < _HEAD:
                self._head = head
                break
            self._head, self._left = b"", int.from_bytes(head[:3], "big")
            work += _work_of(head[3], self._left)
            idle += _idleness_of(head[3], head[4], self._left)
        if idle:
            self._spend(idle)
        return at

    @property
    def is_overdrawn(self) -> bool:
        return self._credit < 0

    def _spend(self, idle: int) -> None:
        now = self._clock()
        earned = (now - self._counted_at) * IDLE_FRAMES_PER_S
        self._credit = min(self._credit + earned, IDLE_FRAMES) - idle
        self._counted_at = now


def _work_of(kind: int, size: int) -> int:
    if kind == _DATA:
        return 0 if size >= _LARGE else 1  # their bytes are bound already
    return 4 + size // 64 if kind in (_HEADERS, _CONTINUATION) else 1


def _idleness_of(kind: int, flags: int, size: int) -> int:
    if kind == _DATA:
        return 0 if size or flags & _END_STREAM else 1
    if kind in (_HEADERS, _GOAWAY, _WINDOW_UPDATE):
        return 0
    return 4 if kind == _RESET else 1


class _Turns:
    """What one connection has to wait for."""

    def __init__(self, preface: int) -> None:
        self.frames = Http2Frames(preface)
        self.data = b""
        self.next_turn: commands.RequestWakeup | None = None
        self.closed: events.ConnectionClosed | None = None
        self.owed: dict[int, int] = {}
        """Bytes by stream that were taken, and not yet acknowledged to the sender."""
        self.next_look: commands.RequestWakeup | None = None


def _handling(handle: Callable[[Any, events.Event], Steps], preface: int) -> Callable[..., Steps]:
    def handle_event(self: Http2Connection, event: events.Event) -> Steps:
        turns: _Turns | None = vars(self).get(_STATE)
        if turns is None:
            turns = vars(self)[_STATE] = _Turns(preface)
            _begin(self, turns)
        if isinstance(event, events.DataReceived):
            turns.data += event.data
            if turns.next_turn is None:
                yield from _take_turn(self, turns, handle)
        elif isinstance(event, events.Wakeup) and event.command is turns.next_turn:
            yield from _take_turn(self, turns, handle)
        elif isinstance(event, events.Wakeup) and event.command is turns.next_look:
            turns.next_look = None
            _settle(self, turns)
            yield commands.SendData(self.conn, self.h2_conn.data_to_send())
        elif isinstance(event, events.ConnectionClosed) and turns.next_turn is not None:
            turns.closed = event
            return
        else:
            yield from handle(self, event)
            if isinstance(event, ResponseData) and isinstance(self, Http2Server):
                _note_slow_reader(self, event.stream_id)
            return
        if turns.owed and turns.next_look is None and not _is_over(self):
            turns.next_look = commands.RequestWakeup(_LOOK_AGAIN_S)
            yield turns.next_look

    return handle_event


def _begin(self: Http2Connection, turns: _Turns) -> None:
    _speaking[self.conn] = self
    own = self.h2_conn
    acknowledge = own.acknowledge_received_data

    def acknowledge_taken(size: int, stream_id: int) -> None:
        if _is_behind(self, stream_id):
            turns.owed[stream_id] = turns.owed.get(stream_id, 0) + size
        else:
            acknowledge(size + turns.owed.pop(stream_id, 0), stream_id)

    own.acknowledge_received_data = acknowledge_taken  # type: ignore[method-assign]
    # As mitmproxy does it: what is not acknowledged here is not what is sent.
    own.local_settings.initial_window_size = WINDOW_BYTES
    own.local_settings.acknowledge()


def _take_turn(self: Http2Connection, turns: _Turns, handle: Callable[..., Steps]) -> Steps:
    turns.next_turn = None
    at = turns.frames.cut(turns.data)
    piece, turns.data = turns.data[:at], turns.data[at:]
    if turns.frames.is_overdrawn:
        turns.data = b""
        _waiting_turn.discard(self.conn)
        yield from self.protocol_error("too many idle frames", h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)
        return
    yield from handle(self, events.DataReceived(self.conn, piece))
    if _is_over(self) or not turns.data:
        _waiting_turn.discard(self.conn)
        if turns.closed is not None and not _is_over(self):
            yield from handle(self, turns.closed)
        return
    _waiting_turn.add(self.conn)
    turns.next_turn = commands.RequestWakeup(0.0)
    yield turns.next_turn


def _settle(self: Http2Connection, turns: _Turns) -> None:
    """Let those go on sending whose bytes have been taken meanwhile."""
    for stream_id in [each for each in turns.owed if not _is_behind(self, each)]:
        try:
            self.h2_conn.acknowledge_received_data(0, stream_id)
        except (h2.exceptions.ProtocolError, ValueError):
            turns.owed.pop(stream_id, None)  # the stream is gone


def _is_over(self: Http2Connection) -> bool:
    return "_handle_event" in vars(self)  # mitmproxy's way to be done


def _is_behind(self: Http2Connection, stream_id: int) -> bool:
    """Whether the other side, where it speaks HTTP/2 too, has yet to take what came on a stream."""
    if isinstance(self, Http2Client):
        other, theirs = _speaking.get(self.context.client), self.their_stream_id.get(stream_id)
    else:
        stream = _streams_of(self).get(stream_id)
        other = _speaking.get(stream.flow.server_conn) if stream is not None and _has_flow(stream) else None
        theirs = other.our_stream_id.get(stream_id) if isinstance(other, Http2Client) else None
    return other is not None and theirs is not None and _is_full(other, theirs)


def _has_flow(stream: Any) -> bool:
    return getattr(stream, "flow", None) is not None


def _is_full(self: Http2Connection, stream_id: int) -> bool:
    return len(self.h2_conn.stream_buffers.get(stream_id, ())) > MOST_WAITING


def _streams_of(self: Http2Connection) -> dict[int, Any]:
    # The innermost: around a tunnel there is another.
    layer = next((each for each in reversed(self.context.layers) if isinstance(each, HttpLayer)), None)
    return layer.streams if layer is not None else {}


def _note_slow_reader(self: Http2Server, stream_id: int) -> None:
    if not _is_full(self, stream_id):
        return
    stream = _streams_of(self).get(stream_id)
    origin = stream.flow.server_conn if stream is not None and _has_flow(stream) else None
    if origin is not None and origin not in _speaking:
        _feeding.setdefault(origin, set()).add(stream_id)


def is_ahead(connection: Connection, client: Connection) -> bool:
    """Whether nothing more is to be read from a connection for now."""
    if connection in _waiting_turn:
        return True
    fed = _feeding.get(connection)
    if not fed:
        return False
    speaker = _speaking.get(client)
    fed.intersection_update([each for each in fed if speaker is not None and _is_full(speaker, each)])
    return bool(fed)


async def wait_for_others(handler: ConnectionHandler) -> None:
    """Call this before reading more from a connection."""
    if not _waiting_turn and not _feeding:
        return
    reading = asyncio.current_task()
    connection = next((each for each, io in handler.transports.items() if io.handler is reading), None)
    while connection is not None and is_ahead(connection, handler.client):
        await asyncio.sleep(_LOOK_AGAIN_S)


def _window(window: Callable[[Any, int], int]) -> Callable[[Any, int], int]:
    def local_flow_control_window(self: BufferedH2Connection, stream_id: int) -> int:
        """Never below nothing, where mitmproxy would send what may not be sent."""
        return max(window(self, stream_id), 0)

    return local_flow_control_window


_NEEDED: tuple[tuple[object, tuple[str, ...]], ...] = (
    (Http2Connection, ("protocol_error", "close_connection", "done")),
    (Http2Server, ("_handle_event",)),
    (Http2Client, ("_handle_event",)),
    (
        BufferedH2Connection,
        ("local_flow_control_window", "acknowledge_received_data", "stream_window_updated"),
    ),
)


def install() -> None:
    """Have mitmproxy treat HTTP/2 so; after draining.install(). Raises StartError for other internals."""
    missing = [name for where, names in _NEEDED for name in names if not callable(getattr(where, name, None))]
    if missing or not hasattr(_http2, "BufferedH2Connection"):
        raise StartError(f"this mitmproxy is not supported: its HTTP/2 has no {', '.join(missing)}")
    for kind, preface in ((Http2Server, _PREFACE), (Http2Client, 0)):
        if not hasattr(kind._handle_event, _OURS):
            wrapped = _handling(kind._handle_event, preface)
            setattr(wrapped, _OURS, True)
            kind._handle_event = wrapped  # type: ignore[method-assign,assignment]
    if not hasattr(BufferedH2Connection.local_flow_control_window, _OURS):
        bounded = _window(BufferedH2Connection.local_flow_control_window)
        setattr(bounded, _OURS, True)
        BufferedH2Connection.local_flow_control_window = bounded  # type: ignore[method-assign]
