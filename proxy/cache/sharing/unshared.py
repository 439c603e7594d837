"""Which URLs lately had answers that were for one client only, so that nobody waits for another's in vain."""

from collections import OrderedDict

REMEMBERED_S = 120.0
_AT_MOST = 10_000


class Unshared:
    """A bounded memory; the oldest goes first."""

    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()

    def note(self, url: str, now: float) -> None:
        """The answer just seen could not have served anyone else."""
        self._until.pop(url, None)
        self._until[url] = now + REMEMBERED_S
        if len(self._until) > _AT_MOST:
            self._until.popitem(last=False)

    def forget(self, url: str) -> None:
        """The answer just seen can serve others."""
        self._until.pop(url, None)

    def remembers(self, url: str, now: float) -> bool:
        """Whether the last answer was for one client only, not long ago."""
        return self._until.get(url, 0.0) > now
