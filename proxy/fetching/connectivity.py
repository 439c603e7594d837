"""Connectivity: an estimate from the latest successes and failures of requests to any site.

One silent site proves nothing while others answer. When no site has answered lately, we assume there is no
connectivity, and the next page in the queue tests it, less and less often. For one event loop; time is an argument.
"""

_LATELY_S = 60.0
_FIRST_PAUSE_S = 15.0
_LONGEST_PAUSE_S = 300.0


class Connectivity:
    """Up until a site does not answer."""

    def __init__(self) -> None:
        self._heard_at = float("-inf")
        self._try_at = float("-inf")
        self._pause_s = 0.0

    def note_answer(self, now: float) -> None:
        """A site answered, with whatever status."""
        self._heard_at = now
        self._pause_s = 0.0

    def note_silence(self, now: float) -> bool:
        """No answer came; returns whether the cause is connectivity rather than the site."""
        if now - self._heard_at < _LATELY_S:
            return False
        if now >= self._try_at:  # simultaneous tests count once
            self._pause_s = min(max(_FIRST_PAUSE_S, 2 * self._pause_s), _LONGEST_PAUSE_S)
            self._try_at = now + self._pause_s
        return True

    def since_reply_s(self, now: float) -> float | None:
        """How long ago a site last answered; None before the first answer."""
        return None if self._heard_at == float("-inf") else max(0.0, now - self._heard_at)

    def is_up(self) -> bool:
        """The current estimate."""
        return self._pause_s == 0.0

    def may_try(self, now: float) -> bool:
        """Whether there is connectivity, or it is time to test it."""
        return self.is_up() or now >= self._try_at

    @property
    def try_at(self) -> float:
        """When the next test is due, while there is no connectivity."""
        return self._try_at
