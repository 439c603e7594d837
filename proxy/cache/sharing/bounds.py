"""Size limits for the headers of stored responses, since every hit parses them again."""

from proxy.messages import Headers

MOST_FIELDS = 200
LARGEST_HEAD = 48 * 1024
"""Characters of all header fields together. The longest policies of real sites take about 10 kB."""
LARGEST_FIELD = 1_000
"""Characters of each field that decides about freshness or selection, all its lines together."""

_DECIDING = frozenset(
    {
        "age",
        "cache-control",
        "connection",
        "content-encoding",
        "content-language",
        "content-length",
        "content-location",
        "content-range",
        "content-type",
        "date",
        "etag",
        "expires",
        "last-modified",
        "pragma",
        "transfer-encoding",
        "vary",
    }
)


def is_moderate(headers: Headers) -> bool:
    """Whether the headers are within the limits; real sites need no more."""
    if len(headers) > MOST_FIELDS:
        return False
    sizes: dict[str, int] = {}
    for key, value in headers:
        name = key.lower() if len(key) <= LARGEST_FIELD else ""
        sizes[name] = sizes.get(name, 0) + len(key) + len(value) + 2
    if sum(sizes.values()) > LARGEST_HEAD:
        return False
    return all(size <= LARGEST_FIELD for name, size in sizes.items() if name in _DECIDING)


def without_excess(headers: Headers) -> Headers:
    """The headers without fields that are too large. Imports use it, since they are stored in any case."""
    kept: list[tuple[str, str]] = []
    room = LARGEST_HEAD
    for key, value in headers[:MOST_FIELDS]:
        size = len(key) + len(value) + 2
        if size <= room and (key.lower() not in _DECIDING or size <= LARGEST_FIELD):
            kept.append((key, value))
            room -= size
    return tuple(kept)
