"""Prior probabilities of pages, independent of the query: by the type of the URL and by inlinks.

The types and the counts are Westerveld, Kraaij and Hiemstra's (TREC-10, section 3.2 and table 9): of 1.7 million
pages of the collection WT10g, how many of each type there are, and how many of 108 entry pages are of it. They
found that inlinks and URL type are not independent, so `combined_prior` uses inlinks only where they helped: at
roots.
"""

import re
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from repair.text import urls

_INDEX_FILE = re.compile(r"(?i)/(?:index|default|welcome|home)\.[a-z0-9]{1,5}\Z")


class UrlType(StrEnum):
    """Root: a bare host. Subroot: one directory. Path: any directory. File: all else. Index files count as none."""

    ROOT = "root"
    SUBROOT = "subroot"
    PATH = "path"
    FILE = "file"


# Entry pages, and all pages. Roots by their inlinks: up to 10, 100, 1000, more.
_ROOTS = ((10, 39, 8_938), (100, 25, 2_905), (1_000, 11, 377), (None, 4, 38))
_OTHERS = MappingProxyType(
    {UrlType.SUBROOT: (15, 37_959), UrlType.PATH: (8, 83_734), UrlType.FILE: (6, 1_557_719)}
)


@lru_cache(maxsize=32_768)
def url_type(url: str) -> UrlType:
    """The type of a URL; FILE for what is no web URL."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return UrlType.FILE
    path = _INDEX_FILE.sub("/", parts.path)
    if parts.query or not path.endswith("/"):
        return UrlType.FILE
    depth = sum(1 for piece in path.split("/") if piece)
    return (UrlType.ROOT, UrlType.SUBROOT)[depth] if depth < 2 else UrlType.PATH


def url_prior(kind: UrlType) -> float:
    """The probability that a page of this type is an entry page."""
    if kind is not UrlType.ROOT:
        return combined_prior(kind, 0)
    return sum(row[1] for row in _ROOTS) / sum(row[2] for row in _ROOTS)


def inlink_prior(inlinks: int, all_inlinks: int) -> float:
    """The page's share of all inlinks of the collection (equation 5)."""
    return max(0, inlinks) / all_inlinks if all_inlinks > 0 else 0.0


def combined_prior(kind: UrlType, inlinks: int) -> float:
    """The probability that a page of this type with so many inlinks is an entry page."""
    if kind is not UrlType.ROOT:
        entries, pages = _OTHERS[kind]
        return entries / pages
    return next(entries / pages for limit, entries, pages in _ROOTS if limit is None or inlinks <= limit)
