"""A cache of verdicts: most requests repeat one of the last minute.

Rules depend on hours and minutes, so a verdict is valid until the minute is over or the rules change.
"""

import time
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

from proxy.rules.live import LiveRules
from proxy.rules.model import RuleQuery, RuleVerdict
from repair.bounded import MemoDict
from repair.model import MissKind

_MOST = 10_000
_MINUTE_S = 60


class VerdictCache:
    """The verdicts of the active rules for addresses, hosts and clients, cached."""

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
        self._known = MemoDict[tuple[object, ...], RuleVerdict](_MOST)
        self._ruleset = live.ruleset
        self._minute = -1
        self._at = local()

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self._live.ruleset)

    def on_request(self, url: str, host: str, client: str) -> RuleVerdict:
        """As `RuleSet.on_request`, at this moment."""
        known, key = self._current(), (url, host, client)
        verdict = known.get(key)
        if verdict is None:
            query = RuleQuery(url=url, host=host, client=client, at=self._at)
            verdict = known.keep(key, self._ruleset.on_request(query))
        return verdict

    def on_response(
        self, url: str, host: str, client: str, *, miss: MissKind | None, content_type: str
    ) -> RuleVerdict:
        """As `RuleSet.on_response`, at this moment."""
        known, key = self._current(), (url, host, client, miss, content_type)
        verdict = known.get(key)
        if verdict is None:
            query = RuleQuery(url=url, host=host, client=client, at=self._at)
            verdict = self._ruleset.on_response(query, miss=miss, content_type=content_type)
            known.keep(key, verdict)
        return verdict

    def on_stored(self, url: str, client: str, content_type: str) -> RuleVerdict:
        """The verdict on a stored response; parses the host only if the verdict is not cached."""
        known, key = self._current(), (url, client, content_type, "held")
        verdict = known.get(key)
        if verdict is None:
            host = urlsplit(url).hostname or ""
            verdict = self.on_response(url, host, client, miss=None, content_type=content_type)
            known.keep(key, verdict)
        return verdict

    def _current(self) -> MemoDict[tuple[object, ...], RuleVerdict]:
        minute = int(self._clock() // _MINUTE_S)
        if minute != self._minute or self._ruleset is not self._live.ruleset:
            self._known.clear()
            self._ruleset, self._minute, self._at = self._live.ruleset, minute, self._local()
        return self._known
