"""A client for what readers wait for: nodes that were late are tried in the background until they are fast again.

A reader may meet a trouble first, but no second one pays for it: whoever would be asked next is not asked before it
has answered three of the last questions in a row, each as fast as a repair needs it. A node that was started again is
warm by then. Trials become rare while nothing answers fast, so that a thousand schools do not keep a cluster down.
"""

import http.client
import json
import math
import random
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from repair.opensearch.client import Json, Node, OpenSearchClient
from repair.opensearch.patience import Patience

_IN_A_ROW = 3
_WITHIN_S = 2.0
_FIRST_S, _LAST_S, _GROWTH = 0.5, 30.0, 1.5
_QUESTIONS, _QUESTION_CHARACTERS = 8, 200_000
_NEVER = math.inf


class ProbingClient(OpenSearchClient):
    """The nodes of a cluster, for readers."""

    def __init__(self, nodes: Sequence[str], *, patience: Patience, **more: Any) -> None:
        """`patience` says what is fast; the rest as in OpenSearchClient."""
        super().__init__(nodes, **more)
        self._patience = patience
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

    def suspend(self) -> None:
        """No node is asked before it is fast again."""
        for node in self._nodes:
            self._rest(node)

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
            were_fast = [self._is_fast(node) for node in self._resting()]
            pause_s = _FIRST_S if any(were_fast) else min(_GROWTH * pause_s, _LAST_S)
            with self._starting:
                if not self._resting():
                    self._prober = None
                    return

    def _resting(self) -> list[Node]:
        return [node for node in self._nodes if node.rests_until == _NEVER]

    def _is_fast(self, node: Node) -> bool:
        """Try a node, and let it be asked again when that went well often enough."""
        try:
            path, body = random.choice(self._questions)  # noqa: S311
        except IndexError:  # nothing was asked yet
            path, body = "/_msearch", '{}\n{"size":0}\n'
        began = time.monotonic()
        try:
            status, answer = node.exchange("POST", path, body.encode(), self._headers, _WITHIN_S)
            found = status == 200 and all("hits" in each for each in json.loads(answer)["responses"])
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
            found = False
        is_fast = found and time.monotonic() - began <= self._patience.fast_s()
        self._in_a_row[node] = self._in_a_row[node] + 1 if is_fast else 0
        if self._in_a_row[node] >= _IN_A_ROW:
            node.wake()
        return is_fast
