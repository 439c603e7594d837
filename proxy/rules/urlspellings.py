"""Spellings of an address that servers read alike, so that respelling does not get around a block (pure).

Many servers read `//` as one slash, `%2F` and `%5C` as a slash, and ignore what follows a semicolon in a path
segment. The normal form of addresses does none of that, since for other servers these are different pages.
"""

import re

_ODD = re.compile(r"(?i)//|\\|%2f|%5c|;|%3b|%25|%00")
_SLASH = re.compile(r"(?i)\\|%2f|%5c")
_PARAMETERS = re.compile(r"(?i)(?:;|%3b)[^/]*")
_AFTER_NULL = re.compile(r"%00.*", re.DOTALL)
_SLASHES = re.compile(r"/{2,}")
_ADDRESS = re.compile(r"(?i)(https?://[^/?#]*)(/[^?#]*)(.*)\Z", re.DOTALL)


def most_lenient(url: str) -> str | None:
    """The address as the most lenient server reads it, not yet in normal form; None when that is the same."""
    found = _ADDRESS.match(url)
    if found is None or not _ODD.search(found[2]):
        return None
    path = found[2].replace("%25", "%")  # decoded twice
    path = _PARAMETERS.sub("", _AFTER_NULL.sub("", _SLASH.sub("/", path)))
    read = found[1] + (_SLASHES.sub("/", path) or "/") + found[3]
    return None if read == url else read
