"""Which URLs lately had answers that were for one client only, so that nobody waits for another's in vain."""

from repair.bounded import BoundedDict

REMEMBERED_S = 120.0
_AT_MOST = 10_000


class UnsharedUrls:
    """A bounded memory; the oldest goes first."""

    def __init__(self) -> None:
        self._until = BoundedDict[str, float](_AT_MOST)

    def note(self, url: str, now: float) -> None:
        """The answer just seen could not have served anyone else."""
        self._until[url] = now + REMEMBERED_S

    def forget(self, url: str) -> None:
        """The answer just seen can serve others."""
        self._until.pop(url, None)

    def remembers(self, url: str, now: float) -> bool:
        """Whether the last answer was for one client only, not long ago."""
        return self._until.get(url, 0.0) > now
