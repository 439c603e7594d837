"""Verdicts asked a moment ago are not worked out again: most requests are like one of the last minute.

Rules speak of hours and minutes, so a verdict holds until the minute is over, or the rules are others.
"""

import time
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

from proxy.rules.live import LiveRules
from proxy.rules.model import Asked, Verdict
from repair.model import MissKind

_MOST = 10_000
_MINUTE_S = 60


class RememberedVerdicts:
    """The rules in force, asked about addresses, hosts and clients."""

    def __init__(
        self,
        live: LiveRules,
        *,
        local: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._live = live
        self._local = local
        self._clock = clock
        self._known: dict[tuple[object, ...], Verdict] = {}
        self._book = live.book
        self._minute = -1
        self._at = local()

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self._live.book)

    def on_request(self, url: str, host: str, client: str) -> Verdict:
        """As `RuleBook.on_request`, at this moment."""
        known, key = self._fresh(), (url, host, client)
        verdict = known.get(key)
        if verdict is None:
            asked = Asked(url=url, host=host, client=client, at=self._at)
            verdict = known[key] = self._book.on_request(asked)
        return verdict

    def on_response(
        self, url: str, host: str, client: str, *, miss: MissKind | None, content_type: str
    ) -> Verdict:
        """As `RuleBook.on_response`, at this moment."""
        known, key = self._fresh(), (url, host, client, miss, content_type)
        verdict = known.get(key)
        if verdict is None:
            asked = Asked(url=url, host=host, client=client, at=self._at)
            verdict = known[key] = self._book.on_response(asked, miss=miss, content_type=content_type)
        return verdict

    def on_held(self, url: str, client: str, content_type: str) -> Verdict:
        """The verdict on what is held under an address; its host is only looked for when it was not asked before."""
        known, key = self._fresh(), (url, client, content_type, "held")
        verdict = known.get(key)
        if verdict is None:
            host = urlsplit(url).hostname or ""
            verdict = self.on_response(url, host, client, miss=None, content_type=content_type)
            known[key] = verdict
        return verdict

    def _fresh(self) -> dict[tuple[object, ...], Verdict]:
        minute = int(self._clock() // _MINUTE_S)
        if minute != self._minute or self._book is not self._live.book or len(self._known) >= _MOST:
            self._known.clear()
            self._book, self._minute, self._at = self._live.book, minute, self._local()
        return self._known
