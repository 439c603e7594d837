"""The cache's data types: requests, responses, bodies. Header lists are ordered pairs of text.

Header values are decoded as latin-1, so that they pass through the store and mitmproxy unchanged.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBody:
    """A body that stays on disk because it is too large for memory."""

    path: Path
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRequest:
    """The parts of a request that the cache uses. `url` is absolute and normalised by the caller."""

    method: str
    url: str
    headers: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """One stored response, with the data for its age and its selection (RFC 9111 4.1, 4.2.3).

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


class HeaderFields(tuple[tuple[str, str], ...]):
    """A header list that indexes its lines by name at the first lookup; each request makes about forty lookups."""

    by_name: dict[str, list[str]]
    """The values of each lower-case name, in order."""

    def __getattr__(self, name: str) -> dict[str, list[str]]:
        if name != "by_name":
            raise AttributeError(name)
        lines: dict[str, list[str]] = {}
        for key, value in self:
            lines.setdefault(key.lower(), []).append(value)
        self.by_name = lines  # later lookups do not call __getattr__
        return lines


def values(headers: Iterable[tuple[str, str]], name: str) -> list[str]:
    """All field lines of one name, in order, unchanged."""
    wanted = name.lower()
    if isinstance(headers, HeaderFields):
        return list(headers.by_name.get(wanted, ()))
    return [value for key, value in headers if key.lower() == wanted]
