"""The values the cache thinks in: requests, responses, bodies. Header lists are ordered pairs of text.

Header values are latin-1 decoded, so that they go in and out of a store or mitmproxy unchanged.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBody:
    """A body that stays on disk because it is too large to hold in memory."""

    path: Path
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRequest:
    """A request as far as a cache looks at it. `url` is absolute, its normal form made by the caller."""

    method: str
    url: str
    headers: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """One stored response: what was sent, and what is needed for its age and its selection (RFC 9111 4.1, 4.2.3).

    `vary` holds the request header fields named by Vary with their normalised values at the time.
    `requested_at` and `received_at` are seconds since the epoch.
    """

    status: int
    reason: str
    headers: Headers
    body: bytes | FileBody
    vary: Headers
    requested_at: float
    received_at: float
    pinned: bool = False


class Fields(tuple[tuple[str, str], ...]):
    """A header list whose lines are sorted by name at the first question: some forty follow with each request."""

    _lines: dict[str, list[str]]

    @property
    def by_name(self) -> dict[str, list[str]]:
        """The values of each lower-case name, in order."""
        try:
            return self._lines
        except AttributeError:
            lines: dict[str, list[str]] = {}
            for name, value in self:
                lines.setdefault(name.lower(), []).append(value)
            self._lines = lines
            return lines


def values(headers: Iterable[tuple[str, str]], name: str) -> list[str]:
    """All field lines of one name, in order, untouched."""
    wanted = name.lower()
    if isinstance(headers, Fields):
        return list(headers.by_name.get(wanted, ()))
    return [value for key, value in headers if key.lower() == wanted]
