"""Our own requests to an origin, before or after a user's request; mitmproxy's replay sends them.

They pass through the same hooks as any request, so that storing and merging are done in one place. Other addons
recognise them by `flow.is_replay`.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from mitmproxy import ctx, exceptions, http

from addons.flows import mitm_headers
from addons.flowstate import state_of
from proxy.cache.validation import CONDITIONS
from proxy.messages import Headers

log = logging.getLogger(__name__)

Replay = Callable[[http.HTTPFlow], None]
T = TypeVar("T")


def replay_in_mitmproxy(flow: http.HTTPFlow) -> None:
    """Queue the flow with mitmproxy's ClientPlayback addon. Raises CommandError when that is not loaded."""
    ctx.master.commands.call("replay.client", [flow])


def background_request(
    flow: http.HTTPFlow, conditions: Headers, *, headers: Headers | None = None
) -> http.HTTPFlow:
    """A copy of a user's request that asks for the whole page under our conditions; with `headers`, under those."""
    copy: http.HTTPFlow = flow.copy()  # type: ignore[no-untyped-call]
    copy.response = None
    state = state_of(copy)
    state.answered_by = state.kept_body = None
    state.forget_request()
    copy.request.method = "GET"
    if headers is not None:
        copy.request.headers = mitm_headers(headers)
    copy.request.headers.pop("range", None)
    copy.request.headers.pop("if-range", None)
    send_on(copy.request, conditions)
    return copy


def send_on(request: http.Request, conditions: Headers | None) -> None:
    """Make a request ready for the origin; our conditions, unless None, take the place of the client's."""
    # A fragment is not part of our key, so an origin that reads one must not get it (RFC 9112 3.2.1).
    if "#" in request.path:
        request.path = request.path.partition("#")[0]
    if conditions is not None:
        for name in CONDITIONS:
            request.headers.pop(name, None)
    # No Via, against RFC 9110 7.6.3: nginx as it comes sends text uncompressed where there is one
    # (gzip_proxied), and bandwidth is scarce. A mark of ours detects proxy loops (addons/nextproxy.py).
    for name, value in conditions or ():
        request.headers.fields += ((name.encode("latin-1"), value.encode("latin-1")),)


def try_replay(replay: Replay, flow: http.HTTPFlow) -> bool:
    """Send it; False when this mitmproxy cannot, which costs no more than the work in the background."""
    try:
        replay(flow)
    except exceptions.CommandError as error:
        log.warning("background request failed: %s", error)
        return False
    return True


async def answer_within(seconds: float, waited_for: "asyncio.Future[T]") -> T | None:
    """What comes of a question; None when nothing does in time."""
    try:
        async with asyncio.timeout(seconds):
            return await waited_for
    except TimeoutError:
        return None
