"""Detects the protocol in a tunnel only when enough data has arrived.

mitmproxy decides by the first piece of data. If that is half a request line, or only two bytes of a TLS handshake, it
recognises no protocol and forwards all bytes unread, past rules, cache and timeouts. So as long as the data may be
the beginning of either protocol, we wait for more.

It also takes only what begins with three letters for HTTP. Servers read more: empty lines before the first request,
and methods such as M-SEARCH. All of that is HTTP here.
"""

import re

from mitmproxy.proxy import layers
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http import HTTPMode

from addons.mitm.ownaddons import next_layer
from proxy.errors import StartError

_METHOD = rb"(?!SSH-)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,1000}"
_BEGINNINGS = re.compile(
    rb"(?s)(?=.)(?:\x16(?:\x03.?)?|[\r\n\t ]{0,4095}(?:" + _METHOD + rb"(?:[\t ][^\n]{0,65536})?)?)"
)
"""Of a TLS record, and of a request line."""
_REQUEST = re.compile(rb"[\r\n\t ]{4096}|[\r\n\t ]*" + _METHOD + rb"[\t ]")


class PatientNextLayer(next_layer.NextLayer):
    """mitmproxy's chooser of layers, which does not decide too early."""

    def _next_layer(self, context: Context, data_client: bytes, data_server: bytes) -> Layer | None:
        if not data_server and _BEGINNINGS.fullmatch(data_client):
            raise next_layer.NeedsMoreData
        chosen = super()._next_layer(context, data_client, data_server)
        if isinstance(chosen, layers.TCPLayer) and not data_server and _REQUEST.match(data_client):
            return layers.HttpLayer(context, HTTPMode.transparent)
        return chosen

    def _ignore_connection(self, context: Context, data_client: bytes, data_server: bytes) -> bool | None:
        """Never (addons/bypass.py does it): mitmproxy copies two options to find that out, thrice a connection."""
        return False


def check() -> None:
    """Raises StartError when mitmproxy's internals have changed."""
    if (
        not issubclass(getattr(next_layer, "NeedsMoreData", int), Exception)
        or not callable(getattr(next_layer.NextLayer, "_next_layer", None))
        or not callable(getattr(next_layer.NextLayer, "_ignore_connection", None))
    ):
        raise StartError("this mitmproxy is not supported: it chooses layers in another way")
