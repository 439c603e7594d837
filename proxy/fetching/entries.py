"""What the fetch queue is made of: entries, their states, and how fetching fails."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from proxy.errors import LinkmendError


class When(StrEnum):
    """When a page is wanted; the more urgent, the earlier in this list."""

    NOW = "now"
    LINE = "line"
    NIGHT = "night"


class State(StrEnum):
    """What became of an entry. A `failed` one may be tried again; a `refused` one would be refused again."""

    WAITING = "waiting"
    FETCHING = "fetching"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchEntry:
    """A page in the queue; `error` is the last trouble, or a remark on what was kept. `expected_bytes` 0: unknown."""

    id: int
    url: str
    when: When
    why: str
    state: State
    tries: int
    next_try_at: datetime
    error: str
    received_bytes: int
    expected_bytes: int
    added_at: datetime
    changed_at: datetime

    @property
    def percent(self) -> int | None:
        """How much of the page itself is there; None when that cannot be told."""
        if self.state is State.DONE:
            return 100
        if self.state is not State.FETCHING or not self.expected_bytes:
            return None
        return min(100, 100 * self.received_bytes // self.expected_bytes)


class NotQueued(LinkmendError):
    """A page cannot be put into the queue: no web address, a personal one, or the queue is full."""


class FetchTrouble(Exception):
    """A page was not fetched; the message is a few words for the admin."""


class Refusal(FetchTrouble):
    """It may not be fetched or kept, and trying again would not change that."""


class Lasting(FetchTrouble):
    """It cannot be had: the site says that it is not there, or what it sends is of no use."""


class Passing(FetchTrouble):
    """It may well be had later; `after_s` is how long the site asks us to wait."""

    def __init__(self, message: str, *, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class NoLine(FetchTrouble):
    """Nobody answered, neither the site nor anybody on its behalf: the line may be down."""
