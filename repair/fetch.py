"""What `repair` needs of its HTTP client: one GET at a time, bounded, or a reason why there is no answer.

The app hands over an object of this shape (`proxy.http.client.HttpClient`); nothing in `repair` opens a connection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from repair.model import Page


class FetchError(Exception):
    """There is no answer, or the site may not be contacted; the message says why in a few words."""


class TooLarge(FetchError):
    """The answer is larger than the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """How large an answer may be, as it is sent, and how long it, its connection and its silences may take."""

    max_bytes: int
    timeout_s: float
    connect_s: float = 15.0
    silence_s: float = 30.0


class PageFetcher(Protocol):
    """Asks for single addresses. It follows no redirect, sends no cookie and unpacks no body."""

    async def get(self, url: str, *, limits: FetchLimits, headers: Mapping[str, str]) -> Page:
        """What is answered, whatever the status; raises FetchError."""

    async def close(self) -> None:
        """Close all connections."""
