"""How common each term is in the URLs of a site, so that terms that every URL has ("wiki", "docs") weigh nothing.

All known URLs of the host count, also those that are only linked to: a site whose pages have all moved is known by
its old URLs. A sample is counted once and cached for a while.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from repair.bounded import BoundedDict
from repair.text import urls, words
from repair.text.editions import AddressLookup, site_editions

_SAMPLE = 3_000
_SITES = 64
_FRESH_S = 900.0

Split = Callable[[str], Sequence[str]]
"""Splits a compound into its words; returns the word alone when it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteUrlTerms:
    """Terms of a site's URLs, and how many of its `size` URLs have each; its `editions` with their languages."""

    counts: Counter[str]
    size: int
    editions: Mapping[str, str] = field(default_factory=dict)

    def rarity(self, term: str) -> float:
        """1 for a term that no other URL has, near 0 for one that all have."""
        if self.size < 2:
            return 1.0
        df = min(self.counts[term], self.size)
        return math.log1p((self.size - df + 0.5) / (df + 0.5)) / math.log1p((self.size + 0.5) / 0.5)


class UrlTermCounts:
    """The terms of each site's URLs, counted at the first request and cached."""

    def __init__(self, known: AddressLookup) -> None:
        self._known = known
        self._sites = BoundedDict[str, tuple[float, SiteUrlTerms]](_SITES)

    def of_site(self, url: str) -> SiteUrlTerms:
        """The terms of the URLs on the same host as a URL."""
        try:
            parts = urls.parse(url)
        except ValueError:
            return SiteUrlTerms(counts=Counter(), size=0)
        beginning = f"{parts.scheme}://{parts.authority}/"
        now = time.monotonic()
        cached = self._sites.get(beginning)
        if cached is not None and now - cached[0] < _FRESH_S:
            return cached[1]
        sample = self._known.addresses(beginning, _SAMPLE)
        site_words = _count_terms(sample, site_editions(self._known, beginning, sample))
        self._sites[beginning] = (now, site_words)
        return site_words


def address_terms(url: str, split: Split = lambda word: (word,)) -> tuple[list[str], list[str]]:
    """The terms of a page's own name, and those of the directories above it; `split` splits compounds."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return [], []
    # This host has no words, so only the words of the part count.
    empty = "http://127.0.0.1"
    directory, _, name = parts.path.rstrip("/").rpartition("/")
    query = f"?{parts.query}" if parts.query else ""
    return _terms(f"{empty}/{name}{query}", split), _terms(f"{empty}{directory}/", split)


def _terms(url: str, split: Split) -> list[str]:
    """A compound counts as written too: other pages may write it so."""
    written = [word for found in urls.path_words(url) for word in dict.fromkeys((found, *split(found)))]
    return list(dict.fromkeys(term for word in written for term in words.terms(word)))


def _count_terms(addresses: Sequence[str], editions: Mapping[str, str]) -> SiteUrlTerms:
    counts: Counter[str] = Counter()
    for address in addresses:
        own, above = address_terms(address)
        counts.update({*own, *above})
    return SiteUrlTerms(counts=counts, size=len(addresses), editions=editions)
