"""Which origins could not be reached a moment ago, so that a page of thirty parts does not wait thirty times."""

from collections import OrderedDict
from urllib.parse import urlsplit

BELIEVED_S = 30.0
_AT_MOST = 1_000


class Outages:
    """A bounded memory of origins that refused or never took a connection; one that answers is forgotten."""

    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()

    def note(self, url: str, now: float) -> None:
        """The origin of this URL could not be connected to."""
        origin = _origin(url)
        self._until.pop(origin, None)
        self._until[origin] = now + BELIEVED_S
        if len(self._until) > _AT_MOST:
            self._until.popitem(last=False)

    def over(self, url: str) -> None:
        """The origin of this URL has answered."""
        if self._until:
            self._until.pop(_origin(url), None)

    def ongoing(self, url: str, now: float) -> bool:
        """Whether there is little hope for this URL at the moment."""
        return bool(self._until) and self._until.get(_origin(url), 0.0) > now


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.scheme}://{parts.netloc}"
