"""Counts what became of each request, and hears whether the line is up; it stands last and touches nothing."""

import time
from collections.abc import Callable
from typing import Protocol

from mitmproxy import http

from addons.flows import FAILURE, OURS
from proxy.failures import Failure
from proxy.watching.metrics import Metrics

# What says that nobody could be reached; a refused connection or a bad certificate came from somebody.
_SILENT = frozenset({"destination_ip_unroutable", "connection_timeout"})
_NO_NAME_SERVER = "[Errno -3]"  # a name that does not exist is an answer of one
_BLOCKED = frozenset({"refused", "rule"})


class Hears(Protocol):
    """Who wants to know whether sites answer; moments are of `time.monotonic`."""

    def heard(self, now: float) -> None: ...

    def silent(self, now: float) -> object: ...


class Counting:
    """A hook or two per request: an attribute is added to, and no more."""

    def __init__(self, metrics: Metrics, line: Hears, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._line = line
        self._clock = clock

    def quick_hit(self, size: int) -> None:
        """Something was answered out of memory before it became a flow."""
        self._metrics.hit += 1
        self._metrics.cache_bytes += size

    def response(self, flow: http.HTTPFlow) -> None:
        response, counted = flow.response, self._metrics
        if response is None or flow.is_replay is not None:
            return
        ours = flow.metadata.get(OURS)
        failure = flow.metadata.get(FAILURE)
        if isinstance(failure, Failure) and (failure.error in _SILENT or _NO_NAME_SERVER in failure.detail):
            self._line.silent(self._clock())
        if ours is None:
            self._line.heard(self._clock())
            counted.origin_bytes += _size(response)
            status = response.headers.get("cache-status", "")
            if "fwd=bypass" in status or "fwd=method" in status:
                counted.passed += 1
            else:
                counted.miss += 1
        elif ours == "hit":
            counted.hit += 1
            counted.cache_bytes += _size(response)
        elif ours == "repair":
            kind = response.headers.get("linkmend-miss", "")
            counted.repaired[kind] = counted.repaired.get(kind, 0) + 1
            self._note_answered(isinstance(failure, Failure))
        elif ours in _BLOCKED:
            counted.blocked += 1
        elif ours in ("failure", "offline"):
            counted.error += 1
        else:
            counted.own += 1

    def _note_answered(self, failed: bool) -> None:
        """Behind a repair page a site said that it has no such page, or nobody said anything."""
        if failed:
            self._metrics.error += 1
        else:
            self._metrics.miss += 1
            self._line.heard(self._clock())


def _size(response: http.Response) -> int:
    body = response.raw_content
    if body:
        return len(body)
    stated = response.headers.get("content-length", "")
    return int(stated) if stated.isdecimal() and len(stated) < 16 else 0
