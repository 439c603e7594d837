"""The fast path inside a tunnel: what arrives over TLS is decrypted and answered without climbing through the layers.

In a tunnel there are six layers between the socket and the HTTP layer inside: they take twice as long as decrypting,
finding and encrypting the answer of a hit together. So while nothing is under way, `FastTunnel` decrypts what has
arrived and asks the fast path of the HTTP layer (addons/mitm/fastlayer.py). If that has no answer at once, the event
takes its usual way, and the TLS layer finds its plain text already there.
"""

from collections.abc import Generator
from typing import Any

from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.tls import ClientTLSLayer
from mitmproxy.proxy.tunnel import TunnelState
from OpenSSL import SSL

from addons.mitm.fastlayer import FastPathLayer
from proxy.errors import StartError

Steps = Generator[commands.Command, Any, None]
_PIECE_BYTES = 65535
_NEEDED = ("receive_data", "tls_interact", "event_to_child")


class _DecryptedLayer(ClientTLSLayer):
    """mitmproxy's layer, which may find that its data was decrypted before."""

    decrypted: bytes | None = None

    def receive_data(self, data: bytes) -> Steps:
        if self.decrypted is None:
            return super().receive_data(data)
        plain, self.decrypted = self.decrypted, None
        return self._hand_on(plain)

    def _hand_on(self, plain: bytes) -> Steps:
        yield from self.tls_interact()
        if plain:
            yield from self.event_to_child(events.DataReceived(self.conn, plain))
        yield from super().receive_data(b"")  # the end of the connection, if that has come, too


class FastTunnel:
    """The shortcut of one connection."""

    def __init__(self, layers: list[Layer], secure: _DecryptedLayer, inside: FastPathLayer) -> None:
        self._above = layers
        self._secure = secure
        self._inside = inside

    def receive(self, event: events.DataReceived) -> list[commands.Command] | None:
        """What to send in return; None when the event has to take its usual way."""
        secure, inside = self._secure, self._inside
        if (
            secure.tunnel_state is not TunnelState.OPEN
            or secure.decrypted is not None
            or any(layer._paused for layer in self._above)
            or not inside.is_idle(event.connection)
        ):
            return None
        secure.decrypted = plain = _decrypt(secure.tls, event.data)
        answer = inside.answer_at_once(plain)
        if answer is None:
            return None
        secure.decrypted = None
        return list(secure.send_data(answer))


def _decrypt(tls: SSL.Connection, data: bytes) -> bytes:
    """What can be read now. An end or an error shows again when the layer reads on."""
    tls.bio_write(data)
    plain = bytearray()
    try:
        while True:
            plain += tls.recv(_PIECE_BYTES)
    except SSL.Error:
        return bytes(plain)


def tunnel_of(context: Context) -> FastTunnel | None:
    """The shortcut to the HTTP layer just chosen, if the client speaks TLS right above it and nowhere else."""
    above, inside = context.layers[:-1], context.layers[-1] if context.layers else None
    secure: Any = [layer for layer in above if isinstance(layer, ClientTLSLayer)]
    if secure != above[-1:] or not secure or secure[0].conn is not context.client:
        return None
    if not isinstance(inside, FastPathLayer) or inside.place is None:
        return None
    secure[0].__class__ = _DecryptedLayer
    return FastTunnel(above, secure[0], inside)


def check() -> None:
    """Raises StartError when mitmproxy's internals have changed."""
    missing = [name for name in _NEEDED if not callable(getattr(ClientTLSLayer, name, None))]
    if missing:
        raise StartError(f"this mitmproxy is not supported: its TLS layer has no {', '.join(missing)}")
