"""Anchor texts: what the author called the lost page on the clicked link, and what other pages call it."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from repair.model import BrokenLink, Evidence, InLink
from repair.text import urls, words

_INLINKS = 100
_TERMS = 12


class AnchorLookup(Protocol):
    """Knows which saved pages link to a URL."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL."""


class ClickedAnchor:
    """The words of the link itself."""

    name = "anchor"

    def __init__(self, is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor) -> None:
        self._is_stop_anchor = is_stop_anchor

    def find(self, link: BrokenLink) -> Evidence | None:
        """The anchor's terms, equally weighted; None for anchors that say nothing ("click here")."""
        terms = () if self._is_stop_anchor(link.anchor) else dict.fromkeys(words.terms(link.anchor))
        if not terms:
            return None
        text = " ".join(link.anchor.split())
        return Evidence(source=self.name, terms=tuple((term, 1.0) for term in terms), text=text)


class OtherAnchors:
    """The words with which other saved pages link to the same URL: the link neighbourhood."""

    name = "inlinks"

    def __init__(
        self, collection: AnchorLookup, is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor
    ) -> None:
        self._collection = collection
        self._is_stop_anchor = is_stop_anchor

    def find(self, link: BrokenLink) -> Evidence | None:
        """Terms weighted by how many of the anchors have them; the text is the most used anchor."""
        source_url = urls.resolve(link.url, link.source_url) if link.source_url else None
        anchors = [
            " ".join(inlink.link.anchor.split())
            for inlink in self._collection.inlinks(link.url, _INLINKS)
            if not inlink.link.nav
            and inlink.source_url != source_url
            and not self._is_stop_anchor(inlink.link.anchor)
        ]
        if not anchors:
            return None
        counts = Counter(term for anchor in anchors for term in set(words.terms(anchor)))
        terms = tuple((term, count / len(anchors)) for term, count in _commonest(counts))
        # The shortest of the most used ones.
        text = min(Counter(anchors).items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0]))[0]
        return Evidence(source=self.name, terms=terms, text=text)


def _commonest(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_TERMS]
