"""How long a repair waits for the district: by what the district took lately, and by what the school takes itself.

A fixed limit costs every reader the whole of it while the district is late. So a repair waits at most twice as long
as most answers took, and not at all after one that came too late or never, until three in a row were in time: the
district is asked all the same, for what comes while the school ranks its own pages is welcome. Nor does a repair wait
longer than a quarter of the limit that the settings give, unless the school's own ranking often takes longer itself.
"""

import math
from collections import deque

_NOTED, _LATELY = 100, 3
_USUAL = 0.9  # of ten answers nine were as fast
_SLACK = 2.0
_LEAST_S = 0.05
_SHARE = 0.25


class Patience:
    """Durations seen lately, and the time limit that follows from them; any thread may note and ask."""

    def __init__(self, limit_s: float) -> None:
        """`limit_s` is never exceeded."""
        self.limit_s = limit_s
        self._own: deque[float] = deque(maxlen=_NOTED)
        self._shared: deque[float] = deque(maxlen=_NOTED)
        self._lately: deque[float] = deque(maxlen=_LATELY)

    def note_own(self, seconds: float) -> None:
        """A ranking of the school's own pages took so long."""
        self._own.append(seconds)

    def note_shared(self, seconds: float) -> None:
        """The district's pages were there after so long, be it too late."""
        self._shared.append(seconds)
        self._lately.append(seconds)

    def note_lost(self) -> None:
        """The district did not answer."""
        self._lately.append(math.inf)

    def seconds(self) -> float:
        """How long the next repair waits from its beginning; 0 for no longer than its own ranking takes.

        >>> patience = Patience(0.4)
        >>> patience.seconds()
        0.1
        >>> patience.note_shared(0.03)
        >>> patience.seconds()
        0.06
        >>> patience.note_lost()
        >>> patience.seconds()
        0.0
        """
        longest = min(self.limit_s, max(_SHARE * self.limit_s, _usual(self._own)))
        if any(seconds > longest for seconds in tuple(self._lately)):
            return 0.0
        return min(longest, max(_LEAST_S, _SLACK * _usual(self._shared))) if self._shared else longest


def _usual(durations: deque[float]) -> float:
    ordered = sorted(durations)
    return ordered[int(_USUAL * (len(ordered) - 1))] if ordered else 0.0
