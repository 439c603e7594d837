"""How common words are in the addresses of a site, so that the words every address has ("wiki", "docs") tell nothing.

All addresses known of the host count, also those that are only linked to: a site whose pages have all moved is known
by what its old addresses were. A sample is counted once and remembered for a while.
"""

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from repair import urls, words

_SAMPLE = 3_000
_SITES = 64
_FRESH_S = 900.0

Split = Callable[[str], Sequence[str]]
"""The words glued in a word; the word alone when there are none."""


class KnownAddresses(Protocol):
    """Who knows addresses of a host, held or linked to."""

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known addresses with a beginning, spread over all there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteWords:
    """Terms of a site's addresses and in how many of `size` addresses each stands."""

    counts: Counter[str]
    size: int

    def rarity(self, term: str) -> float:
        """1 for a term that no other address has, near 0 for one that all have."""
        if self.size < 2:
            return 1.0
        df = min(self.counts[term], self.size)
        return math.log1p((self.size - df + 0.5) / (df + 0.5)) / math.log1p((self.size + 0.5) / 0.5)


class AddressWords:
    """The words of sites' addresses, counted when first asked for."""

    def __init__(self, known: KnownAddresses) -> None:
        self._known = known
        self._sites: OrderedDict[str, tuple[float, SiteWords]] = OrderedDict()

    def of_site(self, url: str) -> SiteWords:
        """The words of the addresses on the host of a URL."""
        try:
            parts = urls.parse(url)
        except ValueError:
            return SiteWords(counts=Counter(), size=0)
        beginning = f"{parts.scheme}://{parts.authority}/"
        now = time.monotonic()
        remembered = self._sites.get(beginning)
        if remembered is not None and now - remembered[0] < _FRESH_S:
            return remembered[1]
        counted = _counted(self._known.addresses(beginning, _SAMPLE))
        self._sites[beginning] = (now, counted)
        while len(self._sites) > _SITES:
            self._sites.popitem(last=False)
        return counted


def address_terms(url: str, split: Split = lambda word: (word,)) -> tuple[list[str], list[str]]:
    """The terms of a page's own name, and those of the directories above it; `split` takes glued words apart."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return [], []
    # A host without words of its own, so that only the part's words count.
    empty = "http://127.0.0.1"
    directory, _, name = parts.path.rstrip("/").rpartition("/")
    query = f"?{parts.query}" if parts.query else ""
    return _terms(f"{empty}/{name}{query}", split), _terms(f"{empty}{directory}/", split)


def _terms(url: str, split: Split) -> list[str]:
    """Glued words count as written, too: others may write them so."""
    written = [word for found in urls.path_words(url) for word in dict.fromkeys((found, *split(found)))]
    return list(dict.fromkeys(term for word in written for term in words.terms(word)))


def _counted(addresses: tuple[str, ...]) -> SiteWords:
    counts: Counter[str] = Counter()
    for address in addresses:
        own, above = address_terms(address)
        counts.update({*own, *above})
    return SiteWords(counts=counts, size=len(addresses))
