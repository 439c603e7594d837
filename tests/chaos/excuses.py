"""What happened lately that may cost somebody an answer, what exactly, and for how long. There is no other excuse.

Trouble is told apart by what it may do: who dies takes connections along, and never makes linkmend say that a site is
away; a site that is away is told so by linkmend, and so on. What a Squid in between did is looked up in its own log.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.chaos.site import Site
from tests.chaos.squidlog import SquidLog

_AFTERMATH_S = 2.0
_WAITED_S = 12.0  # for another's request for the same page, and then for one's own, by the limits in `school`


@dataclass(slots=True, kw_only=True)
class Excuses:
    """Moments are `time.monotonic()`; a request is excused when it was under way at such a moment."""

    site: Site
    squid: SquidLog | None = None
    cut_until: float = field(default=0.0, init=False)
    """Until when anybody may be cut off: a process was killed, or a site hung up in the middle of pages."""
    away_until: float = field(default=0.0, init=False)
    """Until when sites cannot be reached, so that linkmend may say so."""
    office_until: float = field(default=0.0, init=False)
    """Until when the office does not answer: no desk, no metrics. A search is answered with 503 then."""
    _absent: int = field(default=0, init=False)
    _office_absent: int = field(default=0, init=False)

    def cut(self, seconds: float = 0.0) -> None:
        self.cut_until = _later(self.cut_until, seconds)

    def away(self, seconds: float = 0.0) -> None:
        self.away_until = _later(self.away_until, seconds)

    def office(self, seconds: float = 0.0) -> None:
        self.office_until = _later(self.office_until, seconds)

    def all(self, seconds: float = 0.0) -> None:
        for excuse in (self.cut, self.away, self.office):
            excuse(seconds)

    @contextlib.contextmanager
    def absence(self) -> Iterator[None]:
        """For as long as a program is away, however long it takes to return."""
        self._absent += 1
        try:
            yield
        finally:
            self._absent -= 1
            self.all()

    @contextlib.contextmanager
    def absence_of_office(self) -> Iterator[None]:
        self._office_absent += 1
        try:
            yield
        finally:
            self._office_absent -= 1
            self.office()

    def was_bad(self, url: str, began: float) -> bool:
        """Whether the site answered this request badly, or one that was waited for."""
        return self.site.troubled_at.get(url, 0.0) > began - _WAITED_S

    def may_be_cut(self, url: str, began: float) -> bool:
        return bool(self._absent) or began < self.cut_until or self.was_bad(url, began)

    def may_fail(self, url: str, began: float) -> bool:
        return bool(self._absent) or began < self.away_until or self.was_bad(url, began)

    def any(self) -> bool:
        """Whether anybody's answer is excused just now, whatever the page."""
        return bool(self._absent) or time.monotonic() < max(self.cut_until, self.away_until)

    def may_lack_office(self, began: float) -> bool:
        return bool(self._absent or self._office_absent) or began < self.office_until

    def squid_failed(self, url: str, began: float) -> bool:
        """Whether Squid itself says that it failed. It writes that only once it is done with a request."""
        return self.squid is not None and self.squid.failed(url, since=began - _WAITED_S)


def _later(until: float, seconds: float) -> float:
    return max(until, time.monotonic() + seconds + _AFTERMATH_S)
