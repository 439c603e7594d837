"""Which recent trouble may cost a client its answer, in which way, and for how long. Nothing else is excused.

Each kind of trouble has its own effects: a killed process breaks connections but never makes linkmend report that a
site is down; a site that is down does, and so on. What a Squid in between did is read from its own log.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.chaos.site import Site
from tests.chaos.squidlog import SquidLog

_AFTERMATH_S = 2.0
_WAITED_S = (
    12.0  # for another client's request for the same page, then for the own one, by the limits in `school`
)


@dataclass(slots=True, kw_only=True)
class Excuses:
    """Times are `time.monotonic()`; a request is excused when it was under way during trouble."""

    site: Site
    squid: SquidLog | None = None
    cut_until: float = field(default=0.0, init=False)
    """Until when anybody may be cut off: a process was killed, or a site hung up in the middle of pages."""
    away_until: float = field(default=0.0, init=False)
    """Until when sites cannot be reached, so that linkmend may say so."""
    backend_until: float = field(default=0.0, init=False)
    """Until when the backend does not answer: no desk, no metrics. A search is answered with 503 then."""
    _absent: int = field(default=0, init=False)
    _backend_absent: int = field(default=0, init=False)

    def cut(self, seconds: float = 0.0) -> None:
        self.cut_until = _later(self.cut_until, seconds)

    def away(self, seconds: float = 0.0) -> None:
        self.away_until = _later(self.away_until, seconds)

    def backend(self, seconds: float = 0.0) -> None:
        self.backend_until = _later(self.backend_until, seconds)

    def all(self, seconds: float = 0.0) -> None:
        for excuse in (self.cut, self.away, self.backend):
            excuse(seconds)

    @contextlib.contextmanager
    def absence(self) -> Iterator[None]:
        """Excuse requests while a program is down, however long it takes to return."""
        self._absent += 1
        try:
            yield
        finally:
            self._absent -= 1
            self.all()

    @contextlib.contextmanager
    def absence_of_backend(self) -> Iterator[None]:
        self._backend_absent += 1
        try:
            yield
        finally:
            self._backend_absent -= 1
            self.backend()

    def was_bad(self, url: str, began: float) -> bool:
        """Whether the site answered this request badly, or another request for the same page that it waited for."""
        return self.site.troubled_at.get(url, 0.0) > began - _WAITED_S

    def may_be_cut(self, url: str, began: float) -> bool:
        return bool(self._absent) or began < self.cut_until or self.was_bad(url, began)

    def may_fail(self, url: str, began: float) -> bool:
        return bool(self._absent) or began < self.away_until or self.was_bad(url, began)

    def any(self) -> bool:
        """Whether all answers are excused at this time, whatever the page."""
        return bool(self._absent) or time.monotonic() < max(self.cut_until, self.away_until)

    def may_lack_backend(self, began: float) -> bool:
        return bool(self._absent or self._backend_absent) or began < self.backend_until

    def squid_failed(self, url: str, began: float) -> bool:
        """Whether Squid logged a failure. It writes that only when it has finished a request."""
        return self.squid is not None and self.squid.failed(url, since=began - _WAITED_S)


def _later(until: float, seconds: float) -> float:
    return max(until, time.monotonic() + seconds + _AFTERMATH_S)
