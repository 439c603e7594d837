"""Code that depends on mitmproxy's internals: small, in one place, checked at start-up, tried on 11 and 12."""

from addons.mitm import (
    arrivals,
    balancers,
    bufferlimits,
    draining,
    fasterheaders,
    fastlayer,
    fasttunnel,
    halfclose,
    http1heads,
    http1messages,
    http2,
    inlinehooks,
    interim,
    nextlayer,
    originclient,
    originconnections,
    streams,
    tunnels,
    watchdog,
)


def install() -> None:
    """Teach mitmproxy what linkmend needs. Raises StartError when its internals have changed."""
    streams.install()
    interim.check()
    http1heads.install()
    bufferlimits.install()
    http1messages.install()
    halfclose.install()
    tunnels.install()
    watchdog.install()
    draining.install()
    arrivals.install()
    balancers.install()
    http2.install()
    nextlayer.check()
    fastlayer.check()
    fasttunnel.check()
    inlinehooks.check()
    fasterheaders.install()
    originconnections.install()
    originclient.install()
