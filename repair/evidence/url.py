"""URL words: what the address itself says of the lost page.

The last part of the path names the page; directories name its shelf, the host only the library. And a word that
many held addresses share ("wiki", "docs") tells little, however rare it is in texts.
"""

import math
from typing import Protocol

from repair import urls, words
from repair.model import BrokenLink, Evidence

_DIRECTORY_WEIGHT = 0.4
_HOST_WEIGHT = 0.15
_TERMS = 16


class Frequencies(Protocol):
    """Who knows how common a term is in a field."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """In how many pages a field has a term."""


class UrlWords:
    """The words of the missing URL."""

    name = "url"

    def __init__(self, collection: Frequencies) -> None:
        self._collection = collection

    def find(self, link: BrokenLink) -> Evidence | None:
        """Terms of the URL by where they stand and how common they are in held addresses."""
        weights: dict[str, float] = {}
        shown: list[str] = []
        for part, weight in _parts(link.url):
            for word in urls.path_words(part):
                shown += [word] if weight == 1.0 else []
                for term in words.terms(word):
                    weights[term] = max(weights.get(term, 0.0), weight)
        for term, weight in weights.items():
            common = self._collection.document_frequency(term, "url")
            weights[term] = weight / math.log2(2 + common)
        heaviest = sorted(weights.items(), key=lambda pair: -pair[1])[:_TERMS]
        if not heaviest:
            return None
        return Evidence(source=self.name, terms=tuple(heaviest), text=" ".join(shown))


def _parts(url: str) -> list[tuple[str, float]]:
    """The URL cut into page, directories and host, each an address by itself, and what their words weigh."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return []
    # A host without words of its own, so that only the part's words count.
    empty = f"{parts.scheme}://127.0.0.1"
    directory, _, name = parts.path.rstrip("/").rpartition("/")
    query = f"?{parts.query}" if parts.query else ""
    return [
        (f"{empty}/{name}{query}", 1.0),
        (f"{empty}{directory}/", _DIRECTORY_WEIGHT),
        (f"{parts.scheme}://{parts.authority}/", _HOST_WEIGHT),
    ]
