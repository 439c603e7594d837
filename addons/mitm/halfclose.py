"""Clients that disconnect right after a request: a complete request is still forwarded to its site.

A page that the user leaves sends a last request (`sendBeacon`, `fetch` with `keepalive`) and closes. mitmproxy drops
a request as soon as its client closes, mostly before it has a connection to the site. So a client with a complete
request and no response yet counts as gone only after a while. If the response comes before, it is sent, and the
connection closes. HTTP/2 does not need this: there a browser cancels its requests one by one.
"""

from collections.abc import Callable, Generator
from typing import Any

from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http._http1 import Http1Server

from addons.mitm.connectionset import ConnectionSet
from proxy.errors import StartError

Steps = Generator[Any, Any, None]

CARRIED_S = 5.0
"""How long a request may take that somebody wanted to be carried out..."""
ASKED_S = 2.0
"""... and one that asks for something, which nobody is there to read: long enough to be sent."""
MOST_LEFT = 200
"""How many clients may have left so at once: a request of any other ends with its client."""
_SAFE = frozenset({"GET", "HEAD"})
_NEEDED = ("wait", "mark_done", "done", "read_headers", "_handle_event")
_OURS = "linkmend_lets_leave"

_left = ConnectionSet()


def _waiting(
    wait: Callable[[Http1Server, events.Event], Steps],
) -> Callable[[Http1Server, events.Event], Steps]:
    def wait_on(self: Http1Server, event: events.Event) -> Steps:
        if not isinstance(event, events.ConnectionClosed):
            yield from wait(self, event)
        elif not _may_leave(self):
            _left.discard(self.conn)
            yield from wait(self, event)
        elif self.conn not in _left:
            _left.add(self.conn)
            is_safe = self.request is not None and self.request.method in _SAFE
            yield commands.RequestWakeup(ASKED_S if is_safe else CARRIED_S)

    return wait_on


def _may_leave(self: Http1Server) -> bool:
    """Whether the client has closed its side only, as far as is known, and has seen nothing of an answer."""
    return (
        self.conn.state is ConnectionState.CAN_WRITE
        and self.response is None
        and (self.conn in _left or len(_left) < MOST_LEFT)
    )


def _handling(
    handle: Callable[[Http1Server, events.Event], Steps],
) -> Callable[[Http1Server, events.Event], Steps]:
    def handle_event(self: Http1Server, event: events.Event) -> Steps:
        if not isinstance(event, events.Wakeup):
            return handle(self, event)
        return _end(self)

    return handle_event


def _end(self: Http1Server) -> Steps:
    """Its time is over."""
    if self.conn in _left:
        _left.discard(self.conn)
        if self.state == self.wait and self.response is None:
            yield from _unwrap(Http1Server.wait)(self, events.ConnectionClosed(self.conn))
        elif self.state == self.read_headers:
            self.state = self.done
            yield commands.CloseConnection(self.conn)


def _marking(mark_done: Callable[..., Steps]) -> Callable[..., Steps]:
    def marking(self: Http1Server, *, request: bool = False, response: bool = False) -> Steps:
        steps = mark_done(self, request=request, response=response)
        return _mark_and_leave(self, steps) if self.conn in _left else steps

    return marking


def _mark_and_leave(self: Http1Server, steps: Steps) -> Steps:
    yield from steps
    # What it has asked for in one go with this is still answered.
    if self.conn in _left and self.state == self.read_headers and not self.buf:
        _left.discard(self.conn)
        self.state = self.done
        yield commands.CloseConnection(self.conn)


def install() -> None:
    """Install this wait, after everything else that replaces the same methods. Raises StartError."""
    missing = [name for name in _NEEDED if not callable(getattr(Http1Server, name, None))]
    if missing:
        raise StartError(f"this mitmproxy is not supported: HTTP/1 has no {', '.join(missing)}")
    for name, wrap in (("wait", _waiting), ("_handle_event", _handling), ("mark_done", _marking)):
        current = getattr(Http1Server, name)
        if not hasattr(current, _OURS):
            wrapped = wrap(current)
            setattr(wrapped, _OURS, current)
            setattr(Http1Server, name, wrapped)


def _unwrap(wrapped: Any) -> Callable[[Http1Server, events.Event], Steps]:
    return getattr(wrapped, _OURS, wrapped)  # type: ignore[no-any-return]
