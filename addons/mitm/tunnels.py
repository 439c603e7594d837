"""Layers that forward a CONNECT tunnel unread, directly or through a parent proxy.

mitmproxy can ignore a tunnel (`TCPLayer(ignore=True)`), but only a direct one; through a parent it needs the layer
that opens a tunnel at the parent. `install` checks the internals this relies on.
"""

import inspect

from mitmproxy.proxy import layer, layers
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.layers.http._upstream_proxy import HttpUpstreamProxy

from proxy.errors import StartError


def install() -> None:
    """Raises StartError when mitmproxy's internals have changed."""
    if "ignore" not in inspect.signature(layers.TCPLayer).parameters:
        raise StartError("this mitmproxy is not supported: TCPLayer cannot ignore a connection")
    if list(inspect.signature(HttpUpstreamProxy.make).parameters) != ["ctx", "send_connect"]:
        raise StartError("this mitmproxy is not supported: HttpUpstreamProxy is made in another way")


def begins_tunnel(nextlayer: layer.NextLayer) -> bool:
    """Whether the layer to choose is the first one inside a tunnel that the client opened by CONNECT."""
    inside = _inside_tunnel(nextlayer.context)
    # mitmproxy's own choice, when it was made before ours, stands in the list already.
    return inside is not None and (not inside or inside[0] is nextlayer.layer)


def pass_on(nextlayer: layer.NextLayer, parent: tuple[str, int] | None) -> None:
    """Have what comes through the tunnel passed on to its host, instead of what was chosen before."""
    context = nextlayer.context
    inside = _inside_tunnel(context) or []
    del context.layers[len(context.layers) - len(inside) :]
    if parent is None:
        nextlayer.layer = layers.TCPLayer(context, ignore=True)
        return
    context.server.via = ("http", parent)
    stack = HttpUpstreamProxy.make(context, send_connect=True)
    stack /= layers.TCPLayer(context, ignore=True)
    nextlayer.layer = stack[0]


def _inside_tunnel(context: Context) -> list[layer.Layer] | None:
    """The layers after the one that answered CONNECT; None when there is no tunnel.

    In upstream mode the first of them asks the proxy there for a tunnel, and all others come after that.
    """
    before = (HttpStream, HttpUpstreamProxy)
    if not any(isinstance(each, HttpStream) for each in context.layers):
        return None
    places = [place for place, each in enumerate(context.layers) if isinstance(each, before)]
    return context.layers[places[-1] + 1 :]
