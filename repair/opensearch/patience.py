"""How long a repair waits for the district: by what the district usually takes, and by what the school takes itself.

A fixed limit costs every reader the whole of it while the district is late. So a repair waits at most twice as long
as most answers took lately. It also waits no longer than half of the limit that the settings give, unless the
school's own ranking, which goes on meanwhile, often takes longer itself: then readers wait for that anyway.
"""

from collections import deque

_NOTED = 100
_USUAL = 0.9  # of ten answers nine were as fast
_SLACK = 2.0
_LEAST_S = 0.05
_SHARE = 0.5
_RETRIEVAL = 0.5  # of the time of a repair; two lighter round trips share the rest


class Patience:
    """Durations seen lately, and the time limit that follows from them; any thread may note and ask."""

    def __init__(self, limit_s: float) -> None:
        """`limit_s` is never exceeded."""
        self._limit_s = limit_s
        self._own: deque[float] = deque(maxlen=_NOTED)
        self._shared: deque[float] = deque(maxlen=_NOTED)

    def note_own(self, seconds: float) -> None:
        """A ranking of the school's own pages took so long."""
        self._own.append(seconds)

    def note_shared(self, seconds: float) -> None:
        """The district's pages were ranked, in time, after so long."""
        self._shared.append(seconds)

    def seconds(self) -> float:
        """How long the next repair waits from its beginning.

        >>> patience = Patience(0.3)
        >>> patience.seconds()
        0.15
        >>> patience.note_shared(0.04)
        >>> patience.seconds()
        0.08
        """
        longest = max(_SHARE * self._limit_s, _usual(self._own))
        if self._shared:
            longest = min(longest, max(_LEAST_S, _SLACK * _usual(self._shared)))
        return min(self._limit_s, longest)

    def fast_s(self) -> float:
        """How fast the answer to one question must be for a repair to be in time."""
        return _RETRIEVAL * self.seconds()


def _usual(durations: deque[float]) -> float:
    ordered = sorted(durations)
    return ordered[int(_USUAL * (len(ordered) - 1))] if ordered else 0.0
