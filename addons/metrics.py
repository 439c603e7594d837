"""Counts the outcome of each request, and reports whether sites answer; the last addon, changes nothing."""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from mitmproxy import http, tls

from addons.flowstate import AnsweredBy, state_of
from proxy.monitoring.metrics import Metrics
from proxy.privacy.clients import ClientHasher

log = logging.getLogger(__name__)

# Failures without any answer from the network; a refused connection or a bad certificate is an answer.
_SILENT = frozenset({"destination_ip_unroutable", "connection_timeout"})
_NO_NAME_SERVER = "[Errno -3]"  # a name that does not exist is an answer of one
_NO_TRUST = (
    "not trust the proxy's certificate for"  # in mitmproxy's words for a client that refuses our certificate
)
_BLOCKED = frozenset({AnsweredBy.REFUSED, AnsweredBy.RULE})


class ConnectivityListener(Protocol):
    """Is notified whether sites answer; moments are of `time.monotonic`."""

    def note_answer(self, now: float) -> None: ...

    def note_silence(self, now: float) -> object: ...


class RequestMetrics:
    """A hook or two per request: an attribute is added to, and no more."""

    def __init__(
        self,
        metrics: Metrics,
        connectivity: ConnectivityListener,
        clock: Callable[[], float] = time.monotonic,
        hasher: ClientHasher | None = None,
    ) -> None:
        self._metrics = metrics
        self._hasher = hasher or ClientHasher()
        self._connectivity = connectivity
        self._clock = clock

    def quick_hit(self, size: int) -> None:
        """Something was answered out of memory before it became a flow."""
        self._metrics.hit += 1
        self._metrics.cache_bytes += size

    def tls_established_client(self, data: tls.TlsData) -> None:
        self._metrics.trust.note_trust(self._hasher.hash(data.context.client.peername[0]))

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Count it; mitmproxy's own line for each is left out of the log (proxy/logs.py)."""
        client, error = data.context.client, data.conn.error or ""
        if _NO_TRUST not in error:
            return
        device = self._hasher.hash(client.peername[0])
        if self._metrics.trust.note_refusal(device, client.sni or ""):
            log.info(
                "a device does not trust linkmend's certificate, or a program on it; see Health on the desk"
            )

    def response(self, flow: http.HTTPFlow) -> None:
        response, counted = flow.response, self._metrics
        if response is None or flow.is_replay is not None:
            return
        ours = state_of(flow).answered_by
        failure = state_of(flow).failure
        if failure is not None and (failure.error in _SILENT or _NO_NAME_SERVER in failure.detail):
            self._connectivity.note_silence(self._clock())
        if ours is None:
            self._connectivity.note_answer(self._clock())
            counted.origin_bytes += _size(response)
            status = response.headers.get("cache-status", "")
            if "fwd=bypass" in status or "fwd=method" in status:
                counted.passed += 1
            else:
                counted.miss += 1
        elif ours is AnsweredBy.CACHE:
            counted.hit += 1
            counted.cache_bytes += _size(response)
        elif ours is AnsweredBy.REPAIR:
            kind = response.headers.get("linkmend-miss", "")
            counted.repaired[kind] = counted.repaired.get(kind, 0) + 1
            self._note_answered(failure is not None)
        elif ours in _BLOCKED:
            counted.blocked += 1
        elif ours in (AnsweredBy.FAILURE, AnsweredBy.OFFLINE):
            counted.error += 1
        else:
            counted.own += 1

    def _note_answered(self, failed: bool) -> None:
        """Behind a repair page, the site answered that it has no such page, or did not answer at all."""
        if failed:
            self._metrics.error += 1
        else:
            self._metrics.miss += 1
            self._connectivity.note_answer(self._clock())


def _size(response: http.Response) -> int:
    body = response.raw_content
    if body:
        return len(body)
    stated = response.headers.get("content-length", "")
    return int(stated) if stated.isdecimal() and len(stated) < 16 else 0
