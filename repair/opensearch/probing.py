"""A client for repairs: nodes that failed are tried in the background before a repair asks them again.

A node is back when it has answered two of the last questions in a row, fast enough for a repair: one that was started
again is warm by then. Trials become rare while nothing answers: a thousand schools must not keep a cluster down.
"""

import http.client
import json
import math
import random
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from repair.opensearch.client import Json, Node, OpenSearchClient

_IN_A_ROW = 2
_WITHIN_S = 2.0
_FIRST_S, _SLOW_S, _LAST_S, _GROWTH = 0.5, 5.0, 30.0, 1.5
_QUESTIONS, _QUESTION_CHARACTERS = 8, 200_000
_NEVER = math.inf


class ProbingClient(OpenSearchClient):
    """The nodes of a cluster, for readers."""

    def __init__(self, nodes: Sequence[str], *, fast_s: float, **more: Any) -> None:
        """A node is fast that answers within `fast_s`; the rest as in OpenSearchClient."""
        super().__init__(nodes, **more)
        self._fast_s = fast_s
        self._questions: deque[tuple[str, str]] = deque(maxlen=_QUESTIONS)
        self._in_a_row = dict.fromkeys(self._nodes, 0)
        self._starting = threading.Lock()
        self._prober: threading.Thread | None = None
        self._closing = threading.Event()

    def ask(self, method: str, path: str, body: object = None, *, within_s: float, **more: Any) -> Json:
        """As in OpenSearchClient; the question may be asked again when a node is tried."""
        if isinstance(body, str) and len(body) <= _QUESTION_CHARACTERS:
            self._questions.append((path, body))
        return super().ask(method, path, body, within_s=within_s, **more)

    def close(self) -> None:
        """Close the connections and try no more."""
        self._closing.set()
        super().close()

    def _rest(self, node: Node) -> None:
        node.rests_until = _NEVER
        self._in_a_row[node] = 0
        node.close()
        with self._starting:
            if self._prober is None and not self._closing.is_set():
                self._prober = threading.Thread(target=self._probe, name="district-probe", daemon=True)
                self._prober.start()

    def _answered(self, node: Node) -> None:
        """Nothing: what was asked before a node was left alone does not bring it back."""

    def _probe(self) -> None:
        pause_s = _FIRST_S
        while not self._closing.wait(pause_s * random.uniform(0.75, 1.25)):  # noqa: S311  (not all schools at once)
            took_s = [self._try(node) for node in self._resting()]
            if min(took_s, default=0.0) <= self._fast_s:
                pause_s = _FIRST_S
            else:
                pause_s = min(_GROWTH * pause_s, _LAST_S if min(took_s) == _NEVER else _SLOW_S)
            with self._starting:
                if not self._resting():
                    self._prober = None
                    return

    def _resting(self) -> list[Node]:
        return [node for node in self._nodes if node.rests_until == _NEVER]

    def _try(self, node: Node) -> float:
        """How long an answer took, `_NEVER` without one; a node that was fast often enough is asked again."""
        try:
            path, body = random.choice(self._questions)  # noqa: S311
        except IndexError:  # nothing was asked yet
            path, body = "/_msearch", '{}\n{"size":0}\n'
        began, took_s = time.monotonic(), _NEVER
        with suppress(OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
            status, answer = node.exchange("POST", path, body.encode(), self._headers, _WITHIN_S)
            if status == HTTPStatus.OK and all("hits" in each for each in json.loads(answer)["responses"]):
                took_s = time.monotonic() - began
        self._in_a_row[node] = self._in_a_row[node] + 1 if took_s <= self._fast_s else 0
        if self._in_a_row[node] >= _IN_A_ROW:
            node.wake()
        return took_s
