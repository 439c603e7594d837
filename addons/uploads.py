"""Large uploads pass on as they come, instead of being held in memory until they are whole."""

from collections.abc import Callable

from mitmproxy import http

_LARGE = 1024 * 1024


class Uploads:
    """Has mitmproxy stream request bodies that are large or of unknown size.

    A streamed request is on its way before its `request` hook, so whoever must touch it before (the parent) does so
    in `requestheaders`. Off the line nothing may leave, so there the body is taken in and refused as a whole.
    """

    def __init__(self, offline: Callable[[], bool]) -> None:
        self._offline = offline

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        length = flow.request.headers.get("content-length", "0")
        unknown = "transfer-encoding" in flow.request.headers
        large = length.isdecimal() and int(length[:20]) > _LARGE
        if (unknown or large) and flow.request.method != "CONNECT" and not self._offline():
            flow.request.stream = True
