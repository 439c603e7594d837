"""Layers that pass a CONNECT tunnel on unread, straight or through a parent proxy.

mitmproxy can leave a tunnel alone (`TCPLayer(ignore=True)`), but only a straight one; through a parent it needs the
layer that asks the parent for a tunnel of its own. `install` checks the internals this relies on.
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


def begins_tunnel(asked: layer.NextLayer) -> bool:
    """Whether the layer that is asked for is the first inside a tunnel that the client asked for by CONNECT."""
    inside = _inside_tunnel(asked.context)
    # mitmproxy's own choice, when it was made before ours, stands in the list already.
    return inside is not None and (not inside or inside[0] is asked.layer)


def pass_on(asked: layer.NextLayer, parent: tuple[str, int] | None) -> None:
    """Have what comes through the tunnel passed on to its host, instead of what was chosen before."""
    context = asked.context
    inside = _inside_tunnel(context) or []
    del context.layers[len(context.layers) - len(inside) :]
    if parent is None:
        asked.layer = layers.TCPLayer(context, ignore=True)
        return
    context.server.via = ("http", parent)
    stack = HttpUpstreamProxy.make(context, send_connect=True)
    stack /= layers.TCPLayer(context, ignore=True)
    asked.layer = stack[0]


def _inside_tunnel(context: Context) -> list[layer.Layer] | None:
    """The layers after the one that answered CONNECT; None when there is no tunnel."""
    places = [place for place, each in enumerate(context.layers) if isinstance(each, HttpStream)]
    return context.layers[places[-1] + 1 :] if places else None
