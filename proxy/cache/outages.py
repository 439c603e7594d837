"""Remembers unreachable origins for a moment, so that a page of thirty parts does not wait for thirty timeouts."""

from urllib.parse import urlsplit

from repair.bounded import BoundedDict

BELIEVED_S = 30.0
_AT_MOST = 1_000


class RecentOutages:
    """A bounded memory of origins that refused or never took a connection; one that answers is forgotten."""

    def __init__(self) -> None:
        self._until = BoundedDict[str, float](_AT_MOST)

    def note(self, url: str, now: float) -> None:
        """The origin of this URL could not be connected to."""
        origin = _origin(url)
        self._until[origin] = now + BELIEVED_S

    def note_answer(self, url: str) -> None:
        """The origin of this URL has answered."""
        if self._until:
            self._until.pop(_origin(url), None)

    def is_ongoing(self, url: str, now: float) -> bool:
        """Whether the origin of this URL was unreachable a moment ago."""
        return bool(self._until) and self._until.get(_origin(url), 0.0) > now


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.scheme}://{parts.netloc}"
