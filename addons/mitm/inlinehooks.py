"""Runs hooks that need not wait directly, instead of each in its own task.

mitmproxy's connection handler makes a task for every hook and returns through a lock: four times per request, for
hooks that mostly only look at a flow. So an object between the handler and its layers runs what can be run at once
and reports to the layers that it is done; the handler gets everything else. Streams do the same for their own hooks
(addons/mitm/streams.py): they find `begin` in their context.

The same object skips the two topmost layers once they only forward events, and all layers of a tunnel for what can be
answered at once (addons/mitm/fasttunnel.py). It sends the head and the body of a response in one write: each write is
a system call, and wakes the receiver.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, Protocol

from mitmproxy.connection import Client
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer, NextLayer
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import HttpLayer
from mitmproxy.proxy.server import ConnectionHandler

from proxy.errors import StartError

Begin = Callable[[commands.StartHook], bool]
"""Runs what can be run at once of a hook; whether that was all."""
BEGIN, INLINE = "linkmend_begin", "linkmend_inline"
"""Where it and the object itself stand in a layer's context."""
_AT_ONCE_BYTES = 128 * 1024
"""Up to here, copying is cheaper than writing twice."""


class Shortcut(Protocol):
    """Answers what has arrived from the client at once, or not at all."""

    def receive(self, event: events.DataReceived) -> Iterable[commands.Command] | None: ...


class InlineHooks:
    """Takes the place of a handler's topmost layer."""

    def __init__(self, top: Layer, begin: Begin) -> None:
        self._top = top
        self._begin = begin
        self._is_shortest = False
        self.received = 0
        """Bytes that have come from the client."""
        self.tunnel: Shortcut | None = None

    @property
    def context(self) -> Context:
        return self._top.context

    def handle_event(self, event: events.Event) -> Generator[commands.Command, Any, None]:
        if not self._is_shortest:
            self._top = _first_active_layer(self._top)
            self._is_shortest = isinstance(self._top, HttpLayer)
        if type(event) is events.DataReceived and type(event.connection) is Client:
            self.received += len(event.data)
            if self.tunnel is not None and (answered := self.tunnel.receive(event)) is not None:
                return join_hooks(answered)
        return join_hooks(self._handle(event))

    def _handle(self, event: events.Event) -> Generator[commands.Command, Any, None]:
        waiting = deque((event,))
        while waiting:
            for command in self._top.handle_event(waiting.popleft()):
                if not isinstance(command, commands.StartHook) or not self._begin(command):
                    yield command
                elif command.blocking:
                    waiting.append(events.HookCompleted(command))


def join_hooks(steps: Iterable[commands.Command]) -> Generator[commands.Command, Any, None]:
    """The commands, with pieces for one connection that follow each other made one."""
    held: commands.SendData | None = None
    try:
        for command in steps:
            if type(command) is not commands.SendData:
                if held is not None:
                    first, held = held, None
                    yield first
                yield command
            elif held is None:
                held = command
            elif (
                command.connection is held.connection and len(held.data) + len(command.data) <= _AT_ONCE_BYTES
            ):
                held = commands.SendData(held.connection, held.data + command.data)
            else:
                first, held = held, command
                yield first
    except Exception:  # of a layer: what it had sent before is on its way all the same
        if held is not None:
            yield held
        raise
    if held is not None:
        yield held


def _first_active_layer(top: Layer) -> Layer:
    """The first layer that does anything: the proxy modes and the choice of a layer only hand on once it is made."""
    while not top._paused:
        if isinstance(top, NextLayer) and top.layer is not None and not top.events:
            top = top.layer
        elif isinstance(top, modes.HttpProxy | modes.HttpUpstreamProxy) and "_handle_event" in vars(top):
            top = top._handle_event.__self__  # type: ignore[attr-defined]  # as they set it when they start
        else:
            break
    return top


def run_inline(handler: ConnectionHandler | None, client: Client, begin: Begin) -> None:
    """From now on the hooks of this connection are begun where they arise."""
    if handler is not None and handler.client is client:
        inline = InlineHooks(handler.layer, begin)
        vars(handler.layer.context).update({BEGIN: begin, INLINE: inline})
        handler.layer = inline  # type: ignore[assignment]


def check() -> None:
    """Raises StartError when mitmproxy's internals have changed."""
    if not {"layer", "client"} <= ConnectionHandler.__annotations__.keys():
        raise StartError("this mitmproxy is not supported: its ConnectionHandler has no layer")
