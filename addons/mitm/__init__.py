"""What leans on mitmproxy's internals: kept small, in one place, checked at start-up, tried on 11 and 12."""

from addons.internals import (
    choosing,
    departures,
    draining,
    heads,
    http2,
    inline,
    interim,
    limits,
    messages,
    originconnections,
    quicklayer,
    shortcuts,
    streams,
    tunnels,
    watchdog,
)


def install() -> None:
    """Teach mitmproxy what linkmend needs. Raises StartError when its internals have changed."""
    streams.install()
    interim.install()
    heads.install()
    limits.install()
    messages.install()
    departures.install()
    tunnels.install()
    watchdog.install()
    draining.install()
    http2.install()
    choosing.check()
    quicklayer.check()
    inline.check()
    shortcuts.install()
    originconnections.install()
