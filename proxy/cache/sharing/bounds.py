"""How much a response may say of itself and still be stored: every later hit reads it again."""

from proxy.cache.entry import Headers

MOST_FIELDS = 200
LARGEST_HEAD = 48 * 1024
"""Characters of all header fields together. The longest policies of real sites take some 10 kB."""
LARGEST_FIELD = 1_000
"""Characters of each field that decides how long and for whom a response is good, all its lines together."""

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
    """Whether these headers are of a size that real sites need."""
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
    """The headers without what is too large to be stored: for imports, which are kept all the same."""
    kept: list[tuple[str, str]] = []
    room = LARGEST_HEAD
    for key, value in headers[:MOST_FIELDS]:
        size = len(key) + len(value) + 2
        if size <= room and (key.lower() not in _DECIDING or size <= LARGEST_FIELD):
            kept.append((key, value))
            room -= size
    return tuple(kept)
