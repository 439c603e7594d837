"""Is the line up? A cheap answer, by what was heard last: an answer of any site, or silence where one was due.

One silent site proves nothing while others answer. When nobody has answered lately, the line is taken to be down, and
what is next in the queue tries it out, less and less often. For one event loop; time is an argument.
"""

_LATELY_S = 60.0
_FIRST_PAUSE_S = 15.0
_LONGEST_PAUSE_S = 300.0


class Line:
    """Up until somebody is not heard."""

    def __init__(self) -> None:
        self._heard_at = float("-inf")
        self._try_at = float("-inf")
        self._pause_s = 0.0

    def heard(self, now: float) -> None:
        """A site answered, whatever it said."""
        self._heard_at = now
        self._pause_s = 0.0

    def silent(self, now: float) -> bool:
        """Nobody answered; whether that is put down to the line, rather than to the site."""
        if now - self._heard_at < _LATELY_S:
            return False
        if now >= self._try_at:  # those who tried together count once
            self._pause_s = min(max(_FIRST_PAUSE_S, 2 * self._pause_s), _LONGEST_PAUSE_S)
            self._try_at = now + self._pause_s
        return True

    def is_up(self) -> bool:
        """As far as is known."""
        return self._pause_s == 0.0

    def may_try(self, now: float) -> bool:
        """Whether it is up, or it is time to find out."""
        return self.is_up() or now >= self._try_at

    @property
    def try_at(self) -> float:
        """When it will be tried again, once it is down."""
        return self._try_at
