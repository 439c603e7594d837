"""HTTP to the nodes of an OpenSearch cluster: JSON in, JSON out, bounded in time and in bytes.

Our own, over `http.client`: six calls are all we need, and opensearch-py reads answers of any length, brings
requests and urllib3, and bounds each read of the socket instead of the whole answer. A node that failed rests for a
while; when all rest, nothing is asked at all, so that a district without a line costs users only the first wait.
"""

import base64
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from repair.errors import RepairError

_MAX_BYTES = 32 * 1024**2
_PIECE = 1 << 16
_REST_S, _MAX_REST_S = 5.0, 60.0
_IDLE = 4  # connections kept open to each node

Json = Any
"""What a node answered; hostile until its shape was checked."""


class SearchUnavailable(RepairError):
    """No node answered in time, or what came is no answer."""


class OpenSearchClient:
    """The nodes of one cluster; any thread may ask."""

    def __init__(
        self,
        nodes: Sequence[str],
        *,
        user: str = "",
        password: str = "",
        ca_file: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`nodes` are http(s)://HOST:PORT; the credentials go into a header and never into a message."""
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if user:
            token = base64.b64encode(f"{user}:{password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {token}"
        tls = ssl.create_default_context(cafile=ca_file or None)
        self._nodes = [Node(url, tls) for url in nodes]
        self._clock = clock
        self._next = 0

    def is_resting(self) -> bool:
        """Whether every node failed a moment ago, so that asking is refused."""
        now = self._clock()
        return all(node.rests_until > now for node in self._nodes)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        within_s: float,
        allowed: Iterable[int] = (200, 201),
    ) -> Json:
        """The answer of the first node that gives one; raises SearchUnavailable.

        A `str` body is sent as it is (the line formats of _bulk and _msearch).
        """
        data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        end = self._clock() + within_s
        reason = "every node failed a moment ago"
        for node in self._awake():
            left = end - self._clock()
            if left <= 0:
                break
            try:
                status, answer = node.exchange(method, path, data, self._headers, left)
                if status not in allowed:
                    # The node answers: the question was wrong, or it is too busy. Another would say the same.
                    if status >= 500 or status == 429:
                        raise ValueError(f"status {status}")
                    raise SearchUnavailable(f"{node.name}: status {status}: {answer[:300]!r}")
                found = json.loads(answer)
                if not isinstance(found, dict):
                    raise ValueError("the answer is no JSON object")
            except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
                reason = f"{node.name}: {error or type(error).__name__}"
                self._rest(node)
            else:
                self._answered(node)
                return found
        raise SearchUnavailable(reason[:300])

    def _rest(self, node: "Node") -> None:
        node.rest(self._clock())

    def _answered(self, node: "Node") -> None:
        node.wake()

    def _awake(self) -> list["Node"]:
        now = self._clock()
        self._next += 1
        at = self._next % max(1, len(self._nodes))
        return [node for node in (*self._nodes[at:], *self._nodes[:at]) if node.rests_until <= now]

    def close(self) -> None:
        """Close the connections."""
        for node in self._nodes:
            node.close()


class Node:
    """One node, its idle connections, and how long it is left alone."""

    def __init__(self, url: str, tls: ssl.SSLContext) -> None:
        parts = urlsplit(url)
        self.name = parts.netloc
        self._host, self._port = parts.hostname or "", parts.port or 9200
        self._tls = tls if parts.scheme == "https" else None
        self._idle: list[http.client.HTTPConnection] = []
        self._rest_s = _REST_S
        self.rests_until = 0.0

    def rest(self, now: float) -> None:
        self.rests_until = now + self._rest_s
        self._rest_s = min(2 * self._rest_s, _MAX_REST_S)
        self.close()

    def wake(self) -> None:
        self.rests_until, self._rest_s = 0.0, _REST_S

    def exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str], within_s: float
    ) -> tuple[int, bytes]:
        connection, is_used = self._connection(within_s)
        end = time.monotonic() + within_s
        try:
            with _ended_after(within_s, connection):
                try:
                    connection.request(method, path, data, headers)
                    answer = connection.getresponse()
                except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError):
                    left = end - time.monotonic()
                    if not is_used or left <= 0:  # or it was cut because time is up
                        raise
                    connection.close()  # the node closed an idle connection: no failure of its own
                    connection.timeout = left  # not that of whoever opened it
                    connection.request(method, path, data, headers)
                    answer = connection.getresponse()
                pieces, size = [], 0
                while piece := answer.read(_PIECE):
                    size += len(piece)
                    if size > _MAX_BYTES:
                        raise ValueError("the answer is too long")
                    pieces.append(piece)
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < _IDLE and not answer.will_close:
            self._idle.append(connection)
        else:
            connection.close()
        return answer.status, b"".join(pieces)

    def _connection(self, within_s: float) -> tuple[http.client.HTTPConnection, bool]:
        with suppress(IndexError):
            connection = self._idle.pop()
            if connection.sock is not None:
                connection.sock.settimeout(within_s)
                return connection, True
        if self._tls is not None:
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=within_s, context=self._tls
            ), False
        return http.client.HTTPConnection(self._host, self._port, timeout=within_s), False

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


@contextmanager
def _ended_after(seconds: float, connection: http.client.HTTPConnection) -> Iterator[None]:
    """Cut the connection when time is up: a node that sends a byte now and then never meets a socket's timeout."""

    def cut() -> None:
        if connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(2)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
