"""The entries of the fetch queue, their states, and how fetching fails."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from proxy.errors import LinkmendError


class FetchTime(StrEnum):
    """When to fetch a page; the more urgent, the earlier in this list."""

    NOW = "now"
    LINE = "line"
    NIGHT = "night"


class FetchState(StrEnum):
    """The state of an entry. A `failed` one may be tried again; a `refused` one would be refused again."""

    WAITING = "waiting"
    FETCHING = "fetching"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchEntry:
    """A page in the queue; `error` is the last error, or a note on what was saved. `expected_bytes` 0: unknown."""

    id: int
    url: str
    when: FetchTime
    why: str
    state: FetchState
    tries: int
    next_try_at: datetime
    error: str
    received_bytes: int
    expected_bytes: int
    added_at: datetime
    changed_at: datetime

    @property
    def percent(self) -> int | None:
        """How much of the page itself has arrived; None when that is unknown."""
        if self.state is FetchState.DONE:
            return 100
        if self.state is not FetchState.FETCHING or not self.expected_bytes:
            return None
        return min(100, 100 * self.received_bytes // self.expected_bytes)


class NotQueuedError(LinkmendError):
    """A page cannot be queued: not a web address, a personal one, or the queue is full."""


class FetchFailure(Exception):
    """A page was not fetched; the message is a few words for the admin."""


class FetchRefused(FetchFailure):
    """It may not be fetched or saved, and trying again would not change that."""


class PageRefused(FetchRefused):
    """It was fetched, and may not be saved or read."""


class PermanentFetchError(FetchFailure):
    """The site says that the page does not exist, or what it sends is useless."""


class PageGone(PermanentFetchError):
    """The site says that it has no such page: status 404 or 410, or an error page in its place."""


class TemporaryFetchError(FetchFailure):
    """It may work later; `after_s` is how long the site asks us to wait."""

    def __init__(self, message: str, *, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class NoConnectivity(FetchFailure):
    """Neither the site nor a proxy answered: there may be no connectivity."""
