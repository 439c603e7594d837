"""URL words: what the URL itself says of the lost page.

The last part of the path names the page; directories name its section, the host only the site. And a word that
many saved URLs share ("wiki", "docs") says little, however rare it is in texts.
"""

import math
from typing import Protocol

from repair.model import BrokenLink, Evidence
from repair.text import urls, words

_DIRECTORY_WEIGHT = 0.4
_HOST_WEIGHT = 0.15
_TERMS = 16


class UrlTermFrequencies(Protocol):
    """Knows how common a term is in a field."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""


class UrlWords:
    """The words of the missing URL."""

    name = "url"

    def __init__(self, collection: UrlTermFrequencies) -> None:
        self._collection = collection

    def find(self, link: BrokenLink) -> Evidence | None:
        """Terms of the URL, weighted by position and by how common they are in saved URLs."""
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
    """The URL split into page, directories and host, each as a URL by itself, with the weight of its words."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return []
    # This host has no words, so only the words of the part count.
    empty = f"{parts.scheme}://127.0.0.1"
    directory, _, name = parts.path.rstrip("/").rpartition("/")
    query = f"?{parts.query}" if parts.query else ""
    return [
        (f"{empty}/{name}{query}", 1.0),
        (f"{empty}{directory}/", _DIRECTORY_WEIGHT),
        (f"{parts.scheme}://{parts.authority}/", _HOST_WEIGHT),
    ]
